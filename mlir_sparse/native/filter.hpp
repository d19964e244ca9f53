// Entries that a mask keeps, and places of one shape in another. It does not depend on Python.
#pragma once

#include <cstdint>
#include <vector>

namespace mlir_sparse {

// Entries of segments: those of segment s are begins[s] to begins[s + 1] - 1, and segments follow one another.
struct MaskedSegments {
  std::int64_t count = 0;
  const std::int64_t *begins = nullptr;
  const char *mask = nullptr;  // a byte an entry, 0 for one that is left out
};

// Writes how many entries before each segment, and before the end, are kept.
void count_kept(const MaskedSegments &segments, std::int64_t *starts);

// Copies the records of entries that are kept, of so many bytes each, given what `count_kept` wrote.
void copy_kept(const MaskedSegments &segments, const std::int64_t *starts, const char *records, std::int64_t bytes,
               char *out);

// Coordinates of one dimension, of 32 or 64 bits.
struct PlaceColumn {
  const char *data = nullptr;
  int width = 64;
};

// Writes the coordinates in `wanted` of the places that columns have in `given`, both shapes of as many places as 64
// bits number. `out` has a column of `width` bits for each axis of `wanted`.
void relocate(const std::vector<PlaceColumn> &columns, std::int64_t count, const std::vector<std::int64_t> &given,
              const std::vector<std::int64_t> &wanted, int width, const std::vector<char *> &out);

}  // namespace mlir_sparse
