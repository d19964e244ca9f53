// Combines the results of several chunks, element by element.

#pragma once

#include <cstddef>
#include <string>

namespace mlir_sparse {

// Combines elements begin to end of `other` into `result`.
using Combine = void (*)(void *result, const void *other, std::size_t begin, std::size_t end);

// Returns the function for an operator and NumPy's name of the element type, such as "sum float64", or null.
Combine combine_of(const std::string &name);

}  // namespace mlir_sparse
