// What packing, validation and conversion share: levels as plain data, buffers
// of four widths, and the one exception that carries figures to Python.

#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace mlir_sparse {

namespace py = pybind11;

enum class LevelKind { Dense = 0, Compressed = 1, LooseCompressed = 2, Singleton = 3, Structured = 4 };

// One level: (kind, unique, ordered, soa, size, n); n is of structured[n, m], where size is m.
struct Level {
  LevelKind kind;
  bool unique;
  bool ordered;
  bool soa;
  int64_t size;
  int64_t n;

  bool has_positions() const { return kind == LevelKind::Compressed || kind == LevelKind::LooseCompressed; }
};

using LevelTuple = std::tuple<int, bool, bool, bool, int64_t, int64_t>;

inline std::vector<Level> to_levels(const std::vector<LevelTuple> &tuples) {
  std::vector<Level> levels;
  for (const auto &[kind, unique, ordered, soa, size, n] : tuples)
    levels.push_back({static_cast<LevelKind>(kind), unique, ordered, soa, size, n});
  return levels;
}

// The end of the run that starts at `level`: a level with positions and the singletons that follow it.
inline size_t region_end(const std::vector<Level> &levels, size_t level) {
  size_t end = level + 1;
  if (!levels[level].has_positions()) return end;
  while (end < levels.size() && levels[end].kind == LevelKind::Singleton)
    ++end;
  return end;
}

// The distance of two coordinates of one level: the region's length when it is an array of structs.
inline size_t region_stride(const std::vector<Level> &levels, size_t start, size_t end) {
  return end - start > 1 && !levels[start + 1].soa ? end - start : 1;
}

// A broken rule with its figures; becomes `_native.LevelFault(kind, level, position, expected, got)`.
struct LevelFault : std::exception {
  std::string kind;
  int64_t level;
  int64_t position;
  int64_t expected;
  int64_t got;

  LevelFault(std::string kind_, size_t level_, int64_t position_, int64_t expected_, int64_t got_)
      : kind(std::move(kind_)), level(static_cast<int64_t>(level_)), position(position_), expected(expected_),
        got(got_) {}
  const char *what() const noexcept override { return kind.c_str(); }
};

// Runs f with a value of the unsigned or signed type that stores this width (see tensor/widths.py).
template <class F>
auto with_width(int width, F &&f) {
  switch (width) {
  case 8: return f(uint8_t{});
  case 16: return f(uint16_t{});
  case 32: return f(int32_t{});
  default: return f(int64_t{});
  }
}

inline int64_t width_limit(int width) {
  return with_width(width, [](auto t) { return static_cast<int64_t>(std::numeric_limits<decltype(t)>::max()); });
}

inline py::dtype width_dtype(int width) {
  return with_width(width, [](auto t) { return py::dtype::of<decltype(t)>(); });
}

// A one-dimensional integer buffer of any of the four widths; Python guarantees native byte order.
struct IntBuffer {
  const char *data = nullptr;
  int64_t length = 0;
  int64_t stride = 0; // in bytes
  int width = 64;

  IntBuffer() = default;
  explicit IntBuffer(const py::array &array)
      : data(static_cast<const char *>(array.data())), length(array.size()),
        stride(array.size() > 1 ? array.strides(0) : array.itemsize()), width(static_cast<int>(array.itemsize() * 8)) {}

  bool contiguous() const { return stride * 8 == width; }

  // Runs f with a function from position to value, so that the width is chosen once a loop and not once a read.
  template <class F>
  auto visit(F &&f) const {
    return with_width(width, [&](auto t) {
      using T = decltype(t);
      const T *array = reinterpret_cast<const T *>(data);
      if (contiguous()) return f([array](int64_t i) { return static_cast<int64_t>(array[i]); });
      const char *base = data;
      const int64_t step = stride;
      return f([base, step](int64_t i) { return static_cast<int64_t>(*reinterpret_cast<const T *>(base + i * step)); });
    });
  }
};

using OptionalArray = std::optional<py::array>;

inline std::vector<IntBuffer> to_buffers(const std::vector<OptionalArray> &arrays) {
  std::vector<IntBuffer> buffers;
  for (const auto &array : arrays)
    buffers.push_back(array ? IntBuffer(*array) : IntBuffer());
  return buffers;
}

// Whether coordinates ascend strictly in every row: there must be as many steps that do not ascend between
// neighbours at all as there are between the end of a row and the start of the next. No branch, so it vectorises.
template <class P, class C>
bool rows_ascend(int64_t rows, const P *pos, const C *crd) {
  const auto count = static_cast<int64_t>(pos[rows]);
  int64_t steps = 0, between_rows = 0;
  for (int64_t k = 1; k < count; ++k)
    steps += crd[k] <= crd[k - 1];
  for (int64_t r = 1; r < rows && steps > between_rows; ++r) {
    const auto k = static_cast<int64_t>(pos[r]);
    if (k > 0 && k < count && pos[r - 1] < pos[r]) between_rows += crd[k] <= crd[k - 1];
  }
  return steps == between_rows;
}

// A vector whose elements stay unwritten until the algorithm writes them: clearing 40 MB first is not free.
template <class T>
struct Scratch {
  static_assert(std::is_trivial_v<T>);
  std::unique_ptr<T[]> owned;
  size_t length;

  explicit Scratch(size_t n) : owned(new T[n]), length(n) {}
  T *data() { return owned.get(); }
  T &operator[](size_t i) { return owned[i]; }
  const T &operator[](size_t i) const { return owned[i]; }
  void swap(Scratch &other) {
    owned.swap(other.owned);
    std::swap(length, other.length);
  }
};

} // namespace mlir_sparse
