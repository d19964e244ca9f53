#include "degrees.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

#include "block.hpp"
#include "pack_threads.hpp"

namespace mlir_sparse {
namespace {

// Independent sums: one alone would wait for each addition.
constexpr std::int64_t kLanes = 4;

struct Lanes {
  double distinct[kLanes] = {}, largest[kLanes] = {}, squares[kLanes] = {};

  void add(std::int64_t lane, double degree) {
    distinct[lane] += degree > 0 ? 1.0 : 0.0;
    largest[lane] = std::max(largest[lane], degree);
    squares[lane] += degree * degree;
  }

  Degrees total() const {
    Degrees all;
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      all.distinct += distinct[lane];
      all.largest = std::max(all.largest, largest[lane]);
      all.squares += squares[lane];
    }
    return all;
  }
};

// Adds up degree(begin) to degree(end - 1).
template <class Degree>
void add_all(Lanes &lanes, std::int64_t begin, std::int64_t end, const Degree &degree) {
  std::int64_t k = begin;
  for (; k + kLanes <= end; k += kLanes)
    for (std::int64_t lane = 0; lane < kLanes; ++lane) lanes.add(lane, static_cast<double>(degree(k + lane)));
  for (; k < end; ++k) lanes.add(0, static_cast<double>(degree(k)));
}

// Adds up what of_part(begin, end) returns of parts that threads do; each coordinate is in one of them.
template <class Part>
Degrees in_parts(const std::vector<std::int64_t> &begins, const Part &of_part) {
  std::vector<Degrees> found(begins.size() - 1);
  in_parallel(found.size(), [&](std::size_t part) { found[part] = of_part(begins[part], begins[part + 1]); });
  Degrees all;
  for (const Degrees &one : found) {
    all.distinct += one.distinct;
    all.largest = std::max(all.largest, one.largest);
    all.squares += one.squares;
  }
  return all;
}

std::vector<std::int64_t> parts_of(std::int64_t count, std::size_t threads) {
  const auto begins = even_parts(static_cast<std::size_t>(count), threads);
  return {begins.begin(), begins.end()};
}

std::vector<std::int64_t> parts_of(std::int64_t count) {
  return parts_of(count, thread_count(static_cast<std::size_t>(count)));
}

template <class At>
Degrees of_runs(At at, std::int64_t first, std::int64_t last) {
  if (first == last) return {};
  constexpr std::int64_t kBlock = 1024;
  std::int32_t ends[kBlock + 1];  // from the begin of the block
  Lanes lanes;
  std::int64_t begin = first, before = at(first);  // the begin of the run that goes on, and its coordinate
  for (std::int64_t from = first + 1; from < last; from += kBlock) {
    const auto length = static_cast<std::int32_t>(std::min(kBlock, last - from));
    std::int32_t found = 0;
    for (std::int32_t k = 0; k < length; ++k) {  // no branch: where runs end cannot be predicted
      const std::int64_t now = at(from + k);
      ends[found] = k;
      found += now != before;
      before = now;
    }
    if (found == 0) continue;
    lanes.add(0, static_cast<double>(from + ends[0] - begin));
    add_all(lanes, 0, found - 1, [&](std::int64_t k) { return ends[k + 1] - ends[k]; });
    begin = from + ends[found - 1];
  }
  lanes.add(0, static_cast<double>(last - begin));
  return lanes.total();
}

// What does not fit in a coordinate's counter, in units of 256 entries. No more of these are made than one for each 256
// entries.
struct Carry {
  std::int64_t coordinate;
  std::int64_t units;
};

// Corrects what the counters alone say.
void add_carries(Degrees &all, const std::uint8_t *counters, std::int64_t last, std::vector<Carry> &carries) {
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

// Adds the counters of other threads to the first one's.
void add_counters(std::uint8_t *counters, const std::uint8_t *others, std::int64_t begin, std::int64_t end,
                  std::vector<Carry> &carries) {
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

// All by value: the compiler takes it that a byte may be written anywhere, and would read the rest again each time.
template <class At, class Weight>
void add_entries(At at, Weight weight, std::int64_t begin, std::int64_t end, std::uint8_t *counters,
                 std::vector<Carry> &carries) {
  for (std::int64_t k = begin; k < end; ++k) {
    const std::int64_t c = at(k), degree = counters[c] + weight(k);
    counters[c] = static_cast<std::uint8_t>(degree);
    if (degree > 255) carries.push_back({c, degree >> 8});
  }
}

// Adds entries from a first to before a last one to counters of a byte, or of a word each. What counters are made and
// added up by is compiled once, and not for each type of coordinates.
using AddToBytes = std::function<void(std::int64_t, std::int64_t, std::uint8_t *, std::vector<Carry> &)>;
using AddToWords = std::function<void(std::int64_t, std::int64_t, std::int64_t *)>;

// Counters have a byte each: a million of them stay in the cache.
Degrees of_many(const AddToBytes &add, std::int64_t entries, std::int64_t extent) {
  const std::size_t parts = counting_threads(static_cast<std::size_t>(entries), extent);
  const Block block(static_cast<std::size_t>(extent) * parts, true);
  auto *all_counters = reinterpret_cast<std::uint8_t *>(block.data());
  const auto counters_of = [&](std::size_t part) { return all_counters + static_cast<std::int64_t>(part) * extent; };
  std::vector<std::vector<Carry>> carries(parts);
  const auto begins = parts_of(entries, parts), ranges = parts_of(extent, parts);
  in_parallel(parts, [&](std::size_t part) {
    add(begins[part], begins[part + 1], counters_of(part), carries[part]);
  });
  in_parallel(parts, [&](std::size_t range) {
    for (std::size_t part = 1; part < parts; ++part)
      add_counters(all_counters, counters_of(part), ranges[range], ranges[range + 1], carries[range]);
  });
  for (std::size_t part = 1; part < parts; ++part)
    carries[0].insert(carries[0].end(), carries[part].begin(), carries[part].end());
  Degrees all = of_counters(all_counters, extent);
  add_carries(all, all_counters, extent - 1, carries[0]);
  return all;
}

// Neighbouring bytes would wait for each other where there are few: counters have a word each.
Degrees of_few(const AddToWords &add, std::int64_t entries, std::int64_t extent) {
  const auto begins = parts_of(entries);
  std::vector<std::vector<std::int64_t>> counters(begins.size() - 1);
  in_parallel(counters.size(), [&](std::size_t part) {
    counters[part].resize(static_cast<std::size_t>(extent));
    add(begins[part], begins[part + 1], counters[part].data());
  });
  Lanes lanes;
  std::int64_t last = 0;
  add_all(lanes, 0, extent, [&](std::int64_t c) {
    last = 0;
    for (const auto &own : counters) last += own[static_cast<std::size_t>(c)];
    return last;
  });
  Degrees all = lanes.total();
  all.last = static_cast<double>(last);
  return all;
}

// Counters of the coordinates that are there, found by hashing.
class Table {
public:
  void add(std::int64_t coordinate, std::int64_t degree) {
    if (2 * used_ >= slots_.size()) grow();
    Slot &slot = find(coordinate);
    if (slot.coordinate < 0) {
      slot.coordinate = coordinate;
      ++used_;
    }
    slot.degree += degree;
  }

  Degrees total(std::int64_t extent) {
    Lanes lanes;
    add_all(lanes, 0, static_cast<std::int64_t>(slots_.size()),
            [&](std::int64_t k) { return slots_[static_cast<std::size_t>(k)].degree; });
    Degrees all = lanes.total();
    all.last = static_cast<double>(find(extent - 1).degree);
    return all;
  }

private:
  struct Slot {
    std::int64_t coordinate = -1, degree = 0;
  };

  // The slot of a coordinate, or the one that it would get.
  Slot &find(std::int64_t coordinate) {
    auto hash = static_cast<std::uint64_t>(coordinate);
    hash = (hash ^ (hash >> 32)) * 0x9e3779b97f4a7c15;
    std::size_t at = (hash ^ (hash >> 32)) & (slots_.size() - 1);
    while (slots_[at].coordinate >= 0 && slots_[at].coordinate != coordinate) at = (at + 1) & (slots_.size() - 1);
    return slots_[at];
  }

  void grow() {
    std::vector<Slot> before(2 * slots_.size());
    before.swap(slots_);
    for (const Slot &slot : before)
      if (slot.coordinate >= 0) find(slot.coordinate) = slot;
  }

  std::vector<Slot> slots_ = std::vector<Slot>(1024);
  std::size_t used_ = 0;
};

using AddToTable = std::function<void(Table &)>;

Degrees of_table(const AddToTable &add, std::int64_t extent) {
  Table table;
  add(table);
  return table.total(extent);
}

template <class At, class Weight>
Degrees count(const At &at, const Weight &weight, std::int64_t entries, std::int64_t extent) {
  constexpr std::int64_t kFew = 2048;
  // Counters for so many coordinates an entry take less time than hashing, and no more memory than a table.
  constexpr std::int64_t kCounted = 16, kAlways = 65536;
  if (extent == 0) return {};
  if ((extent - kAlways) / kCounted > entries)
    return of_table(
        [=](Table &table) {
          for (std::int64_t k = 0; k < entries; ++k) table.add(at(k), weight(k));
        },
        extent);
  if (extent <= kFew)
    return of_few(
        [=](std::int64_t begin, std::int64_t end, std::int64_t *own) {
          for (std::int64_t k = begin; k < end; ++k) own[at(k)] += weight(k);
        },
        entries, extent);
  return of_many(
      [=](std::int64_t begin, std::int64_t end, std::uint8_t *counters, std::vector<Carry> &carries) {
        add_entries(at, weight, begin, end, counters, carries);
      },
      entries, extent);
}

template <class Length>
Degrees of_lengths(std::int64_t count, const Length &length) {
  return in_parts(parts_of(count), [&](std::int64_t begin, std::int64_t end) {
    Lanes lanes;
    add_all(lanes, begin, end, length);
    return lanes.total();
  });
}

}  // namespace

Degrees degrees_of_segments(const IntBuffer &begins) {
  return with_width(begins.width, [&](auto p) {
    using P = decltype(p);
    const auto *places = reinterpret_cast<const P *>(begins.data);
    // In their own width, differences are converted several at a time.
    const auto length = [places](std::int64_t k) { return static_cast<P>(places[k + 1] - places[k]); };
    return of_lengths(begins.length - 1, length);
  });
}

Degrees degrees_of_segments(const IntBuffer &begins, const IntBuffer &above) {
  return with_width(begins.width, [&](auto p) {
    const auto *places = reinterpret_cast<const decltype(p) *>(begins.data);
    return above.visit([&](auto at) {
      return of_lengths(above.length - 1, [=](std::int64_t k) { return places[at(k + 1)] - places[at(k)]; });
    });
  });
}

Degrees degrees_of_runs(const IntBuffer &coordinates) {
  return coordinates.visit([&](auto at) {
    const std::int64_t count = coordinates.length;
    auto begins = parts_of(count);
    for (std::size_t part = 1; part + 1 < begins.size(); ++part) {  // a run is in one part
      std::int64_t begin = std::max(begins[part], begins[part - 1]);
      while (begin > 0 && begin < count && at(begin) == at(begin - 1)) ++begin;
      begins[part] = begin;
    }
    return in_parts(begins, [&](std::int64_t begin, std::int64_t end) { return of_runs(at, begin, end); });
  });
}

Degrees count_degrees(const IntBuffer &coordinates, std::int64_t extent) {
  const auto one = [](std::int64_t) { return std::int64_t{1}; };
  return coordinates.visit([&](auto at) { return count(at, one, coordinates.length, extent); });
}

Degrees count_degrees(const IntBuffer &coordinates, std::int64_t extent, const IntBuffer &begins) {
  return with_wide(begins.width, [&](auto p) {
    const auto *places = reinterpret_cast<const decltype(p) *>(begins.data);
    const auto length = [places](std::int64_t k) { return static_cast<std::int64_t>(places[k + 1] - places[k]); };
    return coordinates.visit([&](auto at) { return count(at, length, coordinates.length, extent); });
  });
}

}  // namespace mlir_sparse
