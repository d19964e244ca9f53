// Degrees of several columns of coordinates, by as few loops over the entries as there can be: while one waits for
// memory, another is counted.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <vector>

#include "counters.hpp"
#include "degrees.hpp"
#include "pack_threads.hpp"
#include "sums_of_degrees.hpp"

namespace mlir_sparse {
namespace {

constexpr std::int64_t kBlock = 1024;  // entries whose runs are added up together

// The runs of equal neighbours among entries that are added in order.
struct Runs {
  Lanes lengths;
  std::int64_t begin = 0;   // of the run that goes on
  std::int64_t before = 0;  // its coordinate

  // Adds runs up to the last of those that begin so many entries after another.
  void add(std::int64_t from, const std::int32_t *begins, std::int64_t count) {
    if (count == 0) return;
    lengths.add(0, static_cast<double>(from + begins[0] - begin));
    add_all(lengths, 0, count - 1, [&](std::int64_t k) { return begins[k + 1] - begins[k]; });
    begin = from + begins[count - 1];
  }
};

// A column that is counted, and the counters of a part of the entries.
struct Counted {
  const char *coordinates;
  PartCounters counters;
};

// Columns that one loop reads, of one width and distance of neighbours: one whose equal coordinates are neighbours, if
// there is one, and others that are counted. More of these would need more registers than there are.
struct Loop {
  static constexpr std::size_t kCounted = 2;

  IntBuffer in_runs;
  std::vector<Runs> runs;  // of each part
  std::array<std::vector<Counted>, kCounted> counted;  // of each part
  std::size_t count = 0;  // of those that are counted
  std::array<const char *, kCounted + 1> streams;  // where the columns begin; those that lie in one array, once
  std::size_t stream_count = 0;
  std::int64_t stride = 0;
  int width = 0;

  bool takes(const Column &column) const {
    const bool alike = width == 0 || (width == column.coordinates.width && stride == column.coordinates.stride);
    return alike && (column.in_runs ? runs.empty() : count < kCounted);
  }

  void read(const IntBuffer &coordinates) {
    stride = coordinates.stride;
    width = coordinates.width;
    const auto lies_in = [&](const char *stream) { return std::abs(coordinates.data - stream) < stride; };
    if (std::none_of(streams.begin(), streams.begin() + stream_count, lies_in))
      streams[stream_count++] = coordinates.data;
  }
};

// Adds the entries of a block, a few at a time between requests for those to come.
template <class T, std::size_t N, bool InRuns>
void add_block(Loop &loop, std::size_t part, std::int64_t from, std::int64_t to) {
  const std::int64_t stride = loop.stride;
  // Copies, as for `count_by_turns`.
  std::array<Counted, N> counted;
  for (std::size_t n = 0; n < N; ++n) {
    counted[n] = loop.counted[n][part];
    counted[n].coordinates += from * stride;
  }
  const char *rows = InRuns ? loop.in_runs.data + from * stride : nullptr;
  T before = InRuns ? static_cast<T>(loop.runs[part].before) : T{};
  std::int32_t begins[kBlock + 2];
  std::int64_t found = 0, place = 0;
  const auto add = [&](std::int64_t k, bool odd) {
    if constexpr (InRuns) {  // no branch: where runs end cannot be predicted
      const T now = *reinterpret_cast<const T *>(rows + place);
      begins[found] = static_cast<std::int32_t>(k);
      found += now != before;
      before = now;
    }
    for (const Counted &one : counted) {
      const auto c = static_cast<std::int64_t>(*reinterpret_cast<const T *>(one.coordinates + place));
      count_one(c, odd ? one.counters.odd : one.counters.even, one.counters.carries);
    }
    place += stride;
  };
  std::int64_t k = 0;
  for (; k + kTogether <= to - from; k += kTogether) {
    for (std::size_t n = 0; n < loop.stream_count; ++n)
      ask_ahead(loop.streams[n] + (from + k) * stride, kTogether * stride);
    for (std::int64_t one = k; one < k + kTogether; one += 2) {
      add(one, false);
      add(one + 1, true);
    }
  }
  for (; k < to - from; ++k) add(k, false);
  if constexpr (InRuns) {
    loop.runs[part].add(from, begins, found);
    loop.runs[part].before = before;
  }
}

template <class T>
void add_block_of(Loop &loop, std::size_t part, std::int64_t from, std::int64_t to) {
  if (loop.runs.empty())
    return loop.count == 1 ? add_block<T, 1, false>(loop, part, from, to) : add_block<T, 2, false>(loop, part, from, to);
  if (loop.count == 0) return add_block<T, 0, true>(loop, part, from, to);
  loop.count == 1 ? add_block<T, 1, true>(loop, part, from, to) : add_block<T, 2, true>(loop, part, from, to);
}

void add_entries(Loop &loop, std::size_t part, std::int64_t begin, std::int64_t end) {
  if (!loop.runs.empty() && begin < end) {
    loop.runs[part].begin = begin;
    loop.in_runs.visit([&](auto at) { loop.runs[part].before = at(begin); });
  }
  with_width(loop.width, [&](auto t) {
    for (std::int64_t from = begin; from < end; from += kBlock)
      add_block_of<decltype(t)>(loop, part, from, std::min(from + kBlock, end));
  });
}

Degrees total_of_runs(const Loop &loop, const std::vector<std::int64_t> &begins) {
  std::vector<Degrees> found;
  for (std::size_t part = 0; part < loop.runs.size(); ++part) {
    Runs runs = loop.runs[part];
    if (begins[part] < begins[part + 1]) runs.lengths.add(0, static_cast<double>(begins[part + 1] - runs.begin));
    found.push_back(runs.lengths.total());
  }
  return sum_of(found);
}

// Moves begins of parts on to those of runs, so that each run is in one part.
void move_to_runs(std::vector<std::int64_t> &begins, const IntBuffer &coordinates) {
  const std::int64_t count = begins.back();
  coordinates.visit([&](auto at) {
    for (std::size_t part = 1; part + 1 < begins.size(); ++part) {
      std::int64_t begin = std::max(begins[part], begins[part - 1]);
      while (begin > 0 && begin < count && at(begin) == at(begin - 1)) ++begin;
      begins[part] = begin;
    }
  });
}

// Counts few coordinates, in as many places as there are.
Degrees count_few(const IntBuffer &coordinates, std::int64_t extent) {
  HashedCounters counters;
  coordinates.visit([&](auto at) {
    for (std::int64_t k = 0; k < coordinates.length; ++k) counters.add(at(k), 1);
  });
  return counters.total(extent);
}

}  // namespace

std::vector<Degrees> count_columns(const std::vector<Column> &columns) {
  const std::int64_t entries = columns.empty() ? 0 : columns[0].coordinates.length;
  std::vector<Degrees> found(columns.size());
  if (entries == 0) return found;
  std::size_t parts = thread_count(static_cast<std::size_t>(entries));
  std::vector<std::size_t> together;
  for (std::size_t number = 0; number < columns.size(); ++number) {
    const auto &[coordinates, extent, in_runs] = columns[number];
    if (!in_runs && are_few(entries, extent)) {
      found[number] = count_few(coordinates, extent);
      continue;
    }
    if (!in_runs) parts = std::min(parts, counting_threads(static_cast<std::size_t>(entries), extent));
    together.push_back(number);
  }
  const auto even = even_parts(static_cast<std::size_t>(entries), parts);
  std::vector<std::int64_t> begins(even.begin(), even.end());
  std::deque<ByteCounters> counters;  // in the order of the columns that are counted
  std::deque<Loop> loops;
  Loop *of_runs = nullptr;
  for (const std::size_t number : together) {
    const auto &[coordinates, extent, in_runs] = columns[number];
    if (loops.empty() || !loops.back().takes(columns[number])) loops.emplace_back();
    Loop &loop = loops.back();
    loop.read(coordinates);
    if (in_runs) {
      move_to_runs(begins, coordinates);
      loop.in_runs = coordinates;
      loop.runs.resize(parts);
      of_runs = &loop;
    } else {
      ByteCounters &own = counters.emplace_back(extent, parts);
      for (std::size_t part = 0; part < parts; ++part)
        loop.counted[loop.count].push_back({coordinates.data, own.part(part)});
      ++loop.count;
    }
  }
  in_parallel(parts, [&](std::size_t part) {
    for (Loop &loop : loops) add_entries(loop, part, begins[part], begins[part + 1]);
  });
  auto counted = counters.begin();
  for (const std::size_t number : together)
    found[number] = columns[number].in_runs ? total_of_runs(*of_runs, begins) : (counted++)->total();
  return found;
}

}  // namespace mlir_sparse
