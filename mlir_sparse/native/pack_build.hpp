// Level by level, from sorted entries to storage of any encoding.
//
// Every entry has a place in the levels built so far; a level turns the place and a coordinate into the place in the
// next level. After the last level it is the place of the value (Chou et al. 2018, section 5, do the same by code
// generation).

#pragma once

#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pack_levels.hpp"
#include "pack_sort.hpp"
#include "pack_values.hpp"

namespace mlir_sparse {

// The storage to build; limits are in bytes, widths in bits.
struct PackPlan {
  std::vector<Level> levels;
  int pos_width;
  int crd_width;
  std::string dtype;
  bool keep_duplicates;
  int64_t memory_limit;

  // The number of leading levels after which all are dense: there the order of entries does not matter.
  size_t ordered_rank() const {
    size_t rank = levels.size();
    while (rank > 0 && levels[rank - 1].kind == LevelKind::Dense)
      --rank;
    return rank;
  }
  std::vector<int64_t> sizes() const {
    std::vector<int64_t> sizes;
    for (const Level &level : levels)
      sizes.push_back(level.size);
    return sizes;
  }
  std::vector<int64_t> ordered_sizes() const {
    auto all = sizes();
    all.resize(ordered_rank());
    return all;
  }
};

// Buffers by level for Python; an array of structs is whole at its first level.
struct PackedLevels {
  std::vector<OptionalArray> positions;
  std::vector<OptionalArray> coordinates;
  py::array values;
};

// A product that saturates instead of overflowing, for checks of sizes before allocation.
inline int64_t checked_product(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<int64_t>::max() : product;
}

inline void require_memory(const PackPlan &plan, size_t level, int64_t count, int64_t itemsize) {
  const int64_t bytes = checked_product(count, itemsize);
  if (bytes > plan.memory_limit) throw LevelFault("memory", level, count, plan.memory_limit, bytes);
}

inline void require_width(const char *kind, size_t level, int width, int64_t largest) {
  if (largest > width_limit(width)) throw LevelFault(kind, level, width, width_limit(width), largest);
}

template <class I>
class Builder {
public:
  // The columns are sorted; `order`, unless they were already, has the original place of each entry.
  Builder(const PackPlan &plan, const Columns<I> &columns, const uint64_t *order)
      : plan_(plan), columns_(columns), order_(order), place_(columns.count), difference_(columns.count) {
    py::gil_scoped_release release;
    find_differences();
  }

  PackedLevels build(const py::array &values) {
    const size_t rank = plan_.levels.size();
    packed_.positions.resize(rank);
    packed_.coordinates.resize(rank);
    for (size_t level = 0; level < rank;)
      level = add_level(level);
    add_values(values);
    return std::move(packed_);
  }

private:
  size_t source(size_t e) const { return order_ ? static_cast<size_t>(order_[e]) : e; }
  int64_t coordinate(size_t level, size_t e) const { return columns_.data[level][e]; }
  int64_t place(size_t e) const { return at_root_ ? 0 : place_[e]; }

  // difference_[e] is the first level at which entry e differs from the one before it.
  void find_differences() {
    const size_t rank = plan_.ordered_rank();
    for (size_t e = 1; e < columns_.count; ++e) {
      size_t level = 0;
      while (level < rank && coordinate(level, e) == coordinate(level, e - 1))
        ++level;
      difference_[e] = static_cast<uint8_t>(level);
      distinct_ &= level < rank;
    }
  }

  size_t add_level(size_t level) {
    switch (plan_.levels[level].kind) {
    case LevelKind::Dense: add_dense(level); return level + 1;
    case LevelKind::Structured: add_structured(level); return level + 1;
    default: return add_region(level);
    }
  }

  void add_dense(size_t level) {
    const int64_t size = plan_.levels[level].size;
    places_ = checked_product(places_, size);
    require_memory(plan_, level, places_, 1);
    py::gil_scoped_release release;
    const I *column = columns_.data[level];
    for (size_t e = 0; e < columns_.count; ++e)
      place_[e] = place(e) * size + static_cast<int64_t>(column[e]);
    at_root_ = false;
  }

  // Whether all entries have places of their own after the levels before `end`.
  bool separates(size_t end) const { return distinct_ && end == plan_.ordered_rank(); }

  bool starts_place(size_t e, size_t end) const {
    if (e == 0 || difference_[e] < end) return true;
    const bool repeats = plan_.keep_duplicates && end == plan_.levels.size();
    return repeats && difference_[e] == end;
  }

  // A level with positions and its singletons: entries equal in all of them share a place.
  size_t add_region(size_t start) {
    const size_t end = region_end(plan_.levels, start);
    const int64_t count = count_places(start, end);
    const bool loose = plan_.levels[start].kind == LevelKind::LooseCompressed;
    const int64_t length = loose ? checked_product(2, places_) : places_ + 1;
    require_width("posWidth", start, plan_.pos_width, count);
    require_memory(plan_, start, length, plan_.pos_width / 8);
    packed_.positions[start] = new_array(width_dtype(plan_.pos_width), length);
    with_width(plan_.pos_width, [&](auto t) {
      auto *pos = static_cast<decltype(t) *>(packed_.positions[start]->mutable_data());
      fill_positions(pos, end, count, loose);
    });
    add_coordinates(start, end, count);
    advance_places(end);
    places_ = count;
    return end;
  }

  int64_t count_places(size_t start, size_t end) {
    py::gil_scoped_release release;
    if (separates(end) && end - start == 1) return static_cast<int64_t>(columns_.count);
    int64_t count = 0;
    for (size_t e = 0; e < columns_.count; ++e) {
      count += starts_place(e, end);
      for (size_t level = start; level + 1 < end; ++level) {
        const bool parts = e > 0 && difference_[e] > level && difference_[e] < end;
        if (parts && plan_.levels[level].unique)
          throw LevelFault("singleton", level, static_cast<int64_t>(source(e)), 1, coordinate(level, e));
      }
    }
    return count;
  }

  template <class P>
  void fill_positions(P *pos, size_t end, int64_t count, bool loose) {
    py::gil_scoped_release release;
    const int64_t step = loose ? 2 : 1;
    int64_t filled = 0, next = 0;
    const auto begin_parent = [&](int64_t place) {
      if (loose && filled > 0) pos[2 * filled - 1] = static_cast<P>(place);
      pos[step * filled++] = static_cast<P>(place);
    };
    for (size_t e = 0; e < columns_.count && filled < places_; ++e) {
      if (!starts_place(e, end)) continue;
      while (filled <= place(e))
        begin_parent(next);
      ++next;
    }
    while (filled < places_)
      begin_parent(count);
    if (!loose || places_ > 0) pos[loose ? 2 * places_ - 1 : places_] = static_cast<P>(count);
  }

  void add_coordinates(size_t start, size_t end, int64_t count) {
    const auto stride = static_cast<int64_t>(region_stride(plan_.levels, start, end));
    const auto dtype = width_dtype(plan_.crd_width);
    require_memory(plan_, start, checked_product(count, static_cast<int64_t>(end - start)), plan_.crd_width / 8);
    for (size_t level = start; level < end; ++level) {
      if (level == start || stride == 1) packed_.coordinates[level] = new_array(dtype, count * stride);
      auto &array = packed_.coordinates[stride == 1 ? level : start];
      const size_t offset = stride == 1 ? 0 : level - start;
      with_width(plan_.crd_width, [&](auto t) {
        auto *crd = static_cast<decltype(t) *>(array->mutable_data()) + offset;
        fill_coordinates(crd, level, end, stride);
      });
    }
  }

  template <class C>
  void fill_coordinates(C *crd, size_t level, size_t end, int64_t stride) {
    py::gil_scoped_release release;
    const I *column = columns_.data[level];
    if (separates(end)) {
      for (size_t e = 0; e < columns_.count; ++e, crd += stride)
        *crd = static_cast<C>(column[e]);
      return;
    }
    for (size_t e = 0; e < columns_.count; ++e) {
      if (!starts_place(e, end)) continue;
      *crd = static_cast<C>(column[e]);
      crd += stride;
    }
  }

  void advance_places(size_t end) {
    py::gil_scoped_release release;
    int64_t place = -1;
    for (size_t e = 0; e < columns_.count; ++e)
      place_[e] = place += starts_place(e, end);
    at_root_ = false;
  }

  void add_structured(size_t level) {
    const auto &[kind, unique, ordered, soa, m, n] = plan_.levels[level];
    const int64_t length = checked_product(places_, n);
    require_memory(plan_, level, length, plan_.crd_width / 8);
    packed_.coordinates[level] = new_array(width_dtype(plan_.crd_width), length);
    with_width(plan_.crd_width, [&, n = n](auto t) {
      auto *crd = static_cast<decltype(t) *>(packed_.coordinates[level]->mutable_data());
      py::gil_scoped_release release;
      for (int64_t i = 0; i < length; ++i)
        crd[i] = static_cast<decltype(t)>(i % n);
      for (size_t e = 0; e < columns_.count;)
        e = fill_block(crd, level, e);
    });
    at_root_ = false;
    places_ = length;
  }

  // Puts one block's coordinates in place, filled up with the smallest unused ones; returns the next block's entry.
  template <class C>
  size_t fill_block(C *crd, size_t level, size_t begin) {
    const int64_t n = plan_.levels[level].n;
    size_t end = begin;
    int64_t used = 0;
    for (; end < columns_.count && (end == begin || difference_[end] >= level); ++end)
      used += starts_place(end, level + 1);
    if (used > n) throw LevelFault("structured", level, static_cast<int64_t>(source(begin)), n, used);
    C *block = crd + place(begin) * n;
    int64_t slot = 0, unused = n - used;
    size_t e = begin;
    for (int64_t c = 0; slot < n; ++c) {
      const bool taken = e < end && coordinate(level, e) == c;
      if (!taken && unused-- <= 0) continue;
      for (; e < end && coordinate(level, e) == c; ++e)
        place_[e] = place(e) * n + slot;
      block[slot++] = static_cast<C>(c);
    }
    return end;
  }

  void add_values(const py::array &values) {
    const auto last = plan_.levels.empty() ? LevelKind::Dense : plan_.levels.back().kind;
    const bool has_gaps = last == LevelKind::Dense || last == LevelKind::Structured;
    require_memory(plan_, plan_.levels.size(), places_, values.itemsize());
    packed_.values = new_array(values.dtype(), places_, has_gaps);
    void *to = packed_.values.mutable_data();
    const void *from = values.data();
    const auto itemsize = static_cast<int64_t>(values.itemsize());
    py::gil_scoped_release release;
    if (!has_gaps && separates(plan_.levels.size()))
      gather_values(itemsize, from, to, order_, columns_.count);
    else
      place_values(plan_.dtype, from, to, {at_root_ ? nullptr : place_.data(), order_, columns_.count}, has_gaps);
  }

  const PackPlan &plan_;
  const Columns<I> &columns_;
  const uint64_t *order_;
  Scratch<int64_t> place_;
  Scratch<uint8_t> difference_;
  int64_t places_ = 1;
  bool at_root_ = true; // no level yet: every entry is at place 0
  bool distinct_ = true;
  PackedLevels packed_;
};

} // namespace mlir_sparse
