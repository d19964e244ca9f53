#include "sampled_degrees.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "counters.hpp"
#include "pack_threads.hpp"
#include "prefetch_distances.hpp"

namespace mlir_sparse {
namespace {

// One of so many entries is taken, fewer of many entries as long as so many are expected of a coordinate that has half of
// the sum of squares for itself, and one of the most in any case.
constexpr double kEach = 16, kSeen = 16, kMostEach = 64;

double chance_of(std::int64_t count) {
  const auto entries = static_cast<double>(std::max<std::int64_t>(count, 1));
  return std::clamp(kSeen / std::sqrt(entries), 1 / kMostEach, 1 / kEach);
}

// Quantiles of the exponential distribution: what lies between entries that are taken by chance. A logarithm each time
// would take longer than all the rest.
constexpr int kBits = 10;
using Quantiles = std::array<double, std::size_t{1} << kBits>;

Quantiles exponential() {
  Quantiles found;
  for (std::size_t k = 0; k < found.size(); ++k)
    found[k] = -std::log1p(-(static_cast<double>(k) + 0.5) / static_cast<double>(found.size()));
  return found;
}

// The numbers that are taken of 0 to count - 1, ascending; the same each time.
class Chosen {
public:
  explicit Chosen(double chance) : scale_(-1 / std::log1p(-chance)) { skip(); }

  std::int64_t number() const { return number_; }

  std::int64_t next() {
    ++number_;
    skip();
    return number_;
  }

private:
  void skip() {
    static const Quantiles quantiles = exponential();
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;  // Knuth's generator, of which high bits are good
    number_ += static_cast<std::int64_t>(scale_ * quantiles[state_ >> (64 - kBits)]);
  }

  double scale_;
  std::int64_t number_ = 0;
  std::uint64_t state_ = 0x9e3779b97f4a7c15u;
};

// The entries of a sample while levels are left, from the innermost one out: their positions in the level ascend.
class SampleWalk {
public:
  SampleWalk(const std::vector<CountedLevel> &levels, std::int64_t values) : levels_(levels) {
    found_.chance = chance_of(values);
    found_.columns.resize(levels.size());
    Chosen chosen(found_.chance);
    if (!levels.empty() && levels.back().level.kind == LevelKind::LooseCompressed) {
      leave_loose(chosen);
    } else {
      for (std::int64_t next = chosen.number(); next < values; next = chosen.next()) at_.push_back(next);
      leave(levels.size());
    }
  }

  EntrySample found() { return std::move(found_); }

private:
  void leave(std::size_t count) {
    for (std::size_t number = count; number-- > 0;) {
      const CountedLevel &one = levels_[number];
      std::vector<std::int64_t> &column = found_.columns[number];
      switch (one.level.kind) {
      case LevelKind::Dense: leave_dense(one.level.size, column); break;
      case LevelKind::Compressed:
        read(one, column);
        leave_segments(one.positions);
        break;
      case LevelKind::Singleton: read(one, column); break;
      default: throw std::out_of_range("expected gaps in the innermost level alone");
      }
      if (one.has_empty) leave_table(number);
    }
  }

  void leave_dense(std::int64_t size, std::vector<std::int64_t> &column) {
    if (size < 1) throw std::out_of_range("expected an extent of 1 or more");
    column.resize(at_.size());
    for (std::size_t k = 0; k < at_.size(); ++k) {
      const std::int64_t place = at_[k], parent = place / size;
      column[k] = place - parent * size;
      at_[k] = parent;
    }
  }

  void read(const CountedLevel &one, std::vector<std::int64_t> &column) const {
    if (!at_.empty() && at_.back() >= one.coordinates.length)
      throw std::out_of_range("expected a coordinate for each position of a level");
    // -1 marks what is empty in numbers of any width; the narrow ones are read without a sign.
    const int above = one.has_empty ? 64 - one.coordinates.width : 0;
    const IntBuffer &coordinates = one.coordinates;
    column.resize(at_.size());
    const std::int64_t *places = at_.data();
    std::int64_t *found = column.data();
    const auto count = static_cast<std::int64_t>(at_.size());
    const auto ask = [&](std::int64_t k) { prefetch_to_read(coordinates.data + places[k] * coordinates.stride); };
    for (std::int64_t k = 0; k < std::min(kMostAhead, count); ++k) ask(k);
    coordinates.visit([=](auto from) {
      for (std::int64_t k = 0; k < count; ++k) {
        if (k + kMostAhead < count) ask(k + kMostAhead);
        found[k] = static_cast<std::int64_t>(static_cast<std::uint64_t>(from(places[k])) << above) >> above;
      }
    });
  }

  // Goes from positions to those of the parents, the last that begins there or before.
  void leave_segments(const IntBuffer &positions) {
    constexpr std::int64_t kStride = 8;
    const std::int64_t parents = positions.length - 1;
    if (parents < 1 && !at_.empty()) throw std::out_of_range("expected positions for a level with entries");
    positions.visit([&](auto begin) {  // to bisect would wait for memory: this reads a stream
      std::int64_t parent = 0;
      for (std::int64_t &place : at_) {
        while (parent + kStride < parents && begin(parent + kStride) <= place) parent += kStride;
        while (parent + 1 < parents && begin(parent + 1) <= place) ++parent;
        place = parent;
      }
    });
  }

  // Entries are numbered as if there were no gaps: segments may be anywhere.
  void leave_loose(Chosen chosen) {
    const CountedLevel &one = levels_.back();
    const std::int64_t parents = one.positions.length / 2, places = one.coordinates.length;
    std::vector<std::int64_t> above;
    one.positions.visit([&](auto segment) {
      std::int64_t before = 0, next = chosen.number();
      for (std::int64_t parent = 0; parent < parents; ++parent) {
        const std::int64_t begin = segment(2 * parent), end = segment(2 * parent + 1);
        if (begin < 0 || end < begin || end > places) throw std::out_of_range("expected segments in the coordinates");
        for (const std::int64_t shift = begin - before; next < before + (end - begin); next = chosen.next()) {
          at_.push_back(next + shift);
          above.push_back(parent);
        }
        before += end - begin;
      }
    });
    read(one, found_.columns.back());
    at_ = std::move(above);
    leave(levels_.size() - 1);
  }

  // Leaves out the empty places of the innermost level, which has as many for each parent.
  void leave_table(std::size_t number) {
    std::int64_t each = levels_[number].coordinates.length;
    for (std::size_t above = 0; above < number; ++above) {
      const Level &level = levels_[above].level;
      if (level.kind != LevelKind::Dense || level.size < 1 || each % level.size != 0)
        throw std::out_of_range("expected as many places for each position of dense levels");
      each /= level.size;
    }
    std::vector<std::int64_t> &column = found_.columns[number];
    std::size_t kept = 0;
    for (std::size_t k = 0; k < column.size(); ++k) {  // no branch: which are empty cannot be predicted
      const std::int64_t coordinate = column[k];
      column[kept] = coordinate;
      at_[kept] = at_[k];
      kept += coordinate >= 0;
    }
    column.resize(kept);
    at_.resize(kept);
    if (each > 1)
      for (std::int64_t &place : at_) place /= each;
  }

  const std::vector<CountedLevel> &levels_;
  std::vector<std::int64_t> at_;
  EntrySample found_;
};

// What the degrees in a sample say of those of all entries.
class SampledSums {
public:
  // By how many coordinates are seen how often. Many that are seen seldom are not told from each other by branches.
  SampledSums(const HashedCounters &counters, double chance) : chance_(chance) {
    std::array<std::int64_t, kRare + 1> often{};
    counters.visit([&](std::int64_t degree) {
      ++often[static_cast<std::size_t>(std::min(degree, kRare))];
      if (degree >= kRare) add(static_cast<double>(degree), 1);
    });
    for (std::int64_t degree = 1; degree < kRare; ++degree) {
      const std::int64_t coordinates = often[static_cast<std::size_t>(degree)];
      if (coordinates > 0) add(static_cast<double>(degree), static_cast<double>(coordinates));
    }
  }

  Degrees degrees(double extent) const {
    if (entries_ == 0) return {};
    Degrees found;
    found.distinct = std::min(std::round(distinct()), extent);
    found.largest = std::round(largest());
    found.squares = std::round(squares());
    return found;
  }

private:
  static constexpr std::int64_t kRare = 64;
  // Coordinates with more than so many entries in the sample are hardly missed by it.
  static constexpr double kLight = 8;

  void add(double degree, double coordinates) {
    const double entries = degree * coordinates, pairs = entries * (degree - 1);
    entries_ += entries;
    coordinates_ += coordinates;
    pairs_ += pairs;
    most_ = std::max(most_, degree);
    if (degree == 1) once_ += coordinates;
    if (degree > kLight) return;
    light_ += coordinates;
    light_entries_ += entries;
    light_pairs_ += pairs;
  }

  double all_pairs() const { return pairs_ / (chance_ * chance_); }

  double squares() const { return entries_ / chance_ + all_pairs(); }

  double distinct() const {
    const double seen_once = once_ / std::sqrt(chance_) + (coordinates_ - once_);
    // By Cauchy and Schwarz, n entries with sum of squares s have n^2 / s coordinates or more.
    const double all = light_entries_ / chance_, of_light = all + light_pairs_ / (chance_ * chance_);
    const double alike = coordinates_ - light_ + (all > 0 ? all * all / of_light : 0);
    return std::clamp(std::max(seen_once, alike), coordinates_, entries_ / chance_);
  }

  // The coordinate that is seen most often has that many times 1 / c entries if it is the only one of its kind, and far
  // fewer if it is by chance the first of many: the largest degree is taken between.
  double largest() const {
    const double mean = squares() * chance_ / entries_;  // of the degrees that entries are in
    // Each of so many coordinates is seen so often by the distribution of Poisson. If it is expected of half of one:
    const double among = std::lgamma(most_ + 1) - std::log(2 * distinct());
    double expected = 0;
    for (int step = 0; step < 32; ++step) expected = std::min(std::exp((among + expected) / most_), most_);
    const double least = std::max(expected / chance_, mean), alone = most_ / chance_;
    // Degrees are added up in pairs, too: none has more of these than there are.
    const double by_pairs = (1 + std::sqrt(1 + 4 * all_pairs())) / 2;
    return std::max({std::min(std::sqrt(least * alone), by_pairs), most_, mean});
  }

  double chance_, entries_ = 0, coordinates_ = 0, once_ = 0, pairs_ = 0, most_ = 0;
  double light_ = 0, light_entries_ = 0, light_pairs_ = 0;
};

}  // namespace

EntrySample sample_entries(const std::vector<CountedLevel> &levels, std::int64_t values) {
  return SampleWalk(levels, values).found();
}

Degrees degrees_of_sample(const IntBuffer &coordinates, std::int64_t extent, double chance) {
  HashedCounters counters(static_cast<std::size_t>(coordinates.length));
  coordinates.visit([&](auto at) {
    for (std::int64_t k = 0; k < coordinates.length; ++k)
      if (const std::int64_t c = at(k); c >= 0) counters.add(c, 1);
  });
  return SampledSums(counters, chance).degrees(static_cast<double>(extent));
}

}  // namespace mlir_sparse
