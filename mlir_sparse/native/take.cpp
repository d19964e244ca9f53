#include "take.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <type_traits>

#include "pack_threads.hpp"
#include "pack_values.hpp"

namespace mlir_sparse {
namespace {

template <class F>
auto with_places(const Places &places, F &&f) {
  switch (places.width) {
    case 8:
      return f(reinterpret_cast<const std::int8_t *>(places.data));
    case 16:
      return f(reinterpret_cast<const std::int16_t *>(places.data));
    case 32:
      return f(reinterpret_cast<const std::int32_t *>(places.data));
    default:
      return f(reinterpret_cast<const std::int64_t *>(places.data));
  }
}

// A negative place is a large number without sign.
template <class P>
bool is_row(P place, std::uint64_t rows) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(place)) < rows;
}

// Takes rows of one element; returns whether all places were rows. Four places have one branch.
template <class E, class P>
bool take_elements(const E *__restrict source, std::uint64_t rows, const P *__restrict places, std::int64_t begin,
                   std::int64_t end, E *__restrict out) {
  const auto at = [&](std::int64_t k) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(places[k])); };
  std::int64_t k = begin;
  for (; k + 4 <= end; k += 4) {
    const std::uint64_t a = at(k), b = at(k + 1), c = at(k + 2), d = at(k + 3);
    if ((a >= rows) | (b >= rows) | (c >= rows) | (d >= rows)) return false;
    out[k] = source[a];
    out[k + 1] = source[b];
    out[k + 2] = source[c];
    out[k + 3] = source[d];
  }
  for (; k < end; ++k) {
    if (at(k) >= rows) return false;
    out[k] = source[at(k)];
  }
  return true;
}

template <class P>
bool take_lines(const char *source, std::uint64_t rows, std::int64_t bytes, const P *places, std::int64_t begin,
                std::int64_t end, char *out) {
  for (std::int64_t k = begin; k < end; ++k) {
    if (!is_row(places[k], rows)) return false;
    std::memcpy(out + k * bytes, source + static_cast<std::int64_t>(places[k]) * bytes, static_cast<size_t>(bytes));
  }
  return true;
}

template <class P>
bool take_part(const char *source, std::uint64_t rows, std::int64_t bytes, const P *places, std::int64_t begin,
               std::int64_t end, char *out) {
  const auto as = [&](auto element) {
    using E = decltype(element);
    return take_elements(reinterpret_cast<const E *>(source), rows, places, begin, end, reinterpret_cast<E *>(out));
  };
  if (bytes < 1 || bytes > 16 || (bytes & (bytes - 1)) != 0) return take_lines(source, rows, bytes, places, begin, end, out);
  return with_itemsize(bytes, as);
}

size_t threads_for(std::int64_t count, std::int64_t bytes) {
  const auto words = static_cast<size_t>(std::max<std::int64_t>(1, bytes / 8));
  const auto items = static_cast<size_t>(count);
  return thread_count(items > std::numeric_limits<size_t>::max() / words ? items : items * words);
}

}  // namespace

std::int64_t take_rows(const char *source, std::int64_t rows, std::int64_t bytes, const Places &places, char *out) {
  if (places.length == 0) return -1;
  if (rows == 0) return 0;
  return with_places(places, [&](const auto *at) -> std::int64_t {
    const auto begins = even_parts(static_cast<size_t>(places.length), threads_for(places.length, bytes));
    const auto count = static_cast<std::uint64_t>(rows);
    std::atomic<bool> all{true};
    in_parallel(begins.size() - 1, [&](size_t part) {
      const auto begin = static_cast<std::int64_t>(begins[part]), end = static_cast<std::int64_t>(begins[part + 1]);
      if (!take_part(source, count, bytes, at, begin, end, out)) all = false;
    });
    if (all) return -1;
    return std::find_if(at, at + places.length, [&](auto place) { return !is_row(place, count); }) - at;
  });
}

void take_segments(const char *source, std::int64_t bytes, const IntBuffer &begins, const Places &places,
                   const std::int64_t *starts, char *out) {
  if (places.length == 0) return;
  const auto parts = even_parts(static_cast<size_t>(places.length), threads_for(starts[places.length], bytes));
  begins.visit([&](auto begin_of) {
    with_places(places, [&](const auto *at) {
      in_parallel(parts.size() - 1, [&](size_t part) {
        for (size_t k = parts[part]; k < parts[part + 1]; ++k) {
          const std::int64_t first = begin_of(static_cast<std::int64_t>(at[k]));
          const auto length = static_cast<size_t>((starts[k + 1] - starts[k]) * bytes);
          if (length != 0) std::memcpy(out + starts[k] * bytes, source + first * bytes, length);
        }
      });
    });
  });
}

}  // namespace mlir_sparse
