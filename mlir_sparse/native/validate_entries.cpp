#include "validate_entries.hpp"

#include <algorithm>
#include <vector>

#include "pack_threads.hpp"

namespace mlir_sparse {
namespace {

// Coordinates of entry k, and of the dimension `dim`.
template <class Index>
struct Places {
  const Index *data;
  int64_t per_dim, per_entry;

  Index at(int64_t dim, int64_t k) const { return data[dim * per_dim + k * per_entry]; }
};

// Whether entry k comes after the one before it. Looked at from the last dimension on, without a branch.
template <class Index>
bool comes_after(const Places<Index> &places, int64_t rank, int64_t k) {
  bool after = false;
  for (int64_t dim = rank; dim-- > 0;) {
    const Index here = places.at(dim, k), before = places.at(dim, k - 1);
    after = (here > before) | ((here == before) & after);
  }
  return after;
}

template <class Index>
bool part_in_order(const Places<Index> &places, int64_t rank, const int64_t *shape, int64_t begin, int64_t end) {
  constexpr int64_t kEntries = 1 << 12;  // looked at twice, the second time in the cache
  for (int64_t from = begin; from < end; from += kEntries) {
    const int64_t to = std::min(from + kEntries, end);
    bool good = true;
    for (int64_t dim = 0; dim < rank; ++dim)
      for (int64_t k = from; k < to; ++k) {
        const auto here = static_cast<int64_t>(places.at(dim, k));
        good &= (here >= 0) & (here < shape[dim]);
      }
    for (int64_t k = std::max<int64_t>(from, 1); k < to; ++k) good &= comes_after(places, rank, k);
    if (!good) return false;
  }
  return true;
}

template <class Index>
bool in_order(const ListedEntries &entries, const int64_t *shape) {
  const int64_t rank = entries.rank, count = entries.count;
  const Places<Index> places{static_cast<const Index *>(entries.data), entries.interleaved ? 1 : count,
                             entries.interleaved ? rank : 1};
  const size_t parts = thread_count(static_cast<size_t>(count));
  if (parts == 1) return part_in_order(places, rank, shape, 0, count);
  const auto begins = even_parts(static_cast<size_t>(count), parts);
  std::vector<char> good(parts);
  in_parallel(parts, [&](size_t part) {
    good[part] = part_in_order(places, rank, shape, static_cast<int64_t>(begins[part]),
                               static_cast<int64_t>(begins[part + 1]));
  });
  return std::find(good.begin(), good.end(), 0) == good.end();
}

}  // namespace

bool entries_in_order(const ListedEntries &entries, const int64_t *shape) {
  return entries.wide ? in_order<int64_t>(entries, shape) : in_order<int32_t>(entries, shape);
}

}  // namespace mlir_sparse
