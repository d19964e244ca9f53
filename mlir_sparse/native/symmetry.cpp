#include "symmetry.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "all_values.hpp"
#include "pack_threads.hpp"
#include "prefetch_distances.hpp"

namespace mlir_sparse {
namespace {

// A walk over the rows of a matrix, in which row j is at entry next[j]: all before it are paired with entries above the
// diagonal, those in row i with entries in column i of rows before. Equal(p, q) compares the values of two entries.
template <class P, class C, class Equal>
class Pairs {
public:
  Pairs(const P *pos, const C *crd, std::int64_t rows, std::int64_t entries, const Equal &equal)
      : pos_(pos), crd_(crd), rows_(rows), entries_(entries), equal_(equal), next_(static_cast<std::size_t>(rows)) {
    std::copy(pos, pos + rows, next_.data());
  }

  // Whether each entry above the diagonal has its own below it, and none is left.
  bool all() {
    std::int64_t paired = 0;
    for (std::int64_t i = 0; i < rows_; ++i) {
      std::int64_t p = next_[i];
      const std::int64_t last = pos_[i + 1];
      // What comes further on is as often above the diagonal after an entry below it.
      for (std::int64_t below = pos_[i]; below < std::min(p, last); ++below) ask_for(below + ahead_);
      if (p < last && crd_[p] == static_cast<C>(i)) {
        ++paired;
        ++p;
      }
      paired += 2 * std::max<std::int64_t>(last - p, 0);
      if (!pair(i, p, last)) return false;
    }
    // Beyond its end a row would have taken entries of the next one.
    bool inside = true;
    for (std::int64_t j = 0; j < rows_; ++j) inside &= next_[j] <= pos_[j + 1];
    return inside && paired == entries_;
  }

private:
  bool pair(std::int64_t i, std::int64_t begin, std::int64_t end) {
    bool same = true;
    for (std::int64_t p = begin; p < end; ++p) {
      const std::int64_t j = crd_[p];
      if (j <= i || j >= rows_) return false;
      const std::int64_t q = next_[j]++;
      if (q >= entries_) return false;
      same &= (crd_[q] == static_cast<C>(i)) & equal_(p, q);
      ask_for(p + ahead_);
    }
    return same;
  }

  // Requests what an entry further on will be paired with, and further on still where that is.
  void ask_for(std::int64_t p) {
    if (ahead_ == 0 || p + ahead_ >= entries_) return;
    const std::int64_t j = crd_[p], later = crd_[p + ahead_];
    if (j < 0 || j >= rows_ || later < 0 || later >= rows_) return;
    prefetch_to_write(next_.data() + later);
    const std::int64_t q = next_[j];
    prefetch_to_read(crd_ + q);
    equal_.ask_for(q);
  }

  const std::int64_t ahead_ = gather_distance() / 2;  // and as many entries again
  const P *pos_;
  const C *crd_;
  std::int64_t rows_, entries_;
  Equal equal_;
  Scratch<P> next_;
};

template <class Word>
struct SameWords {
  const Word *values;
  bool operator()(std::int64_t p, std::int64_t q) const { return values[p] == values[q]; }
  void ask_for(std::int64_t q) const { prefetch_to_read(values + q); }
};

// For values that are known to be all equal: to read them again, in no order, would take half of the time.
struct AllAlike {
  bool operator()(std::int64_t, std::int64_t) const { return true; }
  void ask_for(std::int64_t) const {}
};

struct SameBytes {
  const char *values;
  std::int64_t itemsize;
  bool operator()(std::int64_t p, std::int64_t q) const {
    return std::memcmp(values + p * itemsize, values + q * itemsize, static_cast<std::size_t>(itemsize)) == 0;
  }
  void ask_for(std::int64_t q) const { prefetch_to_read(values + q * itemsize); }
};

template <class P>
bool are_positions(const P *pos, std::int64_t rows, std::int64_t entries) {
  bool ascend = pos[0] == 0 && static_cast<std::int64_t>(pos[rows]) == entries;
  for (std::int64_t i = 0; i < rows; ++i) ascend &= pos[i] <= pos[i + 1];
  return ascend;
}

}  // namespace

bool is_symmetric(const IntBuffer &positions, const IntBuffer &coordinates, const char *values,
                  std::int64_t itemsize) {
  const std::int64_t rows = positions.length - 1, entries = coordinates.length;
  const bool alike = are_equal(values, entries, itemsize);  // it stops at the first that differs
  return with_wide(positions.width, [&](auto p) {
    using P = decltype(p);
    const auto *pos = reinterpret_cast<const P *>(positions.data);
    if (!are_positions(pos, rows, entries)) return false;
    return with_wide(coordinates.width, [&](auto c) {
      using C = decltype(c);
      const auto *crd = reinterpret_cast<const C *>(coordinates.data);
      const auto all = [&](const auto &equal) {
        return Pairs<P, C, std::decay_t<decltype(equal)>>(pos, crd, rows, entries, equal).all();
      };
      if (alike) return all(AllAlike{});
      switch (itemsize) {
      case 4: return all(SameWords<std::uint32_t>{reinterpret_cast<const std::uint32_t *>(values)});
      case 8: return all(SameWords<std::uint64_t>{reinterpret_cast<const std::uint64_t *>(values)});
      default: return all(SameBytes{values, itemsize});
      }
    });
  });
}

}  // namespace mlir_sparse
