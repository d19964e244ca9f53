#include "partition.hpp"

#include <algorithm>
#include <vector>

namespace mlir_sparse {
namespace {

std::int64_t entries_before(const StoredPart &part, const Storage &storage, std::int64_t position,
                            std::int64_t total) {
  return before(part, storage, position, total, static_cast<int>(part.steps.size()));
}

// The tolerance of a cut: this fraction of a chunk.
constexpr std::int64_t kTolerance = 16;

// Returns a number from low to high whose ascending weight is about `target`. The first guess assumes an even
// distribution, which holds for most matrices.
template <class Weight>
std::int64_t find_weight(std::int64_t low, std::int64_t high, std::int64_t target, std::int64_t tolerance,
                         const Weight &weight) {
  std::int64_t below = weight(low), above = weight(high);
  bool guess = true;
  while (low < high && below < target) {
    const auto all = static_cast<double>(std::max(above - below, target - below));
    const double share = static_cast<double>(target - below) / all;
    const auto even = static_cast<std::int64_t>(share * static_cast<double>(high - low));
    const std::int64_t middle = low + (guess ? std::min(high - low - 1, even) : (high - low) / 2);
    const std::int64_t found = weight(middle);
    if (found >= target) {
      high = middle;
      above = found;
      if (found - target <= tolerance) return high;
    } else {
      low = middle + 1;
      below = weight(low);
    }
    guess = !guess;
  }
  return low;
}

// A cut at any coordinate: the positions below give the weight before it.
std::int64_t weight_before(const Partition &partition, const std::vector<Argument> &arguments, std::int64_t extent,
                           std::int64_t coordinate) {
  std::int64_t weight = coordinate;  // a row costs about as much as an entry, its result included
  for (const StoredPart &part : partition.stored) {
    if (part.level > 0) continue;  // entries of a row are in many places
    const Storage &storage = arguments[static_cast<std::size_t>(part.parameter)].storage;
    weight += entries_before(part, storage, rows_of(part, coordinate), rows_of(part, extent));
  }
  return weight;
}

// A fraction of a weight, in parts of kWhole.
std::int64_t part_of(std::int64_t total, std::int64_t share) {
  return static_cast<std::int64_t>(static_cast<__int128>(total) * share / kWhole);
}

Cuts cut_counted(const Partition &partition, const std::vector<Argument> &arguments, std::int64_t extent,
                 const std::vector<std::int64_t> &shares) {
  Cuts cuts;
  cuts.positions.resize(partition.stored.size());
  cuts.coordinates.push_back(0);
  const std::int64_t units = (extent + partition.unit - 1) / partition.unit;
  const auto coordinate_of = [&](std::int64_t unit) { return std::min(unit * partition.unit, extent); };
  const auto weight = [&](std::int64_t unit) {
    return weight_before(partition, arguments, extent, coordinate_of(unit));
  };
  const std::int64_t total = weight(units);
  std::int64_t low = 0;
  for (std::size_t chunk = 1; chunk < shares.size(); ++chunk) {
    const std::int64_t target = part_of(total, shares[chunk - 1]);
    const std::int64_t tolerance = (part_of(total, shares[chunk]) - target) / kTolerance;
    low = find_weight(low, units, target, tolerance, weight);
    const std::int64_t coordinate = coordinate_of(low);
    if (coordinate > cuts.coordinates.back() && coordinate < extent) cuts.coordinates.push_back(coordinate);
  }
  if (extent > 0) cuts.coordinates.push_back(extent);
  return cuts;
}

// A level with stored coordinates: their range of positions, and the buffer.
struct CompressedLevel {
  const StoredPart &part;
  const Storage &storage;
  std::int64_t begin, end;

  CompressedLevel(const StoredPart &stored, const Storage &held)
      : part(stored), storage(held), begin(held.at(0, 0)), end(held.at(0, 1)) {}

  std::int64_t coordinate(std::int64_t position) const { return storage.at(1, position * part.stride); }

  // The first position whose coordinate is not less; coordinates ascend.
  std::int64_t find(std::int64_t wanted) const {
    std::int64_t low = begin, high = end;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (coordinate(middle) < wanted)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }

  std::int64_t weight(std::int64_t position) const {
    return position + entries_before(part, storage, position, end);
  }
};

Cuts cut_compressed(const Partition &partition, const std::vector<Argument> &arguments, std::int64_t extent,
                const std::vector<std::int64_t> &shares) {
  Cuts cuts;
  cuts.positions.resize(partition.stored.size());
  std::vector<CompressedLevel> levels;
  std::size_t longest = 0;
  for (const StoredPart &part : partition.stored) {
    levels.emplace_back(part, arguments[static_cast<std::size_t>(part.parameter)].storage);
    if (levels.back().end - levels.back().begin > levels[longest].end - levels[longest].begin)
      longest = levels.size() - 1;
  }
  const CompressedLevel &guide = levels[longest];
  if (guide.begin >= guide.end) return Cuts{};
  const bool sorted = guide.part.sorted;
  cuts.coordinates.push_back(0);
  for (std::size_t n = 0; n < levels.size(); ++n) cuts.positions[n].push_back(levels[n].begin);
  const std::int64_t first = guide.weight(guide.begin), total = guide.weight(guide.end) - first;
  std::int64_t place = guide.begin;
  for (std::size_t chunk = 1; chunk < shares.size(); ++chunk) {
    const std::int64_t target = first + part_of(total, shares[chunk - 1]);
    const std::int64_t tolerance = (first + part_of(total, shares[chunk]) - target) / kTolerance;
    place = find_weight(place, guide.end, target, tolerance, [&](std::int64_t at) { return guide.weight(at); });
    if (place <= guide.begin || place >= guide.end) continue;
    if (!sorted) {  // one operand alone, each of whose coordinates stands once
      if (place <= cuts.positions[longest].back()) continue;
      cuts.coordinates.push_back(0);
      cuts.positions[longest].push_back(place);
      continue;
    }
    const std::int64_t coordinate = guide.coordinate(place);
    if (coordinate <= cuts.coordinates.back()) continue;
    cuts.coordinates.push_back(coordinate);
    for (std::size_t n = 0; n < levels.size(); ++n) cuts.positions[n].push_back(levels[n].find(coordinate));
  }
  cuts.coordinates.push_back(extent);
  for (std::size_t n = 0; n < levels.size(); ++n) cuts.positions[n].push_back(levels[n].end);
  return cuts;
}

}  // namespace

Cuts cut(const Partition &partition, const std::vector<Argument> &arguments, std::int64_t extent,
         std::size_t chunks) {
  return cut(partition, arguments, extent, even_shares(0, kWhole, chunks));
}

Cuts cut(const Partition &partition, const std::vector<Argument> &arguments, std::int64_t extent,
         const std::vector<std::int64_t> &shares) {
  const auto choice = partition.compressed ? cut_compressed : cut_counted;
  return choice(partition, arguments, extent, shares);
}

std::vector<std::int64_t> even_shares(std::int64_t begin, std::int64_t end, std::size_t chunks) {
  std::vector<std::int64_t> shares;
  const auto count = static_cast<std::int64_t>(chunks);
  for (std::int64_t chunk = 1; chunk <= count; ++chunk)
    shares.push_back(begin + static_cast<std::int64_t>(static_cast<__int128>(end - begin) * chunk / count));
  return shares;
}

}  // namespace mlir_sparse
