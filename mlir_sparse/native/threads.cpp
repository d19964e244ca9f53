#include "threads.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <exception>
#include <fstream>
#include <limits>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#ifdef __linux__
#include <sched.h>
#endif
#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif
#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace mlir_sparse {
namespace {

constexpr std::size_t kMostThreads = 1024;
// In entries, until the machine's profile says others: a kernel takes about a nanosecond for each, and waking a thread
// takes some ten thousand; the result of a copied chunk stays in a cache of a megabyte.
constexpr std::size_t kChunkWork = std::size_t{1} << 15, kJoinedWork = std::size_t{1} << 16;
// The time that a thread spins for work, or for others to finish, before it sleeps. Calls in quick succession then
// rarely have to wake threads, and other processes lose no more time than for a system call or two.
// Until the machine's profile says another time, in microseconds; more than a second helps nobody.
std::atomic<std::int64_t> watched{100};
constexpr std::size_t kMostWatched = 1'000'000;

// The value of one of our variables; 0 if it is empty. The rule is that of process/settings.py, which has the message:
// digits only, above 0 and below 2^63.
std::size_t setting(const char *name) {
  const char *text = std::getenv(name);
  if (text == nullptr || *text == '\0') return 0;
  constexpr std::size_t kMost = std::numeric_limits<std::int64_t>::max();
  std::size_t number = 0;
  for (const char *at = text; *at != '\0'; ++at) {
    if (*at < '0' || *at > '9' || at - text >= 19) throw SettingFault{name};
    number = number * 10 + static_cast<std::size_t>(*at - '0');
  }
  if (number == 0 || number > kMost) throw SettingFault{name};
  return number;
}

// The first number of OpenMP's variable, which may be a list; it is never refused here.
std::size_t openmp_threads() {
  const char *text = std::getenv("OMP_NUM_THREADS");
  const long number = text ? std::strtol(text, nullptr, 10) : 0;
  return number > 0 ? std::min(static_cast<std::size_t>(number), kMostThreads) : 0;
}

std::size_t allowed_processors() {
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<std::size_t>(CPU_COUNT(&set));
#endif
  return std::max<std::size_t>(std::thread::hardware_concurrency(), 1);
}

// The number of processors in the control group's quota; 0 without a quota.
std::size_t group_processors() {
  double quota = -1, period = 0;
  std::string first;
  std::ifstream unified("/sys/fs/cgroup/cpu.max");
  if (unified >> first >> period) {
    if (first != "max") quota = std::strtod(first.c_str(), nullptr);
  } else {
    std::ifstream("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") >> quota;
    std::ifstream("/sys/fs/cgroup/cpu/cpu.cfs_period_us") >> period;
  }
  return quota > 0 && period > 0 ? std::max<std::size_t>(1, static_cast<std::size_t>(quota / period + 0.5)) : 0;
}

std::size_t processors() {
  std::size_t found = std::max<std::size_t>(allowed_processors(), 1);
  for (const std::size_t bound : {group_processors(), openmp_threads()})
    if (bound > 0) found = std::min(found, bound);
  return found;
}

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

// Spins until a condition holds, or for a while; not at all on a single processor.
template <typename Condition>
void watch(const Condition &holds) {
  static const bool alone = processors() < 2;
  if (alone || holds()) return;
  const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(watched.load(std::memory_order_relaxed));
  do {
    for (int turn = 0; turn < 32; ++turn) {
      if (holds()) return;
      pause();
    }
  } while (std::chrono::steady_clock::now() < until);
}

std::atomic<std::size_t> asked_threads{0};
std::atomic<std::size_t> least_work{0};
std::atomic<std::size_t> machine_work{kChunkWork}, machine_joined_work{kJoinedWork};
thread_local Limits own_limits;
thread_local bool inside_pool = false;

// One call of run_chunks, on its caller's stack.
struct Job {
  std::size_t chunks, threads;
  const std::function<void(std::size_t)> &work;
  std::atomic<std::size_t> next{0};
  std::vector<std::exception_ptr> thrown;
  std::atomic<std::size_t> helpers{0};  // threads of the pool at work on it; changed under the pool's mutex

  Job(std::size_t count, std::size_t most, const std::function<void(std::size_t)> &what)
      : chunks(count), threads(most), work(what), thrown(count) {}

  bool take(std::size_t &chunk) {
    chunk = next.load(std::memory_order_relaxed);
    while (chunk < chunks)
      if (next.compare_exchange_weak(chunk, chunk + 1, std::memory_order_relaxed)) return true;
    return false;
  }

  void run(std::size_t chunk) {
    try {
      work(chunk);
    } catch (...) {
      thrown[chunk] = std::current_exception();
    }
  }

  void leave_the_rest() { next.store(chunks, std::memory_order_relaxed); }
};

class Pool {
 public:
  void run(Job &job, const std::function<void()> &goes_on) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      ++active_;
      grow(job.threads - 1);
      jobs_.push_back(&job);
      posted_.fetch_add(1, std::memory_order_release);
    }
    wake(job.threads - 1);
    std::exception_ptr stopped;
    const bool outer = std::exchange(inside_pool, true);  // what chunks call stays on their thread
    for (std::size_t chunk; job.take(chunk);) {
      job.run(chunk);
      if (!goes_on || chunk + 1 >= job.chunks) continue;
      try {
        goes_on();
      } catch (...) {
        stopped = std::current_exception();
        job.leave_the_rest();
      }
    }
    inside_pool = outer;
    watch([&] { return job.helpers.load(std::memory_order_acquire) == 0; });
    std::unique_lock<std::mutex> lock(mutex_);
    jobs_.erase(std::find(jobs_.begin(), jobs_.end(), &job));
    --active_;
    if (!jobs_.empty()) wake_.notify_one();  // another caller's job may now have one more
    finished_.wait(lock, [&] { return job.helpers == 0; });
    lock.unlock();
    if (stopped) std::rethrow_exception(stopped);
  }

  std::size_t size() {
    std::lock_guard<std::mutex> lock(mutex_);
    return workers_;
  }

 private:
  void grow(std::size_t wanted) {
    for (; workers_ < std::min(wanted, kMostThreads); ++workers_) {
      try {
        std::thread([this] { serve(); }).detach();  // they end with the process
      } catch (const std::system_error &) {         // no more threads to be had
        return;
      }
    }
  }

  void wake(std::size_t wanted) {
    if (wanted == 1) return wake_.notify_one();
    wake_.notify_all();
  }

  // A job with chunks left that may have another thread, given the number of threads at work for all callers.
  Job *open_job() {
    for (Job *job : jobs_)
      if (job->next.load(std::memory_order_relaxed) < job->chunks && active_ < job->threads) return job;
    return nullptr;
  }

  void serve() {
    inside_pool = true;
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      Job *job = nullptr;
      wake_.wait(lock, [&] { return (job = open_job()) != nullptr; });
      ++active_;
      ++job->helpers;
      lock.unlock();
      for (std::size_t chunk; job->take(chunk);) job->run(chunk);
      lock.lock();
      --active_;
      if (--job->helpers == 0) finished_.notify_all();
      if (open_job() != nullptr) continue;
      const std::size_t seen = posted_.load(std::memory_order_relaxed);
      lock.unlock();
      watch([&] { return posted_.load(std::memory_order_acquire) != seen; });
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, finished_;
  std::deque<Job *> jobs_;
  std::size_t workers_ = 0, active_ = 0;
  std::atomic<std::size_t> posted_{0};  // jobs so far, for threads that watch
};

// Never freed: its threads use it until the process ends.
std::atomic<Pool *> the_pool{nullptr};

Pool &pool() {
  Pool *found = the_pool.load();
  if (found != nullptr) return *found;
#if defined(__unix__) || defined(__APPLE__)
  // A fork copies no threads, and leaves locks closed: the child gets a new pool.
  static const int registered = pthread_atfork(nullptr, nullptr, [] {
    the_pool.store(nullptr);
    inside_pool = false;
  });
  (void)registered;
#endif
  auto *fresh = new Pool();
  if (the_pool.compare_exchange_strong(found, fresh)) return *fresh;
  delete fresh;
  return *found;
}

}  // namespace

Limits &limits() { return own_limits; }

std::size_t thread_limit() {
  if (own_limits.threads > 0) return std::min(own_limits.threads, kMostThreads);
  if (const std::size_t asked = asked_threads.load(std::memory_order_relaxed)) return asked;
  if (const std::size_t number = setting("MLIR_SPARSE_NUM_THREADS")) return std::min(number, kMostThreads);
  static const std::size_t found = processors();
  return found;
}

void set_thread_limit(std::size_t threads) { asked_threads.store(std::min(threads, kMostThreads)); }

std::size_t chunk_work() {
  const std::size_t set = least_work.load(std::memory_order_relaxed);
  if (set > 0) return set;
  const std::size_t number = setting("MLIR_SPARSE_PIECE_WORK");
  // A bound that no memory exceeds, and that avoids overflow in products.
  const std::size_t found = number > 0 ? std::min(number, std::size_t{1} << 40) : machine_work.load();
  least_work.store(found, std::memory_order_relaxed);
  return found;
}

std::size_t streamed_chunks(std::size_t bytes) {
  constexpr std::size_t kEntry = 24;  // where memory is far, a few values take as long as a visited entry of a loop
  return bytes / kEntry / std::max<std::size_t>(chunk_work(), 1);
}

void set_chunk_work(std::size_t entries) { least_work.store(entries); }

std::size_t machine_chunk_work() { return machine_work.load(std::memory_order_relaxed); }

void set_machine_watch(std::size_t microseconds) {
  watched.store(static_cast<std::int64_t>(std::min(microseconds, kMostWatched)));
}

std::size_t joined_work() { return machine_joined_work.load(std::memory_order_relaxed); }

void set_machine_work(std::size_t chunk, std::size_t joined) {
  std::size_t before = machine_work.exchange(std::max<std::size_t>(chunk, 2));
  least_work.compare_exchange_strong(before, 0);  // asked for again, unless somebody has set it
  machine_joined_work.store(std::max<std::size_t>(joined, 2));
}

void run_chunks(std::size_t chunks, std::size_t threads, const std::function<void(std::size_t)> &work,
                const std::function<void()> &goes_on) {
  if (chunks == 0) return;
  Job job(chunks, std::min(threads, chunks), work);
  if (job.threads > 1 && !inside_pool) {
    pool().run(job, goes_on);
  } else {
    for (std::size_t chunk; job.take(chunk);) {
      job.run(chunk);
      if (goes_on && chunk + 1 < chunks) goes_on();
    }
  }
  for (const std::exception_ptr &exception : job.thrown)
    if (exception) std::rethrow_exception(exception);
}

std::size_t pool_size() {
  Pool *found = the_pool.load();
  return found == nullptr ? 0 : found->size();
}

}  // namespace mlir_sparse
