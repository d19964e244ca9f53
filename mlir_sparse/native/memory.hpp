// Ownership of memory that compiled code allocated with malloc.
#pragma once

#include <cstddef>

#include <pybind11/numpy.h>

namespace mlir_sparse {

// Wraps `length` items at `data` as a NumPy array that frees `allocated` when the last view of it dies. Memory beyond
// the used length goes back to the allocator when there is much of it: compiled code grows its buffers by doubling.
pybind11::array adopt(void *allocated, void *data, std::size_t capacity, std::size_t length,
                      const pybind11::dtype &dtype);

}  // namespace mlir_sparse
