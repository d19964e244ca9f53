#include "dense_entries.hpp"

#include <algorithm>
#include <atomic>

#include "pack_threads.hpp"
#include "pack_values.hpp"

namespace mlir_sparse {
namespace {

// Read once a parent, not once an entry: not worth a loop for each width.
std::int64_t item(const IntBuffer &buffer, std::int64_t at) {
  return with_width(buffer.width, [&](auto number) {
    return static_cast<std::int64_t>(reinterpret_cast<const decltype(number) *>(buffer.data)[at]);
  });
}

// Returns the parent of an entry: the last that begins with it or before.
std::int64_t parent_of(const IntBuffer &begins, std::int64_t entry) {
  std::int64_t low = 0, high = begins.length - 1;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (item(begins, middle) <= entry ? low : high) = middle;
  }
  return low;
}

template <class C>
bool is_within(C coordinate, std::int64_t extent) {
  return static_cast<std::uint64_t>(coordinate) < static_cast<std::uint64_t>(extent);
}

template <class C, class V>
bool write_single(const DenseEntries &entries, const C *coordinates, const V *values, std::int64_t begin,
                  std::int64_t end, V *out) {
  const std::int64_t extent = entries.extents[0], stride = entries.strides[0];
  std::int64_t e = begin;
  for (std::int64_t parent = parent_of(entries.begins, begin); e < end; ++parent) {
    V *const line = out + parent * entries.parent_stride;
    for (const std::int64_t stop = std::min(end, item(entries.begins, parent + 1)); e < stop; ++e) {
      if (!is_within(coordinates[e], extent)) return false;
      line[static_cast<std::int64_t>(coordinates[e]) * stride] = values[e];
    }
  }
  return true;
}

template <class C, class V>
bool write_chained(const DenseEntries &entries, const C *coordinates, const V *values, std::int64_t begin,
                   std::int64_t end, V *out) {
  const std::size_t depth = entries.extents.size();
  const std::int64_t *extents = entries.extents.data(), *strides = entries.strides.data();
  const C *named = coordinates + begin * static_cast<std::int64_t>(depth);
  std::int64_t e = begin;
  for (std::int64_t parent = parent_of(entries.begins, begin); e < end; ++parent) {
    V *const line = out + parent * entries.parent_stride;
    for (const std::int64_t stop = std::min(end, item(entries.begins, parent + 1)); e < stop; ++e, named += depth) {
      std::int64_t at = 0;
      for (std::size_t level = 0; level < depth; ++level) {
        if (!is_within(named[level], extents[level])) return false;
        at += static_cast<std::int64_t>(named[level]) * strides[level];
      }
      line[at] = values[e];
    }
  }
  return true;
}

template <class C, class V>
bool write_part(const DenseEntries &entries, const C *coordinates, const V *values, std::int64_t begin,
                std::int64_t end, V *out) {
  if (begin == end) return true;
  const auto write = entries.extents.size() == 1 ? write_single<C, V> : write_chained<C, V>;
  return write(entries, coordinates, values, begin, end, out);
}

}  // namespace

bool write_dense(const DenseEntries &entries, std::int64_t bytes, const char *values, char *out) {
  const auto count = static_cast<std::size_t>(item(entries.begins, entries.begins.length - 1));
  const auto parts = even_parts(count, thread_count(count));
  std::atomic<bool> all{true};
  with_width(entries.coordinates.width, [&](auto coordinate) {
    const auto *named = reinterpret_cast<const decltype(coordinate) *>(entries.coordinates.data);
    with_itemsize(bytes, [&](auto value) {
      using V = decltype(value);
      in_parallel(parts.size() - 1, [&](std::size_t part) {
        const auto begin = static_cast<std::int64_t>(parts[part]), end = static_cast<std::int64_t>(parts[part + 1]);
        if (!write_part(entries, named, reinterpret_cast<const V *>(values), begin, end, reinterpret_cast<V *>(out)))
          all = false;
      });
    });
  });
  return all;
}

}  // namespace mlir_sparse
