// Fast validation of lists of entries: every coordinate in range, in row-major order, each entry once.

#pragma once

#include <cstdint>

namespace mlir_sparse {

// Coordinates of entries, in 32 bits or, if `wide`, in 64: of each dimension in turn, or `interleaved`, of each entry.
struct ListedEntries {
  const void *data;
  int64_t count, rank;
  bool wide, interleaved;
};

// Whether all coordinates are from 0 to shape - 1, and each entry comes after the one before it in row-major order.
bool entries_in_order(const ListedEntries &entries, const int64_t *shape);

}  // namespace mlir_sparse
