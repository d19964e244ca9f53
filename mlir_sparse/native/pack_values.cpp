#include "pack_values.hpp"

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

// Without gaps the places come in order: the first to come sets, the others add.
template <class V>
void add_values(const V *from, V *to, const ValuePlaces &places, bool has_gaps) {
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
