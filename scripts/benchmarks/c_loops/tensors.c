// Tensors of three dimensions in CSF and by entries, with dense factors.
#include "element.h"

// The result has the fibres of the tensor, whose arrays it shares.
void ttv_csf(Int fibres, const Int *restrict pos, const Int *restrict crd, const T *restrict values,
             const T *restrict v, T *restrict sums) {
#pragma omp parallel for schedule(static)
  for (Int b = 0; b < fibres; b++) {
    T total = 0;
    for (Int p = pos[b]; p < pos[b + 1]; p++) total += values[p] * v[crd[p]];
    sums[b] = total;
  }
}

// Where sorted entries are cut so that no first coordinate is.
static Int cut(Int entries, const Int *coords, Int n, Int pieces) {
  Int at = (int64_t)entries * n / pieces;
  while (at && at < entries && coords[3 * (int64_t)at] == coords[3 * (int64_t)at - 3]) at++;
  return at;
}

// Counts the different i and (i, j) of each piece into where its own begin.
void ttv_coo_count(Int entries, const Int *restrict coords, Int *restrict roots, Int *restrict fibres, Int pieces) {
  roots[0] = fibres[0] = 0;
#pragma omp parallel for schedule(static, 1)
  for (Int n = 0; n < pieces; n++) {
    Int first = cut(entries, coords, n, pieces), last = cut(entries, coords, n + 1, pieces), i = 0, j = 0;
    for (Int p = first; p < last; p++) {
      const Int *at = coords + 3 * (int64_t)p;
      int changed = p == first || at[0] != at[-3];
      i += changed;
      j += changed | (p == first || at[1] != at[-2]);
    }
    roots[n + 1] = i;
    fibres[n + 1] = j;
  }
  for (Int n = 0; n < pieces; n++) roots[n + 1] += roots[n], fibres[n + 1] += fibres[n];
}

void ttv_coo_fill(Int entries, const Int *restrict coords, const T *restrict values, const T *restrict v,
                  const Int *restrict roots, const Int *restrict fibres, Int *restrict crd0, Int *restrict pos1,
                  Int *restrict crd1, T *restrict sums, Int pieces) {
#pragma omp parallel for schedule(static, 1)
  for (Int n = 0; n < pieces; n++) {
    Int p = cut(entries, coords, n, pieces), last = cut(entries, coords, n + 1, pieces), a = roots[n], b = fibres[n];
    while (p < last) {
      Int i = coords[3 * (int64_t)p];
      crd0[a] = i;
      pos1[a++] = b;
      while (p < last && coords[3 * (int64_t)p] == i) {
        Int j = coords[3 * (int64_t)p + 1];
        T total = 0;
        for (; p < last && coords[3 * (int64_t)p] == i && coords[3 * (int64_t)p + 1] == j; p++)
          total += values[p] * v[coords[3 * (int64_t)p + 2]];
        crd1[b] = j;
        sums[b++] = total;
      }
    }
  }
  pos1[roots[pieces]] = fibres[pieces];
}

#define RANK 16
// O(i,r,s) = T(i,j,k) * B(j,r) * C(k,s): a fibre times C's rows first, then once by B's row.
void ttm_chain(Int rows, Int roots, const Int *restrict crd0, const Int *restrict pos1, const Int *restrict crd1,
               const Int *restrict pos2, const Int *restrict crd2, const T *restrict values, const T *restrict B,
               const T *restrict C, T *restrict O) {
  memset(O, 0, (size_t)rows * RANK * RANK * sizeof(T));
#pragma omp parallel for schedule(dynamic, 4)
  for (Int a = 0; a < roots; a++) {
    T *out = O + (int64_t)crd0[a] * RANK * RANK;
    for (Int b = pos1[a]; b < pos1[a + 1]; b++) {
      const T *left = B + (int64_t)crd1[b] * RANK;
      T fibre[RANK] = {0};
      for (Int p = pos2[b]; p < pos2[b + 1]; p++)
#pragma GCC unroll 32
        for (int s = 0; s < RANK; s++) fibre[s] += values[p] * C[(int64_t)crd2[p] * RANK + s];
      for (int r = 0; r < RANK; r++)
#pragma GCC unroll 32
        for (int s = 0; s < RANK; s++) out[r * RANK + s] += left[r] * fibre[s];
    }
  }
}

// A fibre times M's rows, into the result's rows of that fibre.
void ttm_csf(Int fibres, const Int *restrict pos, const Int *restrict crd, const T *restrict values,
             const T *restrict M, T *restrict sums) {
#pragma omp parallel for schedule(static)
  for (Int b = 0; b < fibres; b++) {
    T total[RANK] = {0};
    for (Int p = pos[b]; p < pos[b + 1]; p++)
#pragma GCC unroll 32
      for (int r = 0; r < RANK; r++) total[r] += values[p] * M[(int64_t)crd[p] * RANK + r];
#pragma GCC unroll 32
    for (int r = 0; r < RANK; r++) sums[(int64_t)b * RANK + r] = total[r];
  }
}

#define COLUMNS 32
// A(i,r) = T(i,j,k) * B(j,r) * C(k,r): a fibre times C's rows first, then once by B's row.
void mttkrp_csf(Int rows, Int roots, const Int *restrict crd0, const Int *restrict pos1, const Int *restrict crd1,
                const Int *restrict pos2, const Int *restrict crd2, const T *restrict values, const T *restrict B,
                const T *restrict C, T *restrict A) {
  memset(A, 0, (size_t)rows * COLUMNS * sizeof(T));
#pragma omp parallel for schedule(dynamic, 16)
  for (Int a = 0; a < roots; a++) {
    T total[COLUMNS] = {0};
    for (Int b = pos1[a]; b < pos1[a + 1]; b++) {
      const T *factor = B + (int64_t)crd1[b] * COLUMNS;
      T fibre[COLUMNS] = {0};
      for (Int p = pos2[b]; p < pos2[b + 1]; p++)
#pragma GCC unroll 32
        for (int r = 0; r < COLUMNS; r++) fibre[r] += values[p] * C[(int64_t)crd2[p] * COLUMNS + r];
#pragma GCC unroll 32
      for (int r = 0; r < COLUMNS; r++) total[r] += fibre[r] * factor[r];
    }
#pragma GCC unroll 32
    for (int r = 0; r < COLUMNS; r++) A[(int64_t)crd0[a] * COLUMNS + r] = total[r];
  }
}

// The same by entries: each row of the result is kept while its entries last.
void mttkrp_coo(Int rows, Int entries, const Int *restrict coords, const T *restrict values, const T *restrict B,
                const T *restrict C, T *restrict A, Int pieces) {
  memset(A, 0, (size_t)rows * COLUMNS * sizeof(T));
#pragma omp parallel for schedule(static, 1)
  for (Int n = 0; n < pieces; n++) {
    Int p = cut(entries, coords, n, pieces), last = cut(entries, coords, n + 1, pieces);
    while (p < last) {
      Int i = coords[3 * (int64_t)p];
      T total[COLUMNS] = {0};
      for (; p < last && coords[3 * (int64_t)p] == i; p++) {
        const Int *at = coords + 3 * (int64_t)p;
        const T *b = B + (int64_t)at[1] * COLUMNS, *c = C + (int64_t)at[2] * COLUMNS;
#pragma GCC unroll 32
        for (int r = 0; r < COLUMNS; r++) total[r] += values[p] * b[r] * c[r];
      }
#pragma GCC unroll 32
      for (int r = 0; r < COLUMNS; r++) A[(int64_t)i * COLUMNS + r] = total[r];
    }
  }
}
