// A product of dense matrices at the entries of a sparse one.
#include "element.h"

#define INNER(K)                                                                                                       \
  static void sddmm_##K(Int rows, const Int *restrict pos, const Int *restrict crd, const T *restrict values,          \
                        const T *restrict X, const T *restrict Y, T *restrict sampled) {                               \
    _Pragma("omp parallel for schedule(static)") for (Int i = 0; i < rows; i++) for (Int p = pos[i]; p < pos[i + 1];   \
                                                                                     p++) {                            \
      const T *left = X + (int64_t)i * K, *right = Y + (int64_t)crd[p] * K;                                            \
      T total = 0;                                                                                                     \
      _Pragma("omp simd reduction(+ : total)") for (int c = 0; c < K; c++) total += left[c] * right[c];                \
      sampled[p] = values[p] * total;                                                                                  \
    }                                                                                                                  \
  }
INNER(8)
INNER(32)
INNER(64)

void sddmm(Int rows, Int k, const Int *pos, const Int *crd, const T *values, const T *X, const T *Y, T *sampled) {
  switch (k) {
    case 8: sddmm_8(rows, pos, crd, values, X, Y, sampled); break;
    case 32: sddmm_32(rows, pos, crd, values, X, Y, sampled); break;
    case 64: sddmm_64(rows, pos, crd, values, X, Y, sampled); break;
    default: abort();
  }
}
