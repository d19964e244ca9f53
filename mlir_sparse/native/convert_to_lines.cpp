#include <algorithm>

#include "convert_lines.hpp"
#include "pack_plain.hpp"
#include "pack_threads.hpp"
#include "pack_values.hpp"

namespace mlir_sparse {
namespace {

// Calls work(begin, end) for ranges of rows that hold about as many entries each.
template <class P, class F>
void for_row_parts(const RowMatrix &from, size_t entries, const F &work) {
  const auto begins = row_parts(static_cast<const P *>(from.pos), from.rows, thread_count(entries));
  in_parallel(begins.size() - 1, [&](size_t part) { work(part, begins[part], begins[part + 1]); });
}

// Some rows at a time, slot by slot, so that the writes to each slot fill whole cache lines.
template <class P, class C, class V>
void slots_of_rows(const RowMatrix &from, int64_t lines, int64_t begin, int64_t end, C *crd_out, V *values_out) {
  constexpr int64_t kTile = 64;
  const auto *pos = static_cast<const P *>(from.pos);
  const auto *crd = static_cast<const C *>(from.crd);
  const auto *values = static_cast<const V *>(from.values);
  for (int64_t first = begin; first < end; first += kTile) {
    const int64_t last = std::min(end, first + kTile);
    for (int64_t n = 0; n < lines; ++n)
      for (int64_t r = first; r < last; ++r) {
        const int64_t k = pos[r] + n, place = n * from.rows + r;
        const bool stored = k < pos[r + 1];
        crd_out[place] = stored ? crd[k] : C{-1};
        values_out[place] = stored ? values[k] : V{};
      }
  }
}

template <class P, class C, class V>
void tables_of_rows(const RowMatrix &from, int64_t places, int64_t begin, int64_t end, C *crd_out, V *values_out) {
  const auto *pos = static_cast<const P *>(from.pos);
  const auto *crd = static_cast<const C *>(from.crd);
  const auto *values = static_cast<const V *>(from.values);
  std::fill(crd_out + begin * places, crd_out + end * places, C{-1});
  std::fill(values_out + begin * places, values_out + end * places, V{});
  for (int64_t r = begin; r < end; ++r)
    for (int64_t k = pos[r]; k < pos[r + 1]; ++k) {
      int64_t slot = crd[k] & (places - 1);
      while (crd_out[r * places + slot] >= 0)
        slot = (slot + 1) & (places - 1);
      crd_out[r * places + slot] = crd[k];
      values_out[r * places + slot] = values[k];
    }
}

} // namespace

int64_t longest_row(const RowMatrix &from) {
  return with_wide(from.pos_width, [&](auto p) {
    const auto *pos = static_cast<const decltype(p) *>(from.pos);
    int64_t longest = 0;
    for (int64_t r = 0; r < from.rows; ++r)
      longest = std::max<int64_t>(longest, pos[r + 1] - pos[r]);
    return longest;
  });
}

void rows_to_slots(const RowMatrix &from, int64_t lines, void *crd, void *values) {
  with_matrix(from, [&](auto p, auto c, auto v) {
    using C = decltype(c);
    using V = decltype(v);
    for_row_parts<decltype(p)>(from, static_cast<size_t>(from.rows * lines), [&](size_t, int64_t begin, int64_t end) {
      slots_of_rows<decltype(p)>(from, lines, begin, end, static_cast<C *>(crd), static_cast<V *>(values));
    });
  });
}

void rows_to_tables(const RowMatrix &from, int64_t places, void *crd, void *values) {
  with_matrix(from, [&](auto p, auto c, auto v) {
    using C = decltype(c);
    using V = decltype(v);
    for_row_parts<decltype(p)>(from, static_cast<size_t>(from.rows * places), [&](size_t, int64_t begin, int64_t end) {
      tables_of_rows<decltype(p)>(from, places, begin, end, static_cast<C *>(crd), static_cast<V *>(values));
    });
  });
}

void mark_diagonals(const RowMatrix &from, uint8_t *present) {
  const auto all = static_cast<size_t>(from.rows + from.columns - 1);
  const size_t parts = counting_threads(static_cast<size_t>(from.count), from.rows + from.columns);
  with_widths(from, [&](auto p, auto c) {
    const auto *pos = static_cast<const decltype(p) *>(from.pos);
    const auto *crd = static_cast<const decltype(c) *>(from.crd);
    const auto begins = row_parts(pos, from.rows, parts);
    std::vector<std::vector<uint8_t>> own(parts - 1, std::vector<uint8_t>(all)); // the first part marks right there
    in_parallel(parts, [&](size_t part) {
      uint8_t *marks = part == 0 ? present : own[part - 1].data();
      for (int64_t r = begins[part]; r < begins[part + 1]; ++r)
        for (auto k = pos[r]; k < pos[r + 1]; ++k)
          marks[crd[k] - r + from.rows - 1] = 1;
    });
    for (const auto &marks : own)
      std::transform(marks.begin(), marks.end(), present, present,
                     [](uint8_t a, uint8_t b) { return static_cast<uint8_t>(a | b); });
  });
}

void rows_to_diagonals(const RowMatrix &from, const int64_t *begins, void *values) {
  with_matrix(from, [&](auto p, auto c, auto v) {
    const auto *pos = static_cast<const decltype(p) *>(from.pos);
    const auto *crd = static_cast<const decltype(c) *>(from.crd);
    const auto *given = static_cast<const decltype(v) *>(from.values);
    auto *out = static_cast<decltype(v) *>(values);
    for_row_parts<decltype(p)>(from, static_cast<size_t>(from.count), [&](size_t, int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r)
        for (auto k = pos[r]; k < pos[r + 1]; ++k)
          out[begins[crd[k] - r + from.rows - 1] + r] = given[k];
    });
  });
}

} // namespace mlir_sparse
