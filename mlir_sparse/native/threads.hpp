// The threads of this process, for loops over entries and for compiled kernels. Nothing here knows of Python: the GIL
// is released around it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace mlir_sparse {

// What one thread's calls may take while they last, inside those that took more before.
struct Limits {
  std::size_t threads = 0;     // at most so many; 0 leaves it to the process
  bool deterministic = false;  // whether results are to be the same, bit for bit, for any number of threads
};

// An environment variable of ours that is no number: names it, for process/settings.py to say so.
struct SettingFault {
  const char *name;
};

// The limits of the calling thread.
Limits &limits();

// How many threads work may be spread over: what the limits say, else set_num_threads, else MLIR_SPARSE_NUM_THREADS,
// else the processors that the process may run on (affinity, control group), or OMP_NUM_THREADS where that is less.
std::size_t thread_limit();

// Sets the number for the whole process; 0 leaves it to the environment again.
void set_thread_limit(std::size_t threads);

// How much work, in entries met, a piece has at least: less is not worth waking a thread.
std::size_t piece_work();
void set_piece_work(std::size_t entries);

// Runs work(0) to work(pieces - 1), which may not wait for later ones, on the calling thread and at most threads - 1
// others, each taking the next piece that is left; throws what the first of them that throws has thrown. `goes_on` is
// asked by the calling thread between its pieces; where it throws, pieces not begun are left out.
void run_pieces(std::size_t pieces, std::size_t threads, const std::function<void(std::size_t)> &work,
                const std::function<void()> &goes_on = nullptr);

// How many threads of the pool there are, for tests.
std::size_t pool_size();

}  // namespace mlir_sparse
