#include "pack_tree.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "pack_threads.hpp"

namespace mlir_sparse {

template <class I>
Tree<I>::Tree(const Columns<I> &columns)
    : columns_(columns), begins_(even_parts(columns.count, thread_count(columns.count))), difference_(columns.count) {
  const size_t parts = begins_.size() - 1, rank = columns.data.size();
  std::vector<std::array<size_t, 256>> departing(parts);
  in_parallel(parts, [&](size_t part) {
    const size_t begin = begins_[part], end = begins_[part + 1];
    uint8_t *difference = difference_.data();
    std::fill(difference + begin, difference + end, static_cast<uint8_t>(rank - 1));
    for (size_t level = rank - 1; level-- > 0;) {
      const I *column = columns_.data[level];
      for (size_t e = std::max<size_t>(begin, 1); e < end; ++e)
        difference[e] = column[e] != column[e - 1] ? static_cast<uint8_t>(level) : difference[e];
    }
    if (begin == 0 && end > 0) difference[0] = 0;
    departing[part].fill(0);
    for (size_t e = begin; e < end; ++e)
      ++departing[part][difference[e]];
  });
  first_.assign(1, std::vector<size_t>(rank, 0));
  for (size_t part = 0; part < parts; ++part) {
    std::vector<size_t> next = first_.back();
    size_t nodes = 0;
    for (size_t level = 0; level < rank; ++level)
      next[level] += nodes += departing[part][level];
    first_.push_back(std::move(next));
  }
}

// Every entry overwrites its node until the node ends: there is no branch to mispredict.
template <class I>
template <class P, class C>
void Tree<I>::fill_level(size_t level, size_t part, P *below, C *crd) const {
  const I *column = columns_.data[level];
  const uint8_t *difference = difference_.data();
  size_t node = first_[part][level], child = first_[part][level + 1];
  const size_t end = first_[part + 1][level];
  for (size_t e = begins_[part]; node < end; ++e) {
    crd[node] = static_cast<C>(column[e]);
    below[node] = static_cast<P>(child);
    node += difference[e] <= level;
    child += difference[e] <= level + 1;
  }
}

template <class I>
void Tree<I>::fill(int pos_width, int crd_width, const std::vector<void *> &pos, const std::vector<void *> &crd) const {
  const size_t last = columns_.data.size() - 1;
  with_width(pos_width, [&](auto p) {
    using P = decltype(p);
    static_cast<P *>(pos[0])[0] = 0;
    for (size_t level = 0; level <= last; ++level)
      static_cast<P *>(pos[level])[level ? nodes(level - 1) : 1] = static_cast<P>(nodes(level));
    with_width(crd_width, [&](auto c) {
      using C = decltype(c);
      in_parallel(begins_.size() - 1, [&](size_t part) {
        for (size_t level = 0; level < last; ++level)
          fill_level(level, part, static_cast<P *>(pos[level + 1]), static_cast<C *>(crd[level]));
        auto *entries = static_cast<C *>(crd[last]);
        const I *column = columns_.data[last];
        for (size_t e = begins_[part]; e < begins_[part + 1]; ++e)
          entries[e] = static_cast<C>(column[e]);
      });
    });
  });
}

template <class I>
void Tree<I>::copy_values(const void *from, void *to, int64_t itemsize) const {
  const auto size = static_cast<size_t>(itemsize);
  in_parallel(begins_.size() - 1, [&](size_t part) {
    const size_t begin = begins_[part] * size, end = begins_[part + 1] * size;
    if (end > begin) std::memcpy(static_cast<char *>(to) + begin, static_cast<const char *>(from) + begin, end - begin);
  });
}

template class Tree<int32_t>;
template class Tree<int64_t>;

} // namespace mlir_sparse
