#include "counters.hpp"

#include <algorithm>

#include "pack_threads.hpp"
#include "sums_of_degrees.hpp"

namespace mlir_sparse {
namespace {

// For so many coordinates, whose counters stay in the first-level cache, there are two counters each.
constexpr std::int64_t kTwice = 1 << 13;

// Corrects what the counters alone say.
void add_carries(Degrees &all, const std::uint8_t *counters, std::int64_t last, Carries &carries) {
  std::sort(carries.begin(), carries.end(), [](Carry a, Carry b) { return a.coordinate < b.coordinate; });
  for (auto at = carries.begin(); at != carries.end();) {
    const std::int64_t coordinate = at->coordinate;
    std::int64_t units = 0;
    for (; at != carries.end() && at->coordinate == coordinate; ++at) units += at->units;
    const double rest = counters[coordinate], degree = 256.0 * static_cast<double>(units) + rest;
    all.distinct += rest == 0;
    all.squares += degree * degree - rest * rest;
    all.largest = std::max(all.largest, degree);
    if (coordinate == last) all.last = degree;
  }
}

Degrees of_counters(const std::uint8_t *counters, std::int64_t extent) {
  constexpr std::int64_t kBlock = 1 << 15;  // so many squares of bytes add up to less than 2^32
  Degrees all;
  for (std::int64_t from = 0; from < extent; from += kBlock) {
    const std::int64_t to = std::min(from + kBlock, extent);
    std::uint32_t distinct = 0, squares = 0;
    std::uint8_t largest = 0;
    for (std::int64_t c = from; c < to; ++c) {
      distinct += counters[c] != 0;
      squares += static_cast<std::uint32_t>(counters[c]) * counters[c];
      largest = std::max(largest, counters[c]);
    }
    all.distinct += distinct;
    all.squares += squares;
    all.largest = std::max<double>(all.largest, largest);
  }
  all.last = counters[extent - 1];
  return all;
}

// Adds other counters to the first ones.
void add_counters(std::uint8_t *counters, const std::uint8_t *others, std::int64_t begin, std::int64_t end,
                  Carries &carries) {
  constexpr std::int64_t kBlock = 1 << 12;
  const auto sum = [&](std::int64_t c) { return static_cast<std::uint8_t>(counters[c] + others[c]); };
  for (std::int64_t from = begin; from < end; from += kBlock) {
    const std::int64_t to = std::min(from + kBlock, end);
    std::uint8_t carry = 0;
    for (std::int64_t c = from; c < to; ++c) carry |= static_cast<std::uint8_t>(sum(c) < others[c]);
    for (std::int64_t c = from; carry != 0 && c < to; ++c)
      if (sum(c) < others[c]) carries.push_back({c, 1});
    for (std::int64_t c = from; c < to; ++c) counters[c] = sum(c);
  }
}

}  // namespace

void add_carry(Carries &carries, std::int64_t coordinate, std::int64_t units) {
  carries.push_back({coordinate, units});
}

ByteCounters::ByteCounters(std::int64_t extent, std::size_t parts)
    : extent_(extent), ways_(extent <= kTwice ? 2 : 1), block_(static_cast<std::size_t>(extent) * parts * ways_, true),
      carries_(parts) {}

Degrees ByteCounters::total() {
  if (extent_ == 0) return {};
  const std::size_t parts = carries_.size();
  const auto ranges = even_parts(static_cast<std::size_t>(extent_), parts);
  in_parallel(parts, [&](std::size_t range) {
    for (std::size_t table = 1; table < parts * ways_; ++table)
      add_counters(of(0), of(table), static_cast<std::int64_t>(ranges[range]),
                   static_cast<std::int64_t>(ranges[range + 1]), carries_[range]);
  });
  for (std::size_t part = 1; part < parts; ++part)
    carries_[0].insert(carries_[0].end(), carries_[part].begin(), carries_[part].end());
  Degrees all = of_counters(of(0), extent_);
  add_carries(all, of(0), extent_ - 1, carries_[0]);
  return all;
}

Degrees HashedCounters::total(std::int64_t extent) {
  Lanes lanes;
  add_all(lanes, 0, static_cast<std::int64_t>(slots_.size()),
          [&](std::int64_t k) { return slots_[static_cast<std::size_t>(k)].degree; });
  Degrees all = lanes.total();
  all.last = static_cast<double>(find(extent - 1).degree);
  return all;
}

void HashedCounters::grow() {
  std::vector<Slot> before(2 * slots_.size());
  before.swap(slots_);
  for (const Slot &slot : before)
    if (slot.coordinate >= 0) find(slot.coordinate) = slot;
}

bool are_few(std::int64_t entries, std::int64_t extent) {
  constexpr std::int64_t kCounted = 16, kAlways = 65536;
  return (extent - kAlways) / kCounted > entries;
}

}  // namespace mlir_sparse
