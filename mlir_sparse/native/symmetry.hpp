// Whether a square matrix is its own transpose, bit for bit. It does not depend on Python: callers release the GIL.
#pragma once

#include <cstdint>

#include "pack_plain.hpp"

namespace mlir_sparse {

// Whether each entry (i, j) has one (j, i) with the same bits, one for one, in rows of ascending coordinates. Of rows
// that do not ascend, and of positions or coordinates beyond their buffers, it may say no; what it affirms is true.
// `positions` and `coordinates` are contiguous, and `values` has `itemsize` bytes for each coordinate.
bool is_symmetric(const IntBuffer &positions, const IntBuffer &coordinates, const char *values, std::int64_t itemsize);

}  // namespace mlir_sparse
