// The fast way to dense levels with one compressed level below (CSR, CSC, sparse
// vectors, stacks of them): entries go to their row by counting, rows are then
// sorted one by one, while they are in the cache.

#pragma once

#include <algorithm>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "pack_build.hpp"

namespace mlir_sparse {

inline bool packs_by_rows(const PackPlan &plan) {
  const auto &levels = plan.levels;
  if (levels.empty() || levels.back().kind != LevelKind::Compressed || plan.keep_duplicates) return false;
  if (plan.pos_width < 32 || plan.crd_width < 32) return false;
  return std::all_of(levels.begin(), levels.end() - 1, [](const Level &l) { return l.kind == LevelKind::Dense; });
}

template <class I, class P, class C, class V>
class RowPacker {
public:
  RowPacker(const Columns<I> &columns, const std::vector<int64_t> &sizes, int64_t rows, P *pos, C *crd, V *values)
      : columns_(columns), sizes_(sizes), rows_(rows), pos_(pos), crd_(crd), values_(values) {}

  // Fills the buffers; returns whether some coordinate is stored twice in its row.
  bool run(const V *from, const Scan &scan) {
    if (sizes_.size() != 2) return run(from, scan, [this](size_t e) { return linear_row(e); });
    return run(from, scan, [rows = columns_.data[0]](size_t e) { return rows[e]; });
  }

private:
  template <class Row>
  bool run(const V *from, const Scan &scan, Row row) {
    std::fill(pos_, pos_ + rows_ + 1, P{0});
    if (scan.sorted) {
      copy_sorted(from, row);
      return !scan.distinct;
    }
    scatter(from, row);
    return sort_rows();
  }

  size_t linear_row(size_t e) const { return linear_key(columns_, sizes_, 0, sizes_.size() - 1, e); }

  template <class Row>
  void copy_sorted(const V *from, Row row) {
    // The last store of a row wins: no count to load, add to and store again.
    const auto count = static_cast<P>(columns_.count);
    P *ends = pos_ + 1;
    for (P e = 0; e < count; ++e)
      ends[row(e)] = e + 1;
    for (int64_t r = 0; r < rows_; ++r)
      pos_[r + 1] = std::max(pos_[r], pos_[r + 1]);
    const I *last = columns_.data.back();
    std::transform(last, last + columns_.count, crd_, [](I c) { return static_cast<C>(c); });
    if (columns_.count > 0) std::memcpy(values_, from, columns_.count * sizeof(V));
  }

  template <class Row>
  void scatter(const V *from, Row row) {
    const size_t count = columns_.count;
    const I *last = columns_.data.back();
    P *pos = pos_;
    C *crd = crd_;
    V *values = values_;
    for (size_t e = 0; e < count; ++e)
      ++pos[row(e) + 1];
    for (int64_t r = 0; r < rows_; ++r)
      pos[r + 1] += pos[r];
    for (size_t e = 0; e < count; ++e) {
      const P place = pos[row(e)]++;
      crd[place] = static_cast<C>(last[e]);
      values[place] = from[e];
    }
    for (int64_t r = rows_; r > 0; --r)
      pos_[r] = pos_[r - 1]; // each start has moved to its row's end
    pos_[0] = 0;
  }

  bool sort_rows() {
    if (rows_ascend(rows_, pos_, crd_)) return false;
    bool repeats = false;
    for (int64_t r = 0; r < rows_; ++r) {
      const P begin = pos_[r], end = pos_[r + 1];
      bool descends = false, equals = false;
      for (P k = begin + 1; k < end; ++k) {
        descends |= crd_[k] < crd_[k - 1];
        equals |= crd_[k] == crd_[k - 1];
      }
      if (descends) equals = sort_row(begin, end);
      repeats |= equals;
    }
    return repeats;
  }

  // Sorts one row, equal coordinates in the order they came; returns whether there are any.
  bool sort_row(P begin, P end) {
    constexpr P kShort = 32;
    if (end - begin <= kShort)
      insert_in_order(begin, end);
    else
      sort_long_row(begin, end);
    for (P k = begin + 1; k < end; ++k)
      if (crd_[k] == crd_[k - 1]) return true;
    return false;
  }

  void insert_in_order(P begin, P end) {
    for (P k = begin + 1; k < end; ++k) {
      const C c = crd_[k];
      const V v = values_[k];
      P to = k;
      for (; to > begin && crd_[to - 1] > c; --to) {
        crd_[to] = crd_[to - 1];
        values_[to] = values_[to - 1];
      }
      crd_[to] = c;
      values_[to] = v;
    }
  }

  void sort_long_row(P begin, P end) {
    row_.clear();
    for (P k = begin; k < end; ++k)
      row_.push_back({crd_[k], values_[k]});
    std::stable_sort(row_.begin(), row_.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
    for (P k = begin; k < end; ++k)
      std::tie(crd_[k], values_[k]) = row_[k - begin];
  }

  const Columns<I> &columns_;
  const std::vector<int64_t> &sizes_;
  int64_t rows_;
  P *pos_;
  C *crd_;
  V *values_;
  std::vector<std::pair<C, V>> row_;
};

// Sums neighbours with one coordinate, in place; returns how many entries stay.
template <class P, class C, class V>
P sum_duplicates(int64_t rows, P *pos, C *crd, V *values) {
  P kept = 0, begin = 0;
  for (int64_t r = 0; r < rows; ++r) {
    const P end = pos[r + 1], first = kept;
    for (P k = begin; k < end; ++k) {
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

template <class I, class P, class C>
Packed pack_rows(const PackPlan &plan, const Columns<I> &columns, const Scan &scan, const py::array &values) {
  const auto sizes = plan.ordered_sizes();
  const size_t last = sizes.size() - 1;
  const auto count = static_cast<int64_t>(columns.count);
  int64_t rows = 1;
  for (size_t level = 0; level < last; ++level)
    rows = checked_product(rows, sizes[level]);
  require_memory(plan, last, rows, sizeof(P));
  require_memory(plan, last, count, static_cast<int64_t>(sizeof(C)) + values.itemsize());
  require_width("posWidth", last, plan.pos_width, count);
  auto pos = new_array(width_dtype(plan.pos_width), rows + 1);
  auto crd = new_array(width_dtype(plan.crd_width), count);
  auto out = new_array(values.dtype(), count);
  auto *p = static_cast<P *>(pos.mutable_data());
  auto *c = static_cast<C *>(crd.mutable_data());
  const bool repeats = with_itemsize(values.itemsize(), [&](auto t) {
    using V = decltype(t);
    const auto *from = static_cast<const V *>(values.data());
    auto *to = static_cast<V *>(out.mutable_data());
    py::gil_scoped_release release;
    return RowPacker<I, P, C, V>(columns, sizes, rows, p, c, to).run(from, scan);
  });
  if (repeats) {
    const auto kept = with_dtype(plan.dtype, [&](auto t) {
      auto *v = static_cast<decltype(t) *>(out.mutable_data());
      py::gil_scoped_release release;
      return static_cast<py::ssize_t>(sum_duplicates(rows, p, c, v));
    });
    const auto shorten = [kept](const py::array &array) {
      return py::array(array[py::slice(0, kept, 1)].attr("copy")());
    };
    crd = shorten(crd);
    out = shorten(out);
  }
  Packed packed{std::vector<OptionalArray>(last + 1), std::vector<OptionalArray>(last + 1), out};
  packed.positions[last] = pos;
  packed.coordinates[last] = crd;
  return packed;
}

} // namespace mlir_sparse
