#include "degrees.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
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

// Adds up the degrees of parts; each coordinate is in one of them.
Degrees sum_of(const std::vector<Degrees> &found) {
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

// Moves begins of parts on to those of runs, so that each run is in one part.
template <class At>
void move_to_runs(std::vector<std::int64_t> &begins, const At &at) {
  const std::int64_t count = begins.back();
  for (std::size_t part = 1; part + 1 < begins.size(); ++part) {
    std::int64_t begin = std::max(begins[part], begins[part - 1]);
    while (begin > 0 && begin < count && at(begin) == at(begin - 1)) ++begin;
    begins[part] = begin;
  }
}

// The lengths of runs of equal neighbours.
template <class At>
class Runs {
public:
  explicit Runs(const At &at) : at_(at) {}

  // Adds entries, which come after those that were added before.
  void add(std::int64_t first, std::int64_t last) {
    if (first == last) return;
    if (end_ < 0) {
      begin_ = first;
      before_ = at_(first++);
    }
    end_ = last;
    constexpr std::int64_t kBlock = 1024;
    std::int32_t ends[kBlock + 1];  // from the begin of the block
    std::int64_t before = before_;
    for (std::int64_t from = first; from < last; from += kBlock) {
      const auto length = static_cast<std::int32_t>(std::min(kBlock, last - from));
      std::int32_t found = 0;
      for (std::int32_t k = 0; k < length; ++k) {  // no branch: where runs end cannot be predicted
        const std::int64_t now = at_(from + k);
        ends[found] = k;
        found += now != before;
        before = now;
      }
      if (found == 0) continue;
      lanes_.add(0, static_cast<double>(from + ends[0] - begin_));
      add_all(lanes_, 0, found - 1, [&](std::int64_t k) { return ends[k + 1] - ends[k]; });
      begin_ = from + ends[found - 1];
    }
    before_ = before;
  }

  Degrees total() {
    if (end_ >= 0) lanes_.add(0, static_cast<double>(end_ - begin_));
    return lanes_.total();
  }

private:
  At at_;
  Lanes lanes_;
  std::int64_t begin_ = 0, before_ = 0, end_ = -1;  // of the run that goes on, its coordinate, and of all entries
};

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

// Counts the coordinates of entries, of which each part is added by one thread, in order.
class Counting {
public:
  Counting() = default;
  Counting(const Counting &) = delete;
  Counting &operator=(const Counting &) = delete;
  virtual ~Counting() = default;
  virtual void add(std::size_t part, std::int64_t begin, std::int64_t end) = 0;
  virtual Degrees total() = 0;
};

// Adds entries from a first to before a last one to counters of a byte, or of a word each. What counters are made and
// added up by is compiled once, and not for each type of coordinates.
using AddToBytes = std::function<void(std::int64_t, std::int64_t, std::uint8_t *, std::vector<Carry> &)>;
using AddToWords = std::function<void(std::int64_t, std::int64_t, std::int64_t *)>;

// Counters have a byte each: a million of them stay in the cache.
class ByteCounters : public Counting {
public:
  ByteCounters(AddToBytes add, std::int64_t extent, std::size_t parts)
      : add_(std::move(add)), extent_(extent), block_(static_cast<std::size_t>(extent) * parts, true), carries_(parts) {}

  void add(std::size_t part, std::int64_t begin, std::int64_t end) override {
    add_(begin, end, of(part), carries_[part]);
  }

  Degrees total() override {
    const std::size_t parts = carries_.size();
    const auto ranges = parts_of(extent_, parts);
    in_parallel(parts, [&](std::size_t range) {
      for (std::size_t part = 1; part < parts; ++part)
        add_counters(of(0), of(part), ranges[range], ranges[range + 1], carries_[range]);
    });
    for (std::size_t part = 1; part < parts; ++part)
      carries_[0].insert(carries_[0].end(), carries_[part].begin(), carries_[part].end());
    Degrees all = of_counters(of(0), extent_);
    add_carries(all, of(0), extent_ - 1, carries_[0]);
    return all;
  }

private:
  std::uint8_t *of(std::size_t part) {
    return reinterpret_cast<std::uint8_t *>(block_.data()) + static_cast<std::int64_t>(part) * extent_;
  }

  AddToBytes add_;
  std::int64_t extent_;
  Block block_;
  std::vector<std::vector<Carry>> carries_;
};

// Neighbouring bytes would wait for each other where there are few: counters have a word each.
class WordCounters : public Counting {
public:
  WordCounters(AddToWords add, std::int64_t extent, std::size_t parts)
      : add_(std::move(add)), extent_(extent),
        counters_(parts, std::vector<std::int64_t>(static_cast<std::size_t>(extent))) {}

  void add(std::size_t part, std::int64_t begin, std::int64_t end) override { add_(begin, end, counters_[part].data()); }

  Degrees total() override {
    Lanes lanes;
    std::int64_t last = 0;
    add_all(lanes, 0, extent_, [&](std::int64_t c) {
      last = 0;
      for (const auto &own : counters_) last += own[static_cast<std::size_t>(c)];
      return last;
    });
    Degrees all = lanes.total();
    all.last = static_cast<double>(last);
    return all;
  }

private:
  AddToWords add_;
  std::int64_t extent_;
  std::vector<std::vector<std::int64_t>> counters_;
};

template <class At>
class RunLengths : public Counting {
public:
  RunLengths(const At &at, std::size_t parts) : runs_(parts, Runs<At>(at)) {}

  void add(std::size_t part, std::int64_t begin, std::int64_t end) override { runs_[part].add(begin, end); }

  Degrees total() override {
    std::vector<Degrees> found;
    for (Runs<At> &one : runs_) found.push_back(one.total());
    return sum_of(found);
  }

private:
  std::vector<Runs<At>> runs_;
};

// Adds all entries, in the parts that begin where it says.
Degrees counted(Counting &counting, const std::vector<std::int64_t> &begins) {
  in_parallel(begins.size() - 1, [&](std::size_t part) { counting.add(part, begins[part], begins[part + 1]); });
  return counting.total();
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

// Whether so few of the coordinates have an entry that a table takes less time, and no more memory, than counters.
bool are_few(std::int64_t entries, std::int64_t extent) {
  constexpr std::int64_t kCounted = 16, kAlways = 65536;
  return (extent - kAlways) / kCounted > entries;
}

constexpr std::int64_t kWords = 2048;  // for so many coordinates there are words

std::size_t counting_parts(std::int64_t entries, std::int64_t extent) {
  const auto count = static_cast<std::size_t>(entries);
  return extent <= kWords ? thread_count(count) : counting_threads(count, extent);
}

template <class At, class Weight>
std::unique_ptr<Counting> counters_for(const At &at, const Weight &weight, std::int64_t extent, std::size_t parts) {
  if (extent <= kWords)
    return std::make_unique<WordCounters>(
        [=](std::int64_t begin, std::int64_t end, std::int64_t *own) {
          for (std::int64_t k = begin; k < end; ++k) own[at(k)] += weight(k);
        },
        extent, parts);
  return std::make_unique<ByteCounters>(
      [=](std::int64_t begin, std::int64_t end, std::uint8_t *counters, std::vector<Carry> &carries) {
        add_entries(at, weight, begin, end, counters, carries);
      },
      extent, parts);
}

template <class At, class Weight>
Degrees count(const At &at, const Weight &weight, std::int64_t entries, std::int64_t extent) {
  if (extent == 0) return {};
  if (are_few(entries, extent))
    return of_table(
        [=](Table &table) {
          for (std::int64_t k = 0; k < entries; ++k) table.add(at(k), weight(k));
        },
        extent);
  const std::size_t parts = counting_parts(entries, extent);
  return counted(*counters_for(at, weight, extent, parts), parts_of(entries, parts));
}

template <class Length>
Degrees of_lengths(std::int64_t count, const Length &length) {
  const auto begins = parts_of(count);
  std::vector<Degrees> found(begins.size() - 1);
  in_parallel(found.size(), [&](std::size_t part) {
    Lanes lanes;
    add_all(lanes, begins[part], begins[part + 1], length);
    found[part] = lanes.total();
  });
  return sum_of(found);
}

constexpr auto one_entry = [](std::int64_t) { return std::int64_t{1}; };

// Requests what columns have from a first to before a last entry; those that lie among others are there with them.
void ask_for(const std::vector<Column> &columns, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t kLine = 64;
  const char *before = nullptr;
  for (const Column &column : columns) {
    const auto &[data, length, stride, width] = column.coordinates;
    const bool among = before != nullptr && data >= before && data - before < std::min(stride, kLine);
    before = data;
    if (among || stride <= 0) continue;
    const char *last = data + std::min(end, length) * stride;
    for (const char *line = data + begin * stride; line < last; line += kLine) prefetch_to_read(line);
  }
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

Degrees degrees_of_runs(const IntBuffer &coordinates) { return count_columns({{coordinates, 0, true}})[0]; }

Degrees count_degrees(const IntBuffer &coordinates, std::int64_t extent) {
  return coordinates.visit([&](auto at) { return count(at, one_entry, coordinates.length, extent); });
}

Degrees count_degrees(const IntBuffer &coordinates, std::int64_t extent, const IntBuffer &begins) {
  return with_wide(begins.width, [&](auto p) {
    const auto *places = reinterpret_cast<const decltype(p) *>(begins.data);
    const auto length = [places](std::int64_t k) { return static_cast<std::int64_t>(places[k + 1] - places[k]); };
    return coordinates.visit([&](auto at) { return count(at, length, coordinates.length, extent); });
  });
}

std::vector<Degrees> count_columns(const std::vector<Column> &columns) {
  const std::int64_t entries = columns.empty() ? 0 : columns[0].coordinates.length;
  std::vector<Degrees> found(columns.size());
  if (entries == 0) return found;
  std::vector<Column> together;
  std::vector<std::size_t> numbers;
  std::size_t parts = thread_count(static_cast<std::size_t>(entries));
  for (std::size_t k = 0; k < columns.size(); ++k) {
    const auto &[coordinates, extent, in_runs] = columns[k];
    if (!in_runs && are_few(entries, extent)) {
      found[k] = count_degrees(coordinates, extent);
      continue;
    }
    if (!in_runs) parts = std::min(parts, counting_parts(entries, extent));
    together.push_back(columns[k]);
    numbers.push_back(k);
  }
  auto begins = parts_of(entries, parts);
  std::vector<std::unique_ptr<Counting>> all;
  for (const Column &column : together)
    column.coordinates.visit([&](auto at) {
      if (column.in_runs) {
        move_to_runs(begins, at);
        all.push_back(std::make_unique<RunLengths<decltype(at)>>(at, parts));
      } else {
        all.push_back(counters_for(at, one_entry, column.extent, parts));
      }
    });
  // So many entries stay in the cache: memory, which takes longer than counting does, is read once for all columns.
  constexpr std::int64_t kBlock = 1024;
  in_parallel(parts, [&](std::size_t part) {
    for (std::int64_t from = begins[part]; from < begins[part + 1]; from += kBlock) {
      const std::int64_t to = std::min(from + kBlock, begins[part + 1]);
      if (together.size() > 1) ask_for(together, to, to + kBlock);
      for (const auto &counting : all) counting->add(part, from, to);
    }
  });
  for (std::size_t k = 0; k < all.size(); ++k) found[numbers[k]] = all[k]->total();
  return found;
}

}  // namespace mlir_sparse
