#include "count_gapped.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "counters.hpp"
#include "filled_places.hpp"
#include "pack_threads.hpp"
#include "sums_of_degrees.hpp"

namespace mlir_sparse {
namespace {

constexpr std::int64_t kBlock = 1024;

// Counters of coordinates in so many places, by as many threads as pays, but at most so many. Few are hashed, by one.
class Counters {
public:
  Counters(std::int64_t places, std::int64_t extent, std::int64_t most)
      : few_(are_few(places, extent)), parts_(few_ ? 1 : parts_of(places, extent, most)),
        bytes_(few_ ? 0 : extent, parts_), extent_(extent) {}

  std::size_t parts() const { return parts_; }

  HashedCounters *few() { return few_ ? &hashed_ : nullptr; }

  PartCounters of(std::size_t part) { return bytes_.part(part); }

  Degrees total() { return few_ ? hashed_.total(extent_) : bytes_.total(); }

private:
  static std::size_t parts_of(std::int64_t places, std::int64_t extent, std::int64_t most) {
    const std::size_t threads = counting_threads(static_cast<std::size_t>(places), extent);
    return std::clamp<std::size_t>(static_cast<std::size_t>(most), 1, threads);
  }

  bool few_;
  std::size_t parts_;
  ByteCounters bytes_;
  HashedCounters hashed_;
  std::int64_t extent_;
};

// Counts what one thread puts next to each other here, without the gaps.
class Gathered {
public:
  Gathered(Counters &counters, std::size_t part)
      : hashed_(counters.few()), counters_(hashed_ ? PartCounters{} : counters.of(part)) {}

  // Room for so many coordinates more, up to kBlock, and what is written behind them.
  std::int64_t *room(std::int64_t wanted) {
    if (used_ + wanted > 2 * kBlock) count();
    return coordinates_.data() + used_;
  }

  void add(std::int64_t entries) { used_ += entries; }

  // Counts coordinates where they are: there is no gap among them.
  template <class At>
  void add_all(const At &at, const IntBuffer &stream, std::int64_t begin, std::int64_t end) {
    if (hashed_) {
      for (std::int64_t k = begin; k < end; ++k) hashed_->add(at(k), 1);
      return;
    }
    in_stream(stream, begin, end,
              [=, own = counters_](std::int64_t from, std::int64_t to) { count_by_turns(at, from, to, own); });
  }

  // Counts what was added.
  void count() {
    const std::int64_t *coordinates = coordinates_.data(), used = used_;
    used_ = 0;
    if (hashed_) {
      for (std::int64_t k = 0; k < used; ++k) hashed_->add(coordinates[k], 1);
      return;
    }
    count_by_turns([=](std::int64_t k) { return coordinates[k]; }, 0, used, counters_);
  }

private:
  HashedCounters *hashed_;
  PartCounters counters_;
  std::int64_t used_ = 0;
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

// Counts the segments of parents from one to another. Of each it writes where its entries end, from 0 on.
void count_segments(const LooseColumn &column, std::int64_t first, std::int64_t last, Gathered &gathered,
                    std::int64_t *ends) {
  Segments segments;
  std::int64_t reached = 0;
  for (std::int64_t from = first; from < last; from += kBlock) {
    const std::int64_t count = std::min(kBlock, last - from);
    read_segments(column, from, from + count, segments);
    const std::int64_t before = reached;
    for (std::int64_t p = 0; p < count; ++p) ends[from + p] = reached += segments.lengths[static_cast<std::size_t>(p)];
    column.coordinates.visit([&](auto at) {
      if (are_adjacent(segments, static_cast<std::size_t>(count)))
        gathered.add_all(at, column.coordinates, segments.begins[0], segments.begins[0] + reached - before);
      else
        gather(at, column.coordinates.length, segments, count, gathered);
    });
  }
  gathered.count();
}

// Counts the filled places of a table: those of coordinate i of the innermost dense level, for each row of the levels
// above. Some of its coordinates are counted at a time, in all rows, so that their counts stay near; threads have some
// each.
class Table {
public:
  explicit Table(const TableColumn &column) : column_(column) {
    for (std::size_t level = 0; level + 1 < column.sizes.size(); ++level) rows_ *= column.sizes[level];
    inner_ = column.sizes.empty() ? 1 : column.sizes.back();
    const std::int64_t parents = rows_ * inner_;
    each_ = parents > 0 ? column.coordinates.length / parents : 0;
    together_ = std::max<std::int64_t>(1, kBlock / std::max<std::int64_t>(each_, 1));
  }

  std::vector<Degrees> run() {
    const std::int64_t groups = each_ > 0 ? (inner_ + together_ - 1) / together_ : 0;
    Counters counters(column_.coordinates.length, column_.extent, groups);
    const auto begins = even_parts(static_cast<std::size_t>(groups), counters.parts());
    std::vector<Dense> dense(counters.parts());
    in_parallel(dense.size(), [&](std::size_t part) {
      const auto first = static_cast<std::int64_t>(begins[part]), last = static_cast<std::int64_t>(begins[part + 1]);
      Gathered gathered(counters, part);
      dense[part] = count_groups(first, last, gathered);
    });
    std::vector<Degrees> found = degrees_above(dense);
    if (!column_.sizes.empty()) {
      std::vector<Degrees> inner;
      for (const Dense &one : dense) inner.push_back(one.inner.total());
      found.push_back(sum_of(inner));
    }
    found.push_back(counters.total());
    return found;
  }

private:
  // Filled places of dense levels, by the groups that one thread counts.
  struct Dense {
    std::vector<std::vector<std::int64_t>> above;  // below each coordinate of the levels above the innermost one
    Lanes inner;                                   // the degrees of the innermost one
  };

  std::vector<Degrees> degrees_above(const std::vector<Dense> &dense) const {
    std::vector<Degrees> found;
    for (std::size_t level = 0; level + 1 < column_.sizes.size(); ++level) {
      Lanes lanes;
      add_all(lanes, 0, column_.sizes[level], [&](std::int64_t k) {
        std::int64_t filled = 0;
        for (const Dense &one : dense) filled += one.above[level][static_cast<std::size_t>(k)];
        return filled;
      });
      found.push_back(lanes.total());
    }
    return found;
  }

  Dense count_groups(std::int64_t first, std::int64_t last, Gathered &gathered) const {
    Dense found;
    for (std::size_t level = 0; level + 1 < column_.sizes.size(); ++level)
      found.above.emplace_back(static_cast<std::size_t>(column_.sizes[level]));
    for (std::int64_t group = first; group < last; ++group)
      count(group * together_, std::min((group + 1) * together_, inner_), gathered, found);
    gathered.count();
    return found;
  }

  void count(std::int64_t from, std::int64_t to, Gathered &gathered, Dense &found) const {
    std::array<std::int64_t, kBlock> counts;
    std::fill_n(counts.begin(), to - from, 0);
    std::vector<std::int64_t> at(found.above.size());
    for (std::int64_t row = 0; row < rows_; ++row) {
      const std::int64_t begin = (row * inner_ + from) * each_, length = (to - from) * each_;
      const std::int64_t filled = count_row(begin, length, gathered, counts.data());
      for (std::size_t level = 0; level < at.size(); ++level)
        found.above[level][static_cast<std::size_t>(at[level])] += filled;
      for (std::size_t level = at.size(); level-- > 0;) {
        if (++at[level] < column_.sizes[level]) break;
        at[level] = 0;
      }
    }
    add_all(found.inner, 0, to - from, [&](std::int64_t k) { return counts[static_cast<std::size_t>(k)]; });
  }

  // Counts so many places from one on; returns how many are filled.
  std::int64_t count_row(std::int64_t begin, std::int64_t length, Gathered &gathered, std::int64_t *counts) const {
    const IntBuffer &coordinates = column_.coordinates;
    std::int64_t filled = 0;
    for (std::int64_t from = 0; from < length; from += kBlock) {
      const std::int64_t some = std::min(kBlock, length - from);
      // What is read next: of the next row, or the next places.
      const std::int64_t next = rows_ > 1 ? inner_ * each_ : some;
      const IntBuffer part{coordinates.data + (begin + from) * coordinates.stride, some, coordinates.stride,
                           coordinates.width};
      // Longer rows are of one coordinate.
      const std::int64_t each = length > kBlock ? some : each_;
      const std::int64_t found = gather_filled(part, each, next * coordinates.stride, gathered.room(some), counts);
      gathered.add(found);
      filled += found;
    }
    return filled;
  }

  const TableColumn &column_;
  std::int64_t rows_ = 1, inner_ = 1, each_ = 0, together_ = 1;
};

}  // namespace

LooseDegrees count_loose(const LooseColumn &column) {
  LooseDegrees found;
  found.begins = KeptNumbers(column.parents + 1);
  std::int64_t *begins = found.begins.data();
  begins[0] = 0;
  Counters counters(column.coordinates.length, column.extent, column.parents);
  const auto parents = even_parts(static_cast<std::size_t>(column.parents), counters.parts());
  in_parallel(counters.parts(), [&](std::size_t part) {
    Gathered gathered(counters, part);
    count_segments(column, static_cast<std::int64_t>(parents[part]), static_cast<std::int64_t>(parents[part + 1]),
                   gathered, begins + 1);
  });
  for (std::size_t part = 1; part < counters.parts(); ++part) {
    const std::int64_t before = begins[parents[part]];
    for (std::size_t p = parents[part] + 1; p <= parents[part + 1]; ++p) begins[p] += before;
  }
  found.degrees = counters.total();
  return found;
}

std::vector<Degrees> count_table(const TableColumn &column) { return Table(column).run(); }

}  // namespace mlir_sparse
