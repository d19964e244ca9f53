// Memory of results: reserved for their greatest size, trimmed to the actual size, freed by its owner.
#pragma once

#include <cstddef>

#include <pybind11/numpy.h>

#include "block.hpp"

namespace mlir_sparse {

// Returns an uninitialised array. Unused capacity costs nothing (see `Block`). Throws std::bad_alloc.
pybind11::array reserve(std::size_t length, const pybind11::dtype &dtype, bool zeroed);

// Returns a range of an array from `reserve` as a new array, which owns the memory from now on. The rest is freed if
// that is worthwhile. The old array must not be used again.
pybind11::array trim(const pybind11::array &array, std::size_t length, std::size_t begin);

// Returns an array of the first items of a block, which owns the block from now on; the rest is freed if worthwhile.
pybind11::array array_of(Block &&block, std::size_t length, const pybind11::dtype &dtype, bool writeable);

}  // namespace mlir_sparse
