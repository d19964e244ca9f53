#include "rows_beside.hpp"

#include <algorithm>
#include <numeric>

#include "pack_threads.hpp"
#include "pack_values.hpp"

namespace mlir_sparse {
namespace {

using Parts = std::vector<RowsBeside>;

// Coordinates of 8 and 16 bits are without sign: their sums fit where the caller has chosen their width.
template <class From, class To>
void write_coordinates(const Parts &parts, std::int64_t first, std::int64_t last, const std::int64_t *starts, To *out) {
  for (std::int64_t r = first; r < last; ++r) {
    To *to = out + starts[r];
    for (const RowsBeside &part : parts) {
      const std::int64_t step = part.coordinates.stride, length = part.begins[r + 1] - part.begins[r];
      const auto *from = reinterpret_cast<const From *>(part.coordinates.data) + part.begins[r] * step;
      const To shift = static_cast<To>(part.shift);
      for (std::int64_t k = 0; k < length; ++k) to[k] = static_cast<To>(static_cast<To>(from[k * step]) + shift);
      to += length;
    }
  }
}

template <class V>
void write_values(const Parts &parts, std::int64_t first, std::int64_t last, const std::int64_t *starts, V *out) {
  for (std::int64_t r = first; r < last; ++r) {
    V *to = out + starts[r];
    for (const RowsBeside &part : parts) {
      const auto *from = reinterpret_cast<const V *>(part.values.data);
      to = std::copy(from + part.begins[r], from + part.begins[r + 1], to);
    }
  }
}

template <class F>
void for_kept(const ListedLines &from, F &&f) {
  from.coordinates.visit([&](auto coordinate_of) {
    for (std::int64_t line = 0; line < from.lines; ++line)
      for (std::int64_t e = from.begins[line]; e < from.begins[line + 1]; ++e)
        if (!from.kept || from.kept[e]) f(line, static_cast<std::int64_t>(coordinate_of(e)));
  });
}

}  // namespace

void start_rows_beside(const Parts &parts, std::int64_t rows, std::int64_t *starts) {
  std::fill(starts, starts + rows + 1, 0);
  for (const RowsBeside &part : parts)
    for (std::int64_t r = 0; r <= rows; ++r) starts[r] += part.begins[r];
}

void write_rows_beside(const Parts &parts, std::int64_t rows, const std::int64_t *starts, const Items &coordinates,
                       const Items &values) {
  const auto begins = row_parts(starts, rows, thread_count(static_cast<std::size_t>(starts[rows])));
  in_parallel(begins.size() - 1, [&](std::size_t part) {
    const std::int64_t first = begins[part], last = begins[part + 1];
    const auto coordinate_bytes = parts.empty() ? coordinates.bytes : parts.front().coordinates.bytes;
    with_item(coordinate_bytes, [&](auto one) {
      using From = decltype(one);
      if (coordinate_bytes == coordinates.bytes)
        write_coordinates<From>(parts, first, last, starts, reinterpret_cast<From *>(coordinates.data));
      else
        write_coordinates<From>(parts, first, last, starts, reinterpret_cast<std::int64_t *>(coordinates.data));
    });
    with_itemsize(values.bytes, [&](auto one) {
      write_values(parts, first, last, starts, reinterpret_cast<decltype(one) *>(values.data));
    });
  });
}

void list_by_line(const ListedLines &from, std::int64_t *line, std::int64_t *coordinate) {
  for_kept(from, [&](std::int64_t l, std::int64_t c) {
    *line++ = l;
    *coordinate++ = c;
  });
}

void list_by_coordinate(const ListedLines &from, std::int64_t *line, std::int64_t *coordinate) {
  Scratch<std::int64_t> begins(static_cast<std::size_t>(from.extent) + 1);
  std::int64_t *const next = begins.data();
  std::fill(next, next + from.extent + 1, 0);
  for_kept(from, [next](std::int64_t, std::int64_t c) { ++next[c + 1]; });
  for (std::int64_t c = 0; c < from.extent; ++c) {
    const std::int64_t count = next[c + 1];
    std::fill(coordinate, coordinate + count, c);
    coordinate += count;
    next[c + 1] += next[c];
  }
  for_kept(from, [next, line](std::int64_t l, std::int64_t c) { line[next[c]++] = l; });
}

}  // namespace mlir_sparse
