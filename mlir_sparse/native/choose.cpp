#include "choose.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "pack_threads.hpp"
#include "pack_values.hpp"

namespace mlir_sparse {
namespace {

constexpr std::size_t kFew = 24;  // so many are inserted in order faster than sorted

using Chosen = std::pair<std::int64_t, std::int64_t>;  // the new coordinate, and where the entry was

void sort_row(std::vector<Chosen> &row) {
  if (row.size() > kFew) {
    if (!std::is_sorted(row.begin(), row.end())) std::sort(row.begin(), row.end());
    return;
  }
  for (std::size_t next = 1; next < row.size(); ++next) {
    const Chosen moved = row[next];
    std::size_t at = next;
    for (; at > 0 && moved.first < row[at - 1].first; --at) row[at] = row[at - 1];
    row[at] = moved;
  }
}

// Runs f with the coordinates, so that their width is chosen once.
template <class F>
void with_coordinates(const Rows &rows, F &&f) {
  with_width(rows.coordinates.width, [&](auto coordinate) {
    f(reinterpret_cast<const decltype(coordinate) *>(rows.coordinates.data));
  });
}

template <class F>
void in_row_parts(const Rows &rows, F &&f) {
  const auto parts = row_parts(rows.begins, rows.count, thread_count(static_cast<size_t>(rows.begins[rows.count])));
  in_parallel(parts.size() - 1, [&](size_t part) { f(parts[part], parts[part + 1]); });
}

template <class C, class V>
void write_as(const Rows &rows, const C *coordinates, const V *values, const Renumbering &by,
              const std::int64_t *starts, C *coordinates_out, V *values_out) {
  in_row_parts(rows, [&](std::int64_t first, std::int64_t end) {
    std::vector<Chosen> row;
    for (std::int64_t r = first; r < end; ++r) {
      row.clear();
      for (std::int64_t e = rows.begins[r]; e < rows.begins[r + 1]; ++e)
        for (std::int64_t k = by.firsts[coordinates[e]], stop = by.firsts[coordinates[e] + 1]; k < stop; ++k)
          row.emplace_back(by.numbers[k], e);
      sort_row(row);
      std::int64_t out = starts[r];
      for (const auto &[number, entry] : row) {
        coordinates_out[out] = static_cast<C>(number);
        values_out[out++] = values[entry];
      }
    }
  });
}

constexpr std::int64_t kShort = 32;  // so many coordinates are compared faster than bisected

// The number of ascending coordinates below one.
template <class C>
std::int64_t below(const C *begin, const C *end, std::int64_t wanted) {
  if (wanted > static_cast<std::int64_t>(std::numeric_limits<C>::max())) return end - begin;
  const auto limit = static_cast<C>(wanted);  // no coordinate is negative, nor is a limit
  if (end - begin > kShort) return std::lower_bound(begin, end, limit) - begin;
  std::int64_t found = 0;
  for (const C *at = begin; at < end; ++at) found += *at < limit;
  return found;
}

template <class C, class V>
void write_stretch(const Rows &rows, const C *coordinates, const V *values, const Stretch &stretch,
                   const std::int64_t *firsts, const std::int64_t *starts, C *coordinates_out, V *values_out) {
  const auto low = static_cast<C>(stretch.low), step = static_cast<C>(stretch.step);
  const std::int64_t last = stretch.count - 1;
  in_row_parts(rows, [&](std::int64_t first_row, std::int64_t end_row) {
    for (std::int64_t r = first_row; r < end_row; ++r) {
      const std::int64_t begin = starts[r], end = starts[r + 1];
      std::int64_t e = firsts[r];
      if (stretch.step == 1 && !stretch.reversed) {
        for (std::int64_t out = begin; out < end; ++out, ++e) {
          coordinates_out[out] = static_cast<C>(coordinates[e] - low);
          values_out[out] = values[e];
        }
        continue;
      }
      for (std::int64_t out = begin; out < end; ++e) {
        const auto distance = static_cast<C>(coordinates[e] - low);
        const auto number = stretch.step == 1 ? distance : static_cast<C>(distance / step);
        if (static_cast<C>(number * step) != distance) continue;
        const std::int64_t to = stretch.reversed ? end - 1 - (out - begin) : out;
        coordinates_out[to] = stretch.reversed ? static_cast<C>(last - number) : number;
        values_out[to] = values[e];
        ++out;
      }
    }
  });
}

}  // namespace

void count_between(const Rows &rows, const Stretch &stretch, std::int64_t *firsts, std::int64_t *counts) {
  const std::int64_t end_of = stretch.low + (stretch.count - 1) * stretch.step + 1;
  with_coordinates(rows, [&](const auto *coordinates) {
    using C = std::remove_const_t<std::remove_pointer_t<decltype(coordinates)>>;
    in_row_parts(rows, [&](std::int64_t first_row, std::int64_t end_row) {
      for (std::int64_t r = first_row; r < end_row; ++r) {
        const C *begin = coordinates + rows.begins[r], *end = coordinates + rows.begins[r + 1];
        const std::int64_t before = below(begin, end, stretch.low);
        std::int64_t count = stretch.count == 0 ? 0 : below(begin, end, end_of) - before;
        firsts[r] = rows.begins[r] + before;
        if (stretch.step != 1) {
          std::int64_t kept = 0;
          const auto low = static_cast<C>(stretch.low), step = static_cast<C>(stretch.step);
          for (const C *at = begin + before; at < begin + before + count; ++at)
            kept += static_cast<C>(*at - low) % step == 0;
          count = kept;
        }
        counts[r] = count;
      }
    });
  });
}

void write_between(const Rows &rows, const char *values, std::int64_t bytes, const Stretch &stretch,
                   const std::int64_t *firsts, const std::int64_t *starts, char *coordinates_out, char *values_out) {
  with_coordinates(rows, [&](const auto *coordinates) {
    using C = std::remove_const_t<std::remove_pointer_t<decltype(coordinates)>>;
    with_itemsize(bytes, [&](auto value) {
      using V = decltype(value);
      write_stretch(rows, coordinates, reinterpret_cast<const V *>(values), stretch, firsts, starts,
                    reinterpret_cast<C *>(coordinates_out), reinterpret_cast<V *>(values_out));
    });
  });
}

void count_chosen(const Rows &rows, const Renumbering &by, std::int64_t *counts) {
  with_coordinates(rows, [&](const auto *coordinates) {
    in_row_parts(rows, [&](std::int64_t first, std::int64_t end) {
      for (std::int64_t r = first; r < end; ++r) {
        std::int64_t count = 0;
        for (std::int64_t e = rows.begins[r]; e < rows.begins[r + 1]; ++e)
          count += by.firsts[coordinates[e] + 1] - by.firsts[coordinates[e]];
        counts[r] = count;
      }
    });
  });
}

void write_chosen(const Rows &rows, const char *values, std::int64_t bytes, const Renumbering &by,
                  const std::int64_t *starts, char *coordinates_out, char *values_out) {
  with_coordinates(rows, [&](const auto *coordinates) {
    using C = std::remove_const_t<std::remove_pointer_t<decltype(coordinates)>>;
    with_itemsize(bytes, [&](auto value) {
      using V = decltype(value);
      write_as(rows, coordinates, reinterpret_cast<const V *>(values), by, starts,
               reinterpret_cast<C *>(coordinates_out), reinterpret_cast<V *>(values_out));
    });
  });
}

void find_entries(const Rows &rows, const std::int64_t *lines, const std::int64_t *wanted, std::int64_t count,
                  std::int64_t *found) {
  const auto parts = even_parts(static_cast<size_t>(count), thread_count(static_cast<size_t>(count)));
  with_coordinates(rows, [&](const auto *coordinates) {
    in_parallel(parts.size() - 1, [&](size_t part) {
      for (size_t k = parts[part]; k < parts[part + 1]; ++k) {
        // An extent may be beyond what coordinates of this width count to: they are compared as wide numbers.
        const auto *end = coordinates + rows.begins[lines[k] + 1], *begin = coordinates + rows.begins[lines[k]];
        const auto *at = begin + below(begin, end, wanted[k]);
        found[k] = at < end && *at == wanted[k] ? at - coordinates : -1;
      }
    });
  });
}

std::vector<OnDiagonal> find_diagonal(const Rows &rows, std::int64_t low, std::int64_t right, std::int64_t count) {
  const auto parts = even_parts(static_cast<size_t>(count), thread_count(static_cast<size_t>(count)));
  std::vector<OnDiagonal> found(parts.size() - 1);
  with_coordinates(rows, [&](const auto *coordinates) {
    in_parallel(found.size(), [&](size_t part) {
      OnDiagonal own;
      for (size_t place = parts[part]; place < parts[part + 1]; ++place) {
        const auto k = static_cast<std::int64_t>(place);
        const auto *begin = coordinates + rows.begins[low + k], *end = coordinates + rows.begins[low + k + 1];
        const auto *at = begin + below(begin, end, right + k);
        if (at == end || static_cast<std::int64_t>(*at) != right + k) continue;
        own.along.push_back(k);
        own.entries.push_back(at - coordinates);
      }
      found[part] = std::move(own);
    });
  });
  return found;
}

}  // namespace mlir_sparse
