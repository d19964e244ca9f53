// Fast validation of the common case: one valid compressed level.

#pragma once

#include <cstdint>

#include "pack_plain.hpp"

namespace mlir_sparse {

// Whether all coordinates are from 0 to size - 1 and ascend strictly in every row, and positions never decrease and end
// with the number of coordinates. Returns false for widths other than 32 and 64 bits and for buffers with gaps.
bool rows_in_order(int64_t rows, const IntBuffer &pos, const IntBuffer &crd, int64_t size);

} // namespace mlir_sparse
