// Counters of the coordinates of a dimension. They do not depend on Python.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "block.hpp"
#include "degrees.hpp"

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

// Counters have a byte each: a million of them stay in the cache. Entries are counted in parts, one by each thread.
//
// An addition to a counter waits for the one before it, where neighbours have the same coordinate. Each part has two
// counters of each coordinate, where they are few, which take turns.
class ByteCounters {
public:
  ByteCounters(std::int64_t extent, std::size_t parts);

  std::uint8_t *of_part(std::size_t part) { return of(part * ways_); }
  // How far behind a counter the other of the same coordinate is; 0 where there is one.
  std::int64_t other() const { return ways_ > 1 ? extent_ : 0; }
  Carries &carries(std::size_t part) { return carries_[part]; }

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

// Counters of the coordinates that are there, found by hashing.
class HashedCounters {
public:
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

private:
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

  std::vector<Slot> slots_ = std::vector<Slot>(1024);
  std::size_t used_ = 0;
};

// Whether so few of the coordinates have an entry that hashing takes less time, and no more memory, than counters.
bool are_few(std::int64_t entries, std::int64_t extent);

}  // namespace mlir_sparse
