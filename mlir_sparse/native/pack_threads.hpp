// Loops over entries on several threads. Nothing here knows of Python: the GIL is released around it.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace mlir_sparse {

// The number of threads for so many entries: MLIR_SPARSE_NUM_THREADS, or as many as there are processors, but one
// where starting another would take longer than the work.
size_t thread_count(size_t entries);

// Runs work(0) to work(parts - 1) at the same time; throws what the first of them that throws has thrown.
void in_parallel(size_t parts, const std::function<void(size_t)> &work);

// Where each part of `count` things begins, and where the last one ends.
inline std::vector<size_t> even_parts(size_t count, size_t parts) {
  std::vector<size_t> begins;
  for (size_t part = 0; part <= parts; ++part)
    begins.push_back(count / parts * part + std::min(part, count % parts));
  return begins;
}

// Row ranges of about as many entries each.
template <class P>
std::vector<int64_t> row_parts(const P *pos, int64_t rows, size_t parts) {
  const auto entries = even_parts(static_cast<size_t>(pos[rows]), parts);
  std::vector<int64_t> begins{0};
  for (size_t part = 1; part < parts; ++part)
    begins.push_back(std::lower_bound(pos, pos + rows, static_cast<P>(entries[part])) - pos);
  begins.push_back(rows);
  return begins;
}

// Turns the number of entries that each part has for each of n places into the place of its first, and fills in
// where each place begins: `counts` holds n numbers a part, `pos` n + 1.
template <class P>
void first_places(P *counts, size_t parts, int64_t n, P *pos) {
  P next = 0;
  for (int64_t i = 0; i < n; ++i) {
    pos[i] = next;
    for (size_t part = 0; part < parts; ++part) {
      P &count = counts[static_cast<int64_t>(part) * n + i];
      const P first = next;
      next += count;
      count = first;
    }
  }
  pos[n] = next;
}

// As many threads as counting for n places is worth: each needs n counters of its own.
inline size_t counting_threads(size_t entries, int64_t n) {
  const size_t threads = thread_count(entries);
  return static_cast<size_t>(n) > entries / 2 ? 1 : threads;
}

// Entries that go all over memory are announced so many before they come.
constexpr int kAhead = 24;

inline void prefetch_to_write([[maybe_unused]] const void *address) {
#if defined(__GNUC__)
  __builtin_prefetch(address, 1);
#endif
}

} // namespace mlir_sparse
