#include "degrees.hpp"

#include <cstddef>
#include <vector>

#include "counters.hpp"
#include "pack_threads.hpp"
#include "sums_of_degrees.hpp"

namespace mlir_sparse {
namespace {

std::vector<std::int64_t> parts_of(std::int64_t count, std::size_t threads) {
  const auto begins = even_parts(static_cast<std::size_t>(count), threads);
  return {begins.begin(), begins.end()};
}

template <class Length>
Degrees of_lengths(std::int64_t count, const Length &length) {
  const auto begins = parts_of(count, thread_count(static_cast<std::size_t>(count)));
  std::vector<Degrees> found(begins.size() - 1);
  in_parallel(found.size(), [&](std::size_t part) {
    Lanes lanes;
    add_all(lanes, begins[part], begins[part + 1], length);
    found[part] = lanes.total();
  });
  return sum_of(found);
}

// All by value: the compiler takes it that a counter may be anywhere, and would read the rest again each time.
template <class At, class Weight>
void add_weights(At at, Weight weight, std::int64_t begin, std::int64_t end, std::uint8_t *counters, Carries &carries) {
  for (std::int64_t k = begin; k < end; ++k) {
    const std::int64_t c = at(k), degree = counters[c] + weight(k);
    counters[c] = static_cast<std::uint8_t>(degree);
    if (degree > 255) add_carry(carries, c, degree >> 8);
  }
}

// What `at` and `weight` read is in these buffers.
template <class At, class Weight>
Degrees count_weights(const At &at, const Weight &weight, const IntBuffer &coordinates, const IntBuffer &weights,
                      std::int64_t extent) {
  const std::int64_t entries = coordinates.length;
  if (are_few(entries, extent)) {
    HashedCounters counters;
    for (std::int64_t k = 0; k < entries; ++k) counters.add(at(k), weight(k));
    return counters.total(extent);
  }
  const std::size_t parts = counting_threads(static_cast<std::size_t>(entries), extent);
  const auto begins = parts_of(entries, parts);
  ByteCounters counters(extent, parts);
  in_parallel(parts, [&](std::size_t part) {
    const PartCounters own = counters.part(part);
    in_stream(coordinates, begins[part], begins[part + 1], [&](std::int64_t from, std::int64_t to) {
      ask_ahead(weights.data + from * weights.stride, (to - from) * weights.stride);
      add_weights(at, weight, from, to, own.even, *own.carries);
    });
  });
  return counters.total();
}

}  // namespace

Degrees degrees_of_segments(const IntBuffer &begins) {
  return with_width(begins.width, [&](auto p) {
    using P = decltype(p);
    const auto *places = reinterpret_cast<const P *>(begins.data);
    // In their own width, differences are converted several at a time.
    const auto length = [places](std::int64_t k) { return static_cast<P>(places[k + 1] - places[k]); };
    return of_lengths(begins.length - 1, length);
  });
}

Degrees degrees_of_segments(const IntBuffer &begins, const IntBuffer &above) {
  return with_width(begins.width, [&](auto p) {
    const auto *places = reinterpret_cast<const decltype(p) *>(begins.data);
    return above.visit([&](auto at) {
      return of_lengths(above.length - 1, [=](std::int64_t k) { return places[at(k + 1)] - places[at(k)]; });
    });
  });
}

Degrees degrees_of_runs(const IntBuffer &coordinates) { return count_columns({{coordinates, 0, true}})[0]; }

Degrees count_degrees(const IntBuffer &coordinates, std::int64_t extent) {
  return count_columns({{coordinates, extent, false}})[0];
}

Degrees count_degrees(const IntBuffer &coordinates, std::int64_t extent, const IntBuffer &begins) {
  return with_wide(begins.width, [&](auto p) {
    const auto *places = reinterpret_cast<const decltype(p) *>(begins.data);
    const auto length = [places](std::int64_t k) { return static_cast<std::int64_t>(places[k + 1] - places[k]); };
    return coordinates.visit([&](auto at) { return count_weights(at, length, coordinates, begins, extent); });
  });
}

}  // namespace mlir_sparse
