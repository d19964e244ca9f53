// What holds of all values of an array. It does not depend on Python: callers release the GIL.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mlir_sparse {

// Whether `count` values of `itemsize` bytes each have the same bits; true of none.
bool are_equal(const char *values, std::int64_t count, std::int64_t itemsize);

// Whether none of `count` aligned floating-point numbers of 4 or 8 bytes is an infinity or NaN; true of none.
bool are_finite(const char *values, std::int64_t count, std::int64_t itemsize);

// Lists the places of values that are not 0, in order, of `count` aligned ones of 1, 2, 4 or 8 bytes: integers, or
// floating-point numbers, of which -0.0 is 0 and NaN is not. Returns whether there are at most `limit`; where there are
// more, not all are listed.
bool nonzero_places(const char *values, std::int64_t count, std::int64_t itemsize, bool floating, std::size_t limit,
                    std::vector<std::int64_t> &found);

}  // namespace mlir_sparse
