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
// Entries; a kernel takes about a nanosecond for each, a thread that sleeps some ten thousand to wake.
constexpr std::size_t kPieceWork = std::size_t{1} << 15;
// How long a thread watches for work, or for others to finish, before it sleeps: of calls that follow each other,
// few wake anybody, and whoever else wants the processor waits no longer than for a system call or two.
constexpr std::chrono::microseconds kWatch{100};

// The number that one of our variables is set to; 0 where it is set to nothing. What breaks the rule that
// process/settings.py states is refused by it: digits alone, above 0 and below 2^63.
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

// What OpenMP's variable begins with, which may be a list and is not ours to refuse.
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

// Processors' worth of time that the control group gives; 0 where it sets no bound.
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

// Returns once something holds, or after a while; at once where a single processor has to bring it about.
template <typename Condition>
void watch(const Condition &holds) {
  static const bool alone = processors() < 2;
  if (alone || holds()) return;
  const auto until = std::chrono::steady_clock::now() + kWatch;
  do {
    for (int turn = 0; turn < 32; ++turn) {
      if (holds()) return;
      pause();
    }
  } while (std::chrono::steady_clock::now() < until);
}

std::atomic<std::size_t> asked_threads{0};
std::atomic<std::size_t> least_work{0};
thread_local Limits own_limits;
thread_local bool inside_pool = false;

// One call of run_pieces; on its caller's stack, and gone when that returns.
struct Job {
  std::size_t pieces, threads;
  const std::function<void(std::size_t)> &work;
  std::atomic<std::size_t> next{0};
  std::vector<std::exception_ptr> thrown;
  std::atomic<std::size_t> helpers{0};  // threads of the pool at work on it; changed under the pool's mutex

  Job(std::size_t count, std::size_t most, const std::function<void(std::size_t)> &what)
      : pieces(count), threads(most), work(what), thrown(count) {}

  bool take(std::size_t &piece) {
    piece = next.load(std::memory_order_relaxed);
    while (piece < pieces)
      if (next.compare_exchange_weak(piece, piece + 1, std::memory_order_relaxed)) return true;
    return false;
  }

  void run(std::size_t piece) {
    try {
      work(piece);
    } catch (...) {
      thrown[piece] = std::current_exception();
    }
  }

  void leave_the_rest() { next.store(pieces, std::memory_order_relaxed); }
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
    const bool outer = std::exchange(inside_pool, true);  // what pieces call stays on their thread
    for (std::size_t piece; job.take(piece);) {
      job.run(piece);
      if (!goes_on || piece + 1 >= job.pieces) continue;
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

  // A job with pieces left that another thread may join: those at work for all callers together count.
  Job *open_job() {
    for (Job *job : jobs_)
      if (job->next.load(std::memory_order_relaxed) < job->pieces && active_ < job->threads) return job;
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
      for (std::size_t piece; job->take(piece);) job->run(piece);
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

// Never freed: its threads wait on it until the process ends.
std::atomic<Pool *> the_pool{nullptr};

Pool &pool() {
  Pool *found = the_pool.load();
  if (found != nullptr) return *found;
#if defined(__unix__) || defined(__APPLE__)
  // A fork leaves the threads behind, and locks as they were: the child has a pool of its own.
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

std::size_t piece_work() {
  const std::size_t set = least_work.load(std::memory_order_relaxed);
  if (set > 0) return set;
  const std::size_t number = setting("MLIR_SPARSE_PIECE_WORK");
  // More is beyond all memory, and what it is multiplied by stays a number.
  const std::size_t found = number > 0 ? std::min(number, std::size_t{1} << 40) : kPieceWork;
  least_work.store(found, std::memory_order_relaxed);
  return found;
}

void set_piece_work(std::size_t entries) { least_work.store(entries); }

void run_pieces(std::size_t pieces, std::size_t threads, const std::function<void(std::size_t)> &work,
                const std::function<void()> &goes_on) {
  if (pieces == 0) return;
  Job job(pieces, std::min(threads, pieces), work);
  if (job.threads > 1 && !inside_pool) {
    pool().run(job, goes_on);
  } else {
    for (std::size_t piece; job.take(piece);) {
      job.run(piece);
      if (goes_on && piece + 1 < pieces) goes_on();
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
