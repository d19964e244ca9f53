#include "pack_sort.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "pack_threads.hpp"

namespace mlir_sparse {
namespace {

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
Scan scan_any(const Columns<I> &columns, const std::vector<int64_t> &sizes, size_t begin, size_t end) {
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

template <class I>
Scan scan_part(const Columns<I> &columns, const std::vector<int64_t> &sizes, bool ranges, size_t begin, size_t end) {
  constexpr size_t kBlock = 4096;
  Scan all;
  const size_t rank = sizes.size();
  for (size_t e = begin; e < end && (ranges || all.sorted); e += kBlock) {
    const size_t stop = std::min(e + kBlock, end);
    all = all && (rank == 1   ? scan_some<1>(columns, sizes, e, stop)
                  : rank == 2 ? scan_some<2>(columns, sizes, e, stop)
                  : rank == 3 ? scan_some<3>(columns, sizes, e, stop)
                              : scan_any(columns, sizes, e, stop));
  }
  return all;
}

} // namespace

template <class I>
Scan scan(const Columns<I> &columns, const std::vector<int64_t> &sizes, bool ranges) {
  const size_t rank = sizes.size();
  if (rank == 0) return {true, true, columns.count < 2};
  const size_t parts = thread_count(columns.count);
  const auto begins = even_parts(columns.count > 0 ? columns.count - 1 : 0, parts);
  std::vector<Scan> scans(parts);
  in_parallel(parts, [&](size_t part) {
    scans[part] = scan_part(columns, sizes, ranges, begins[part], begins[part + 1]);
  });
  Scan all;
  for (const Scan &scan : scans)
    all = all && scan;
  for (size_t l = 0; l < rank && columns.count > 0; ++l) {
    const auto last = static_cast<int64_t>(columns.data[l][columns.count - 1]);
    all.in_range &= last >= 0 && last < sizes[l];
  }
  return all;
}

namespace {

template <class I>
bool is_sorted(const Columns<I> &columns, const std::vector<int64_t> &sizes, size_t from, size_t to) {
  return scan(columns.slice(from, to), {sizes.begin() + from, sizes.begin() + to}, false).sorted;
}

struct Keyed {
  uint64_t key;
  uint64_t entry;
};

// One stable pass of a least-significant-digit radix sort; false when all keys share the digit.
bool radix_pass(const Scratch<Keyed> &from, Scratch<Keyed> &to, unsigned shift) {
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

void radix_sort(Scratch<Keyed> &entries, uint64_t largest) {
  Scratch<Keyed> other(entries.length);
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

// Sorts by the levels before `end`; the entries are in the order of the levels from `end` on already.
template <class I>
Scratch<uint64_t> sort_by_digits(const Columns<I> &columns, const std::vector<int64_t> &sizes, size_t end) {
  Scratch<Keyed> keyed(columns.count);
  for (size_t e = 0; e < columns.count; ++e)
    keyed[e].entry = e;
  while (end > 0) {
    uint64_t largest = 0;
    const size_t begin = end - levels_in_key(sizes, end, &largest);
    for (size_t e = 0; e < columns.count; ++e)
      keyed[e].key = linear_key(columns, sizes, begin, end, keyed[e].entry);
    radix_sort(keyed, largest);
    end = begin;
  }
  Scratch<uint64_t> order(columns.count);
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
template <class I>
Scratch<uint64_t> sort_within_runs(const Columns<I> &columns, const std::vector<int64_t> &sizes, size_t prefix,
                                const std::vector<size_t> &ends) {
  Scratch<uint64_t> order(columns.count);
  std::vector<Keyed> run;
  size_t begin = 0;
  for (const size_t end : ends) {
    run.clear();
    for (size_t e = begin; e < end; ++e)
      run.push_back({linear_key(columns, sizes, prefix, sizes.size(), e), e});
    std::sort(run.begin(), run.end(),
              [](const auto &a, const auto &b) { return a.key < b.key || (a.key == b.key && a.entry < b.entry); });
    for (size_t e = begin; e < end; ++e)
      order[e] = run[e - begin].entry;
    begin = end;
  }
  return order;
}

} // namespace

template <class I>
Scratch<uint64_t> sort_order(const Columns<I> &columns, const std::vector<int64_t> &sizes) {
  const size_t rank = sizes.size();
  size_t prefix = 0;
  while (is_sorted(columns, sizes, 0, prefix + 1))
    ++prefix;
  uint64_t largest = 0;
  if (prefix > 0 && levels_in_key(sizes, rank, &largest) >= rank - prefix) {
    constexpr size_t kAverageRun = 512; // above it, the digits' few passes beat comparisons
    const auto ends = run_ends(columns, prefix);
    if (columns.count / ends.size() <= kAverageRun) return sort_within_runs<I>(columns, sizes, prefix, ends);
  }
  size_t suffix = rank;
  while (is_sorted(columns, sizes, suffix - 1, rank))
    --suffix;
  return sort_by_digits<I>(columns, sizes, suffix);
}

template Scan scan(const Columns<int32_t> &, const std::vector<int64_t> &, bool);
template Scan scan(const Columns<int64_t> &, const std::vector<int64_t> &, bool);
template Scratch<uint64_t> sort_order(const Columns<int32_t> &, const std::vector<int64_t> &);
template Scratch<uint64_t> sort_order(const Columns<int64_t> &, const std::vector<int64_t> &);

} // namespace mlir_sparse
