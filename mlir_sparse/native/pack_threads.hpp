// Loops over entries on several threads. Nothing here knows of Python: the GIL is released around it.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <utility>
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
  const auto begins = even_parts(static_cast<size_t>(n), parts);
  std::vector<P> first(parts + 1);
  const auto for_counts = [&](size_t range, const auto &f) {
    for (auto i = static_cast<int64_t>(begins[range]); i < static_cast<int64_t>(begins[range + 1]); ++i)
      for (size_t part = 0; part < parts; ++part)
        f(i, part, counts[static_cast<int64_t>(part) * n + i]);
  };
  in_parallel(parts > 1 ? parts : 0, [&](size_t range) {
    for_counts(range, [&](int64_t, size_t, P count) { first[range + 1] += count; });
  });
  std::partial_sum(first.begin(), first.end(), first.begin());
  in_parallel(parts, [&](size_t range) {
    P next = first[range];
    for_counts(range, [&](int64_t i, size_t part, P &count) {
      if (part == 0) pos[i] = next;
      next += std::exchange(count, next);
    });
    if (range == parts - 1) pos[n] = next;
  });
}

// As many threads as counting for n places is worth: each needs n counters of its own.
inline size_t counting_threads(size_t entries, int64_t n) {
  const size_t threads = thread_count(entries);
  return static_cast<size_t>(n) > entries / 2 ? 1 : threads;
}

inline void prefetch_to_write([[maybe_unused]] const void *address) {
#if defined(__GNUC__)
  __builtin_prefetch(address, 1);
#endif
}

inline void prefetch_to_read([[maybe_unused]] const void *address) {
#if defined(__GNUC__)
  __builtin_prefetch(address);
#endif
}

// Whether the keys of neighbours are all over their range, by a few samples: places are then worth announcing.
template <class Key>
bool are_scattered(int64_t begin, int64_t end, const Key &key) {
  constexpr int64_t kSamples = 16, kLength = 128, kLine = 16; // so many keys have their places about together
  int64_t apart = 0, seen = 0;
  for (int64_t sample = 0; sample < kSamples; ++sample) {
    const int64_t first = begin + (end - begin) / kSamples * sample, last = std::min(end, first + kLength);
    int64_t lines[kLength];
    int64_t *stop = lines;
    for (int64_t e = first; e < last; ++e)
      *stop++ = key(e) / kLine;
    std::sort(lines, stop);
    apart += std::unique(lines, stop) - lines;
    seen += last - first;
  }
  return 3 * apart > seen;
}

// Hands out the places of entries that go all over memory, and announces them long before they come: `next` holds the
// next free place for each key, and the place of an entry is taken, once and for all, kAhead entries early.
template <class P, class Key, class Announce>
class PlacesAhead {
public:
  PlacesAhead(int64_t begin, int64_t end, P *next, const Key &key, const Announce &announce)
      : next_(next), end_(end), key_(key), announce_(announce) {
    for (int64_t e = begin; e < end && e < begin + kAhead; ++e)
      reserve(e);
  }

  // To be called for each entry in turn.
  P take(int64_t e) {
    const P place = reserved_[e % kAhead];
    if (e + kAhead < end_) reserve(e + kAhead);
    return place;
  }

private:
  static constexpr int64_t kAhead = 32;

  void reserve(int64_t e) {
    const P place = next_[key_(e)]++;
    reserved_[e % kAhead] = place;
    announce_(place);
  }

  P *next_;
  int64_t end_;
  Key key_;
  Announce announce_;
  P reserved_[kAhead];
};

} // namespace mlir_sparse
