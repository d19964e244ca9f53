// Conversions between rows and lines (the slots of ELL, the diagonals of DIA), hash tables and dense blocks. A
// conversion to rows has two steps: count, so that buffers can be allocated, then fill.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "convert_rows.hpp"

namespace mlir_sparse {

// Row ranges for threads: the begin of each, and the begin of its entries.
struct RowShares {
  std::vector<int64_t> rows;
  std::vector<int64_t> entries;

  int64_t count() const { return entries.back(); }
};

// A place for every row in each of `lines` slots, by slot; or, `by_row`, in each slot of its table. Coordinates have 32
// or 64 bits; -1 is an empty place.
struct SlotMatrix {
  int64_t rows;
  int64_t lines;
  bool by_row;
  int crd_width;
  int64_t itemsize;
  const void *crd;
  const void *values;
};

// Diagonals j - i = offset, ascending, each with a value for every row; zeros, of either sign, are no entries.
struct DiagonalMatrix {
  int64_t rows;
  int64_t columns;
  int64_t lines;
  const int64_t *offsets;
  std::string dtype;
  const void *values;
};

// Rows of dense blocks; zeros, of either sign, are no entries.
struct BlockMatrix {
  int64_t rows;
  int64_t columns;
  int64_t height;
  int64_t width;
  int pos_width;
  int crd_width;
  std::string dtype;
  const void *pos;
  const void *crd;
  const void *values;
};

// Rows to fill: positions and coordinates are of one width, 32 or 64.
struct RowOutput {
  int width;
  void *pos;
  void *crd;
  void *values;
};

RowShares count_entries(const SlotMatrix &from);
RowShares count_entries(const DiagonalMatrix &from);
RowShares count_entries(const BlockMatrix &from);

// The entries of a row keep the order of their places, which ascends except in slots.
void fill_rows(const SlotMatrix &from, const RowShares &shares, const RowOutput &out);
void fill_rows(const DiagonalMatrix &from, const RowShares &shares, const RowOutput &out);
void fill_rows(const BlockMatrix &from, const RowShares &shares, const RowOutput &out);

// The length of the longest row.
int64_t longest_row(const RowMatrix &from);

// Puts entry n of a row into slot n; every place is written.
void rows_to_slots(const RowMatrix &from, int64_t lines, void *crd, void *values);

// Puts the entries of each row into a hash table of `places`, a power of two: each at its coordinate modulo that,
// or the first free place after it, around the end. Every place is written.
void rows_to_tables(const RowMatrix &from, int64_t places, void *crd, void *values);

// Sets present[j - i + rows - 1] for every entry.
void mark_diagonals(const RowMatrix &from, uint8_t *present);

// Puts the entries into diagonals; begins[j - i + rows - 1] is a diagonal's begin in the zeroed `values`.
void rows_to_diagonals(const RowMatrix &from, const int64_t *begins, void *values);

} // namespace mlir_sparse
