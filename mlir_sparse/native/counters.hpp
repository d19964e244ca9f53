// Counters of the coordinates of a dimension. They do not depend on Python.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "block.hpp"
#include "degrees.hpp"
#include "pack_threads.hpp"

namespace mlir_sparse {

// What does not fit in a coordinate's counter, in units of 256 entries. No more of these are made than one for each 256
// entries.
struct Carry {
  std::int64_t coordinate;
  std::int64_t units;
};

using Carries = std::vector<Carry>;

// Out of the loops that count: a call there costs as many registers as these need.
void add_carry(Carries &carries, std::int64_t coordinate, std::int64_t units);

// The counters of a part of the entries: two of each coordinate where there are few, else `odd` is `even`.
struct PartCounters {
  std::uint8_t *even, *odd;
  Carries *carries;
};

// Counters have a byte each: a million of them stay in the cache. Entries are counted in parts, one by each thread.
class ByteCounters {
public:
  ByteCounters(std::int64_t extent, std::size_t parts);

  PartCounters part(std::size_t part) {
    return {of(part * ways_), of(part * ways_ + ways_ - 1), &carries_[part]};
  }

  // The degrees by all parts; counters are spent.
  Degrees total();

private:
  std::uint8_t *of(std::size_t table) {
    return reinterpret_cast<std::uint8_t *>(block_.data()) + static_cast<std::int64_t>(table) * extent_;
  }

  std::int64_t extent_;
  std::size_t ways_;
  Block block_;
  std::vector<Carries> carries_;
};

inline void count_one(std::int64_t coordinate, std::uint8_t *counters, Carries *carries) {
  if (++counters[coordinate] == 0) add_carry(*carries, coordinate, 1);
}

// Counts at(begin) to at(end - 1) by turns: where neighbours have one coordinate, an addition to a counter waits for
// the one before it. All by value: the compiler takes it that a counter may be anywhere, and would read the rest again.
template <class At>
void count_by_turns(At at, std::int64_t begin, std::int64_t end, PartCounters counters) {
  std::int64_t k = begin;
  for (; k + 1 < end; k += 2) {
    count_one(at(k), counters.even, counters.carries);
    count_one(at(k + 1), counters.odd, counters.carries);
  }
  if (k < end) count_one(at(k), counters.even, counters.carries);
}

// So many numbers of a stream are read between two requests for those to come.
constexpr std::int64_t kTogether = 16;

// Asks for `bytes` of a stream that are to be read soon. Processors look ahead in a page only, and take half as long
// again to go through all of them.
inline void ask_ahead(const char *at, std::int64_t bytes) {
  constexpr std::int64_t kAhead = 4096, kLine = 64;
  const auto begin = reinterpret_cast<std::uintptr_t>(at) + kAhead;  // beyond the end, too: that is no access
  for (std::int64_t line = 0; line < bytes; line += kLine)
    prefetch_to_read(reinterpret_cast<const void *>(begin + static_cast<std::uintptr_t>(line)));
}

// Runs some(from, to) for all of begin to end, a few at a time, between requests for those numbers to come.
template <class Some>
void in_stream(const IntBuffer &stream, std::int64_t begin, std::int64_t end, const Some &some) {
  const std::int64_t stride = stream.stride;
  std::int64_t from = begin;
  for (; from + kTogether <= end; from += kTogether) {
    ask_ahead(stream.data + from * stride, kTogether * stride);
    some(from, from + kTogether);
  }
  some(from, end);
}

// Counters of the coordinates that are there, found by hashing.
class HashedCounters {
public:
  HashedCounters() : HashedCounters(kFewest / 2) {}

  // Room for so many coordinates.
  explicit HashedCounters(std::size_t expected) {
    std::size_t slots = kFewest;
    while (slots / 2 < expected) slots *= 2;
    slots_.resize(slots);
  }

  void add(std::int64_t coordinate, std::int64_t degree) {
    if (2 * used_ >= slots_.size()) grow();
    Slot &slot = find(coordinate);
    if (slot.coordinate < 0) {
      slot.coordinate = coordinate;
      ++used_;
    }
    slot.degree += degree;
  }

  Degrees total(std::int64_t extent);

  // Runs some(degree) for the degree of each coordinate that is there, and for zeros.
  template <class Some>
  void visit(const Some &some) const {
    for (const Slot &slot : slots_) some(slot.degree);
  }

private:
  static constexpr std::size_t kFewest = 1024;

  struct Slot {
    std::int64_t coordinate = -1, degree = 0;
  };

  // The slot of a coordinate, or the one that it would get.
  Slot &find(std::int64_t coordinate) {
    auto hash = static_cast<std::uint64_t>(coordinate);
    hash = (hash ^ (hash >> 32)) * 0x9e3779b97f4a7c15;
    std::size_t at = (hash ^ (hash >> 32)) & (slots_.size() - 1);
    while (slots_[at].coordinate >= 0 && slots_[at].coordinate != coordinate) at = (at + 1) & (slots_.size() - 1);
    return slots_[at];
  }

  void grow();

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

// Whether so few of the coordinates have an entry that hashing takes less time, and no more memory, than counters.
bool are_few(std::int64_t entries, std::int64_t extent);

}  // namespace mlir_sparse
