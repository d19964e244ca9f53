// Rows of arrays, and segments of buffers, taken at places. It does not depend on Python.
#pragma once

#include <cstdint>

#include "pack_plain.hpp"

namespace mlir_sparse {

// Integers of 8 to 64 bits that may be negative, one after the other.
struct Places {
  const char *data = nullptr;
  std::int64_t length = 0;
  int width = 64;
};

// Writes row places[k] of `rows` rows of so many bytes each to row k of `out`. Returns the number of the first place
// that is no row, in which case `out` is undefined; -1 if there is none.
std::int64_t take_rows(const char *source, std::int64_t rows, std::int64_t bytes, const Places &places, char *out);

// Writes elements begins[places[k]] to begins[places[k] + 1] - 1 of `source`, of so many bytes each, to `out` from
// starts[k] on. All places are in range, and `out` has room.
void take_segments(const char *source, std::int64_t bytes, const IntBuffer &begins, const Places &places,
                   const std::int64_t *starts, char *out);

}  // namespace mlir_sparse
