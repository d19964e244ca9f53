// _native.validate: level buffers against their encoding, in one pass over each.
//
// Kernels check nothing: a coordinate out of range reads or writes outside the caller's memory. So all buffers that
// this package did not build are checked here.

#include "module.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <numeric>

#include "pack_levels.hpp"
#include "validate_rows.hpp"

namespace mlir_sparse {
namespace {

class Validator {
public:
  Validator(const std::vector<Level> &levels, std::vector<IntBuffer> positions, std::vector<IntBuffer> coordinates)
      : levels_(levels), positions_(std::move(positions)), coordinates_(std::move(coordinates)) {}

  void run(int64_t num_values) {
    for (size_t level = 0; level < levels_.size();)
      level = check_level(level);
    if (num_values != places_) throw LevelFault("values length", levels_.size(), 0, places_, num_values);
  }

private:
  size_t check_level(size_t level) {
    const Level &l = levels_[level];
    switch (l.kind) {
    case LevelKind::Dense: multiply_places(l.size); return level + 1;
    case LevelKind::Structured: check_structured(level); return level + 1;
    default: return check_region(level);
    }
  }

  void multiply_places(int64_t size) {
    if (__builtin_mul_overflow(places_, size, &places_)) places_ = std::numeric_limits<int64_t>::max();
  }

  void check_structured(size_t level) {
    const int64_t n = levels_[level].n;
    multiply_places(n);
    check_length("coordinates length", level, places_, coordinates_[level].length);
    check_range(level);
    coordinates_[level].visit([&](auto crd) {
      for (int64_t k = 1; k < places_; ++k)
        if (k % n != 0 && crd(k) <= crd(k - 1)) fault_step(level, k, crd(k - 1), crd(k));
      return 0;
    });
  }

  size_t check_region(size_t start) {
    const size_t end = region_end(levels_, start);
    const bool loose = levels_[start].kind == LevelKind::LooseCompressed;
    int64_t wanted = 0;  // more than any buffer has, where 64 bits do not count them
    if (__builtin_mul_overflow(places_, int64_t{loose ? 2 : 1}, &wanted) ||
        __builtin_add_overflow(wanted, int64_t{loose ? 0 : 1}, &wanted))
      wanted = std::numeric_limits<int64_t>::max();
    check_length("positions length", start, wanted, positions_[start].length);
    for (size_t level = start + 1; level < end; ++level)
      check_length("singleton length", level, coordinates_[start].length, coordinates_[level].length);
    if (loose)
      check_loose_positions(start);
    else
      check_positions(start);
    if (!is_plain(start, end, loose)) {
      for (size_t level = start; level < end; ++level)
        check_range(level);
      check_order(start, end, loose);
    }
    places_ = coordinates_[start].length;
    return end;
  }

  // A fast check for one valid compressed level.
  bool is_plain(size_t start, size_t end, bool loose) const {
    const Level &level = levels_[start];
    if (end - start > 1 || loose || !level.ordered || !level.unique) return false;
    return rows_in_order(places_, positions_[start], coordinates_[start], level.size);
  }

  static void check_length(const char *kind, size_t level, int64_t expected, int64_t got) {
    if (expected != got) throw LevelFault(kind, level, 0, expected, got);
  }

  void check_positions(size_t level) {
    positions_[level].visit([&](auto pos) {
      if (pos(0) != 0) throw LevelFault("positions start", level, 0, 0, pos(0));
      for (int64_t p = 0; p < places_; ++p)
        if (pos(p + 1) < pos(p)) throw LevelFault("positions step", level, p + 1, pos(p), pos(p + 1));
      if (pos(places_) != coordinates_[level].length)
        throw LevelFault("positions end", level, places_, coordinates_[level].length, pos(places_));
      return 0;
    });
  }

  // Pairs of begin and end, which may leave gaps, but must ascend without overlap.
  void check_loose_positions(size_t level) {
    positions_[level].visit([&](auto pos) {
      int64_t before = 0;
      for (int64_t p = 0; p < 2 * places_; ++p) {
        if (pos(p) < before) throw LevelFault("positions step", level, p, before, pos(p));
        before = pos(p);
      }
      if (before > coordinates_[level].length)
        throw LevelFault("positions beyond", level, 2 * places_ - 1, coordinates_[level].length, before);
      return 0;
    });
  }

  void check_range(size_t level) {
    const int64_t size = levels_[level].size, count = coordinates_[level].length;
    coordinates_[level].visit([&](auto crd) {
      int64_t low = 0, high = -1;
      for (int64_t k = 0; k < count; ++k) {
        low = std::min(low, crd(k));
        high = std::max(high, crd(k));
      }
      if (low >= 0 && high < size) return 0;
      for (int64_t k = 0; k < count; ++k)
        if ((crd(k) < 0 || crd(k) >= size) && !in_gap(level, k)) throw LevelFault("range", level, k, size, crd(k));
      return 0;
    });
  }

  // The contents of a loose level's gaps are not checked.
  bool in_gap(size_t level, int64_t k) const {
    size_t start = level;
    while (levels_[start].kind == LevelKind::Singleton)
      --start;
    if (levels_[start].kind != LevelKind::LooseCompressed) return false;
    return positions_[start].visit([&](auto pos) {
      int64_t low = 0, high = places_; // the first place whose end lies beyond k
      while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (pos(2 * middle + 1) > k)
          high = middle;
        else
          low = middle + 1;
      }
      return low == places_ || pos(2 * low) > k;
    });
  }

  void check_order(size_t start, size_t end, bool loose) {
    const bool ordered = std::all_of(levels_.begin() + static_cast<std::ptrdiff_t>(start),
                                     levels_.begin() + static_cast<std::ptrdiff_t>(end),
                                     [](const Level &level) { return level.ordered; });
    positions_[start].visit([&](auto pos) {
      for (int64_t p = 0; p < places_; ++p) {
        const int64_t begin = pos(loose ? 2 * p : p), stop = pos(loose ? 2 * p + 1 : p + 1);
        if (ordered)
          check_sorted_segment(start, end, begin, stop);
        else
          check_unsorted_segment(start, end, begin, stop);
      }
      return 0;
    });
  }

  int64_t coordinate(size_t level, int64_t k) const {
    return coordinates_[level].visit([k](auto crd) { return crd(k); });
  }

  // The first level at which two places differ; `end` when none does.
  size_t difference(size_t start, size_t end, int64_t a, int64_t b) const {
    size_t level = start;
    while (level < end && coordinate(level, a) == coordinate(level, b))
      ++level;
    return level;
  }

  // Two places must not agree in a unique level and all levels above it in the region.
  void check_distinct(size_t start, size_t end, int64_t a, int64_t b) const {
    const size_t differ = difference(start, end, a, b);
    for (size_t level = start; level < differ; ++level)
      if (levels_[level].unique) throw LevelFault("duplicate", level, b, a, coordinate(level, b));
  }

  void check_sorted_segment(size_t start, size_t end, int64_t begin, int64_t stop) const {
    for (int64_t k = begin + 1; k < stop; ++k) {
      const size_t differ = difference(start, end, k - 1, k);
      if (differ < end && coordinate(differ, k) < coordinate(differ, k - 1))
        fault_step(differ, k, coordinate(differ, k - 1), coordinate(differ, k));
      check_distinct(start, end, k - 1, k);
    }
  }

  // Without order duplicates need not be adjacent: sort a copy first.
  void check_unsorted_segment(size_t start, size_t end, int64_t begin, int64_t stop) {
    if (!levels_[end - 1].unique && end - start == 1) return;
    sorted_.resize(static_cast<size_t>(stop - begin));
    std::iota(sorted_.begin(), sorted_.end(), begin);
    std::sort(sorted_.begin(), sorted_.end(), [&](int64_t a, int64_t b) {
      const size_t differ = difference(start, end, a, b);
      if (differ == end) return a < b;
      return coordinate(differ, a) < coordinate(differ, b);
    });
    for (size_t k = 1; k < sorted_.size(); ++k)
      check_distinct(start, end, sorted_[k - 1], sorted_[k]);
  }

  [[noreturn]] static void fault_step(size_t level, int64_t k, int64_t before, int64_t got) {
    throw LevelFault(before == got ? "duplicate" : "order", level, k, before == got ? k - 1 : before, got);
  }

  const std::vector<Level> &levels_;
  std::vector<IntBuffer> positions_;
  std::vector<IntBuffer> coordinates_;
  std::vector<int64_t> sorted_;
  int64_t places_ = 1;
};

void validate(const std::vector<LevelTuple> &tuples, const std::vector<OptionalArray> &positions,
              const std::vector<OptionalArray> &coordinates, int64_t num_values) {
  const auto levels = to_levels(tuples);
  Validator validator(levels, to_buffers(positions), to_buffers(coordinates));
  py::gil_scoped_release release;
  validator.run(num_values);
}

} // namespace

void register_validate(py::module_ &module) {
  module.def("validate", &validate, py::arg("levels"), py::arg("positions"), py::arg("coordinates"),
             py::arg("num_values"),
             "Raises LevelFault for the first rule of the levels that the buffers (one a level) break.");
}

} // namespace mlir_sparse
