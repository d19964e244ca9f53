// Degrees: how many entries each coordinate of a dimension has. It does not depend on Python.
#pragma once

#include <cstdint>
#include <vector>

#include "pack_plain.hpp"

namespace mlir_sparse {

struct Degrees {
  double distinct = 0;  // coordinates of degree 1 or more
  double largest = 0;
  double squares = 0;  // sum of squares: it may not fit in 64-bit integers
  double last = 0;     // degree of the last coordinate of the extent, if coordinates were counted
};

// Degrees are the differences of `begins`, which ascend and are contiguous.
Degrees degrees_of_segments(const IntBuffer &begins);

// The same of begins[above[0]], begins[above[1]], ...
Degrees degrees_of_segments(const IntBuffer &begins, const IntBuffer &above);

// Equal coordinates are neighbours.
Degrees degrees_of_runs(const IntBuffer &coordinates);

// Coordinates are in any order, from 0 to extent - 1. It takes extent bytes a thread, but at most some 40 an entry.
Degrees count_degrees(const IntBuffer &coordinates, std::int64_t extent);

// The same, where coordinate p stands for begins[p + 1] - begins[p] entries: `begins` has 32 or 64 bits, is contiguous
// and longer by one than the coordinates.
Degrees count_degrees(const IntBuffer &coordinates, std::int64_t extent, const IntBuffer &begins);

// Coordinates of all entries in one dimension. They are in any order, from 0 to extent - 1, or equal ones are neighbours.
struct Column {
  IntBuffer coordinates;
  std::int64_t extent;
  bool in_runs;
};

// The same of several dimensions of the same entries, for which entries are read once. One of the columns at most is in
// runs.
std::vector<Degrees> count_columns(const std::vector<Column> &columns);

}  // namespace mlir_sparse
