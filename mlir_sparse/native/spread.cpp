#include "spread.hpp"

#include <algorithm>
#include <limits>

#include "partition.hpp"
#include "threads.hpp"

namespace mlir_sparse {
namespace {

// The number of cuts that are cached for an operand: enough for a few numbers of threads.
constexpr std::size_t kKept = 8;

// A matrix with dense rows and compressed columns.
struct Lists {
  const void *data;
  std::int64_t item;
  const Storage &storage;
  int positions;

  std::int64_t begin(std::int64_t row) const { return storage.at(positions, row); }

  template <class T>
  std::pair<std::int64_t, std::int64_t> least_and_most(std::int64_t begin, std::int64_t end) const {
    const T *list = static_cast<const T *>(data);
    T least = std::numeric_limits<T>::max(), most = 0;
    for (std::int64_t p = begin; p < end; ++p) {
      least = std::min(least, list[p]);
      most = std::max(most, list[p]);
    }
    return {static_cast<std::int64_t>(least), static_cast<std::int64_t>(most)};
  }

  // The least and the greatest coordinate between two different positions.
  std::pair<std::int64_t, std::int64_t> between(std::int64_t begin, std::int64_t end) const {
    switch (item) {
      case 1:
        return least_and_most<std::uint8_t>(begin, end);
      case 2:
        return least_and_most<std::uint16_t>(begin, end);
      case 4:
        return least_and_most<std::uint32_t>(begin, end);
      default:
        return least_and_most<std::uint64_t>(begin, end);
    }
  }
};

Spread spread_of(const Lists &lists, std::int64_t first, std::int64_t last) {
  const std::int64_t begin = lists.begin(first), end = lists.begin(last);
  if (begin >= end) return {0, 0, first, 0};
  const auto [least, most] = lists.between(begin, end);
  return {least, most + 1, first, 0};
}

// Finds the coordinate from which on a chunk writes no row of an earlier chunk.
void part(const Lists &lists, Spread &spread, std::int64_t first, std::int64_t last, std::int64_t reached) {
  if (spread.begin >= reached || spread.begin >= spread.end) return;
  std::int64_t row = last;
  for (; row > first; --row) {
    const std::int64_t begin = lists.begin(row - 1), end = lists.begin(row);
    if (begin < end && lists.between(begin, end).first < reached) break;
  }
  spread.apart = row;
  spread.shared = lists.begin(row) - lists.begin(first);
}

}  // namespace

Spreads::Found Spreads::find(const Key &key) {
  // In the child of a fork the lock may stay closed: the result is then computed each time.
  std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return nullptr;
  for (const auto &[known, found] : kept_)
    if (known == key) return found;
  return nullptr;
}

void Spreads::keep(Key key, Found found) {
  std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  kept_.emplace_front(std::move(key), std::move(found));
  if (kept_.size() > kKept) kept_.pop_back();
}

Spreads::Found spreads_of(const Partition &partition, const std::vector<Argument> &arguments, const Cuts &cuts) {
  if (partition.reached < 0 || partition.compressed || partition.stored.size() != 1) return nullptr;
  const Storage &storage = arguments[static_cast<std::size_t>(partition.stored.front().parameter)].storage;
  const auto buffer = static_cast<std::size_t>(partition.reached);
  Spreads::Key key = cuts.coordinates;
  key.push_back(partition.reached);
  if (storage.spreads != nullptr)
    if (Spreads::Found known = storage.spreads->find(key)) return known;
  const Lists lists{(*storage.buffers)[buffer].aligned, (*storage.items)[buffer], storage, partition.reached - 1};
  std::vector<Spread> found(cuts.chunks());
  run_chunks(found.size(), thread_limit(), [&](std::size_t chunk) {
    found[chunk] = spread_of(lists, cuts.coordinates[chunk], cuts.coordinates[chunk + 1]);
  });
  std::int64_t reached = 0;
  for (std::size_t chunk = 0; chunk < found.size(); ++chunk) {
    part(lists, found[chunk], cuts.coordinates[chunk], cuts.coordinates[chunk + 1], reached);
    reached = std::max(reached, found[chunk].end);
  }
  auto kept = std::make_shared<const std::vector<Spread>>(std::move(found));
  if (storage.spreads != nullptr) storage.spreads->keep(std::move(key), kept);
  return kept;
}

}  // namespace mlir_sparse
