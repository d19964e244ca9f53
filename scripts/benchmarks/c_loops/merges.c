// Sums and products of sparse matrices by merging rows, and of matrices by a dense row: counted, then filled.
#include "element.h"

static void sum_up(Int rows, Int *pos) {
  pos[0] = 0;
  for (Int i = 0; i < rows; i++) pos[i + 1] += pos[i];
}

// Writes where the rows of A + B begin.
void add_count(Int rows, const Int *restrict pa, const Int *restrict ca, const Int *restrict pb, const Int *restrict cb,
               Int *restrict pos) {
#pragma omp parallel for schedule(static)
  for (Int i = 0; i < rows; i++) {
    Int p = pa[i], q = pb[i], count = 0;
    for (; p < pa[i + 1] && q < pb[i + 1]; count++) {
      Int a = ca[p], b = cb[q];
      p += a <= b;
      q += b <= a;
    }
    pos[i + 1] = count + (pa[i + 1] - p) + (pb[i + 1] - q);
  }
  sum_up(rows, pos);
}

void add_fill(Int rows, const Int *restrict pa, const Int *restrict ca, const T *restrict va, const Int *restrict pb,
              const Int *restrict cb, const T *restrict vb, const Int *restrict pos, Int *restrict crd,
              T *restrict values) {
#pragma omp parallel for schedule(static)
  for (Int i = 0; i < rows; i++) {
    Int p = pa[i], q = pb[i], at = pos[i];
    for (; p < pa[i + 1] && q < pb[i + 1]; at++) {
      Int a = ca[p], b = cb[q];
      crd[at] = a < b ? a : b;
      values[at] = (a <= b ? va[p] : 0) + (b <= a ? vb[q] : 0);
      p += a <= b;
      q += b <= a;
    }
    for (; p < pa[i + 1]; p++, at++) crd[at] = ca[p], values[at] = va[p];
    for (; q < pb[i + 1]; q++, at++) crd[at] = cb[q], values[at] = vb[q];
  }
}

// Writes where the rows of A .* B .* C begin.
void multiply_count(Int rows, const Int *restrict pa, const Int *restrict ca, const Int *restrict pb,
                    const Int *restrict cb, const Int *restrict pc, const Int *restrict cc, Int *restrict pos) {
#pragma omp parallel for schedule(static)
  for (Int i = 0; i < rows; i++) {
    Int p = pa[i], q = pb[i], r = pc[i], count = 0;
    while (p < pa[i + 1] && q < pb[i + 1] && r < pc[i + 1]) {
      Int a = ca[p], b = cb[q], c = cc[r], least = a < b ? a : b;
      least = c < least ? c : least;
      count += a == b && b == c;
      p += a == least;
      q += b == least;
      r += c == least;
    }
    pos[i + 1] = count;
  }
  sum_up(rows, pos);
}

void multiply_fill(Int rows, const Int *restrict pa, const Int *restrict ca, const T *restrict va,
                   const Int *restrict pb, const Int *restrict cb, const T *restrict vb, const Int *restrict pc,
                   const Int *restrict cc, const T *restrict vc, const Int *restrict pos, Int *restrict crd,
                   T *restrict values) {
#pragma omp parallel for schedule(static)
  for (Int i = 0; i < rows; i++) {
    Int p = pa[i], q = pb[i], r = pc[i], at = pos[i];
    while (p < pa[i + 1] && q < pb[i + 1] && r < pc[i + 1]) {
      Int a = ca[p], b = cb[q], c = cc[r], least = a < b ? a : b;
      least = c < least ? c : least;
      if (a == b && b == c) crd[at] = a, values[at++] = va[p] * vb[q] * vc[r];
      p += a == least;
      q += b == least;
      r += c == least;
    }
  }
}

// Writes where the rows of A B begin.
void spgemm_count(Int rows, Int columns, const Int *restrict pa, const Int *restrict ca, const Int *restrict pb,
                  const Int *restrict cb, Int *restrict pos) {
#pragma omp parallel
  {
    Int *seen = malloc(columns * sizeof(Int));
    memset(seen, -1, columns * sizeof(Int));
#pragma omp for schedule(dynamic, 256)
    for (Int i = 0; i < rows; i++) {
      Int count = 0;
      for (Int p = pa[i]; p < pa[i + 1]; p++)
        for (Int q = pb[ca[p]]; q < pb[ca[p] + 1]; q++)
          if (seen[cb[q]] != i) seen[cb[q]] = i, count++;
      pos[i + 1] = count;
    }
    free(seen);
  }
  sum_up(rows, pos);
}

static int by_column(const void *a, const void *b) {
  return (*(const Int *)a > *(const Int *)b) - (*(const Int *)a < *(const Int *)b);
}

// Short rows are sorted by insertion, which whoever knows qsort's calls does.
static void sort(Int *crd, Int count) {
  if (count > 64) {
    qsort(crd, count, sizeof(Int), by_column);
    return;
  }
  for (Int n = 1; n < count; n++) {
    Int j = crd[n], at = n;
    for (; at && crd[at - 1] > j; at--) crd[at] = crd[at - 1];
    crd[at] = j;
  }
}

void spgemm_fill(Int rows, Int columns, const Int *restrict pa, const Int *restrict ca, const T *restrict va,
                 const Int *restrict pb, const Int *restrict cb, const T *restrict vb, const Int *restrict pos,
                 Int *restrict crd, T *restrict values, Int sorted) {
#pragma omp parallel
  {
    T *row = malloc(columns * sizeof(T));
    Int *seen = malloc(columns * sizeof(Int));
    memset(seen, -1, columns * sizeof(Int));
#pragma omp for schedule(dynamic, 256)
    for (Int i = 0; i < rows; i++) {
      Int at = pos[i];
      for (Int p = pa[i]; p < pa[i + 1]; p++) {
        T value = va[p];
        for (Int q = pb[ca[p]]; q < pb[ca[p] + 1]; q++) {
          Int j = cb[q];
          if (seen[j] != i) {
            seen[j] = i;
            crd[at++] = j;
            row[j] = value * vb[q];
          } else {
            row[j] += value * vb[q];
          }
        }
      }
      if (sorted) sort(crd + pos[i], at - pos[i]);
      for (Int p = pos[i]; p < at; p++) values[p] = row[crd[p]];
    }
    free(row);
    free(seen);
  }
}
