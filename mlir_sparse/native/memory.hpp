// Memory of results: reserved for what they may come to, given back beyond what they did, freed by its owner.
#pragma once

#include <cstddef>

#include <pybind11/numpy.h>

namespace mlir_sparse {

// Returns an array of items that nobody has written. Much memory is reserved as addresses only: the system gives a page
// when it is first touched, so that room for more than there will be costs nothing. Throws std::bad_alloc.
pybind11::array reserve(std::size_t length, const pybind11::dtype &dtype, bool zeroed);

// Returns items of an array from `reserve` as an array of their own, which owns the memory from now on. The rest goes
// back to the system where it is worth it. The array given is not to be used again.
pybind11::array trim(const pybind11::array &array, std::size_t length, std::size_t begin);

}  // namespace mlir_sparse
