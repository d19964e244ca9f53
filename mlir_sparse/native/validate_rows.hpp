// The common case of validation at full speed: one compressed level, nothing wrong with it.

#pragma once

#include <cstdint>

#include "pack_plain.hpp"

namespace mlir_sparse {

// Whether all coordinates are from 0 to size - 1 and ascend strictly in every row; positions never turn back, and end
// with the number of coordinates. Buffers of other widths than 32 and 64 bits or with gaps are not looked at: false.
bool rows_in_order(int64_t rows, const IntBuffer &pos, const IntBuffer &crd, int64_t size);

} // namespace mlir_sparse
