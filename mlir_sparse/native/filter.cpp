#include "filter.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "pack_threads.hpp"
#include "pack_values.hpp"

namespace mlir_sparse {
namespace {

using std::int64_t;

constexpr int64_t kBlock = 1024;  // places that are numbered while they are near

// Ranges of segments with about as many entries each; one segment alone is not divided.
std::vector<int64_t> segment_parts(const MaskedSegments &segments) {
  const auto entries = static_cast<size_t>(segments.begins[segments.count] - segments.begins[0]);
  const size_t parts = segments.begins[0] == 0 ? thread_count(entries) : 1;
  return row_parts(segments.begins, segments.count, parts);
}

int64_t kept_in(const char *mask, int64_t begin, int64_t end) {
  int64_t found = 0;
  for (int64_t e = begin; e < end; ++e) found += mask[e] != 0;
  return found;
}

// Where most entries are kept or left out in runs, or at random: it has no branches to mispredict. The last store may
// be of an entry that is left out, which is in room of its own.
template <class T>
void compact(const char *mask, const T *from, int64_t begin, int64_t end, T *out, int64_t room) {
  int64_t at = 0;
  for (int64_t e = begin; e < end && at < room; ++e) {
    out[at] = from[e];
    at += mask[e] != 0;
  }
}

void compact_records(const char *mask, const char *from, int64_t bytes, int64_t begin, int64_t end, char *out,
                     int64_t room) {
  int64_t at = 0;
  for (int64_t e = begin; e < end && at < room; ++e) {
    std::memcpy(out + at * bytes, from + e * bytes, static_cast<size_t>(bytes));
    at += mask[e] != 0;
  }
}

// The quotient of two numbers below 2^32 takes a fraction of the time of wider ones.
inline std::uint64_t divided(std::uint64_t key, std::uint64_t by) {
  if (((key | by) >> 32) == 0) return static_cast<std::uint32_t>(key) / static_cast<std::uint32_t>(by);
  return key / by;
}

template <class O>
void split_keys(std::uint64_t *keys, int64_t begin, int64_t length, const std::vector<int64_t> &wanted,
                const std::vector<char *> &out) {
  for (size_t axis = wanted.size(); axis-- > 1;) {
    auto *column = reinterpret_cast<O *>(out[axis]) + begin;
    const auto extent = static_cast<std::uint64_t>(wanted[axis]);
    for (int64_t k = 0; k < length; ++k) {
      const std::uint64_t quotient = divided(keys[k], extent);
      column[k] = static_cast<O>(keys[k] - quotient * extent);
      keys[k] = quotient;
    }
  }
  auto *first = reinterpret_cast<O *>(out[0]) + begin;
  for (int64_t k = 0; k < length; ++k) first[k] = static_cast<O>(keys[k]);
}

template <class I>
void add_column(const PlaceColumn &column, int64_t begin, int64_t length, std::uint64_t extent, std::uint64_t *keys) {
  const I *from = reinterpret_cast<const I *>(column.data) + begin;
  for (int64_t k = 0; k < length; ++k) keys[k] = keys[k] * extent + static_cast<std::uint64_t>(from[k]);
}

}  // namespace

void count_kept(const MaskedSegments &segments, int64_t *starts) {
  const auto parts = segment_parts(segments);
  starts[0] = 0;
  in_parallel(parts.size() - 1, [&](size_t part) {
    for (int64_t s = parts[part]; s < parts[part + 1]; ++s)
      starts[s + 1] = kept_in(segments.mask, segments.begins[s], segments.begins[s + 1]);
  });
  for (int64_t s = 0; s < segments.count; ++s) starts[s + 1] += starts[s];
}

void copy_kept(const MaskedSegments &segments, const int64_t *starts, const char *records, int64_t bytes, char *out) {
  const auto parts = segment_parts(segments);
  in_parallel(parts.size() - 1, [&](size_t part) {
    const int64_t first = parts[part], last = parts[part + 1];
    if (first == last) return;
    const int64_t begin = segments.begins[first], end = segments.begins[last], room = starts[last] - starts[first];
    char *to = out + starts[first] * bytes;
    if (bytes > 16 || (bytes & (bytes - 1)) != 0) return compact_records(segments.mask, records, bytes, begin, end, to, room);
    with_itemsize(bytes, [&](auto record) {
      using T = decltype(record);
      compact(segments.mask, reinterpret_cast<const T *>(records), begin, end, reinterpret_cast<T *>(to), room);
    });
  });
}

void relocate(const std::vector<PlaceColumn> &columns, int64_t count, const std::vector<int64_t> &given,
              const std::vector<int64_t> &wanted, int width, const std::vector<char *> &out) {
  const auto parts = even_parts(static_cast<size_t>(count), thread_count(static_cast<size_t>(count)));
  in_parallel(parts.size() - 1, [&](size_t part) {
    std::uint64_t keys[kBlock];
    const auto stop = static_cast<int64_t>(parts[part + 1]);
    for (auto begin = static_cast<int64_t>(parts[part]); begin < stop; begin += kBlock) {
      const int64_t length = std::min(kBlock, stop - begin);
      std::fill(keys, keys + length, 0);
      for (size_t axis = 0; axis < columns.size(); ++axis) {
        const auto extent = static_cast<std::uint64_t>(given[axis]);
        if (columns[axis].width == 32) add_column<std::int32_t>(columns[axis], begin, length, extent, keys);
        else add_column<int64_t>(columns[axis], begin, length, extent, keys);
      }
      if (width == 32) split_keys<std::int32_t>(keys, begin, length, wanted, out);
      else split_keys<int64_t>(keys, begin, length, wanted, out);
    }
  });
}

}  // namespace mlir_sparse
