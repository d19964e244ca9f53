// Values in their places: moved by size, added by type.

#pragma once

#include "element_types.hpp"

namespace mlir_sparse {

struct Wide {
  uint64_t words[2];
};

// Runs f with an unsigned type of the element's size: rows are moved, not added.
template <class F>
auto with_itemsize(int64_t size, F &&f) {
  switch (size) {
  case 1: return f(uint8_t{});
  case 2: return f(uint16_t{});
  case 4: return f(uint32_t{});
  case 8: return f(uint64_t{});
  default: return f(Wide{});
  }
}

// The places of entries (none: all at the first), and their original order if they had to be sorted.
struct ValuePlaces {
  const int64_t *place;
  const uint64_t *order;
  size_t count;
};

// Adds each value to the value at its place; without gaps the places need not be initialised.
void place_values(const std::string &dtype, const void *from, void *to, const ValuePlaces &places, bool has_gaps);

// Moves values that all have places of their own, one after the other.
void gather_values(int64_t itemsize, const void *from, void *to, const uint64_t *order, size_t count);

} // namespace mlir_sparse
