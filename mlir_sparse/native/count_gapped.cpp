#include "count_gapped.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "counters.hpp"
#include "filled_places.hpp"
#include "sums_of_degrees.hpp"

namespace mlir_sparse {
namespace {

constexpr std::int64_t kBlock = 1024;

// Counts what is put next to each other here, without the gaps.
class Gathered {
public:
  Gathered(std::int64_t places, std::int64_t extent)
      : few_(are_few(places, extent)), bytes_(few_ ? 0 : extent, 1), extent_(extent) {}

  // Room for so many coordinates more, up to kBlock, and what is written behind them.
  std::int64_t *room(std::int64_t wanted) {
    if (used_ + wanted > 2 * kBlock) count();
    return coordinates_.data() + used_;
  }

  void add(std::int64_t entries) { used_ += entries; }

  // Counts coordinates where they are: there is no gap among them.
  template <class At>
  void add_all(const At &at, const IntBuffer &stream, std::int64_t begin, std::int64_t end) {
    if (few_) {
      for (std::int64_t k = begin; k < end; ++k) hashed_.add(at(k), 1);
      return;
    }
    const PartCounters counters = bytes_.part(0);
    in_stream(stream, begin, end, [=](std::int64_t from, std::int64_t to) { count_by_turns(at, from, to, counters); });
  }

  Degrees total() {
    count();
    return few_ ? hashed_.total(extent_) : bytes_.total();
  }

private:
  void count() {
    const std::int64_t *coordinates = coordinates_.data(), used = used_;
    used_ = 0;
    if (few_) {
      for (std::int64_t k = 0; k < used; ++k) hashed_.add(coordinates[k], 1);
      return;
    }
    count_by_turns([=](std::int64_t k) { return coordinates[k]; }, 0, used, bytes_.part(0));
  }

  bool few_;
  ByteCounters bytes_;
  HashedCounters hashed_;
  std::int64_t extent_, used_ = 0;
  std::array<std::int64_t, 2 * kBlock + kWrittenBehind> coordinates_;
};

// Where the segments of some parents begin, and how many places they have.
struct Segments {
  std::array<std::int64_t, kBlock> begins, lengths;
};

void read_segments(const LooseColumn &column, std::int64_t from, std::int64_t to, Segments &found) {
  const std::int64_t places = column.coordinates.length;
  column.segments.visit([&](auto at) {
    bool inside = true;
    for (std::int64_t p = from; p < to; ++p) {
      const std::int64_t begin = at(2 * p), end = at(2 * p + 1);
      inside &= begin >= 0 && begin <= end && end <= places;
      found.begins[static_cast<std::size_t>(p - from)] = begin;
      found.lengths[static_cast<std::size_t>(p - from)] = end - begin;
    }
    if (!inside) throw std::out_of_range("expected segments in the coordinates");
  });
}

// Whether each segment begins where the one before it ends.
bool are_adjacent(const Segments &segments, std::size_t count) {
  bool found = true;
  for (std::size_t p = 0; p + 1 < count; ++p)
    found &= segments.begins[p] + segments.lengths[p] == segments.begins[p + 1];
  return found;
}

// Gathers the coordinates of segments. Short ones are copied with what is behind them: how long they are cannot be
// predicted.
template <class At>
void gather(const At &at, std::int64_t places, const Segments &segments, std::int64_t count, Gathered &gathered) {
  constexpr std::int64_t kShort = 8;
  for (std::int64_t p = 0; p < count; ++p) {
    const std::int64_t begin = segments.begins[static_cast<std::size_t>(p)];
    const std::int64_t length = segments.lengths[static_cast<std::size_t>(p)];
    if (length <= kShort && begin + kShort <= places) {
      std::int64_t *room = gathered.room(kShort);
      for (std::int64_t k = 0; k < kShort; ++k) room[k] = at(begin + k);
      gathered.add(length);
      continue;
    }
    for (std::int64_t from = 0; from < length; from += kBlock) {
      const std::int64_t most = std::min(kBlock, length - from);
      std::int64_t *room = gathered.room(most);
      for (std::int64_t k = 0; k < most; ++k) room[k] = at(begin + from + k);
      gathered.add(most);
    }
  }
}

void count_segments(const LooseColumn &column, Gathered &gathered, std::int64_t *begins) {
  Segments segments;
  std::int64_t reached = 0;
  for (std::int64_t from = 0; from < column.parents; from += kBlock) {
    const std::int64_t count = std::min(kBlock, column.parents - from);
    read_segments(column, from, from + count, segments);
    const std::int64_t before = reached;
    for (std::int64_t p = 0; p < count; ++p) begins[from + p + 1] = reached += segments.lengths[static_cast<std::size_t>(p)];
    column.coordinates.visit([&](auto at) {
      if (are_adjacent(segments, static_cast<std::size_t>(count)))
        gathered.add_all(at, column.coordinates, segments.begins[0], segments.begins[0] + reached - before);
      else
        gather(at, column.coordinates.length, segments, count, gathered);
    });
  }
}

// Counts the filled places of a table: those of coordinate i of the innermost dense level, for each row of the levels
// above. Some of its coordinates are counted at a time, in all rows, so that their counts stay near.
class Table {
public:
  explicit Table(const TableColumn &column) : column_(column), gathered_(column.coordinates.length, column.extent) {
    for (std::size_t level = 0; level + 1 < column.sizes.size(); ++level) {
      rows_ *= column.sizes[level];
      above_.emplace_back(static_cast<std::size_t>(column.sizes[level]));
    }
    inner_ = column.sizes.empty() ? 1 : column.sizes.back();
    const std::int64_t parents = rows_ * inner_;
    each_ = parents > 0 ? column.coordinates.length / parents : 0;
  }

  std::vector<Degrees> run() {
    const std::int64_t together = std::max<std::int64_t>(1, kBlock / std::max<std::int64_t>(each_, 1));
    for (std::int64_t from = 0; from < inner_ && each_ > 0; from += together)
      count(from, std::min(from + together, inner_));
    std::vector<Degrees> found;
    for (const std::vector<std::int64_t> &counts : above_) {
      Lanes lanes;
      add_all(lanes, 0, static_cast<std::int64_t>(counts.size()),
              [&](std::int64_t k) { return counts[static_cast<std::size_t>(k)]; });
      found.push_back(lanes.total());
    }
    if (!column_.sizes.empty()) found.push_back(lanes_.total());
    found.push_back(gathered_.total());
    return found;
  }

private:
  void count(std::int64_t from, std::int64_t to) {
    std::array<std::int64_t, kBlock> counts;
    std::fill_n(counts.begin(), to - from, 0);
    std::vector<std::int64_t> at(above_.size());
    for (std::int64_t row = 0; row < rows_; ++row) {
      const std::int64_t filled = count_row((row * inner_ + from) * each_, (to - from) * each_, counts.data());
      for (std::size_t level = 0; level < at.size(); ++level)
        above_[level][static_cast<std::size_t>(at[level])] += filled;
      for (std::size_t level = at.size(); level-- > 0;) {
        if (++at[level] < column_.sizes[level]) break;
        at[level] = 0;
      }
    }
    add_all(lanes_, 0, to - from, [&](std::int64_t k) { return counts[static_cast<std::size_t>(k)]; });
  }

  // Counts so many places from one on; returns how many are filled.
  std::int64_t count_row(std::int64_t begin, std::int64_t length, std::int64_t *counts) {
    const IntBuffer &coordinates = column_.coordinates;
    std::int64_t filled = 0;
    for (std::int64_t from = 0; from < length; from += kBlock) {
      const std::int64_t some = std::min(kBlock, length - from);
      // What is read next: of the next row, or the next places.
      const std::int64_t next = rows_ > 1 ? inner_ * each_ : some;
      const IntBuffer part{coordinates.data + (begin + from) * coordinates.stride, some, coordinates.stride,
                           coordinates.width};
      const std::int64_t found = gather_filled(part, next * coordinates.stride, gathered_.room(some));
      gathered_.add(found);
      filled += found;
      if (length > kBlock)  // there is one coordinate
        counts[0] += found;
      else
        part.visit([&](auto at) { count_filled(at, some, each_, counts); });
    }
    return filled;
  }

  template <class At>
  static void count_filled(const At &at, std::int64_t places, std::int64_t each, std::int64_t *counts) {
    if (each == 1) {
      for (std::int64_t k = 0; k < places; ++k) counts[k] += is_filled(at(k));
      return;
    }
    for (std::int64_t k = 0, p = 0; k < places; k += each, ++p)
      for (std::int64_t q = 0; q < each; ++q) counts[p] += is_filled(at(k + q));
  }

  // Loops over it take vectors that all processors have.
  static std::int64_t is_filled(std::int64_t c) {
    return static_cast<std::int64_t>(~static_cast<std::uint64_t>(c) >> 63);
  }

  const TableColumn &column_;
  Gathered gathered_;
  std::int64_t rows_ = 1, inner_ = 1, each_ = 0;
  std::vector<std::vector<std::int64_t>> above_;  // the degrees of the levels above the innermost dense one
  Lanes lanes_;                                   // those of the innermost one
};

}  // namespace

LooseDegrees count_loose(const LooseColumn &column) {
  LooseDegrees found;
  found.begins = KeptNumbers(column.parents + 1);
  Gathered gathered(column.coordinates.length, column.extent);
  std::int64_t *begins = found.begins.data();
  begins[0] = 0;
  count_segments(column, gathered, begins);
  found.degrees = gathered.total();
  return found;
}

std::vector<Degrees> count_table(const TableColumn &column) { return Table(column).run(); }

}  // namespace mlir_sparse
