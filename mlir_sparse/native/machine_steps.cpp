#include "machine_steps.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <limits>
#include <numeric>
#include <thread>
#include <vector>

#include "threads.hpp"

#if defined(__unix__) || defined(__APPLE__)
#include <sys/mman.h>
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace mlir_sparse {
namespace machine_steps {
namespace {

constexpr std::size_t kLine = 64, kPage = 4096;
constexpr int kTimes = 3;

volatile double sink;  // what is computed is used

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t below(std::uint64_t count) {
    state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<std::uint64_t>((static_cast<__uint128_t>(state_ ^ (state_ >> 29)) * count) >> 64);
  }

 private:
  std::uint64_t state_;
};

// The nanoseconds of this thread on a processor: what others take of that does not count.
double own_time() {
#if defined(CLOCK_THREAD_CPUTIME_ID)
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
#else
  const std::chrono::duration<double, std::nano> now = std::chrono::steady_clock::now().time_since_epoch();
  return now.count();
#endif
}

// The least time of some calls, in nanoseconds; the first one is not timed.
template <typename Work>
double least(const Work &work, int times = kTimes) {
  double found = std::numeric_limits<double>::max();
  work();
  for (int time = 0; time < times; ++time) {
    const double begin = own_time();
    work();
    found = std::min(found, own_time() - begin);
  }
  return found;
}

// The least time of work on each number, of rounds over all of them: what slows the machine for a while slows all. Each
// time something is prepared first, which takes no part in it.
template <typename Prepare, typename Work>
std::vector<double> least_of_each(const std::vector<std::size_t> &numbers, const Prepare &prepare, const Work &work) {
  std::vector<double> found(numbers.size(), std::numeric_limits<double>::max());
  prepare();
  if (!numbers.empty()) work(numbers.front());
  for (int time = 0; time < kTimes; ++time)
    for (std::size_t at = 0; at < numbers.size(); ++at) {
      prepare();
      const double begin = own_time();
      work(numbers[at]);
        found[at] = std::min(found[at], own_time() - begin);
    }
  return found;
}

// How often what takes so many steps is repeated, to take some hundred microseconds.
std::size_t repeats(std::size_t steps, std::size_t wanted = std::size_t{1} << 17) {
  return std::max<std::size_t>(1, wanted / std::max<std::size_t>(steps, 1));
}

void ask_for(const void *address) { __builtin_prefetch(address); }

double sum_of(const std::vector<double> &numbers) {
  double sums[8] = {};
  for (std::size_t at = 0; at + 8 <= numbers.size(); at += 8)
    for (std::size_t lane = 0; lane < 8; ++lane) sums[lane] += numbers[at + lane];
  return std::accumulate(sums, sums + 8, 0.0);
}

void store_past(double *to, double value) {
#if defined(__x86_64__)
  long long bits;
  static_assert(sizeof bits == sizeof value, "a number has 64 bits");
  std::copy_n(reinterpret_cast<const char *>(&value), sizeof value, reinterpret_cast<char *>(&bits));
  _mm_stream_si64(reinterpret_cast<long long *>(to), bits);
#else
  *to = value;
#endif
}

// Places in an array of 2^15 numbers, a quarter of a megabyte, eight of which are never the same.
constexpr std::size_t kPlaces = std::size_t{1} << 15;

std::vector<std::int32_t> places() {
  std::vector<std::int32_t> found(kPlaces);
  Random random(1);
  for (std::size_t at = 0; at < kPlaces; at += 8)
    for (std::size_t lane = 0; lane < 8; ++lane)
      found[at + lane] = static_cast<std::int32_t>(random.below(kPlaces / 8) * 8 + lane);
  return found;
}

#if defined(__x86_64__) && defined(__GNUC__)
#define MLIR_SPARSE_HAS_VECTORS 1

__attribute__((target("avx2"))) void gather(const double *from, const std::int32_t *at, std::size_t count) {
  __m256d total = _mm256_setzero_pd();
  const __m256d all = _mm256_castsi256_pd(_mm256_set1_epi64x(-1));
  for (std::size_t first = 0; first < count; first += 4) {
    const __m128i four = _mm_loadu_si128(reinterpret_cast<const __m128i *>(at + first));
    total = _mm256_add_pd(total, _mm256_mask_i32gather_pd(_mm256_setzero_pd(), from, four, all, 8));
  }
  double lanes[4];
  _mm256_storeu_pd(lanes, total);
  sink = lanes[0] + lanes[1] + lanes[2] + lanes[3];
}

__attribute__((target("avx512f"))) void scatter(double *to, const std::int32_t *at, std::size_t count) {
  const __m512d value = _mm512_set1_pd(1.5);
  for (std::size_t first = 0; first < count; first += 8) {
    const __m256i eight = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(at + first));
    _mm512_i32scatter_pd(to, eight, value, 8);
  }
}
#endif

bool has(const char *feature) {
#ifdef MLIR_SPARSE_HAS_VECTORS
  __builtin_cpu_init();
  return feature[3] == '2' ? __builtin_cpu_supports("avx2") : __builtin_cpu_supports("avx512f");
#else
  (void)feature;
  return false;
#endif
}

// Counts the bits that are set by a branch on each.
__attribute__((noinline)) std::int64_t branches(const std::uint8_t *bits, std::size_t count) {
  std::int64_t found = 0;
  for (std::size_t at = 0; at < count; ++at) {
    if (bits[at]) {
      found += static_cast<std::int64_t>(at);
#if defined(__GNUC__)
      asm volatile("" : "+r"(found));  // a branch stays one
#endif
    } else {
      found ^= 1;
#if defined(__GNUC__)
      asm volatile("" : "+r"(found));
#endif
    }
  }
  return found;
}

}  // namespace

double latency(std::size_t bytes) {
  const std::size_t lines = bytes / kLine, step = kLine / sizeof(std::uint32_t);
  std::vector<std::uint32_t> order(lines), next(lines * step);
  std::iota(order.begin(), order.end(), 0u);
  Random random(7);
  for (std::size_t left = lines; left > 1; --left) std::swap(order[left - 1], order[random.below(left)]);
  for (std::size_t at = 0; at < lines; ++at)
    next[order[at] * step] = static_cast<std::uint32_t>(order[(at + 1) % lines] * step);
  const std::size_t loads = std::size_t{1} << 16;
  std::uint32_t at = 0;
  const double took = least([&] {
    for (std::size_t load = 0; load < loads; ++load) at = next[at];
    sink = at;
  });
  return took / static_cast<double>(loads);
}

double read_line(std::size_t bytes) {
  const std::vector<double> numbers(bytes / sizeof(double), 1.0);
  const std::size_t lines = bytes / kLine, often = repeats(lines);
  const double took = least([&] {
    double total = 0;
    for (std::size_t time = 0; time < often; ++time) total += sum_of(numbers);
    sink = total;
  });
  return took / static_cast<double>(lines * often);
}

double written_line(std::size_t bytes, bool past_caches) {
  std::vector<double> numbers(bytes / sizeof(double), 1.0);
  const std::size_t lines = bytes / kLine, often = repeats(lines, std::size_t{1} << 16);
  const double took = least([&] {
    double total = 0;
    for (std::size_t time = 0; time < often; ++time) {
      if (past_caches) {
        for (double &number : numbers) store_past(&number, 2.0);
      } else {
        for (double &number : numbers) {
          number = 2.0;
#if defined(__GNUC__)
          asm volatile("" : : "r"(&number) : "memory");  // one by one, as entries are appended
#endif
        }
      }
      total += sum_of(numbers);
    }
    sink = total;
  });
  return took / static_cast<double>(lines * often);
}

double fresh_page() {
#if defined(__unix__) || defined(__APPLE__)
  constexpr std::size_t kPages = 4096;
  double found = std::numeric_limits<double>::max();
  for (int time = 0; time < kTimes; ++time) {
    void *data = mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) break;
#if defined(MADV_NOHUGEPAGE)
    madvise(data, kPages * kPage, MADV_NOHUGEPAGE);
#endif
    const double begin = own_time();
    for (std::size_t page = 0; page < kPages; ++page) static_cast<volatile char *>(data)[page * kPage] = 1;
    const double took = own_time() - begin;
    munmap(data, kPages * kPage);
    found = std::min(found, took / kPages);
  }
  return found < std::numeric_limits<double>::max() ? found : 1000.0;
#else
  return 1000.0;
#endif
}

double gathered(bool vector) {
  const std::vector<std::int32_t> at = places();
  const std::vector<double> from(kPlaces, 1.0);
  const bool by_vector = vector && has("avx2");
  const double took = least([&] {
    for (int time = 0; time < 4; ++time) {
#ifdef MLIR_SPARSE_HAS_VECTORS
      if (by_vector) {
        gather(from.data(), at.data(), kPlaces);
        continue;
      }
#endif
      double sums[4] = {};
      for (std::size_t first = 0; first < kPlaces; first += 4)
        for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] += from[static_cast<std::size_t>(at[first + lane])];
      sink = sums[0] + sums[1] + sums[2] + sums[3];
    }
  }, 5);
  (void)by_vector;
  return took / (4.0 * kPlaces / 8);
}

double scattered(bool vector) {
  const std::vector<std::int32_t> at = places();
  std::vector<double> to(kPlaces, 1.0);
  const bool by_vector = vector && has("avx512f");
  const double took = least([&] {
    for (int time = 0; time < 4; ++time) {
#ifdef MLIR_SPARSE_HAS_VECTORS
      if (by_vector) {
        scatter(to.data(), at.data(), kPlaces);
        continue;
      }
#endif
      for (std::size_t first = 0; first < kPlaces; ++first) to[static_cast<std::size_t>(at[first])] = 1.5;
    }
    sink = to[0];
  }, 5);
  (void)by_vector;
  return took / (4.0 * kPlaces / 8);
}

double wrong_guess() {
  constexpr std::size_t kCount = std::size_t{1} << 18;  // more than any processor learns
  std::vector<std::uint8_t> same(kCount, 0), bits(kCount);
  Random random(3);
  for (std::size_t at = 0; at < kCount; ++at) bits[at] = static_cast<std::uint8_t>(random.below(2));
  for (std::size_t at = 0; at < kCount; at += 2) same[at] = 1;
  const double foreseen = least([&] { sink = static_cast<double>(branches(same.data(), kCount)); });
  const double guessed = least([&] { sink = static_cast<double>(branches(bits.data(), kCount)); });
  return std::max(0.1, (guessed - foreseen) / (kCount / 2));  // every other guess is wrong
}

double handed_over(bool sleeps) {
  const int calls = sleeps ? 40 : 400;
  double found = std::numeric_limits<double>::max();
  for (int call = 0; call < calls; ++call) {
    if (sleeps) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::atomic<int> begun{0};
    const auto begin = std::chrono::steady_clock::now();
    // The first chunk waits for the second: both threads take part.
    run_chunks(2, 2, [&](std::size_t) {
      begun.fetch_add(1);
      const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
      while (begun.load() < 2 && std::chrono::steady_clock::now() < until) {
      }
    });
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    found = std::min(found, took.count());
  }
  return found;
}

std::vector<double> summed_entries(std::size_t entries, const std::vector<std::size_t> &distances) {
  constexpr std::size_t kRow = 5;
  const std::size_t rows = entries / kRow;
  const std::vector<double> values(entries, 1.0), x(4096, 1.0);
  std::vector<std::int32_t> columns(entries), starts(rows + 1);
  for (std::size_t at = 0; at < entries; ++at) columns[at] = static_cast<std::int32_t>(at * 7 % x.size());
  for (std::size_t row = 0; row <= rows; ++row) starts[row] = static_cast<std::int32_t>(row * kRow);
  std::vector<double> y(rows);
  const std::size_t often = repeats(entries, std::size_t{1} << 18);
  std::vector<double> found = least_of_each(distances, [] {}, [&](std::size_t distance) {
    for (std::size_t time = 0; time < often; ++time)
      for (std::size_t row = 0; row < rows; ++row) {
        const auto begin = static_cast<std::size_t>(starts[row]), end = static_cast<std::size_t>(starts[row + 1]);
        const std::size_t later = std::min(begin + distance, entries - 1);
        ask_for(&values[later]);
        ask_for(&columns[later]);
        double total = 0;
        for (std::size_t at = begin; at < end; ++at) total += values[at] * x[static_cast<std::size_t>(columns[at])];
        y[row] = total;
      }
    sink = y[0];
  });
  for (double &each : found) each /= static_cast<double>(rows * kRow * often);
  return found;
}

std::vector<double> named_elements(const std::vector<std::size_t> &distances) {
  constexpr std::size_t kRows = std::size_t{1} << 17, kElements = std::size_t{1} << 23;
  const std::vector<double> x(kElements, 1.0);
  std::vector<std::size_t> starts(kRows + 1);
  Random random(5);
  for (std::size_t row = 0; row < kRows; ++row) starts[row + 1] = starts[row] + 1 + random.below(3);
  const std::size_t entries = starts[kRows];
  std::vector<std::int32_t> columns(entries);
  std::vector<double> y(kRows);
  const auto draw = [&] {  // elements that no cache holds
    for (std::int32_t &column : columns) column = static_cast<std::int32_t>(random.below(kElements));
  };
  std::vector<double> found = least_of_each(distances, draw, [&](std::size_t distance) {
    for (std::size_t row = 0; row < kRows; ++row) {
      double total = 0;
      for (std::size_t at = starts[row]; at < starts[row + 1]; ++at) {
        if (distance > 0) ask_for(&x[static_cast<std::size_t>(columns[std::min(at + distance, entries - 1)])]);
        total += x[static_cast<std::size_t>(columns[at])];
      }
      y[row] = total;
    }
    sink = y[0];
  });
  for (double &each : found) each /= static_cast<double>(entries);
  return found;
}

std::vector<double> named_lines(const std::vector<std::size_t> &distances) {
  constexpr std::size_t kRow = 64, kRows = std::size_t{1} << 17, kNamed = std::size_t{1} << 14;
  const std::vector<double> rows(kRows * kRow, 1.0);
  std::vector<std::uint32_t> named(kNamed);
  Random random(11);
  double totals[kRow] = {};
  const auto draw = [&] {
    for (std::uint32_t &row : named) row = static_cast<std::uint32_t>(random.below(kRows));
  };
  std::vector<double> found = least_of_each(distances, draw, [&](std::size_t distance) {
    for (std::size_t entry = 0; entry < kNamed; ++entry) {
      if (distance > 0) {
        const double *later = &rows[named[std::min(entry + distance, kNamed - 1)] * kRow];
        for (std::size_t at = 0; at < kRow; at += kLine / sizeof(double)) ask_for(later + at);
      }
      const double *row = &rows[named[entry] * kRow];
      for (std::size_t at = 0; at < kRow; ++at) totals[at] += row[at];
    }
    sink = totals[0];
  });
  for (double &each : found) each /= kNamed * kRow * sizeof(double) / kLine;
  return found;
}

}  // namespace machine_steps
}  // namespace mlir_sparse
