#include "count_gapped.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "counters.hpp"

namespace mlir_sparse {
namespace {

constexpr std::int64_t kBlock = 1024;

// Counts what is put next to each other here, without the gaps.
class Gathered {
public:
  Gathered(std::int64_t places, std::int64_t extent)
      : few_(are_few(places, extent)), bytes_(few_ ? 0 : extent, 1), extent_(extent) {}

  // Room for so many coordinates more, up to kBlock.
  std::int64_t *room(std::int64_t wanted) {
    if (used_ + wanted > static_cast<std::int64_t>(coordinates_.size())) count();
    return coordinates_.data() + used_;
  }

  void add(std::int64_t entries) {
    used_ += entries;
    entries_ += entries;
  }

  std::int64_t entries() const { return entries_; }

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
  std::int64_t extent_, used_ = 0, entries_ = 0;
  std::array<std::int64_t, 2 * kBlock> coordinates_;
};

// Where the segments of some parents begin, and how many places they have.
struct Segments {
  std::array<std::int64_t, kBlock> begins, lengths;
};

void read_segments(const GappedColumn &column, std::int64_t from, std::int64_t to, Segments &found) {
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

void count_segments(const GappedColumn &column, Gathered &gathered, std::int64_t *begins) {
  Segments segments;
  for (std::int64_t from = 0; from < column.parents; from += kBlock) {
    const std::int64_t count = std::min(kBlock, column.parents - from);
    read_segments(column, from, from + count, segments);
    for (std::int64_t p = 0; p < count; ++p)
      begins[from + p + 1] = begins[from + p] + segments.lengths[static_cast<std::size_t>(p)];
    column.coordinates.visit([&](auto at) { gather(at, column.coordinates.length, segments, count, gathered); });
  }
}

// Gathers the coordinates that are not negative; `put` takes how many there are up to each place and with it.
template <class At, class Put>
void gather_filled(const At &at, std::int64_t begin, std::int64_t end, Gathered &gathered, const Put &put) {
  for (std::int64_t from = begin; from < end; from += kBlock) {
    const std::int64_t to = std::min(from + kBlock, end);
    std::int64_t *room = gathered.room(to - from), found = 0;
    for (std::int64_t k = from; k < to; ++k) {  // no branch: which are empty cannot be predicted
      const std::int64_t c = at(k);
      room[found] = c;
      found += c >= 0;
      put(k, found);
    }
    gathered.add(found);
  }
}

void count_filled(const GappedColumn &column, Gathered &gathered, std::int64_t *begins) {
  const std::int64_t each = column.parents > 0 ? column.coordinates.length / column.parents : 0;
  column.coordinates.visit([&](auto at) {
    if (each == 1) {  // parents are places
      for (std::int64_t from = 0; from < column.parents; from += kBlock) {
        const std::int64_t before = begins[from];
        gather_filled(at, from, std::min(from + kBlock, column.parents), gathered,
                      [=](std::int64_t k, std::int64_t found) { begins[k + 1] = before + found; });
      }
      return;
    }
    for (std::int64_t p = 0; p < column.parents; ++p) {
      const std::int64_t before = gathered.entries();
      gather_filled(at, p * each, (p + 1) * each, gathered, [](std::int64_t, std::int64_t) {});
      begins[p + 1] = begins[p] + gathered.entries() - before;
    }
  });
}

}  // namespace

GappedDegrees count_gapped(const GappedColumn &column) {
  GappedDegrees found;
  found.begins = KeptNumbers(column.parents + 1);
  Gathered gathered(column.coordinates.length, column.extent);
  std::int64_t *begins = found.begins.data();
  begins[0] = 0;
  column.segments.data ? count_segments(column, gathered, begins) : count_filled(column, gathered, begins);
  found.degrees = gathered.total();
  return found;
}

}  // namespace mlir_sparse
