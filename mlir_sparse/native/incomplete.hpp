// Incomplete factors of sparse matrices, on the matrix' own structure. It does not depend on Python.
#pragma once

#include <cstdint>
#include <vector>

#include "triangle.hpp"

namespace mlir_sparse {

// Replaces the values of a square matrix in compressed rows by those of ILU(0): L below the diagonal, whose own is 1,
// and U from the diagonal on (Saad, Iterative methods for sparse linear systems, 2003, algorithm 10.4). Coordinates
// ascend. Returns the first row without a pivot other than zero, -1 if there is none.
std::int64_t factor_ilu0(const IntBuffer &positions, const IntBuffer &coordinates, TriangleValue type, void *values);

// The lower triangle of a matrix in compressed rows: `begins` gets a number for each row and one more; returns for each
// entry of the triangle where it is in the matrix.
std::vector<std::int64_t> lower_places(const IntBuffer &positions, const IntBuffer &coordinates, std::int64_t *begins);

// Replaces the values of a lower triangle in compressed rows by those of IC(0): L with L L* = A on the structure.
// Returns the first row without a positive pivot, -1 if there is none.
std::int64_t factor_ic0(const IntBuffer &positions, const IntBuffer &coordinates, TriangleValue type, void *values);

}  // namespace mlir_sparse
