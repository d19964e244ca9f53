// Degrees of coordinates with gaps among them. It does not depend on Python.
#pragma once

#include <cstdint>
#include <vector>

#include "degrees.hpp"
#include "kept_numbers.hpp"

namespace mlir_sparse {

// Coordinates of so many parents: those of parent p are at positions segments[2 p] to segments[2 p + 1].
struct LooseColumn {
  IntBuffer segments;
  IntBuffer coordinates;
  std::int64_t parents;
  std::int64_t extent;
};

struct LooseDegrees {
  Degrees degrees;
  KeptNumbers begins;  // of each parent's entries, as if there were no gaps, and the end of the last
};

// Throws std::out_of_range for segments that are not in the coordinates.
LooseDegrees count_loose(const LooseColumn &column);

// Coordinates in as many places for each coordinate of dense levels of these sizes, outermost first; the negative ones
// are empty.
struct TableColumn {
  IntBuffer coordinates;
  std::int64_t extent;
  std::vector<std::int64_t> sizes;
};

// Returns the degrees in each dense level, and in the level of the coordinates. There are as many places for each.
std::vector<Degrees> count_table(const TableColumn &column);

}  // namespace mlir_sparse
