#include "chunks.hpp"

#include <algorithm>

#include "block.hpp"
#include "combine.hpp"
#include "fill.hpp"
#include "spread.hpp"
#include "threads.hpp"

namespace mlir_sparse {
namespace {

// Chunks take unequal times: threads that finish early take others.
constexpr std::size_t kChunksPerThread = 4;
// Results may have many more entries than operands: only a small part of them should wait to be copied.
constexpr std::size_t kJoinedPerThread = 16;
// If results of chunks are combined, their number decides the rounding, and must not depend on the threads.
constexpr std::size_t kFixedChunks = 8;
// A separate result costs a chunk a pass to initialise it and one to combine it: it pays from this work for each
// element.
constexpr std::int64_t kWorkPerElement = 1;
// Chunks write to the result itself if the shared entries, times this, are at most the rows to initialise and combine.
constexpr std::int64_t kWorkToShare = 2;
// If more points are computed than entries visited, points decide the number of chunks, up to this for each thread.
constexpr std::size_t kMostJoinedPerThread = 64;
// The greatest work of a chunk, some milliseconds, so that Ctrl-C can act between chunks; one thread has chunks for
// this reason only.
constexpr std::size_t kMostWork = std::size_t{1} << 22;
constexpr std::size_t kMostJoinedWork = std::size_t{1} << 20;
// The number of elements that a thread initialises or combines at a time.
constexpr std::size_t kStretch = std::size_t{1} << 13;

void over_elements(std::size_t count, const std::function<void(std::size_t, std::size_t)> &work) {
  const std::size_t stretches = (count + kStretch - 1) / kStretch;
  run_chunks(stretches, thread_limit(), [&](std::size_t stretch) {
    work(stretch * kStretch, std::min(count, (stretch + 1) * kStretch));
  });
}

// Gives all elements of a result the value that chunks add to.
void fill_result(const Array &result, const Partition &partition) {
  const auto elements = static_cast<std::size_t>(result.size());
  const bool past_caches = exceeds_caches(elements * static_cast<std::size_t>(result.item));
  over_elements(elements, [&](std::size_t begin, std::size_t end) {
    fill_with(result.data, partition.identity, begin, end, past_caches);
    if (past_caches) end_stores();
  });
}

// Whether results are initialised before the chunks: if coordinates or sums of variables decide where functions write.
// Functions initialise nothing of a result without extent.
bool is_filled_before(const Partition &partition, std::size_t result) {
  return (partition.compressed && partition.outcome == Partition::kApart) || partition.is_cut_along_sum(result);
}

// Calls one chunk, with a separate result or a part of the whole one.
void call_chunk(Function function, const Partition &partition, const std::vector<Argument> &arguments,
                const Cuts &cuts, std::size_t number, const Array *own) {
  Chunk chunk(partition, arguments, cuts, number);
  Packed packed;
  const std::size_t last = arguments.size() - 1;
  packed.add_returned(arguments[last].array.shape.size());
  std::size_t stored = 0;
  for (std::size_t p = 0; p < last; ++p) {
    if (arguments[p].storage.buffers)
      chunk.add_storage(packed, p, stored++);
    else
      packed.add(chunk.array(p));
  }
  Array result = chunk.cut(own ? *own : arguments[last].array, last);
  if (is_filled_before(partition, last)) {
    for (const Axis &axis : partition.axes)
      if (static_cast<std::size_t>(axis.parameter) == last) result.shape[static_cast<std::size_t>(axis.dim)] = 0;
  }
  packed.add(result);
  function(packed.arguments());
}

void call_apart(Function function, const Partition &partition, const std::vector<Argument> &arguments,
                const Cuts &cuts, const std::function<void()> &goes_on) {
  const Array &result = arguments.back().array;
  if (partition.fills && is_filled_before(partition, arguments.size() - 1)) fill_result(result, partition);
  run_chunks(
      cuts.chunks(), thread_limit(),
      [&](std::size_t chunk) { call_chunk(function, partition, arguments, cuts, chunk, nullptr); }, goes_on);
}

// Whether chunks should write directly to the result, with shared rows one chunk after the other; else separate
// results are combined.
bool meet_seldom(const std::vector<Spread> &spreads) {
  std::int64_t shared = 0, rows = 0;
  for (std::size_t chunk = 1; chunk < spreads.size(); ++chunk) {
    shared += spreads[chunk].shared;
    rows += spreads[chunk].end - spreads[chunk].begin;
  }
  return kWorkToShare * shared <= rows;
}

// All chunks write to the result itself: first the rows of one chunk only, in parallel, then shared rows.
void call_parted(Function function, const Partition &partition, const std::vector<Argument> &arguments,
                 const Cuts &cuts, const std::vector<Spread> &spreads, const std::function<void()> &goes_on) {
  Array result = arguments.back().array;
  if (partition.fills) {
    fill_result(result, partition);
    result.shape.front() = 0;  // where the function writes, coordinates say
  }
  Cuts apart;
  apart.positions.resize(partition.stored.size());
  std::vector<std::size_t> bodies, borders;
  for (std::size_t chunk = 0; chunk < cuts.chunks(); ++chunk) {
    apart.coordinates.push_back(cuts.coordinates[chunk]);
    const std::int64_t begin = spreads[chunk].apart;
    if (begin > cuts.coordinates[chunk]) borders.push_back(apart.coordinates.size() - 1);
    if (begin > cuts.coordinates[chunk] && begin < cuts.coordinates[chunk + 1]) apart.coordinates.push_back(begin);
    if (begin < cuts.coordinates[chunk + 1]) bodies.push_back(apart.coordinates.size() - 1);
  }
  apart.coordinates.push_back(cuts.coordinates.back());
  const auto call = [&](std::size_t number) { call_chunk(function, partition, arguments, apart, number, &result); };
  run_chunks(bodies.size(), thread_limit(), [&](std::size_t number) { call(bodies[number]); }, goes_on);
  for (const std::size_t number : borders) call(number);
}

// Combines elements of a chunk's own result into the result of all, by compiled code.
void call_combining(Function function, const Array &result, char *own, std::size_t begin, std::size_t end) {
  const auto part = [&](char *data) {
    const std::int64_t at = static_cast<std::int64_t>(begin) * result.item;
    return Array{data + at, result.item, {static_cast<std::int64_t>(end - begin)}, {1}};
  };
  Packed packed;
  packed.add_returned(1);
  packed.add(part(own));
  packed.add(part(result.data));
  function(packed.arguments());
}

// The first chunk writes to the result itself; the results of the others are combined with it, in order.
void call_added(Function function, const Partition &partition, const std::vector<Argument> &arguments,
                const Cuts &cuts, const std::function<void()> &goes_on) {
  const Array &result = arguments.back().array;
  const auto elements = static_cast<std::size_t>(result.size());
  const Spreads::Found spreads = spreads_of(partition, arguments, cuts);
  if (spreads && meet_seldom(*spreads))
    return call_parted(function, partition, arguments, cuts, *spreads, goes_on);
  // Rows that a chunk does not write are neither initialised nor combined.
  const auto written = [&](std::size_t chunk) -> std::pair<std::size_t, std::size_t> {
    if (!spreads) return {0, elements};
    const std::size_t row = elements / static_cast<std::size_t>(std::max<std::int64_t>(result.shape.front(), 1));
    return {static_cast<std::size_t>((*spreads)[chunk].begin) * row,
            static_cast<std::size_t>((*spreads)[chunk].end) * row};
  };
  const bool before = is_filled_before(partition, arguments.size() - 1);
  if (before && partition.fills) fill_result(result, partition);
  std::vector<Block> owned;
  for (std::size_t chunk = 1; chunk < cuts.chunks(); ++chunk)
    owned.emplace_back(elements * static_cast<std::size_t>(result.item), false);
  run_chunks(
      cuts.chunks(), thread_limit(),
      [&](std::size_t chunk) {
        Array own = result;
        if (chunk > 0) {
          own.data = owned[chunk - 1].data();
          const auto [begin, end] = written(chunk);
          if (spreads || before || !partition.fills) fill_with(own.data, partition.identity, begin, end);
          if (spreads && partition.fills) own.shape.front() = 0;
        }
        call_chunk(function, partition, arguments, cuts, chunk, &own);
      },
      goes_on);
  const Combine combine = combine_of(partition.combine);
  over_elements(elements, [&](std::size_t begin, std::size_t end) {
    for (std::size_t chunk = 1; chunk < cuts.chunks(); ++chunk) {
      const auto [least, most] = written(chunk);
      const std::size_t from = std::max(begin, least), to = std::min(end, most);
      char *own = owned[chunk - 1].data();
      if (from >= to) continue;
      if (partition.combining)
        call_combining(partition.combining, result, own, from, to);
      else
        combine(result.data, own, from, to);
    }
  });
}

// The number of chunks of a sparse result on several threads; copied ones have separate buffers.
std::size_t joined_chunks_of(std::int64_t work, std::int64_t points, std::size_t threads) {
  const auto met = static_cast<std::size_t>(work), computed = static_cast<std::size_t>(std::max(work, points));
  const std::size_t worth = computed / chunk_work();
  if (worth < 2) return 1;
  const std::size_t small = std::min(computed / joined_work(), kMostJoinedPerThread * threads);
  return std::max({std::min(worth, kJoinedPerThread * threads), met / joined_work(), small});
}

}  // namespace

std::size_t chunks_of(const Partition &partition, std::int64_t work, std::int64_t elements) {
  const std::size_t worth = static_cast<std::size_t>(work) / chunk_work();
  const bool fixed = partition.outcome == Partition::kAdded && limits().deterministic;
  const bool grows = partition.outcome == Partition::kJoined && static_cast<std::size_t>(elements) / chunk_work() > 1;
  // Small calls do not need the number of threads, which a process determines at its first use.
  if (worth < 2 && !grows) return 1;
  const std::size_t threads = thread_limit();
  if (partition.outcome == Partition::kJoined && threads > 1) return joined_chunks_of(work, elements, threads);
  if (worth < 2) return 1;
  if (partition.outcome != Partition::kAdded) {
    const bool joined = partition.outcome == Partition::kJoined, alone = threads < 2;
    const std::size_t most = joined ? kMostJoinedWork : kMostWork;
    const std::size_t shares = (joined ? kJoinedPerThread : kChunksPerThread) * threads;
    const std::size_t shared = alone && chunk_work() > 1 ? 1 : std::min(worth, shares);
    return std::max(shared, static_cast<std::size_t>(work) / most);
  }
  const std::size_t most = std::min(worth, fixed ? kFixedChunks : threads);
  if (chunk_work() == 1) return most;  // whatever can be cut
  const std::int64_t paying = 1 + work / (kWorkPerElement * std::max<std::int64_t>(elements, 1));
  return std::min(most, static_cast<std::size_t>(paying));
}

bool fills_past_caches(const Partition &partition, std::size_t bytes) {
  return partition.fills && partition.compressed && partition.outcome == Partition::kApart &&
         exceeds_caches(bytes);
}

void call_in_chunks(Function function, const Partition &partition, const std::vector<Argument> &arguments,
                    std::int64_t extent, std::size_t chunks, const std::function<void()> &goes_on) {
  const Cuts cuts = cut(partition, arguments, extent, chunks);
  if (cuts.chunks() == 0) {  // nothing is stored: only the result is to be filled
    if (partition.fills) fill_result(arguments.back().array, partition);
    return;
  }
  const auto call = partition.outcome == Partition::kAdded ? call_added : call_apart;
  call(function, partition, arguments, cuts, goes_on);
}

void call_rows(Function function, const Partition &partition, const std::vector<Argument> &arguments,
               std::int64_t begin, std::int64_t end, std::size_t chunks, const std::function<void()> &goes_on) {
  Cuts cuts;
  cuts.positions.resize(partition.stored.size());
  const auto many = static_cast<std::int64_t>(std::max<std::size_t>(chunks, 1));
  for (std::int64_t chunk = 0; chunk <= many; ++chunk) {
    const std::int64_t at = begin + static_cast<std::int64_t>(static_cast<__int128>(end - begin) * chunk / many);
    if (cuts.coordinates.empty() || at > cuts.coordinates.back()) cuts.coordinates.push_back(at);
  }
  call_apart(function, partition, arguments, cuts, goes_on);
}

}  // namespace mlir_sparse
