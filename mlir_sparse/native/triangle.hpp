// Systems of triangular matrices. It does not depend on Python: callers release the GIL.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "pack_plain.hpp"

namespace mlir_sparse {

enum class TriangleValue { F32, F64, C64, C128 };

// A square matrix of which one triangle counts, the diagonal included; what is stored of the other is not read.
struct TriangleStructure {
  IntBuffer positions, coordinates;  // contiguous, of one width of 32 or 64 bits; ascending in each row, no repeats
  std::int64_t size;                 // rows
  std::int64_t block;                // the extent of square blocks, in row-major order; 1 for none
  bool lower, by_columns;            // `by_columns`: what is compressed are columns; never with blocks
};

// The structure of a triangle, for systems with any values and right sides. The buffers outlive it.
class Triangle {
 public:
  explicit Triangle(const TriangleStructure &structure);
  ~Triangle();

  // Solves for `count` right sides in row-major order, `given`, which solutions in `sides` replace where both are the
  // same memory; else they are apart. Returns the first row without a diagonal element other
  // than zero, -1 if there is none; a unit diagonal is not read. Each element is computed by the same operations in the
  // same order for any number of threads. Whether threads share a solve is tried: rows by sets lie apart in memory, so
  // that two threads may take longer than one.
  std::int64_t solve(TriangleValue type, const void *values, const void *given, void *sides, std::int64_t count,
                     bool unit);

  // The number of sets of rows that depend on rows of earlier sets alone.
  std::int64_t levels();

 private:
  template <class Index>
  class Order;
  struct Orders;
  struct Trials;

  template <class Index, class Value>
  std::int64_t solve_as(const Value *values, const Value *given, Value *sides, std::int64_t count, bool unit);

  TriangleStructure structure_;
  std::mutex mutex_;
  std::int64_t solves_ = 0;
  std::unique_ptr<Orders> orders_;
  std::unique_ptr<Trials> trials_;
};

}  // namespace mlir_sparse
