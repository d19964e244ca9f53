// Entries written to their places in a dense array. It does not depend on Python.
#pragma once

#include <cstdint>
#include <vector>

#include "pack_plain.hpp"

namespace mlir_sparse {

// Listed entries: parent p has those from begins[p] to begins[p + 1] - 1, each with `extents.size()` coordinates, one
// after the other. An entry's element of the array is the sum of coordinates, its parent's number among them, times
// strides.
struct DenseEntries {
  IntBuffer begins, coordinates;  // contiguous
  std::int64_t parent_stride;
  std::vector<std::int64_t> extents, strides;
};

// Writes the values, of 1, 2, 4, 8 or 16 bytes, to elements of `out`, each its own. Returns whether all coordinates are
// within their extents, without which nothing beyond is written.
bool write_dense(const DenseEntries &entries, std::int64_t bytes, const char *values, char *out);

}  // namespace mlir_sparse
