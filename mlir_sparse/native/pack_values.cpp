#include "pack_values.hpp"

#include <algorithm>

namespace mlir_sparse {
namespace {

template <class V>
void move_values(const V *from, V *to, const uint64_t *order, size_t count) {
  if (!order) {
    std::memcpy(to, from, count * sizeof(V));
    return;
  }
  for (size_t e = 0; e < count; ++e)
    to[e] = from[order[e]];
}

// The neutral element of floating-point sums is -0: starting from 0, a sum of -0 alone would be 0.
template <class V>
V neutral() {
  if constexpr (std::is_integral_v<V> || std::is_same_v<V, Truth>)
    return V{};
  else
    return -V{};
}

// Whether a part of a number is -0: its bits are those of the neutral number.
template <class V>
bool has_minus_zero(const V &given) {
  const V minus = neutral<V>(), plus{};
  const size_t parts = is_complex<V> ? 2 : 1;
  const size_t size = sizeof(V) / parts;
  if (std::memcmp(&minus, &plus, size) == 0) return false; // integers
  const auto *bytes = reinterpret_cast<const char *>(&given);
  return std::memcmp(bytes, &minus, size) == 0 || std::memcmp(bytes + (parts - 1) * size, &minus, size) == 0;
}

// Without gaps the places come in order: the first entry of a place sets, the others add.
template <class V>
void add_values(const V *from, V *to, const ValuePlaces &places, bool has_gaps) {
  if (has_gaps && std::any_of(from, from + places.count, has_minus_zero<V>))
    for (size_t e = 0; e < places.count; ++e)
      to[places.place ? places.place[e] : 0] = neutral<V>();
  int64_t written = -1;
  for (size_t e = 0; e < places.count; ++e) {
    const int64_t place = places.place ? places.place[e] : 0;
    const V &given = from[places.order ? places.order[e] : e];
    const bool first = !has_gaps && place != written;
    to[place] = first ? given : add(to[place], given);
    written = place;
  }
}

} // namespace

void place_values(const std::string &dtype, const void *from, void *to, const ValuePlaces &places, bool has_gaps) {
  with_dtype(dtype, [&](auto t) {
    using V = decltype(t);
    add_values(static_cast<const V *>(from), static_cast<V *>(to), places, has_gaps);
  });
}

void gather_values(int64_t itemsize, const void *from, void *to, const uint64_t *order, size_t count) {
  with_itemsize(itemsize, [&](auto t) {
    using V = decltype(t);
    move_values(static_cast<const V *>(from), static_cast<V *>(to), order, count);
  });
}

} // namespace mlir_sparse
