// The degrees of all coordinates of a tensor whose levels are its dimensions. It does not depend on Python.
#pragma once

#include <cstdint>
#include <vector>

#include "degrees.hpp"

namespace mlir_sparse {

// A dense, compressed, loose compressed or singleton level with its buffers; those that it lacks have no data.
struct CountedLevel {
  Level level;
  bool has_empty;  // whether negative coordinates are empty places, as many for each place of the level above
  IntBuffer positions;
  IntBuffer coordinates;
};

// Returns the degrees in each level, outermost first, of a tensor with so many values. Positions are contiguous. Only the
// innermost level has gaps: is loose, or has empty places, below dense levels alone.
// Throws std::out_of_range where positions do not belong together.
std::vector<Degrees> degrees_of_levels(const std::vector<CountedLevel> &levels, std::int64_t values);

}  // namespace mlir_sparse
