// Sums and maxima over rows, columns and everything, and a product over (min, +).
#include <math.h>

#include "element.h"

void min_plus(Int rows, const Int *restrict pos, const Int *restrict crd, const T *restrict values, const T *restrict x,
              T *restrict y) {
#pragma omp parallel for schedule(static)
  for (Int i = 0; i < rows; i++) {
    T least = INFINITY;
    for (Int p = pos[i]; p < pos[i + 1]; p++) {
      T found = values[p] + x[crd[p]];
      least = found < least ? found : least;
    }
    y[i] = least;
  }
}

// Missing entries count as zeros where a row has any.
void row_maxima(Int rows, Int columns, const Int *restrict pos, const T *restrict values, T *restrict y) {
#pragma omp parallel for schedule(static)
  for (Int i = 0; i < rows; i++) {
    T most = pos[i + 1] - pos[i] < columns ? 0 : -INFINITY;
#pragma omp simd reduction(max : most)
    for (Int p = pos[i]; p < pos[i + 1]; p++) most = values[p] > most ? values[p] : most;
    y[i] = most;
  }
}

void row_sums(Int rows, const Int *restrict pos, const T *restrict values, T *restrict y) {
#pragma omp parallel for schedule(static)
  for (Int i = 0; i < rows; i++) {
    T total = 0;
    for (Int p = pos[i]; p < pos[i + 1]; p++) total += values[p];
    y[i] = total;
  }
}

void column_sums(Int columns, Int entries, const Int *restrict crd, const T *restrict values, T *restrict y,
                 Int pieces) {
  T *own = pieces > 1 ? calloc((size_t)(pieces - 1) * columns, sizeof(T)) : NULL;
#pragma omp parallel for schedule(static, 1)
  for (Int n = 0; n < pieces; n++) {
    T *sums = n ? own + (size_t)(n - 1) * columns : y;
    if (!n) memset(y, 0, columns * sizeof(T));
    for (Int p = (int64_t)entries * n / pieces; p < (int64_t)entries * (n + 1) / pieces; p++) sums[crd[p]] += values[p];
  }
  if (pieces > 1) {
#pragma omp parallel for schedule(static)
    for (Int j = 0; j < columns; j++)
      for (Int n = 1; n < pieces; n++) y[j] += own[(size_t)(n - 1) * columns + j];
    free(own);
  }
}

void total_sum(Int entries, const T *restrict values, T *restrict y) {
  T total = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : total)
  for (Int p = 0; p < entries; p++) total += values[p];
  *y = total;
}
