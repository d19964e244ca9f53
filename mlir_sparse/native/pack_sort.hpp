// Orders of entries: is a sequence sorted, and the permutation that sorts it.
//
// Sorting is stable throughout, so that duplicates are summed in the order in which they were given.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pack_plain.hpp"

namespace mlir_sparse {

// The level coordinates of entries, one column a level.
template <class I>
struct Columns {
  std::vector<const I *> data;
  size_t count;

  Columns slice(size_t from, size_t to) const {
    return {std::vector<const I *>(data.begin() + from, data.begin() + to), count};
  }
};

// The result of a scan of the entries: whether all are in range, in order, and (if in order) different.
struct Scan {
  bool in_range = true;
  bool sorted = true;
  bool distinct = true;

  Scan operator&&(const Scan &other) const {
    return {in_range && other.in_range, sorted && other.sorted, distinct && other.distinct};
  }
};

template <class I>
uint64_t linear_key(const Columns<I> &columns, const std::vector<int64_t> &sizes, size_t from, size_t to, size_t e) {
  uint64_t key = 0;
  for (size_t l = from; l < to; ++l)
    key = key * static_cast<uint64_t>(sizes[l]) + static_cast<uint64_t>(columns.data[l][e]);
  return key;
}

// Scans all entries, block by block; without `ranges` it stops at the first block that is out of order.
template <class I>
Scan scan(const Columns<I> &columns, const std::vector<int64_t> &sizes, bool ranges);

// The permutation that sorts entries that are out of order.
template <class I>
Scratch<uint64_t> sort_order(const Columns<I> &columns, const std::vector<int64_t> &sizes);

} // namespace mlir_sparse
