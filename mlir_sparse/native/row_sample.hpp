// Where a square matrix has entries, by a sample of them. It does not depend on Python.
#pragma once

#include <array>
#include <cstdint>

#include "pack_plain.hpp"

namespace mlir_sparse {

// What is found about a sample of a matrix that is stored by rows.
struct RowSample {
  static constexpr int kBits = 64;  // bits of an offset
  double mirrored = 0;              // the share of entries at (i, j) for which there is one at (j, i)
  bool alike = true;                // whether values have the same bits
  // The share of entries by the bits of column - row, with its sign: that of 0 bits is at kBits.
  std::array<double, 2 * kBits + 1> shares{};
};

// Looks at the same entries each time: there is one or more. Positions are contiguous, coordinates ascend in each row.
RowSample sample_rows(const IntBuffer &positions, const IntBuffer &coordinates, const char *values,
                      std::int64_t itemsize);

}  // namespace mlir_sparse
