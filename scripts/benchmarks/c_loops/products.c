// A matrix by a vector or a dense matrix, as a TACO user would write the loops or get them.
#include "element.h"

void spmv_csr(Int rows, const Int *restrict pos, const Int *restrict crd, const T *restrict values, const T *restrict x,
              T *restrict y) {
#pragma omp parallel for schedule(static)
  for (Int i = 0; i < rows; i++) {
    S total = 0;
    for (Int p = pos[i]; p < pos[i + 1]; p++) total += wide(values[p]) * wide(x[crd[p]]);
    y[i] = narrow(total);
  }
}

// The same for storage without its empty rows.
void spmv_dcsr(Int rows, Int stored, const Int *restrict row, const Int *restrict pos, const Int *restrict crd,
               const T *restrict values, const T *restrict x, T *restrict y) {
  memset(y, 0, rows * sizeof(T));
#pragma omp parallel for schedule(static)
  for (Int a = 0; a < stored; a++) {
    S total = 0;
    for (Int p = pos[a]; p < pos[a + 1]; p++) total += wide(values[p]) * wide(x[crd[p]]);
    y[row[a]] = narrow(total);
  }
}

// Entries are sorted: each thread takes some of them, and begins and ends with a row.
void spmv_coo(Int rows, Int entries, const Int *restrict row, const Int *restrict crd, const T *restrict values,
              const T *restrict x, T *restrict y, Int pieces) {
  memset(y, 0, rows * sizeof(T));
#pragma omp parallel for schedule(static, 1)
  for (Int n = 0; n < pieces; n++) {
    Int p = (int64_t)entries * n / pieces, end = (int64_t)entries * (n + 1) / pieces;
    while (p && p < entries && row[p] == row[p - 1]) p++;
    while (end && end < entries && row[end] == row[end - 1]) end++;
    while (p < end) {
      Int i = row[p];
      S total = 0;
      for (; p < end && row[p] == i; p++) total += wide(values[p]) * wide(x[crd[p]]);
      y[i] = narrow(total);
    }
  }
}

// Slot after slot, in blocks of rows that stay in the first cache.
void spmv_ell(Int rows, Int slots, const Int *restrict columns, const T *restrict values, const T *restrict x,
              T *restrict y) {
#pragma omp parallel for schedule(static)
  for (Int first = 0; first < rows; first += 512) {
    Int last = first + 512 < rows ? first + 512 : rows;
    S total[512] = {0};
    for (Int slot = 0; slot < slots; slot++) {
      const Int *crd = columns + (int64_t)slot * rows;
      const T *value = values + (int64_t)slot * rows;
      for (Int i = first; i < last; i++) total[i - first] += wide(value[i]) * wide(x[crd[i]]);
    }
    for (Int i = first; i < last; i++) y[i] = narrow(total[i - first]);
  }
}

// Diagonal after diagonal, in blocks of rows that stay in the first cache.
void spmv_dia(Int rows, Int columns, Int diagonals, Int width, const Int *restrict offsets, const T *restrict data,
              const T *restrict x, T *restrict y) {
#pragma omp parallel for schedule(static)
  for (Int first = 0; first < rows; first += 1024) {
    Int last = first + 1024 < rows ? first + 1024 : rows;
    memset(y + first, 0, (last - first) * sizeof(T));
    for (Int d = 0; d < diagonals; d++) {
      Int offset = offsets[d], most = columns < width ? columns : width;
      Int begin = first < -offset ? -offset : first, end = last + offset < most ? last : most - offset;
      const T *values = data + (int64_t)d * width + offset, *part = x + offset;
      for (Int i = begin; i < end; i++) y[i] += values[i] * part[i];
    }
  }
}

#define BLOCKS(SIDE)                                                                                                   \
  static void bsr_##SIDE(Int rows, const Int *restrict pos, const Int *restrict crd, const T *restrict values,         \
                         const T *restrict x, T *restrict y) {                                                         \
    _Pragma("omp parallel for schedule(static)") for (Int i = 0; i < rows; i++) {                                      \
      S total[SIDE] = {0};                                                                                             \
      for (Int p = pos[i]; p < pos[i + 1]; p++) {                                                                      \
        const T *block = values + (int64_t)p * SIDE * SIDE, *part = x + (int64_t)crd[p] * SIDE;                        \
        for (int a = 0; a < SIDE; a++)                                                                                 \
          for (int b = 0; b < SIDE; b++) total[a] += wide(block[a * SIDE + b]) * wide(part[b]);                        \
      }                                                                                                                \
      for (int a = 0; a < SIDE; a++) y[(int64_t)i * SIDE + a] = narrow(total[a]);                                      \
    }                                                                                                                  \
  }
BLOCKS(3)
BLOCKS(4)
BLOCKS(6)
BLOCKS(8)

// The size of a block is a constant to whoever writes it.
void spmv_bsr(Int rows, Int side, const Int *pos, const Int *crd, const T *values, const T *x, T *y) {
  switch (side) {
    case 3: bsr_3(rows, pos, crd, values, x, y); break;
    case 4: bsr_4(rows, pos, crd, values, x, y); break;
    case 6: bsr_6(rows, pos, crd, values, x, y); break;
    case 8: bsr_8(rows, pos, crd, values, x, y); break;
    default: abort();
  }
}

void residual(Int rows, const T *restrict b, const Int *restrict pos, const Int *restrict crd, const T *restrict values,
              const T *restrict x, T *restrict y) {
#pragma omp parallel for schedule(static)
  for (Int i = 0; i < rows; i++) {
    S total = wide(b[i]);
    for (Int p = pos[i]; p < pos[i + 1]; p++) total -= wide(values[p]) * wide(x[crd[p]]);
    y[i] = narrow(total);
  }
}

// By columns of A, which are the rows of its transpose.
void mattransmul_columns(Int columns, T alpha, const Int *restrict pos, const Int *restrict crd,
                         const T *restrict values, const T *restrict x, T beta, const T *restrict z, T *restrict y) {
#pragma omp parallel for schedule(static)
  for (Int j = 0; j < columns; j++) {
    T total = 0;
    for (Int p = pos[j]; p < pos[j + 1]; p++) total += values[p] * x[crd[p]];
    y[j] = alpha * total + beta * z[j];
  }
}

// Rows are scattered; further threads have a vector of their own each, which are added.
void mattransmul(Int rows, Int columns, T alpha, const Int *restrict pos, const Int *restrict crd,
                 const T *restrict values, const T *restrict x, T beta, const T *restrict z, T *restrict y,
                 Int pieces) {
  T *own = pieces > 1 ? calloc((size_t)(pieces - 1) * columns, sizeof(T)) : NULL;
#pragma omp parallel for schedule(static, 1)
  for (Int n = 0; n < pieces; n++) {
    T *sums = n ? own + (size_t)(n - 1) * columns : y;
    if (!n)
      for (Int j = 0; j < columns; j++) y[j] = beta * z[j];
    for (Int i = (int64_t)rows * n / pieces; i < (int64_t)rows * (n + 1) / pieces; i++) {
      T scaled = alpha * x[i];
      for (Int p = pos[i]; p < pos[i + 1]; p++) sums[crd[p]] += values[p] * scaled;
    }
  }
  if (pieces > 1) {
#pragma omp parallel for schedule(static)
    for (Int j = 0; j < columns; j++)
      for (Int n = 1; n < pieces; n++) y[j] += own[(size_t)(n - 1) * columns + j];
    free(own);
  }
}

// A row of the result in registers: GCC puts it there where the loops over it are written out.
#if !defined(TYPE_c64)
#define COLUMNS(K)                                                                                                     \
  static void spmm_##K(Int rows, const Int *restrict pos, const Int *restrict crd, const T *restrict values,           \
                       const T *restrict X, T *restrict Y) {                                                           \
    _Pragma("omp parallel for schedule(static)") for (Int i = 0; i < rows; i++) {                                      \
      S total[K] = {0};                                                                                                \
      for (Int p = pos[i]; p < pos[i + 1]; p++) {                                                                      \
        S value = wide(values[p]);                                                                                     \
        const T *row = X + (int64_t)crd[p] * K;                                                                        \
        _Pragma("GCC unroll 32") for (int c = 0; c < K; c++) total[c] += value * wide(row[c]);                         \
      }                                                                                                                \
      _Pragma("GCC unroll 32") for (int c = 0; c < K; c++) Y[(int64_t)i * K + c] = narrow(total[c]);                   \
    }                                                                                                                  \
  }
COLUMNS(4)
COLUMNS(8)
COLUMNS(32)
#endif

// A row of the result in memory: for more columns than there are registers, and complex numbers, which GCC keeps apart.
static void spmm_any(Int rows, Int k, const Int *restrict pos, const Int *restrict crd, const T *restrict values,
                     const T *restrict X, T *restrict Y) {
#pragma omp parallel for schedule(static)
  for (Int i = 0; i < rows; i++) {
    T *restrict y = Y + (int64_t)i * k;
    memset(y, 0, k * sizeof(T));
    for (Int p = pos[i]; p < pos[i + 1]; p++) {
      S value = wide(values[p]);
      const T *restrict row = X + (int64_t)crd[p] * k;
      for (int c = 0; c < k; c++) y[c] = narrow(wide(y[c]) + value * wide(row[c]));
    }
  }
}

// Whoever has four or 32 columns says so.
void spmm(Int rows, Int k, const Int *pos, const Int *crd, const T *values, const T *X, T *Y) {
#if !defined(TYPE_c64)
  switch (k) {
    case 4: spmm_4(rows, pos, crd, values, X, Y); return;
    case 8: spmm_8(rows, pos, crd, values, X, Y); return;
    case 32: spmm_32(rows, pos, crd, values, X, Y); return;
  }
#endif
  spmm_any(rows, k, pos, crd, values, X, Y);
}
