// Strict reading of lines of coordinates and values on several threads. It does not depend on Python.

#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

namespace mlir_sparse {

// The form of each line.
struct RowFormat {
  enum class Value { kNone, kReal, kInteger, kUnsigned, kComplex };

  std::vector<int64_t> extents;  // one a coordinate; INT64_MAX where the file does not say
  Value value;
  char comment;   // starts a comment, which lasts to the end of its line
  int64_t base;   // what coordinates count from
  bool narrow;    // whether coordinates are stored in 32 bits

  std::size_t width() const { return narrow ? 4 : 8; }
  std::size_t value_bytes() const { return value == Value::kNone ? 0 : value == Value::kComplex ? 16 : 8; }
  std::size_t words() const { return extents.size() + (value == Value::kNone ? 0 : value == Value::kComplex ? 2 : 1); }
};

// The arrays of rows: coordinates from 0, one array a dimension, and values.
struct TextColumns {
  std::vector<char *> coordinates;
  char *values;
};

// The fault of a line; becomes `_native.RowFault(kind, line, place, got, text)`.
struct RowFault : std::exception {
  std::string kind;   // words, integer, number, large, range, value, count
  int64_t line;       // from 1, in what has been read
  int64_t place;      // of the word on its line, from 0
  std::string word;   // what stands there
  std::string text;   // the line

  const char *what() const noexcept override { return kind.c_str(); }
};

// Reads text that ends with a newline; `fed` rows go behind the first `rows`, for which the arrays have space, a row
// for each line. Returns how many rows there are now, and adds to `lines` those read. `most` is how many there may be.
// Throws RowFault.
int64_t read_rows(const RowFormat &format, const char *begin, const char *end, const TextColumns &arrays, int64_t rows,
                  int64_t most, int64_t &lines);

// How many lines a text has.
int64_t count_lines(const char *begin, const char *end);

// The text of rows, which may be any range of them: coordinates from 1, a value in the digits that read back to it.
struct RowColumn {
  enum class Kind { kInt32, kInt64, kUnsigned, kFloat, kDouble };

  const char *data;
  Kind kind;
  std::size_t stride;  // in bytes
  int64_t shift;       // added to integers
};

std::string text_of_rows(const std::vector<RowColumn> &columns, int64_t begin, int64_t end);

}  // namespace mlir_sparse
