#include "validate_rows.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

#include "pack_threads.hpp"

namespace mlir_sparse {
namespace {

// Counts the steps between neighbours that do not ascend; -1 for a coordinate out of range. No branch: it vectorises.
template <class C>
int64_t count_steps(const C *crd, int64_t begin, int64_t end, C last) {
  using U = std::make_unsigned_t<C>;
  constexpr int64_t kBlock = 1 << 20; // more than this many steps might not fit in C
  int64_t all = 0;
  C signs = end > begin ? static_cast<C>(crd[begin] | static_cast<C>(static_cast<U>(last) - static_cast<U>(crd[begin])))
                        : C{0};
  for (int64_t from = begin + 1; from < end; from += kBlock) {
    const int64_t to = std::min(from + kBlock, end);
    C steps = 0;
    for (int64_t k = from; k < to; ++k) {
      signs |= crd[k] | static_cast<C>(static_cast<U>(last) - static_cast<U>(crd[k]));
      steps += crd[k] <= crd[k - 1];
    }
    all += steps;
  }
  return signs < 0 ? -1 : all;
}

// Rows ascend if the number of non-ascending steps equals the number of such steps from a row to the next.
template <class P, class C>
bool part_in_order(const P *pos, const C *crd, int64_t begin, int64_t end, C last) {
  constexpr int64_t kEntries = 1 << 12; // looked at twice, the second time in the cache
  while (begin < end) {
    const int64_t target = static_cast<int64_t>(pos[begin]) + kEntries;
    int64_t stop = begin + 1;
    while (stop < end && static_cast<int64_t>(pos[stop]) < target)
      ++stop;
    const auto first = static_cast<int64_t>(pos[begin]), beyond = static_cast<int64_t>(pos[stop]);
    int64_t steps = count_steps(crd, first, beyond, last);
    if (steps < 0) return false;
    for (int64_t r = begin + 1; r < stop; ++r) {
      const auto k = static_cast<int64_t>(pos[r]);
      if (k > first && k < beyond && pos[r - 1] < pos[r]) steps -= crd[k] <= crd[k - 1];
    }
    if (steps != 0) return false;
    begin = stop;
  }
  return true;
}

template <class P, class C>
bool in_order(int64_t rows, const P *pos, const C *crd, int64_t size) {
  const auto last = static_cast<C>(std::min<int64_t>(size - 1, std::numeric_limits<C>::max()));
  const size_t parts = thread_count(static_cast<size_t>(pos[rows]));
  const auto begins = row_parts(pos, rows, parts);
  std::vector<char> good(parts);
  in_parallel(parts, [&](size_t part) { good[part] = part_in_order(pos, crd, begins[part], begins[part + 1], last); });
  return std::find(good.begin(), good.end(), 0) == good.end();
}

} // namespace

bool rows_in_order(int64_t rows, const IntBuffer &pos, const IntBuffer &crd, int64_t size) {
  if (!pos.contiguous() || !crd.contiguous() || pos.width < 32 || crd.width < 32) return false;
  return with_wide(pos.width, [&](auto p) {
    return with_wide(crd.width, [&](auto c) {
      return in_order(rows, reinterpret_cast<const decltype(p) *>(pos.data),
                      reinterpret_cast<const decltype(c) *>(crd.data), size);
    });
  });
}

} // namespace mlir_sparse
