// Conversions of a matrix stored by rows (or, with the words exchanged, by columns) that need no sorting.

#pragma once

#include <cstddef>
#include <cstdint>

#include "pack_plain.hpp"
#include "pack_values.hpp"

namespace mlir_sparse {

// A matrix by rows, with positions and coordinates of 32 or 64 bits each; functions state if coordinates must ascend.
struct RowMatrix {
  int64_t rows;
  int64_t columns;
  int64_t count;
  int pos_width;
  int crd_width;
  int64_t itemsize;
  const void *pos;
  const void *crd;
  const void *values;
  int64_t crd_stride = 1; // how many numbers a coordinate is after the one before it; looked at where it is said
};

// Runs f with a position and a coordinate of the types that they have.
template <class F>
auto with_widths(const RowMatrix &matrix, const F &f) {
  return with_wide(matrix.pos_width, [&](auto p) {
    return with_wide(matrix.crd_width, [&](auto c) { return f(p, c); });
  });
}

// The same with a value.
template <class F>
auto with_matrix(const RowMatrix &matrix, const F &f) {
  return with_widths(matrix, [&](auto p, auto c) {
    return with_itemsize(matrix.itemsize, [&](auto v) { return f(p, c, v); });
  });
}

// Entries in the order of their rows; rows and coordinates are of one width, 32 or 64, `stride` numbers apart.
struct RowList {
  int64_t rows;
  int64_t count;
  int width;
  int64_t stride;
  int64_t itemsize;
  const void *row_crd;
  const void *crd;
  const void *values;
};

// Fills positions and, unless they are null, coordinates and values, all of the list's widths.
void list_to_rows(const RowList &from, void *pos, void *crd, void *values);

// Transposes; `pos` has columns + 1 numbers in the widths of the source. Respects crd_stride.
void transpose(const RowMatrix &from, void *pos, void *crd, void *values);

// Writes each entry's row before its column, or, with `rows_only`, the rows alone; copies the values where there is memory for
// them.
void list_entries(const RowMatrix &from, bool rows_only, void *coordinates, void *values);

// Computes the begins of the blocks in each row of blocks; coordinates ascend. Returns the number of blocks.
int64_t count_blocks(const RowMatrix &from, int64_t height, int64_t width, void *pos);

// Fills the blocks found by count_blocks, by rows; `values` must be zeroed.
void fill_blocks(const RowMatrix &from, int64_t height, int64_t width, const void *pos, void *crd, void *values);

} // namespace mlir_sparse
