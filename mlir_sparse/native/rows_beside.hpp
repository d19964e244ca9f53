// Rows of several matrices joined row by row, and entries of lines listed by the other coordinate. It does not depend on
// Python.
#pragma once

#include <cstdint>
#include <vector>

#include "concatenate.hpp"
#include "pack_plain.hpp"

namespace mlir_sparse {

// A matrix beside others: where its rows begin, one more than it has, their coordinates, each to be shifted, and values.
struct RowsBeside {
  const std::int64_t *begins = nullptr;
  Items coordinates;
  std::int64_t shift = 0;
  Items values;
};

// Writes where rows of all matrices start together, and their end.
void start_rows_beside(const std::vector<RowsBeside> &parts, std::int64_t rows, std::int64_t *starts);

// Writes each row's entries of the first matrix, then those of the next, from starts[row] on. Coordinates are written in
// their width or in 64 bits. All items but coordinates that are read lie one after the other.
void write_rows_beside(const std::vector<RowsBeside> &parts, std::int64_t rows, const std::int64_t *starts,
                       const Items &coordinates, const Items &values);

// Entries of lines: where each line begins, and its coordinates, which are less than `extent`.
struct ListedLines {
  std::int64_t lines = 0;
  const std::int64_t *begins = nullptr;
  IntBuffer coordinates;
  std::int64_t extent = 0;
  const std::uint8_t *kept = nullptr;  // which entries count: all without
};

// Writes the line and the coordinate of each entry that counts, by line.
void list_by_line(const ListedLines &from, std::int64_t *line, std::int64_t *coordinate);

// Writes the same by coordinate, then by line.
void list_by_coordinate(const ListedLines &from, std::int64_t *line, std::int64_t *coordinate);

}  // namespace mlir_sparse
