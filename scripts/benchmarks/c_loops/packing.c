// Entries to rows, and rows to columns, by counting.
#include "element.h"

// Counts, adds up, and puts each entry behind the earlier ones of its row.
static void counted(Int entries, Int rows, const Int *row, Int *pos) {
  memset(pos, 0, (rows + 1) * sizeof(Int));
  for (Int p = 0; p < entries; p++) pos[row[p] + 1]++;
  for (Int i = 0; i < rows; i++) pos[i + 1] += pos[i];
}

void transpose(Int rows, Int columns, const Int *restrict pos, const Int *restrict crd, const T *restrict values,
               Int *restrict to_pos, Int *restrict to_crd, T *restrict to_values) {
  counted(pos[rows], columns, crd, to_pos);
  for (Int i = 0; i < rows; i++)
    for (Int p = pos[i]; p < pos[i + 1]; p++) {
      Int at = to_pos[crd[p]]++;
      to_crd[at] = i;
      to_values[at] = values[p];
    }
  memmove(to_pos + 1, to_pos, columns * sizeof(Int));
  to_pos[0] = 0;
}

// Sorted entries have their columns and values in place.
void sorted_coo_to_csr(Int entries, Int rows, const Int *restrict row, const Int *restrict crd,
                       const T *restrict values, Int *restrict to_pos, Int *restrict to_crd, T *restrict to_values) {
  counted(entries, rows, row, to_pos);
  memcpy(to_crd, crd, entries * sizeof(Int));
  memcpy(to_values, values, entries * sizeof(T));
}

// By columns first, then by rows, which leaves rows sorted. Entries of one place stay apart: there are none here.
void coo_to_csr(Int entries, Int rows, Int columns, const Int *restrict row, const Int *restrict crd,
                const T *restrict values, Int *restrict to_pos, Int *restrict to_crd, T *restrict to_values) {
  Int *by_column = malloc((columns + 1) * sizeof(Int)), *order = malloc(entries * sizeof(Int));
  counted(entries, columns, crd, by_column);
  for (Int p = 0; p < entries; p++) order[by_column[crd[p]]++] = p;
  counted(entries, rows, row, to_pos);
  for (Int n = 0; n < entries; n++) {
    Int p = order[n], at = to_pos[row[p]]++;
    to_crd[at] = crd[p];
    to_values[at] = values[p];
  }
  memmove(to_pos + 1, to_pos, rows * sizeof(Int));
  to_pos[0] = 0;
  free(by_column);
  free(order);
}
