// Sorted entries as compressed levels: each entry is a path that shares its first nodes with the one before.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pack_sort.hpp"

namespace mlir_sparse {

// Entries that are sorted and all different, of two levels at least.
template <class I>
class Tree {
public:
  explicit Tree(const Columns<I> &columns);

  // The number of nodes of a level; the last level has the entries.
  int64_t nodes(size_t level) const { return static_cast<int64_t>(first_.back()[level]); }

  // Fills positions and coordinates of each level, in these widths.
  void fill(int pos_width, int crd_width, const std::vector<void *> &pos, const std::vector<void *> &crd) const;
  void copy_values(const void *from, void *to, int64_t itemsize) const;

private:
  template <class P, class C>
  void fill_level(size_t level, size_t part, P *below, C *crd) const;

  const Columns<I> &columns_;
  std::vector<size_t> begins_;             // of the entries of each part
  Scratch<uint8_t> difference_;            // the first level at which an entry departs from the one before it
  std::vector<std::vector<size_t>> first_; // by part: the first node of each level
};

} // namespace mlir_sparse
