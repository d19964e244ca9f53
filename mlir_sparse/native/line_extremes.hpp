// The first positions of greatest and least elements of rows and columns, where missing entries are zeros. It does not
// depend on Python.
#pragma once

#include <cstdint>

#include "choose.hpp"

namespace mlir_sparse {

// Values as they are compared: integers without sign, with sign, or floats, of so many bytes.
struct Compared {
  const char *data;
  char kind;  // u, i or f
  int bytes;
};

// Writes for each row which coordinate, below `extent`, has its greatest or least element; the first of equals, and the
// first NaN where there is one. Coordinates ascend in each row, and `extent` is not 0.
void best_in_rows(const Rows &rows, const Compared &values, std::int64_t extent, bool largest, std::int64_t *found);

// Writes for each coordinate below `extent` in which row its greatest or least element is. There is a row or more.
void best_over_rows(const Rows &rows, const Compared &values, std::int64_t extent, bool largest, std::int64_t *found);

}  // namespace mlir_sparse
