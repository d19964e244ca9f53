// Degrees of coordinates with gaps among them. It does not depend on Python.
#pragma once

#include <cstdint>

#include "degrees.hpp"
#include "kept_numbers.hpp"

namespace mlir_sparse {

// Coordinates of so many parents: those of parent p are at positions segments[2 p] to segments[2 p + 1], or, without
// segments, in as many places for each parent, of which the negative ones are empty.
struct GappedColumn {
  IntBuffer segments;
  IntBuffer coordinates;
  std::int64_t parents;
  std::int64_t extent;
};

struct GappedDegrees {
  Degrees degrees;
  KeptNumbers begins;  // of each parent's entries, as if there were no gaps, and the end of the last
};

// Throws std::out_of_range for segments that are not in the coordinates.
GappedDegrees count_gapped(const GappedColumn &column);

}  // namespace mlir_sparse
