#include "line_extremes.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "pack_threads.hpp"

namespace mlir_sparse {
namespace {

// What is known of one row or column after its elements from the first to some place.
template <class V>
struct Best {
  V value;
  std::int64_t at;   // the first place of the value; -1 without entries
  std::int64_t gap;  // the first place without an entry
};

template <class V>
bool exceeds(V one, V other, bool largest) {
  return (largest ? one > other : one < other) || (one != one && other == other);
}

template <class V>
void meet(Best<V> &best, V value, std::int64_t place, bool largest) {
  best.gap += best.gap == place;
  if (best.at >= 0 && !exceeds(value, best.value, largest)) return;
  best.value = value;
  best.at = place;
}

// Returns the first place among `count` of the best element; all places without an entry are zeros.
template <class V>
std::int64_t first_of(const Best<V> &best, std::int64_t count, bool largest) {
  if (best.at < 0) return 0;
  if (best.gap >= count || exceeds(best.value, V{0}, largest)) return best.at;
  return best.value == V{0} ? std::min(best.at, best.gap) : best.gap;
}

template <class F>
void with_compared(const Compared &values, F &&f) {
  const auto as = [&](auto value) { f(reinterpret_cast<const decltype(value) *>(values.data)); };
  switch (values.kind * 16 + values.bytes) {
    case 'u' * 16 + 1: return as(std::uint8_t{});
    case 'u' * 16 + 2: return as(std::uint16_t{});
    case 'u' * 16 + 4: return as(std::uint32_t{});
    case 'u' * 16 + 8: return as(std::uint64_t{});
    case 'i' * 16 + 1: return as(std::int8_t{});
    case 'i' * 16 + 2: return as(std::int16_t{});
    case 'i' * 16 + 4: return as(std::int32_t{});
    case 'i' * 16 + 8: return as(std::int64_t{});
    case 'f' * 16 + 4: return as(float{});
    case 'f' * 16 + 8: return as(double{});
    default: throw std::invalid_argument("expected integers, or floats of 32 or 64 bits");
  }
}

template <class F>
void with_both(const Rows &rows, const Compared &values, F &&f) {
  with_width(rows.coordinates.width, [&](auto coordinate) {
    const auto *named = reinterpret_cast<const decltype(coordinate) *>(rows.coordinates.data);
    with_compared(values, [&](const auto *value) { f(named, value); });
  });
}

// Meets the elements of rows from `first` to `end` - 1 for each coordinate.
template <class C, class V>
void meet_rows(const Rows &rows, const C *named, const V *values, std::int64_t first, std::int64_t end, bool largest,
               std::vector<Best<V>> &columns) {
  const auto extent = static_cast<std::uint64_t>(columns.size());
  for (std::int64_t row = first; row < end; ++row)
    for (std::int64_t e = rows.begins[row]; e < rows.begins[row + 1]; ++e) {
      const auto column = static_cast<std::uint64_t>(named[e]);
      if (column < extent) meet(columns[column], values[e], row, largest);
    }
}

// Adds what is known of later rows, from `begin` on.
template <class V>
void join(Best<V> &best, const Best<V> &later, std::int64_t begin, bool largest) {
  if (best.gap == begin) best.gap = later.gap;
  if (later.at < 0 || (best.at >= 0 && !exceeds(later.value, best.value, largest))) return;
  best.value = later.value;
  best.at = later.at;
}

}  // namespace

void best_in_rows(const Rows &rows, const Compared &values, std::int64_t extent, bool largest, std::int64_t *found) {
  const auto parts = row_parts(rows.begins, rows.count, thread_count(static_cast<std::size_t>(rows.begins[rows.count])));
  with_both(rows, values, [&](const auto *named, const auto *value) {
    in_parallel(parts.size() - 1, [&](std::size_t part) {
      for (std::int64_t row = parts[part]; row < parts[part + 1]; ++row) {
        Best<std::decay_t<decltype(*value)>> best{{}, -1, 0};
        for (std::int64_t e = rows.begins[row]; e < rows.begins[row + 1]; ++e)
          meet(best, value[e], static_cast<std::int64_t>(named[e]), largest);
        found[row] = first_of(best, extent, largest);
      }
    });
  });
}

void best_over_rows(const Rows &rows, const Compared &values, std::int64_t extent, bool largest, std::int64_t *found) {
  const std::size_t threads = counting_threads(static_cast<std::size_t>(rows.begins[rows.count]), extent);
  const auto parts = row_parts(rows.begins, rows.count, threads);
  with_both(rows, values, [&](const auto *named, const auto *value) {
    using V = std::decay_t<decltype(*value)>;
    std::vector<std::vector<Best<V>>> own(parts.size() - 1);
    in_parallel(own.size(), [&](std::size_t part) {
      own[part].assign(static_cast<std::size_t>(extent), Best<V>{{}, -1, parts[part]});
      meet_rows(rows, named, value, parts[part], parts[part + 1], largest, own[part]);
    });
    for (std::size_t column = 0; column < static_cast<std::size_t>(extent); ++column) {
      Best<V> best = own[0][column];
      for (std::size_t part = 1; part < own.size(); ++part) join(best, own[part][column], parts[part], largest);
      found[column] = first_of(best, rows.count, largest);
    }
  });
}

}  // namespace mlir_sparse
