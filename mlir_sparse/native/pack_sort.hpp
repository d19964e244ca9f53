// Orders of entries: is a sequence sorted, and the permutation that sorts it.
//
// Sorting is stable throughout, so that duplicates are summed in the order in
// which they were given.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "pack_levels.hpp"

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

// What one look at the entries tells: nothing out of range, in order, all different (when in order).
struct Scan {
  bool in_range = true;
  bool sorted = true;
  bool distinct = true;
};

// One block of neighbours, for a number of columns known to the compiler and without branches: this vectorises.
template <size_t N, class I>
Scan scan_block(const std::array<const I *, N> &columns, const std::array<I, N> &last, size_t begin, size_t end) {
  using U = std::make_unsigned_t<I>;
  I signs = 0, descends = 0, repeats = 0;
  for (size_t e = begin; e < end; ++e) {
    I greater = 0, equal = -1;
    for (size_t l = N; l-- > 0;) {
      const I a = columns[l][e], b = columns[l][e + 1];
      signs |= a | static_cast<I>(static_cast<U>(last[l]) - static_cast<U>(a)); // negative when out of range
      const I same = -static_cast<I>(a == b);
      greater = -static_cast<I>(a > b) | (same & greater);
      equal &= same;
    }
    descends |= greater;
    repeats |= equal;
  }
  return {signs >= 0, descends == 0, repeats == 0};
}

template <class I>
Scan scan_block(const Columns<I> &columns, const std::vector<int64_t> &sizes, size_t begin, size_t end) {
  Scan scan;
  const size_t rank = sizes.size();
  for (size_t e = begin; e < end; ++e) {
    size_t level = rank;
    for (size_t l = rank; l-- > 0;) {
      const I a = columns.data[l][e];
      scan.in_range &= a >= 0 && static_cast<int64_t>(a) < sizes[l];
      if (a != columns.data[l][e + 1]) level = l;
    }
    if (level == rank) scan.distinct = false;
    if (level < rank && columns.data[level][e] > columns.data[level][e + 1]) scan.sorted = false;
  }
  return scan;
}

template <size_t N, class I>
Scan scan_some(const Columns<I> &columns, const std::vector<int64_t> &sizes, size_t begin, size_t end) {
  std::array<const I *, N> data{};
  std::array<I, N> last{};
  for (size_t l = 0; l < N; ++l) {
    data[l] = columns.data[l];
    last[l] = static_cast<I>(std::min<int64_t>(sizes[l] - 1, std::numeric_limits<I>::max()));
  }
  return scan_block<N, I>(data, last, begin, end);
}

// Looks at all entries, block by block; without `ranges` it stops at the first block that is out of order.
template <class I>
Scan scan(const Columns<I> &columns, const std::vector<int64_t> &sizes, bool ranges) {
  constexpr size_t kBlock = 4096;
  Scan all;
  const size_t rank = sizes.size();
  if (rank == 0) return {true, true, columns.count < 2};
  const size_t neighbours = columns.count > 0 ? columns.count - 1 : 0;
  for (size_t e = 0; e < neighbours && (ranges || all.sorted); e += kBlock) {
    const size_t end = std::min(e + kBlock, neighbours);
    const Scan block = rank == 1   ? scan_some<1>(columns, sizes, e, end)
                       : rank == 2 ? scan_some<2>(columns, sizes, e, end)
                       : rank == 3 ? scan_some<3>(columns, sizes, e, end)
                                   : scan_block(columns, sizes, e, end);
    all = {all.in_range && block.in_range, all.sorted && block.sorted, all.distinct && block.distinct};
  }
  for (size_t l = 0; l < rank && columns.count > 0; ++l) {
    const auto last = static_cast<int64_t>(columns.data[l][columns.count - 1]);
    all.in_range &= last >= 0 && last < sizes[l];
  }
  return all;
}

template <class I>
bool is_sorted(const Columns<I> &columns, const std::vector<int64_t> &sizes, size_t from, size_t to) {
  return scan(columns.slice(from, to), {sizes.begin() + from, sizes.begin() + to}, false).sorted;
}

template <class Index>
struct Keyed {
  uint64_t key;
  Index entry;
};

// One stable pass of a least-significant-digit radix sort; false when all keys share the digit.
template <class Index>
bool radix_pass(const Scratch<Keyed<Index>> &from, Scratch<Keyed<Index>> &to, unsigned shift) {
  constexpr unsigned kBits = 11;
  std::array<size_t, (1u << kBits) + 1> start{};
  const auto digit = [shift](uint64_t key) { return (key >> shift) & ((1u << kBits) - 1); };
  for (size_t i = 0; i < from.length; ++i)
    ++start[digit(from[i].key) + 1];
  if (start[digit(from[0].key) + 1] == from.length) return false;
  std::partial_sum(start.begin(), start.end(), start.begin());
  for (size_t i = 0; i < from.length; ++i)
    to[start[digit(from[i].key)]++] = from[i];
  return true;
}

template <class Index>
void radix_sort(Scratch<Keyed<Index>> &entries, uint64_t largest) {
  Scratch<Keyed<Index>> other(entries.length);
  for (unsigned shift = 0; shift < 64 && (largest >> shift) != 0; shift += 11)
    if (radix_pass(entries, other, shift)) entries.swap(other);
}

// The number of levels before `end` whose sizes multiply to less than 2^63, counted from `end` down.
inline size_t levels_in_key(const std::vector<int64_t> &sizes, size_t end, uint64_t *largest) {
  uint64_t product = 1;
  size_t begin = end;
  while (begin > 0) {
    const auto size = static_cast<uint64_t>(std::max<int64_t>(sizes[begin - 1], 1));
    if (product > (uint64_t{1} << 63) / size) break;
    product *= size;
    --begin;
  }
  *largest = product - 1;
  return end - begin;
}

template <class I>
uint64_t linear_key(const Columns<I> &columns, const std::vector<int64_t> &sizes, size_t from, size_t to, size_t e) {
  uint64_t key = 0;
  for (size_t l = from; l < to; ++l)
    key = key * static_cast<uint64_t>(sizes[l]) + static_cast<uint64_t>(columns.data[l][e]);
  return key;
}

// Sorts by the levels before `end`; the entries are in the order of the levels from `end` on already.
template <class I, class Index>
Scratch<Index> sort_by_digits(const Columns<I> &columns, const std::vector<int64_t> &sizes, size_t end) {
  Scratch<Keyed<Index>> keyed(columns.count);
  for (size_t e = 0; e < columns.count; ++e)
    keyed[e].entry = static_cast<Index>(e);
  while (end > 0) {
    uint64_t largest = 0;
    const size_t begin = end - levels_in_key(sizes, end, &largest);
    for (size_t e = 0; e < columns.count; ++e)
      keyed[e].key = linear_key(columns, sizes, begin, end, keyed[e].entry);
    radix_sort(keyed, largest);
    end = begin;
  }
  Scratch<Index> order(columns.count);
  for (size_t e = 0; e < columns.count; ++e)
    order[e] = keyed[e].entry;
  return order;
}

// The ends of the runs in which the first `prefix` columns do not change.
template <class I>
std::vector<size_t> run_ends(const Columns<I> &columns, size_t prefix) {
  std::vector<size_t> ends;
  for (size_t e = 1; e < columns.count; ++e)
    for (size_t l = 0; l < prefix; ++l)
      if (columns.data[l][e] != columns.data[l][e - 1]) {
        ends.push_back(e);
        break;
      }
  ends.push_back(columns.count);
  return ends;
}

// Sorts within runs that the first `prefix` levels have put in order: short runs stay in the cache.
template <class I, class Index>
Scratch<Index> sort_within_runs(const Columns<I> &columns, const std::vector<int64_t> &sizes, size_t prefix,
                                const std::vector<size_t> &ends) {
  Scratch<Index> order(columns.count);
  std::vector<Keyed<Index>> run;
  size_t begin = 0;
  for (const size_t end : ends) {
    run.clear();
    for (size_t e = begin; e < end; ++e)
      run.push_back({linear_key(columns, sizes, prefix, sizes.size(), e), static_cast<Index>(e)});
    std::sort(run.begin(), run.end(),
              [](const auto &a, const auto &b) { return a.key < b.key || (a.key == b.key && a.entry < b.entry); });
    for (size_t e = begin; e < end; ++e)
      order[e] = run[e - begin].entry;
    begin = end;
  }
  return order;
}

// The permutation that sorts entries that are out of order.
template <class I, class Index>
Scratch<Index> sort_order(const Columns<I> &columns, const std::vector<int64_t> &sizes) {
  const size_t rank = sizes.size();
  size_t prefix = 0;
  while (is_sorted(columns, sizes, 0, prefix + 1))
    ++prefix;
  uint64_t largest = 0;
  if (prefix > 0 && levels_in_key(sizes, rank, &largest) >= rank - prefix) {
    constexpr size_t kAverageRun = 512; // above it, the digits' few passes beat comparisons
    const auto ends = run_ends(columns, prefix);
    if (columns.count / ends.size() <= kAverageRun) return sort_within_runs<I, Index>(columns, sizes, prefix, ends);
  }
  size_t suffix = rank;
  while (is_sorted(columns, sizes, suffix - 1, rank))
    --suffix;
  return sort_by_digits<I, Index>(columns, sizes, suffix);
}

} // namespace mlir_sparse
