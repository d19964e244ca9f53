// Memory of results: reserved for their greatest size, trimmed to the actual size, freed by its owner.
#pragma once

#include <cstddef>
#include <vector>

#include <pybind11/numpy.h>

#include "block.hpp"

namespace mlir_sparse {

// Returns an uninitialised array. Unused capacity costs nothing (see `Block`). Throws std::bad_alloc.
pybind11::array reserve(std::size_t length, const pybind11::dtype &dtype, bool zeroed);

// The bytes from which on dense results have memory of their own: smaller ones are as quick from NumPy.
constexpr std::size_t kLargeArray = std::size_t{1} << 16;

// Returns an uninitialised array for a dense result. A large one begins with a cache line, as vectors of its rows are
// added to faster then, and has the memory of one that is gone where there is some. Throws std::bad_alloc.
pybind11::array dense_array(const std::vector<pybind11::ssize_t> &shape, const pybind11::dtype &dtype);

// Returns a range of an array from `reserve` as a new array, which owns the memory from now on. The rest is freed if
// that is worthwhile. The old array must not be used again.
pybind11::array trim(const pybind11::array &array, std::size_t length, std::size_t begin);

// Returns an array of the first items of a block, which owns the block from now on; the rest is freed if worthwhile.
pybind11::array array_of(Block &&block, std::size_t length, const pybind11::dtype &dtype, bool writeable);

}  // namespace mlir_sparse
