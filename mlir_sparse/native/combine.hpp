// Results of several pieces put together, element by element.

#pragma once

#include <cstddef>
#include <string>

namespace mlir_sparse {

// Takes elements begin to end of `other` into `result`.
using Combine = void (*)(void *result, const void *other, std::size_t begin, std::size_t end);

// Returns what combines elements, by the operator and NumPy's name of the element type as in "sum float64"; null for
// what nothing here combines.
Combine combine_of(const std::string &name);

// Writes copies of an element.
void fill_with(void *result, const std::string &element, std::size_t begin, std::size_t end);

}  // namespace mlir_sparse
