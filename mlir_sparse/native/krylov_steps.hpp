// What Krylov solvers do to vectors between products, in one pass each. It does not depend on Python: callers release
// the GIL. Sums are the same, bit for bit, for any number of threads.
#pragma once

#include <complex>
#include <cstdint>

#include "triangle.hpp"

namespace mlir_sparse {

// The sum of conj(a) * b.
std::complex<double> inner_product(TriangleValue type, const void *a, const void *b, std::int64_t size);

// Adds step * p to x, takes step * q from r, and returns the sum of |r|^2.
double advance(TriangleValue type, void *x, void *r, const void *p, const void *q, std::complex<double> step,
               std::int64_t size);

// Replaces p by z + factor * p.
void turn_direction(TriangleValue type, void *p, const void *z, std::complex<double> factor, std::int64_t size);

}  // namespace mlir_sparse
