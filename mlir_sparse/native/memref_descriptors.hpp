// What MLIR passes for a memref: to runtime functions, and to and from programs.
#pragma once

#include <cstdint>

namespace mlir_sparse {

template <typename T, int Rank>
struct MemRef {
  T *allocated;
  T *aligned;
  int64_t offset;
  int64_t sizes[Rank];
  int64_t strides[Rank];

  T &operator[](int64_t at) const { return aligned[offset + at * strides[0]]; }
};

template <typename T>
struct MemRef<T, 0> {
  T *allocated;
  T *aligned;
  int64_t offset;
};

struct UnrankedMemRef {
  int64_t rank;
  void *descriptor;  // of the rank's form
};

}  // namespace mlir_sparse
