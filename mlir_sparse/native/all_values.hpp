// What holds of all values of an array. It does not depend on Python: callers release the GIL.
#pragma once

#include <cstdint>

namespace mlir_sparse {

// Whether `count` values of `itemsize` bytes each have the same bits; true of none.
bool are_equal(const char *values, std::int64_t count, std::int64_t itemsize);

// Whether none of `count` aligned floating-point numbers of 4 or 8 bytes is an infinity or NaN; true of none.
bool are_finite(const char *values, std::int64_t count, std::int64_t itemsize);

}  // namespace mlir_sparse
