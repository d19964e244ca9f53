// The threads of this process, for loops over entries and for compiled kernels. It does not depend on Python: callers
// release the GIL.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace mlir_sparse {

// The limits of one thread's calls.
struct Limits {
  std::size_t threads = 0;     // at most so many; 0 leaves it to the process
  bool deterministic = false;  // whether results are to be the same, bit for bit, for any number of threads
};

// An environment variable of ours that is no number, for process/settings.py to refuse by name.
struct SettingFault {
  const char *name;
};

// The limits of the calling thread.
Limits &limits();

// The greatest number of threads: that of the limits, else set_num_threads, else MLIR_SPARSE_NUM_THREADS, else the
// processors of the process (affinity, control group), or OMP_NUM_THREADS if that is less.
std::size_t thread_limit();

// Sets the number for the whole process; 0 restores the default.
void set_thread_limit(std::size_t threads);

// The least work of a chunk, in visited entries: less is not worth waking a thread.
std::size_t chunk_work();
void set_chunk_work(std::size_t entries);

// The work of a chunk whose result is copied: little enough for that to stay in the second-level cache.
std::size_t joined_work();

// How many chunks are worth a thread each where nothing is done but to read so many bytes from end to end.
std::size_t streamed_chunks(std::size_t bytes);

// What the machine's profile says of the first, whatever is set.
std::size_t machine_chunk_work();

// Sets both, for where nothing else sets the first.
void set_machine_work(std::size_t chunk, std::size_t joined);

// Sets for how many microseconds a thread spins for work, or for others to finish, before it sleeps.
void set_machine_watch(std::size_t microseconds);

// Runs work(0) to work(chunks - 1), which must not wait for later ones, on the calling thread and at most threads - 1
// others, each taking the next one left; rethrows the exception of the first that throws. The calling thread calls
// `goes_on` between its chunks; if that throws, the remaining chunks are skipped.
void run_chunks(std::size_t chunks, std::size_t threads, const std::function<void(std::size_t)> &work,
                const std::function<void()> &goes_on = nullptr);

// The number of threads in the pool, for tests.
std::size_t pool_size();

}  // namespace mlir_sparse
