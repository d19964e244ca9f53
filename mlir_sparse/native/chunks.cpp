#include "pieces.hpp"

#include <algorithm>

#include "block.hpp"
#include "combine.hpp"
#include "spread.hpp"
#include "threads.hpp"

namespace mlir_sparse {
namespace {

// Pieces take unequal times: threads that are done early find others to take.
constexpr std::size_t kPiecesPerThread = 4;
// Entries of results may be many times those of operands: what of them waits to be copied is to be a small part.
constexpr std::size_t kJoinedPerThread = 16;
// Where results of pieces are combined, their number decides about rounding, and must not follow from the threads.
constexpr std::size_t kFixedPieces = 8;
// A result of its own costs a piece a pass to fill it and one to combine it: worth that much work for each element.
constexpr std::int64_t kWorkPerElement = 1;
// What pieces write to both they write to one after the other where an entry of it is worth so many elements to fill
// and combine.
constexpr std::int64_t kWorkToShare = 2;
// Entries of operands to a piece whose own entries are copied: few enough to stay in the cache until then.
constexpr std::size_t kJoinedWork = std::size_t{1} << 16;
// So many points are computed in a piece where more is computed than met, down to such a part of the result.
constexpr std::size_t kMostJoinedPerThread = 64;
// A piece takes no more, some milliseconds, so that Ctrl-C comes between two of them; on one thread there are pieces
// for that alone.
constexpr std::size_t kMostWork = std::size_t{1} << 22;
constexpr std::size_t kMostJoinedWork = std::size_t{1} << 20;
// Elements that a thread fills or combines at a time.
constexpr std::size_t kStretch = std::size_t{1} << 13;

void over_elements(std::size_t count, const std::function<void(std::size_t, std::size_t)> &work) {
  const std::size_t stretches = (count + kStretch - 1) / kStretch;
  run_pieces(stretches, thread_limit(), [&](std::size_t stretch) {
    work(stretch * kStretch, std::min(count, (stretch + 1) * kStretch));
  });
}

// Whether results are filled before pieces are called: where functions write, coordinates or sums of variables say.
// Without extent they fill nothing.
bool is_filled_before(const Partition &partition, std::size_t result) {
  return (partition.listed && partition.outcome == Partition::kApart) || partition.is_cut_along_sum(result);
}

// The call of one piece into a result of its own or a part of the whole one.
void call_piece(Function function, const Partition &partition, const std::vector<Argument> &arguments,
                const Cuts &cuts, std::size_t number, const Array *own) {
  Piece piece(partition, arguments, cuts, number);
  Packed packed;
  const std::size_t last = arguments.size() - 1;
  packed.add_returned(arguments[last].array.shape.size());
  std::size_t stored = 0;
  for (std::size_t p = 0; p < last; ++p) {
    if (arguments[p].storage.buffers)
      piece.add_storage(packed, p, stored++);
    else
      packed.add(piece.array(p));
  }
  Array result = piece.cut(own ? *own : arguments[last].array, last);
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
  if (partition.fills && is_filled_before(partition, arguments.size() - 1))
    over_elements(static_cast<std::size_t>(result.size()), [&](std::size_t begin, std::size_t end) {
      fill_with(result.data, partition.identity, begin, end);
    });
  run_pieces(
      cuts.pieces(), thread_limit(),
      [&](std::size_t piece) { call_piece(function, partition, arguments, cuts, piece, nullptr); }, goes_on);
}

// Whether pieces that write to parts of the result apart pay, but for the rows where they meet, which come one piece
// after the other: else parts are filled and combined.
bool meet_seldom(const std::vector<Spread> &spreads) {
  std::int64_t shared = 0, rows = 0;
  for (std::size_t piece = 1; piece < spreads.size(); ++piece) {
    shared += spreads[piece].shared;
    rows += spreads[piece].end - spreads[piece].begin;
  }
  return kWorkToShare * shared <= rows;
}

// All pieces work on the result itself: at the same time where they write to rows apart, then where they meet.
void call_parted(Function function, const Partition &partition, const std::vector<Argument> &arguments,
                 const Cuts &cuts, const std::vector<Spread> &spreads, const std::function<void()> &goes_on) {
  Array result = arguments.back().array;
  if (partition.fills) {
    over_elements(static_cast<std::size_t>(result.size()), [&](std::size_t begin, std::size_t end) {
      fill_with(result.data, partition.identity, begin, end);
    });
    result.shape.front() = 0;  // where the function writes, coordinates say
  }
  Cuts apart;
  apart.positions.resize(partition.stored.size());
  std::vector<std::size_t> bodies, borders;
  for (std::size_t piece = 0; piece < cuts.pieces(); ++piece) {
    apart.coordinates.push_back(cuts.coordinates[piece]);
    const std::int64_t begin = spreads[piece].apart;
    if (begin > cuts.coordinates[piece]) borders.push_back(apart.coordinates.size() - 1);
    if (begin > cuts.coordinates[piece] && begin < cuts.coordinates[piece + 1]) apart.coordinates.push_back(begin);
    if (begin < cuts.coordinates[piece + 1]) bodies.push_back(apart.coordinates.size() - 1);
  }
  apart.coordinates.push_back(cuts.coordinates.back());
  const auto call = [&](std::size_t number) { call_piece(function, partition, arguments, apart, number, &result); };
  run_pieces(bodies.size(), thread_limit(), [&](std::size_t number) { call(bodies[number]); }, goes_on);
  for (const std::size_t number : borders) call(number);
}

// The first piece works on the result itself; those of the others are combined with it in their order.
void call_added(Function function, const Partition &partition, const std::vector<Argument> &arguments,
                const Cuts &cuts, const std::function<void()> &goes_on) {
  const Array &result = arguments.back().array;
  const auto elements = static_cast<std::size_t>(result.size());
  const Spreads::Found spreads = spreads_of(partition, arguments, cuts);
  if (spreads && meet_seldom(*spreads))
    return call_parted(function, partition, arguments, cuts, *spreads, goes_on);
  // What a piece does not write to is neither filled nor combined.
  const auto written = [&](std::size_t piece) -> std::pair<std::size_t, std::size_t> {
    if (!spreads) return {0, elements};
    const std::size_t row = elements / static_cast<std::size_t>(std::max<std::int64_t>(result.shape.front(), 1));
    return {static_cast<std::size_t>((*spreads)[piece].begin) * row,
            static_cast<std::size_t>((*spreads)[piece].end) * row};
  };
  const bool before = is_filled_before(partition, arguments.size() - 1);
  if (before && partition.fills) fill_with(result.data, partition.identity, 0, elements);
  std::vector<Block> owned;
  for (std::size_t piece = 1; piece < cuts.pieces(); ++piece)
    owned.emplace_back(elements * static_cast<std::size_t>(result.item), false);
  run_pieces(
      cuts.pieces(), thread_limit(),
      [&](std::size_t piece) {
        Array own = result;
        if (piece > 0) {
          own.data = owned[piece - 1].data();
          const auto [begin, end] = written(piece);
          if (spreads || before || !partition.fills) fill_with(own.data, partition.identity, begin, end);
          if (spreads && partition.fills) own.shape.front() = 0;
        }
        call_piece(function, partition, arguments, cuts, piece, &own);
      },
      goes_on);
  const Combine combine = combine_of(partition.combine);
  over_elements(elements, [&](std::size_t begin, std::size_t end) {
    for (std::size_t piece = 1; piece < cuts.pieces(); ++piece) {
      const auto [least, most] = written(piece);
      const std::size_t from = std::max(begin, least), to = std::min(end, most);
      if (from < to) combine(result.data, owned[piece - 1].data(), from, to);
    }
  });
}

// Pieces of a result that several threads make: those that are copied are in room of their own meanwhile.
std::size_t joined_pieces_of(std::int64_t work, std::int64_t points, std::size_t threads) {
  const auto met = static_cast<std::size_t>(work), computed = static_cast<std::size_t>(std::max(work, points));
  const std::size_t worth = computed / piece_work();
  if (worth < 2) return 1;
  const std::size_t small = std::min(computed / kJoinedWork, kMostJoinedPerThread * threads);
  return std::max({std::min(worth, kJoinedPerThread * threads), met / kJoinedWork, small});
}

}  // namespace

std::size_t pieces_of(const Partition &partition, std::int64_t work, std::int64_t elements) {
  const std::size_t worth = static_cast<std::size_t>(work) / piece_work();
  const bool fixed = partition.outcome == Partition::kAdded && limits().deterministic;
  const bool grows = partition.outcome == Partition::kJoined && static_cast<std::size_t>(elements) / piece_work() > 1;
  // Small calls do not ask for the number of threads, which a process finds out when it first needs it.
  if (worth < 2 && !grows) return 1;
  const std::size_t threads = thread_limit();
  if (partition.outcome == Partition::kJoined && threads > 1) return joined_pieces_of(work, elements, threads);
  if (worth < 2) return 1;
  if (partition.outcome != Partition::kAdded) {
    const bool joined = partition.outcome == Partition::kJoined, alone = threads < 2;
    const std::size_t most = joined ? kMostJoinedWork : kMostWork;
    const std::size_t shares = (joined ? kJoinedPerThread : kPiecesPerThread) * threads;
    const std::size_t shared = alone && piece_work() > 1 ? 1 : std::min(worth, shares);
    return std::max(shared, static_cast<std::size_t>(work) / most);
  }
  const std::size_t most = std::min(worth, fixed ? kFixedPieces : threads);
  if (piece_work() == 1) return most;  // whatever can be cut
  const std::int64_t paying = 1 + work / (kWorkPerElement * std::max<std::int64_t>(elements, 1));
  return std::min(most, static_cast<std::size_t>(paying));
}

void call_in_pieces(Function function, const Partition &partition, const std::vector<Argument> &arguments,
                    std::int64_t extent, std::size_t pieces, const std::function<void()> &goes_on) {
  const Cuts cuts = cut(partition, arguments, extent, pieces);
  if (cuts.pieces() == 0) {  // nothing is stored: only the result is to be filled
    if (partition.fills) fill_with(arguments.back().array.data, partition.identity, 0,
                                   static_cast<std::size_t>(arguments.back().array.size()));
    return;
  }
  const auto call = partition.outcome == Partition::kAdded ? call_added : call_apart;
  call(function, partition, arguments, cuts, goes_on);
}

void call_rows(Function function, const Partition &partition, const std::vector<Argument> &arguments,
               std::int64_t begin, std::int64_t end, std::size_t pieces, const std::function<void()> &goes_on) {
  Cuts cuts;
  cuts.positions.resize(partition.stored.size());
  const auto many = static_cast<std::int64_t>(std::max<std::size_t>(pieces, 1));
  for (std::int64_t piece = 0; piece <= many; ++piece) {
    const std::int64_t at = begin + static_cast<std::int64_t>(static_cast<__int128>(end - begin) * piece / many);
    if (cuts.coordinates.empty() || at > cuts.coordinates.back()) cuts.coordinates.push_back(at);
  }
  call_apart(function, partition, arguments, cuts, goes_on);
}

}  // namespace mlir_sparse
