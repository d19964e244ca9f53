// Entries of compressed rows chosen by their coordinates, and single ones found. It does not depend on Python.
#pragma once

#include <cstdint>
#include <vector>

#include "pack_plain.hpp"

namespace mlir_sparse {

// The entries of rows: row r has those from begins[r] to begins[r + 1] - 1, each coordinate once, ascending.
struct Rows {
  std::int64_t count = 0;
  const std::int64_t *begins = nullptr;
  IntBuffer coordinates;  // contiguous
};

// The new coordinates of entries: coordinate c becomes numbers[firsts[c]] to numbers[firsts[c + 1] - 1], ascending; each
// number is of one coordinate.
struct Renumbering {
  const std::int64_t *firsts, *numbers;
};

// Writes how many entries each row has after a renumbering to counts[0], counts[1], ...
void count_chosen(const Rows &rows, const Renumbering &by, std::int64_t *counts);

// Writes the coordinates of each row after a renumbering, ascending and as wide as before, and the values beside them,
// from place starts[row] on. A value has 1, 2, 4, 8 or 16 bytes.
void write_chosen(const Rows &rows, const char *values, std::int64_t bytes, const Renumbering &by,
                  const std::int64_t *starts, char *coordinates_out, char *values_out);

// The coordinates low, low + step, ... of `count` of them; they become 0, 1, ..., or count - 1, ... where `reversed`.
struct Stretch {
  std::int64_t low = 0, step = 1, count = 0;
  bool reversed = false;
};

// Writes where the entries of each row in a stretch begin, to `firsts`, and how many they are, to counts.
void count_between(const Rows &rows, const Stretch &stretch, std::int64_t *firsts, std::int64_t *counts);

// Writes the new coordinates of each row's entries in a stretch, ascending and as wide as before, and the values beside
// them, from place starts[row] on. A value has 1, 2, 4, 8 or 16 bytes.
void write_between(const Rows &rows, const char *values, std::int64_t bytes, const Stretch &stretch,
                   const std::int64_t *firsts, const std::int64_t *starts, char *coordinates_out, char *values_out);

// Writes the places of the entries at row lines[k] and coordinate wanted[k], which are in range; -1 where there is none.
void find_entries(const Rows &rows, const std::int64_t *lines, const std::int64_t *wanted, std::int64_t count,
                  std::int64_t *found);

// Entries of a diagonal: how far along it each is, ascending, and its place among all entries.
struct OnDiagonal {
  std::vector<std::int64_t> along, entries;
};

// Returns the entries at row low + k and coordinate right + k, for k from 0 to count - 1, in parts that follow one
// another. The rows are in range, and no coordinate of a row is beyond 64 bits.
std::vector<OnDiagonal> find_diagonal(const Rows &rows, std::int64_t low, std::int64_t right, std::int64_t count);

}  // namespace mlir_sparse
