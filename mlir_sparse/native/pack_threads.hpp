// Loops over entries on several threads. It does not depend on Python: callers release the GIL.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "prefetch_distances.hpp"
#include "pack_plain.hpp"
#include "threads.hpp"

namespace mlir_sparse {

// The number of threads for a number of entries: the limit (`threads.hpp`), or one if starting another would take
// longer than the work.
size_t thread_count(size_t entries);

// Runs work(0) to work(parts - 1) in parallel; rethrows the exception of the first that throws.
void in_parallel(size_t parts, const std::function<void(size_t)> &work);

// The begins of nearly equal parts of `count` items, and the end of the last.
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

// For each of n keys and each part of the entries the next free place; parts first count their entries there.
template <class P>
class KeyPlaces {
public:
  // `pos` has n + 1 numbers; at the end it has the begins of each key's entries.
  KeyPlaces(size_t parts, int64_t n, P *pos) : parts_(parts), n_(n), pos_(pos), own_(parts > 1 ? parts * n : 0) {}

  // A single part needs no further memory: the end of a key's entries is the begin of the next key's.
  P *of(size_t part) { return parts_ == 1 ? pos_ + 1 : own_.data() + static_cast<int64_t>(part) * n_; }

  void clear(size_t part) { std::fill(of(part), of(part) + n_, P{0}); }

  // Turns the counts of all parts into places; with several parts this fills `pos`.
  void settle() {
    if (parts_ == 1) {
      pos_[0] = 0;
      std::exclusive_scan(pos_ + 1, pos_ + 1 + n_, pos_ + 1, P{0});
      return;
    }
    const auto begins = even_parts(static_cast<size_t>(n_), parts_);
    std::vector<P> first(parts_ + 1);
    in_parallel(parts_, [&](size_t range) {
      for (size_t part = 0; part < parts_; ++part)
        first[range + 1] = std::accumulate(of(part) + begins[range], of(part) + begins[range + 1], first[range + 1]);
    });
    std::partial_sum(first.begin(), first.end(), first.begin());
    in_parallel(parts_, [&](size_t range) { settle_range(begins[range], begins[range + 1], first[range]); });
    pos_[n_] = first[parts_];
  }

private:
  void settle_range(size_t begin, size_t end, P next) {
    for (size_t i = begin; i < end; ++i) {
      pos_[i] = next;
      for (size_t part = 0; part < parts_; ++part)
        next += std::exchange(of(part)[i], next);
    }
  }

  size_t parts_;
  int64_t n_;
  P *pos_;
  Scratch<P> own_;
};

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

// Whether entries are so few that what is made of them stays in the second-level cache, by the machine's profile.
inline bool are_near(size_t entries) { return entries <= joined_work(); }

// Whether the keys of neighbouring entries are spread over their range, by a few samples: prefetching then pays. Of few
// entries the samples alone would take half of the time.
template <class Key>
bool are_scattered(int64_t begin, int64_t end, const Key &key) {
  if (are_near(static_cast<size_t>(end - begin))) return false;
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

// Assigns places to entries that scatter over memory, and prefetches them: `next` has the next free place for each key,
// and the place of an entry is taken as many entries early as the machine's profile says, at least one.
template <class P, class Key, class Announce>
class PlacesAhead {
public:
  PlacesAhead(int64_t begin, int64_t end, P *next, const Key &key, const Announce &announce)
      : next_(next), end_(end), key_(key), announce_(announce) {
    for (int64_t e = begin; e < end && e < begin + ahead_; ++e)
      reserve(e);
  }

  // To be called for each entry in turn.
  P take(int64_t e) {
    const P place = reserved_[e & (ahead_ - 1)];
    if (e + ahead_ < end_) reserve(e + ahead_);
    return place;
  }

private:
  void reserve(int64_t e) {
    const P place = next_[key_(e)]++;
    reserved_[e & (ahead_ - 1)] = place;
    announce_(place);
  }

  const int64_t ahead_ = std::max<int64_t>(gather_distance(), 1);  // a power of 2
  P *next_;
  int64_t end_;
  Key key_;
  Announce announce_;
  P reserved_[kMostAhead];
};

} // namespace mlir_sparse
