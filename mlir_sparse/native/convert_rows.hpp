// Conversions of a matrix stored by rows (or, with the words exchanged, by columns) that need no sorting.

#pragma once

#include <cstddef>
#include <cstdint>

namespace mlir_sparse {

// A matrix by rows, its positions and coordinates of 32 or 64 bits each; where coordinates must ascend, it is said.
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
};

// Rows and columns change places; `pos` has columns + 1 numbers, of the widths of the source.
void transpose(const RowMatrix &from, void *pos, void *crd, void *values);

// Writes each entry's row before its column, or, with `rows_only`, the rows alone; copies the values.
void list_entries(const RowMatrix &from, bool rows_only, void *coordinates, void *values);

// Where the blocks of each row of blocks begin; coordinates ascend. Returns how many blocks there are.
int64_t count_blocks(const RowMatrix &from, int64_t height, int64_t width, void *pos);

// Fills the blocks that count_blocks has found, by rows; `values` are zeros before.
void fill_blocks(const RowMatrix &from, int64_t height, int64_t width, const void *pos, void *crd, void *values);

} // namespace mlir_sparse
