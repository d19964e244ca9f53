// What packing, validation and conversion share: levels as plain data, buffers of four widths, and the one exception
// that carries figures to Python. No Python here: what needs none compiles in a fraction of the time.

#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace mlir_sparse {

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

// The same for buffers that are known to be of 32 or 64 bits.
template <class F>
auto with_wide(int width, F &&f) {
  // Numbers of another width would be read as if they were wider, past the end of their buffer.
  if (width != 32 && width != 64)
    throw std::invalid_argument("expected 32 or 64 bits, but got " + std::to_string(width));
  return width == 32 ? f(int32_t{}) : f(int64_t{});
}

// A one-dimensional integer buffer of any of the four widths; Python guarantees native byte order.
struct IntBuffer {
  const char *data = nullptr;
  int64_t length = 0;
  int64_t stride = 0; // in bytes
  int width = 64;

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

// A vector whose elements stay unwritten until the algorithm writes them: clearing 40 MB first is not free.
template <class T>
struct Scratch {
  static_assert(std::is_trivial_v<T>);
  std::unique_ptr<T[]> owned;
  size_t length;

  explicit Scratch(size_t n) : owned(new T[n]), length(n) {}
  T *data() { return owned.get(); }
  const T *data() const { return owned.get(); }
  T &operator[](size_t i) { return owned[i]; }
  const T &operator[](size_t i) const { return owned[i]; }
  void swap(Scratch &other) {
    owned.swap(other.owned);
    std::swap(length, other.length);
  }
};

} // namespace mlir_sparse
