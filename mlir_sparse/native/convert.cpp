// _native.expand: from level storage back to one coordinate a level for every stored value.

#include "module.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <optional>

#include "memory.hpp"
#include "pack_levels.hpp"
#include "pack_threads.hpp"

namespace mlir_sparse {
namespace {

// The number of entries per pass: their coordinates in all levels stay in the L1 cache.
constexpr int64_t kStretch = 1024;

// Walks down the levels, with the coordinates in the levels above of all places reached so far.
template <class I>
class Expander {
public:
  Expander(const std::vector<Level> &levels, const std::vector<OptionalArray> &positions,
           const std::vector<OptionalArray> &coordinates)
      : levels_(levels), positions_(positions), coordinates_(coordinates) {}

  std::pair<std::vector<py::array>, OptionalArray> run() {
    for (size_t level = 0; level < levels_.size();)
      level = expand_level(level);
    return {std::move(columns_), std::move(places_)};
  }

private:
  static py::array new_column(int64_t length) {
    return reserve(static_cast<size_t>(length), py::dtype::of<I>(), false);
  }
  static I *data(py::array &column) { return static_cast<I *>(column.mutable_data()); }

  size_t expand_level(size_t level) {
    switch (levels_[level].kind) {
    case LevelKind::Dense: expand_dense(level); return level + 1;
    case LevelKind::Structured: expand_structured(level); return level + 1;
    default: return expand_region(level);
    }
  }

  void expand_dense(size_t level) {
    const int64_t size = levels_[level].size;
    repeat_all([size](int64_t) { return size; }, count_ * size, true);
    py::array column = new_column(count_ * size);
    I *out = data(column);
    {
      py::gil_scoped_release release;
      for (int64_t i = 0; i < count_; ++i)
        for (int64_t c = 0; c < size; ++c)
          *out++ = static_cast<I>(c);
    }
    columns_.push_back(std::move(column));
    subdivide_places(size);
  }

  void expand_structured(size_t level) {
    const int64_t n = levels_[level].n;
    repeat_all([n](int64_t) { return n; }, count_ * n, true);
    subdivide_places(n);
    columns_.push_back(read_coordinates(*coordinates_[level], 0, 1));
  }

  // Gives every place `size` places below it.
  void subdivide_places(int64_t size) {
    if (places_) {
      py::array below(py::dtype::of<int64_t>(), count_ * size);
      const auto *from = static_cast<const int64_t *>(places_->data());
      auto *to = static_cast<int64_t *>(below.mutable_data());
      py::gil_scoped_release release;
      for (int64_t i = 0; i < count_; ++i)
        for (int64_t c = 0; c < size; ++c)
          *to++ = from[i] * size + c;
      py::gil_scoped_acquire acquire;
      places_ = below;
    }
    count_ *= size;
  }

  size_t expand_region(size_t start) {
    const size_t end = region_end(levels_, start);
    const IntBuffer pos = to_buffer(*positions_[start]);
    const bool loose = levels_[start].kind == LevelKind::LooseCompressed;
    pos.visit([&](auto at) {
      const auto low = [&](int64_t place) { return at(loose ? 2 * place : place); };
      const auto high = [&](int64_t place) { return at(loose ? 2 * place + 1 : place + 1); };
      const auto length = [&](int64_t place) { return high(place) - low(place); };
      int64_t total = 0;
      bool tight = !places_;
      for_places([&](int64_t place) {
        tight &= low(place) == total;
        total += length(place);
      });
      repeat_all(length, total, start > 0);
      places_ = tight ? OptionalArray() : OptionalArray(collect_places(low, high, total));
      count_ = total;
      return 0;
    });
    const size_t stride = region_stride(levels_, start, end);
    if (stride > 1 && !places_) {
      read_interleaved(*coordinates_[start], stride);
      return end;
    }
    for (size_t level = start; level < end; ++level) {
      const bool own = stride == 1;
      columns_.push_back(read_coordinates(*coordinates_[own ? level : start], own ? 0 : level - start, stride));
    }
    return end;
  }

  template <class F>
  void for_places(F &&f) const {
    const auto *places = places_ ? static_cast<const int64_t *>(places_->data()) : nullptr;
    py::gil_scoped_release release;
    for (int64_t i = 0; i < count_; ++i)
      f(places ? places[i] : i);
  }

  template <class Low, class High>
  py::array collect_places(const Low &low, const High &high, int64_t total) const {
    py::array places(py::dtype::of<int64_t>(), total);
    auto *out = static_cast<int64_t *>(places.mutable_data());
    for_places([&](int64_t place) {
      for (int64_t k = low(place); k < high(place); ++k)
        *out++ = k;
    });
    return places;
  }

  // Repeats each coordinate of the levels above as often as its place has places below.
  template <class Length>
  void repeat_all(const Length &length, int64_t total, bool needed) {
    if (!needed) return;
    for (py::array &column : columns_) {
      py::array repeated = new_column(total);
      const auto *from = static_cast<const I *>(column.data());
      I *out = data(repeated);
      for_places([&](int64_t place) {
        const I value = *from++;
        for (int64_t k = length(place); k > 0; --k)
          *out++ = value;
      });
      column = std::move(repeated);
    }
  }

  // Returns coordinates without a copy if they have the wanted form.
  py::array read_coordinates(const py::array &array, size_t offset, size_t stride) const {
    const IntBuffer buffer = to_buffer(array);
    if (!places_ && stride == 1 && buffer.width == 8 * sizeof(I) && buffer.length == count_) return array;
    py::array column = new_column(count_);
    I *out = data(column);
    buffer.visit([&](auto at) {
      const auto step = static_cast<int64_t>(stride), first = static_cast<int64_t>(offset);
      for_places([&](int64_t place) { *out++ = static_cast<I>(at(place * step + first)); });
      return 0;
    });
    return column;
  }

  // The coordinates of each entry are adjacent, in the order of the entries; threads read parts in parallel.
  void read_interleaved(const py::array &array, size_t stride) {
    const IntBuffer buffer = to_buffer(array);
    std::vector<I *> out;
    for (size_t level = 0; level < stride; ++level) {
      columns_.push_back(new_column(count_));
      out.push_back(data(columns_.back()));
    }
    const size_t count = static_cast<size_t>(count_);
    const auto begins = even_parts(count, thread_count(count));
    buffer.visit([&](auto at) {
      py::gil_scoped_release release;
      in_parallel(begins.size() - 1, [&](size_t part) {
        const auto end = static_cast<int64_t>(begins[part + 1]), step = static_cast<int64_t>(stride);
        for (auto e = static_cast<int64_t>(begins[part]); e < end; e += kStretch)
          for (int64_t level = 0; level < step; ++level)
            for (int64_t k = e; k < std::min(e + kStretch, end); ++k)
              out[static_cast<size_t>(level)][k] = static_cast<I>(at(k * step + level));
      });
      return 0;
    });
  }

  const std::vector<Level> &levels_;
  const std::vector<OptionalArray> &positions_;
  const std::vector<OptionalArray> &coordinates_;
  std::vector<py::array> columns_;
  OptionalArray places_; // absent while place i is simply the i-th
  int64_t count_ = 1;
};

std::pair<std::vector<py::array>, OptionalArray> expand(const std::vector<LevelTuple> &tuples,
                                                        const std::vector<OptionalArray> &positions,
                                                        const std::vector<OptionalArray> &coordinates) {
  const auto levels = to_levels(tuples);
  const bool narrow = std::all_of(levels.begin(), levels.end(), [](const Level &level) {
    return level.size <= int64_t{std::numeric_limits<int32_t>::max()};
  });
  return narrow ? Expander<int32_t>(levels, positions, coordinates).run()
                : Expander<int64_t>(levels, positions, coordinates).run();
}

} // namespace

void register_convert(py::module_ &module) {
  module.def(
      "expand", &expand, py::arg("levels"), py::arg("positions"), py::arg("coordinates"),
      "Returns the level coordinates of every stored value, and the values' places where these are not 0, 1, ...");
}

} // namespace mlir_sparse
