// Fast packing of dense levels with one compressed level below (CSR, CSC, sparse vectors, stacks of them): entries go
// to their rows by counting, then each row is sorted while it is in the cache.

#pragma once

#include <cstdint>
#include <string>

#include "pack_sort.hpp"

namespace mlir_sparse {

// Entries in range: the row and the coordinate in it, by entry, and the values.
template <class I>
struct RowEntries {
  const I *rows;
  const I *coordinates;
  const void *values;
  size_t count;
  int64_t itemsize;
  int64_t extent; // of the coordinates
};

// Rows to fill in: positions and coordinates are of one width, 32 or 64.
struct RowBuffers {
  int64_t rows;
  int width;
  void *pos;
  void *crd;
  void *values;
};

// Fills the buffers; returns whether some coordinate is stored twice in its row.
template <class I>
bool pack_rows(const RowEntries<I> &entries, const Scan &scan, const RowBuffers &out);

// Sorts each row stably; returns whether some coordinate is stored twice in its row.
bool sort_rows(const RowBuffers &rows, int64_t itemsize);

// Sums neighbours with equal coordinates, in place; returns the number of remaining entries.
int64_t sum_row_duplicates(const RowBuffers &rows, const std::string &dtype);

} // namespace mlir_sparse
