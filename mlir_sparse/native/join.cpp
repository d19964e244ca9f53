#include "join.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "join_places.hpp"
#include "join_buffers.hpp"
#include "threads.hpp"

namespace mlir_sparse {
namespace {

// The cost of a copied chunk relative to one that is computed in place.
constexpr double kCopied = 1.25;
// Chunks in place are this many times larger: nothing of them has to stay in the cache, but others wait for the last.
constexpr std::size_t kLarger = 2;

// Entries of the result grow in two directions from the middle of the buffers. One thread computes chunks upwards, in
// place: each begins at the end of the one before. The other threads go downwards. There the number of entries decides
// where a chunk begins, so it is computed in a separate buffer, which stays in the cache, and then copied. A thread
// without chunks on its side helps on the other. A chunk that is too large for any buffer is computed again in place
// when its turn comes: its number of entries is known by then.
class Join {
 public:
  Join(const JoinedCall &call, const Cuts &cuts, std::size_t middle)
      : call_(call),
        cuts_(cuts),
        levels_(call.levels),
        inner_(call.inner()),
        places_(call),
        pool_(call, cuts, mutex_),
        done_(cuts.chunks()) {
    const auto rank = static_cast<std::size_t>(levels_.rank());
    up_ = {middle, middle, std::vector<std::int64_t>(rank, 0)};
    down_ = {middle, middle, std::vector<std::int64_t>(rank, 0)};
  }

  // Runs the next chunk, and copies chunks whose turn has come. Every chunk must finish: those after it wait for it.
  void run() {
    const Next next = take();
    Result result;
    std::exception_ptr thrown;
    try {
      if (goes_on()) result = next.in_place ? laid_out(next) : computed(next);
    } catch (...) {
      thrown = std::current_exception();
    }
    for (Turn &turn : finished(next, std::move(result))) {
      if (turn.fits && turn.result.space) copy(turn);
      pool_.give_back(std::move(turn.result.space));
    }
    if (thrown) std::rethrow_exception(thrown);
  }

  Joined joined() {
    Joined found;
    const auto rank = static_cast<std::size_t>(levels_.rank());
    bool fits = true;
    for (std::size_t level = 0; level < rank; ++level) {
      found.counts.push_back(up_.totals[level] + down_.totals[level]);
      found.begins.push_back(places_.before(level) - down_.totals[level]);
      if (found.counts[level] > call_.capacities[level] && !levels_.above(level)) fits = false;
    }
    if (fits) places_.settle(found.counts, down_.totals);
    return found;
  }

 private:
  // The chunks in one direction from the middle.
  struct Side {
    std::size_t next;                  // the chunk to be taken, upwards; the one after it, downwards
    std::size_t turn;                  // likewise, the chunk to be copied
    std::vector<std::int64_t> totals;  // entries of each level that have their place
  };
  struct Next {
    std::size_t number;
    bool upwards, in_place;
    std::vector<std::int64_t> before;  // entries of each level, of a chunk in place
  };
  struct Result {
    std::unique_ptr<ChunkBuffers> space;
    std::vector<std::int64_t> counts;
    bool ready = false;
  };
  struct Turn {
    std::size_t number;
    Result result;
    std::vector<std::int64_t> offsets;  // of its entries from the middle
    bool fits;
  };

  Next take() {
    std::lock_guard<std::mutex> lock(mutex_);
    const std::thread::id here = std::this_thread::get_id();
    if (owner_ == std::thread::id()) owner_ = here;
    const bool up = up_.next < cuts_.chunks(), down = down_.next > 0;
    const bool upwards = up && (here == owner_ || !down);
    if (!upwards) return {--down_.next, false, false, {}};
    const bool in_place = up_.next == up_.turn;
    return {up_.next++, true, in_place, up_.totals};
  }

  bool goes_on() {
    std::lock_guard<std::mutex> lock(mutex_);
    return up_.totals.back() + down_.totals.back() <= call_.limit;
  }

  bool has_turn(const Next &next) const {
    return next.upwards ? next.number == up_.turn : next.number + 1 == down_.turn;
  }

  // Computes a chunk in a separate buffer, if one is large enough.
  Result computed(const Next &next) {
    Result result;
    result.space = pool_.take([&] { return has_turn(next); });
    try {
      std::vector<Block> workspace = pool_.take_workspace();
      result.counts = call_chunk(next, *result.space, workspace);
      while (result.space && !pool_.is_enough(*result.space, result.counts)) {
        result.space = pool_.larger(std::move(result.space), result.counts);
        if (result.space) result.counts = call_chunk(next, *result.space, workspace);
      }
      pool_.give_back(std::move(workspace));
    } catch (...) {
      pool_.give_back(std::move(result.space));
      throw;
    }
    return result.space ? std::move(result) : laid_out_late(next, std::move(result.counts));
  }

  // Computes a chunk in place, whose number of entries is known.
  Result laid_out_late(Next next, std::vector<std::int64_t> counts) {
    pool_.wait([&] { return has_turn(next); });
    // No other thread places entries on this side before this chunk does.
    next.before = next.upwards ? up_.totals : down_.totals;
    return next.upwards ? laid_out(next) : laid_out_below(next, std::move(counts));
  }

  // One place further down than the final one: a function may write one entry beyond its own, where others are.
  Result laid_out_below(const Next &next, std::vector<std::int64_t> counts) {
    Result result;
    std::vector<std::int64_t> first = next.before;
    for (std::size_t l = 0; l < first.size(); ++l) first[l] = -(first[l] + counts[l]) - 1;
    if (!places_.is_within(first)) {
      result.counts = std::move(counts);
      return result;
    }
    const std::int64_t begin = cuts_.coordinates[next.number], end = cuts_.coordinates[next.number + 1];
    std::int64_t root[2] = {0, 0};
    ChunkBuffers there{counts, 0, {}, places_.buffers(begin, first, root)};
    std::vector<Block> workspace = pool_.take_workspace();
    result.counts = call(next.number, there.buffers, counts, std::vector<std::int64_t>(counts.size(), 0), workspace);
    pool_.give_back(std::move(workspace));
    for (std::int64_t &place : first) ++place;
    if (levels_.depth > 0) there.buffers[rows_buffer()] += places_.first_of(begin) * levels_.items[rows_buffer()];
    places_.copy({there, result.counts, first, begin, end});
    return result;
  }

  std::vector<std::int64_t> call_chunk(const Next &next, ChunkBuffers &space, std::vector<Block> &workspace) const {
    std::vector<char *> buffers = space.buffers;
    const std::int64_t begin = cuts_.coordinates[next.number], end = cuts_.coordinates[next.number + 1];
    if (levels_.depth > 0) {
      const std::size_t rows = rows_buffer();
      const std::int64_t item = levels_.items[rows];
      std::memset(buffers[rows], 0, static_cast<std::size_t>(((end - begin) * inner_ + 1) * item));
      buffers[rows] -= places_.first_of(begin) * item;
    }
    return call(next.number, buffers, space.capacity, std::vector<std::int64_t>(call_.capacities.size(), 0), workspace);
  }

  // The buffer of positions of rows.
  std::size_t rows_buffer() const {
    return static_cast<std::size_t>(levels_.positions[static_cast<std::size_t>(levels_.depth)]);
  }

  // Computes a chunk in place.
  Result laid_out(const Next &next) {
    std::vector<Block> workspace = pool_.take_workspace();
    const std::int64_t begin = cuts_.coordinates[next.number];
    std::int64_t root[2] = {0, 0};
    const std::vector<char *> buffers = places_.buffers(begin, std::vector<std::int64_t>(next.before.size(), 0), root);
    Result result;
    result.counts = call(next.number, buffers, call_.capacities, next.before, workspace);
    for (std::size_t l = 0; l < next.before.size(); ++l) result.counts[l] -= next.before[l];
    places_.renumber(next.before[0], result.counts[0], begin);
    pool_.give_back(std::move(workspace));
    return result;
  }

  std::vector<std::int64_t> call(std::size_t number, const std::vector<char *> &buffers,
                                 const std::vector<std::int64_t> &capacities, const std::vector<std::int64_t> &counts,
                                 std::vector<Block> &workspace) const {
    Chunk chunk(call_.partition, call_.arguments, cuts_, number);
    Packed packed;
    std::size_t stored = 0;
    for (std::size_t p = 0; p < call_.arguments.size(); ++p) {
      if (call_.arguments[p].storage.buffers)
        chunk.add_storage(packed, p, stored++);
      else
        packed.add(chunk.array(p));
    }
    for (std::size_t b = 0; b < buffers.size(); ++b) packed.add_buffer(buffers[b], pool_.length_of(b, capacities));
    for (std::size_t w = 0; w < workspace.size(); ++w) packed.add_buffer(workspace[w].data(), call_.workspace[w]);
    const std::size_t rank = capacities.size();
    std::vector<std::int64_t> control(3 * rank + 3, 0);
    std::copy(capacities.begin(), capacities.end(), control.begin());
    std::copy(call_.sizes.begin(), call_.sizes.end(), control.begin() + static_cast<std::ptrdiff_t>(rank));
    std::copy(counts.begin(), counts.end(), control.begin() + static_cast<std::ptrdiff_t>(2 * rank));
    const bool compressed = call_.partition.compressed;
    if (!compressed) control[rank] = chunk.end() - chunk.begin();
    if (compressed && levels_.depth > 0) control[rank] = chunk.end();
    control[3 * rank + 1] = call_.limit;
    control[3 * rank + 2] = places_.first_of(chunk.begin());
    packed.add_buffer(control.data(), static_cast<std::int64_t>(control.size()));
    call_.function(packed.arguments());
    end_stores();
    const auto found = control.begin() + static_cast<std::ptrdiff_t>(2 * rank);
    return {found, found + static_cast<std::ptrdiff_t>(rank)};
  }

  // Records a chunk's result; returns the chunks whose turn has come, with the places of their entries.
  std::vector<Turn> finished(const Next &next, Result result) {
    std::vector<Turn> turns;
    std::lock_guard<std::mutex> lock(mutex_);
    if (result.counts.empty()) result.counts.assign(call_.capacities.size(), 0);
    result.ready = true;
    done_[next.number] = std::move(result);
    Side &side = next.upwards ? up_ : down_;
    const std::size_t was = side.turn;
    if (next.upwards)
      for (; side.turn < done_.size() && done_[side.turn].ready; ++side.turn) turns.push_back(placed(side.turn, true));
    else
      for (; side.turn > 0 && done_[side.turn - 1].ready; --side.turn) turns.push_back(placed(side.turn - 1, false));
    if (side.turn != was) pool_.turned(placed_entries());
    return turns;
  }

  std::vector<std::int64_t> placed_entries() const {
    std::vector<std::int64_t> found = up_.totals;
    for (std::size_t level = 0; level < found.size(); ++level) found[level] += down_.totals[level];
    return found;
  }

  Turn placed(std::size_t number, bool upwards) {
    Side &side = upwards ? up_ : down_;
    Turn turn{number, std::move(done_[number]), side.totals, true};
    for (std::size_t level = 0; level < side.totals.size(); ++level) {
      side.totals[level] += turn.result.counts[level];
      if (!upwards) turn.offsets[level] = -side.totals[level];
      if (!levels_.above(level) && side.totals[level] > call_.capacities[level]) turn.fits = false;
    }
    return turn;
  }

  void copy(const Turn &turn) const {
    places_.copy({*turn.result.space, turn.result.counts, turn.offsets, cuts_.coordinates[turn.number],
                  cuts_.coordinates[turn.number + 1]});
  }

  const JoinedCall &call_;
  const Cuts &cuts_;
  const ResultLevels &levels_;
  const std::int64_t inner_;
  const Places places_;
  std::mutex mutex_;
  ChunkBufferPool pool_;
  std::thread::id owner_;  // the thread whose chunks go where they are to stay
  Side up_, down_;
  std::vector<Result> done_;
};

}  // namespace

int ResultLevels::values() const {
  return 1 + std::max(*std::max_element(positions.begin(), positions.end()),
                      *std::max_element(coordinates.begin(), coordinates.end()));
}

std::int64_t ResultLevels::interleaved(std::size_t level) const {
  return std::count(coordinates.begin(), coordinates.end(), coordinates[level]);
}

std::int64_t JoinedCall::inner() const {
  std::int64_t product = 1;
  for (std::size_t level = 1; level < static_cast<std::size_t>(levels.depth); ++level) product *= sizes[level];
  return product;
}

Joined join_chunks(const JoinedCall &call, std::size_t chunks, const std::function<void()> &goes_on) {
  const std::size_t threads = thread_limit();
  double copied = 0;  // what goes downwards
  if (call.both && threads > 1 && chunks > 1) copied = 1 - kCopied / (kCopied + static_cast<double>(threads) - 1);
  const auto small = std::max<std::size_t>(copied > 0, static_cast<std::size_t>(copied * static_cast<double>(chunks)));
  const std::size_t rest = chunks - small;
  const std::size_t large = copied > 0 ? std::max(rest / kLarger, std::min(rest, threads)) : rest;
  const auto middle = static_cast<std::int64_t>(copied * static_cast<double>(kWhole));
  std::vector<std::int64_t> shares = even_shares(0, middle, small);
  for (const std::int64_t share : even_shares(middle, kWhole, large)) shares.push_back(share);
  const Cuts cuts = cut(call.partition, call.arguments, call.extent, shares);
  Join join(call, cuts, copied > 0 ? cuts.chunks() - std::min(cuts.chunks(), large) : 0);
  run_chunks(cuts.chunks(), threads, [&](std::size_t) { join.run(); }, goes_on);
  return join.joined();
}

}  // namespace mlir_sparse
