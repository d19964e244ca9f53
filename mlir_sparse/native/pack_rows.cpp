#include "pack_rows.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "pack_sorted.hpp"
#include "pack_threads.hpp"
#include "pack_values.hpp"
#include "validate_rows.hpp"

namespace mlir_sparse {
namespace {

// Each part of the entries counts its rows, then puts its entries after those of earlier parts: this is stable.
template <class I, class T, class V>
void scatter(const RowEntries<I> &from, const RowBuffers &out) {
  const size_t parts = counting_threads(from.count, out.rows);
  const auto begins = even_parts(from.count, parts);
  KeyPlaces<T> places(parts, out.rows, static_cast<T *>(out.pos));
  in_parallel(parts, [&](size_t part) {
    places.clear(part);
    T *const counts = places.of(part);
    for (size_t e = begins[part]; e < begins[part + 1]; ++e)
      ++counts[from.rows[e]];
  });
  places.settle();
  in_parallel(parts, [&](size_t part) {
    T *const next = places.of(part), *const crd = static_cast<T *>(out.crd);
    const auto *values = static_cast<const V *>(from.values);
    auto *to = static_cast<V *>(out.values);
    const auto row_of = [rows = from.rows](int64_t e) { return rows[e]; };
    const auto announce = [crd, to](T place) {
      prefetch_to_write(crd + place);
      prefetch_to_write(to + place);
    };
    const auto begin = static_cast<int64_t>(begins[part]), end = static_cast<int64_t>(begins[part + 1]);
    PlacesAhead<T, decltype(row_of), decltype(announce)> places_ahead(begin, end, next, row_of, announce);
    for (int64_t e = begin; e < end; ++e) {
      const T place = places_ahead.take(e);
      crd[place] = static_cast<T>(from.coordinates[e]);
      to[place] = values[e];
    }
  });
}

// Whether coordinates are counted before rows are: of few entries with as few coordinates. Where caches do not hold
// them, rows that are sorted one by one while they are near take less.
template <class I>
bool counts_coordinates(const RowEntries<I> &from) {
  return are_near(from.count) && from.extent <= 2 * static_cast<int64_t>(from.count);
}

// Puts entries to their rows in the order of their coordinates, equal ones in the order they came: first the order by
// coordinate, then by row. It has no branches to mispredict. Returns whether some coordinate is stored twice in its row.
template <class I, class T, class V>
bool scatter_in_order(const RowEntries<I> &from, const RowBuffers &out) {
  const size_t count = from.count;
  Scratch<T> begins(static_cast<size_t>(from.extent) + 1), order(count);
  KeyPlaces<T> by_coordinate(1, from.extent, begins.data());
  by_coordinate.clear(0);
  KeyPlaces<T> by_row(1, out.rows, static_cast<T *>(out.pos));
  by_row.clear(0);
  T *const coordinate_next = by_coordinate.of(0), *const next = by_row.of(0);
  for (size_t e = 0; e < count; ++e) {
    ++coordinate_next[from.coordinates[e]];
    ++next[from.rows[e]];
  }
  by_coordinate.settle();
  by_row.settle();
  for (size_t e = 0; e < count; ++e)
    order[static_cast<size_t>(coordinate_next[from.coordinates[e]]++)] = static_cast<T>(e);
  auto *const crd = static_cast<T *>(out.crd);
  auto *const to = static_cast<V *>(out.values);
  const auto *const values = static_cast<const V *>(from.values);
  for (size_t n = 0; n < count; ++n) {
    const auto e = static_cast<size_t>(order[n]);
    const T place = next[from.rows[e]]++;
    crd[place] = static_cast<T>(from.coordinates[e]);
    to[place] = values[e];
  }
  const auto *const pos = static_cast<const T *>(out.pos);
  bool repeats = false;
  for (int64_t r = 0; r < out.rows; ++r)
    for (T k = pos[r] + 1; k < pos[r + 1]; ++k)
      repeats |= crd[k] == crd[k - 1];
  return repeats;
}

// One entry of a long row: its coordinate and its place. One type for all widths: sorting is long to compile.
using Placed = std::pair<int64_t, int64_t>;

// By coordinate, then by place: stable.
void sort_placed(std::vector<Placed> &row) { std::sort(row.begin(), row.end()); }

// Sorts rows, equal coordinates in the order they came.
template <class T, class V>
class RowSorter {
public:
  RowSorter(T *crd, V *values) : crd_(crd), values_(values) {}

  // Returns whether a coordinate is in some row twice.
  bool run(const T *pos, int64_t begin, int64_t end) {
    bool repeats = false;
    for (int64_t r = begin; r < end; ++r)
      repeats |= sort_row(pos[r], pos[r + 1]);
    return repeats;
  }

private:
  bool sort_row(T begin, T end) {
    bool descends = false, equals = false;
    for (T k = begin + 1; k < end; ++k) {
      descends |= crd_[k] < crd_[k - 1];
      equals |= crd_[k] == crd_[k - 1];
    }
    if (!descends) return equals;
    constexpr T kShort = 32;
    if (end - begin <= kShort)
      insert_in_order(begin, end);
    else
      sort_long_row(begin, end);
    for (T k = begin + 1; k < end; ++k)
      if (crd_[k] == crd_[k - 1]) return true;
    return false;
  }

  void insert_in_order(T begin, T end) {
    for (T k = begin + 1; k < end; ++k) {
      const T c = crd_[k];
      const V v = values_[k];
      T to = k;
      for (; to > begin && crd_[to - 1] > c; --to) {
        crd_[to] = crd_[to - 1];
        values_[to] = values_[to - 1];
      }
      crd_[to] = c;
      values_[to] = v;
    }
  }

  void sort_long_row(T begin, T end) {
    order_.clear();
    for (T k = begin; k < end; ++k)
      order_.push_back({crd_[k], k});
    sort_placed(order_);
    row_.assign(values_ + begin, values_ + end);
    for (T k = begin; k < end; ++k) {
      const auto &[c, source] = order_[static_cast<size_t>(k - begin)];
      crd_[k] = static_cast<T>(c);
      values_[k] = row_[static_cast<size_t>(source - begin)];
    }
  }

  T *crd_;
  V *values_;
  std::vector<Placed> order_;
  std::vector<V> row_;
};

template <class T, class V>
bool sort_rows_as(const RowBuffers &out) {
  const auto *pos = static_cast<const T *>(out.pos);
  const auto count = static_cast<int64_t>(pos[out.rows]), size = static_cast<int64_t>(sizeof(T));
  // All rows may be in order already, as for entries sorted by column; one scan over all of them is faster.
  if (rows_in_order(out.rows, {static_cast<const char *>(out.pos), out.rows + 1, size, out.width},
                    {static_cast<const char *>(out.crd), count, size, out.width}, std::numeric_limits<T>::max()))
    return false;
  const size_t parts = thread_count(static_cast<size_t>(count));
  const auto begins = row_parts(pos, out.rows, parts);
  std::vector<char> repeats(parts);
  in_parallel(parts, [&](size_t part) {
    RowSorter<T, V> sorter(static_cast<T *>(out.crd), static_cast<V *>(out.values));
    repeats[part] = sorter.run(pos, begins[part], begins[part + 1]);
  });
  return std::find(repeats.begin(), repeats.end(), 1) != repeats.end();
}

template <class T, class V>
T sum_neighbours(int64_t rows, T *pos, T *crd, V *values) {
  T kept = 0, begin = 0;
  for (int64_t r = 0; r < rows; ++r) {
    const T end = pos[r + 1], first = kept;
    for (T k = begin; k < end; ++k) {
      if (kept > first && crd[kept - 1] == crd[k]) {
        values[kept - 1] = add(values[kept - 1], values[k]);
        continue;
      }
      crd[kept] = crd[k];
      values[kept++] = values[k];
    }
    begin = end;
    pos[r + 1] = kept;
  }
  return kept;
}

} // namespace

template <class I>
bool pack_rows(const RowEntries<I> &entries, const Scan &scan, const RowBuffers &out) {
  return with_wide(out.width, [&](auto t) {
    using T = decltype(t);
    if (scan.sorted) {
      const SortedEntries<I> sorted{entries.rows, entries.coordinates, 1, entries.count};
      copy_sorted(sorted, out.rows, static_cast<T *>(out.pos), static_cast<T *>(out.crd), entries.values, out.values,
                  entries.itemsize);
      return !scan.distinct;
    }
    return with_itemsize(entries.itemsize, [&](auto v) {
      if (counts_coordinates(entries)) return scatter_in_order<I, T, decltype(v)>(entries, out);
      scatter<I, T, decltype(v)>(entries, out);
      return sort_rows_as<T, decltype(v)>(out);
    });
  });
}

bool sort_rows(const RowBuffers &rows, int64_t itemsize) {
  return with_wide(rows.width, [&](auto t) {
    return with_itemsize(itemsize, [&](auto v) { return sort_rows_as<decltype(t), decltype(v)>(rows); });
  });
}

int64_t sum_row_duplicates(const RowBuffers &rows, const std::string &dtype) {
  return with_wide(rows.width, [&](auto t) {
    using T = decltype(t);
    return with_dtype(dtype, [&](auto v) {
      return static_cast<int64_t>(sum_neighbours(rows.rows, static_cast<T *>(rows.pos), static_cast<T *>(rows.crd),
                                                 static_cast<decltype(v) *>(rows.values)));
    });
  });
}

template bool pack_rows(const RowEntries<int32_t> &, const Scan &, const RowBuffers &);
template bool pack_rows(const RowEntries<int64_t> &, const Scan &, const RowBuffers &);

} // namespace mlir_sparse
