// Entries that are sorted by row, as rows: nothing moves; only the begin of each row has to be found.

#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "pack_threads.hpp"

namespace mlir_sparse {

// Rows and coordinates by entry, each `stride` numbers after the one before it.
template <class I>
struct SortedEntries {
  const I *rows;
  const I *coordinates;
  size_t stride;
  size_t count;
};

// Calls a function with a stride: those of separate arrays and of pairs as constants, for which loops become vectors.
template <class Function>
void with_stride(size_t stride, Function &&call) {
  if (stride == 1) return call(std::integral_constant<size_t, 1>());
  if (stride == 2) return call(std::integral_constant<size_t, 2>());
  call(stride);
}

// The bounds of parts of sorted entries, such that no row is in two parts.
template <class I>
std::vector<size_t> cut_between_rows(const SortedEntries<I> &from, size_t parts) {
  auto begins = even_parts(from.count, parts);
  for (size_t part = 1; part < parts; ++part)
    while (begins[part] > 0 && begins[part] < from.count &&
           from.rows[begins[part] * from.stride] == from.rows[(begins[part] - 1) * from.stride])
      ++begins[part];
  return begins;
}

// Finds the ends of the rows from `row` to `stop`, whose entries are from `begin` to `end`. Each entry stores its end,
// and the last store of a row wins: faster than loading, incrementing and storing a count.
template <class I, class T>
void find_ends(const SortedEntries<I> &from, size_t begin, size_t end, int64_t row, int64_t stop, T *ends) {
  std::fill(ends + row, ends + stop, static_cast<T>(begin));
  with_stride(from.stride, [&](auto stride) {
    for (size_t e = begin; e < end; ++e)
      ends[from.rows[e * stride]] = static_cast<T>(e + 1);
  });
  for (int64_t r = row + 1; r < stop; ++r)
    ends[r] = std::max(ends[r - 1], ends[r]);
}

// Fills positions of `rows` rows and, unless they are null, coordinates and values.
template <class I, class T>
void copy_sorted(const SortedEntries<I> &from, int64_t rows, T *pos, T *crd, const void *values, void *values_out,
                 int64_t itemsize) {
  const size_t parts = thread_count(from.count), size = static_cast<size_t>(itemsize);
  const auto begins = cut_between_rows(from, parts);
  const auto row_of = [&](size_t part) { // the first that a part fills in, empty rows before its entries among them
    if (part == 0) return int64_t{0};
    const size_t e = begins[part];
    return part == parts || e == from.count ? rows : static_cast<int64_t>(from.rows[e * from.stride]);
  };
  pos[0] = 0;
  in_parallel(parts, [&](size_t part) {
    const size_t begin = begins[part], end = begins[part + 1];
    find_ends(from, begin, end, row_of(part), row_of(part + 1), pos + 1);
    if (crd)
      with_stride(from.stride, [&, coordinates = from.coordinates](auto stride) {
        for (size_t e = begin; e < end; ++e)
          crd[e] = static_cast<T>(coordinates[e * stride]);
      });
    if (values_out && end > begin)
      std::memcpy(static_cast<char *>(values_out) + begin * size, static_cast<const char *>(values) + begin * size,
                  (end - begin) * size);
  });
}

} // namespace mlir_sparse
