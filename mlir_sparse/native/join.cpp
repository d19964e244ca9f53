#include "join.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "join_places.hpp"
#include "join_rooms.hpp"
#include "threads.hpp"

namespace mlir_sparse {
namespace {

// What a piece takes that is copied, of what it takes in place.
constexpr double kCopied = 1.25;
// How many times as large pieces in place are: nothing of theirs has to stay in the cache, but the last is waited for.
constexpr std::size_t kLarger = 2;

// Entries of the result grow in two directions from where the buffers' first half ends. One thread lays its pieces out
// there, upwards, where they are to stay: each begins where the one before ended. The others go downwards: how many
// entries a piece has says where it begins, so that it is laid out in room of its own, which stays in the cache, and
// copied. Who has nothing left to do on its side helps on the other. A piece that turns out to be too large for any
// room is computed once more when it has its turn, where it is to stay: how many entries it has is known then.
class Join {
 public:
  Join(const JoinedCall &call, const Cuts &cuts, std::size_t middle)
      : call_(call),
        cuts_(cuts),
        levels_(call.levels),
        inner_(call.inner()),
        places_(call),
        rooms_(call, cuts, mutex_),
        done_(cuts.pieces()) {
    const auto rank = static_cast<std::size_t>(levels_.rank());
    up_ = {middle, middle, std::vector<std::int64_t>(rank, 0)};
    down_ = {middle, middle, std::vector<std::int64_t>(rank, 0)};
  }

  // Runs the next piece, and copies what has its turn. No piece is left without an end: those after it wait for it.
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
      if (turn.fits && turn.result.room) copy(turn);
      rooms_.give_back(std::move(turn.result.room));
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
      if (found.counts[level] > call_.rooms[level] && !levels_.above(level)) fits = false;
    }
    if (fits) places_.settle(found.counts, down_.totals);
    return found;
  }

 private:
  // Pieces in one direction from the middle.
  struct Side {
    std::size_t next;                  // the piece to be taken, upwards; the one after it, downwards
    std::size_t turn;                  // likewise, the piece to be copied
    std::vector<std::int64_t> totals;  // entries of each level that have their place
  };
  struct Next {
    std::size_t number;
    bool upwards, in_place;
    std::vector<std::int64_t> before;  // entries of each level, of a piece in place
  };
  struct Result {
    std::unique_ptr<Room> room;
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
    const bool up = up_.next < cuts_.pieces(), down = down_.next > 0;
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

  // A piece in room of its own, if there is as much of it as it turns out to need.
  Result computed(const Next &next) {
    Result result;
    result.room = rooms_.take([&] { return has_turn(next); });
    try {
      std::vector<Block> workspace = rooms_.take_workspace();
      result.counts = call_piece(next, *result.room, workspace);
      while (result.room && !rooms_.is_enough(*result.room, result.counts)) {
        result.room = rooms_.larger(std::move(result.room), result.counts);
        if (result.room) result.counts = call_piece(next, *result.room, workspace);
      }
      rooms_.give_back(std::move(workspace));
    } catch (...) {
      rooms_.give_back(std::move(result.room));
      throw;
    }
    return result.room ? std::move(result) : laid_out_late(next, std::move(result.counts));
  }

  // A piece of which it is known how many entries it has, where it is to stay.
  Result laid_out_late(Next next, std::vector<std::int64_t> counts) {
    rooms_.wait([&] { return has_turn(next); });
    // Nobody else places entries on this side before the piece itself has its place.
    next.before = next.upwards ? up_.totals : down_.totals;
    return next.upwards ? laid_out(next) : laid_out_below(next, std::move(counts));
  }

  // A place further down than it is to stay, since a function may write one beyond its entries, where others are.
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
    Room there{counts, 0, {}, places_.buffers(begin, first, root)};
    std::vector<Block> workspace = rooms_.take_workspace();
    result.counts = call(next.number, there.buffers, counts, std::vector<std::int64_t>(counts.size(), 0), workspace);
    rooms_.give_back(std::move(workspace));
    for (std::int64_t &place : first) ++place;
    if (levels_.depth > 0) there.buffers[rows_buffer()] += places_.first_of(begin) * levels_.items[rows_buffer()];
    places_.copy({there, result.counts, first, begin, end});
    return result;
  }

  std::vector<std::int64_t> call_piece(const Next &next, Room &room, std::vector<Block> &workspace) const {
    std::vector<char *> buffers = room.buffers;
    const std::int64_t begin = cuts_.coordinates[next.number], end = cuts_.coordinates[next.number + 1];
    if (levels_.depth > 0) {
      const std::size_t rows = rows_buffer();
      const std::int64_t item = levels_.items[rows];
      std::memset(buffers[rows], 0, static_cast<std::size_t>(((end - begin) * inner_ + 1) * item));
      buffers[rows] -= places_.first_of(begin) * item;
    }
    return call(next.number, buffers, room.capacity, std::vector<std::int64_t>(call_.rooms.size(), 0), workspace);
  }

  // The buffer of positions of rows.
  std::size_t rows_buffer() const {
    return static_cast<std::size_t>(levels_.positions[static_cast<std::size_t>(levels_.depth)]);
  }

  // A piece where it is to stay.
  Result laid_out(const Next &next) {
    std::vector<Block> workspace = rooms_.take_workspace();
    const std::int64_t begin = cuts_.coordinates[next.number];
    std::int64_t root[2] = {0, 0};
    const std::vector<char *> buffers = places_.buffers(begin, std::vector<std::int64_t>(next.before.size(), 0), root);
    Result result;
    result.counts = call(next.number, buffers, call_.rooms, next.before, workspace);
    for (std::size_t l = 0; l < next.before.size(); ++l) result.counts[l] -= next.before[l];
    places_.renumber(next.before[0], result.counts[0], begin);
    rooms_.give_back(std::move(workspace));
    return result;
  }

  std::vector<std::int64_t> call(std::size_t number, const std::vector<char *> &buffers,
                                 const std::vector<std::int64_t> &rooms, const std::vector<std::int64_t> &counts,
                                 std::vector<Block> &workspace) const {
    Piece piece(call_.partition, call_.arguments, cuts_, number);
    Packed packed;
    std::size_t stored = 0;
    for (std::size_t p = 0; p < call_.arguments.size(); ++p) {
      if (call_.arguments[p].storage.buffers)
        piece.add_storage(packed, p, stored++);
      else
        packed.add(piece.array(p));
    }
    for (std::size_t b = 0; b < buffers.size(); ++b) packed.add_buffer(buffers[b], rooms_.length_of(b, rooms));
    for (std::size_t w = 0; w < workspace.size(); ++w) packed.add_buffer(workspace[w].data(), call_.workspace[w]);
    const std::size_t rank = rooms.size();
    std::vector<std::int64_t> control(3 * rank + 3, 0);
    std::copy(rooms.begin(), rooms.end(), control.begin());
    std::copy(call_.sizes.begin(), call_.sizes.end(), control.begin() + static_cast<std::ptrdiff_t>(rank));
    std::copy(counts.begin(), counts.end(), control.begin() + static_cast<std::ptrdiff_t>(2 * rank));
    const bool listed = call_.partition.listed;
    if (!listed) control[rank] = piece.end() - piece.begin();
    if (listed && levels_.depth > 0) control[rank] = piece.end();
    control[3 * rank + 1] = call_.limit;
    control[3 * rank + 2] = places_.first_of(piece.begin());
    packed.add_buffer(control.data(), static_cast<std::int64_t>(control.size()));
    call_.function(packed.arguments());
    end_stores();
    const auto found = control.begin() + static_cast<std::ptrdiff_t>(2 * rank);
    return {found, found + static_cast<std::ptrdiff_t>(rank)};
  }

  // Takes a piece's result; returns those that have their turn now, with the places of their entries.
  std::vector<Turn> finished(const Next &next, Result result) {
    std::vector<Turn> turns;
    std::lock_guard<std::mutex> lock(mutex_);
    if (result.counts.empty()) result.counts.assign(call_.rooms.size(), 0);
    result.ready = true;
    done_[next.number] = std::move(result);
    Side &side = next.upwards ? up_ : down_;
    const std::size_t was = side.turn;
    if (next.upwards)
      for (; side.turn < done_.size() && done_[side.turn].ready; ++side.turn) turns.push_back(placed(side.turn, true));
    else
      for (; side.turn > 0 && done_[side.turn - 1].ready; --side.turn) turns.push_back(placed(side.turn - 1, false));
    if (side.turn != was) rooms_.turned(placed_entries());
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
      if (!levels_.above(level) && side.totals[level] > call_.rooms[level]) turn.fits = false;
    }
    return turn;
  }

  void copy(const Turn &turn) const {
    places_.copy({*turn.result.room, turn.result.counts, turn.offsets, cuts_.coordinates[turn.number],
                  cuts_.coordinates[turn.number + 1]});
  }

  const JoinedCall &call_;
  const Cuts &cuts_;
  const ResultLevels &levels_;
  const std::int64_t inner_;
  const Places places_;
  std::mutex mutex_;
  Rooms rooms_;
  std::thread::id owner_;  // the thread whose pieces go where they are to stay
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

Joined join_pieces(const JoinedCall &call, std::size_t pieces, const std::function<void()> &goes_on) {
  const std::size_t threads = thread_limit();
  double copied = 0;  // what goes downwards
  if (call.both && threads > 1 && pieces > 1) copied = 1 - kCopied / (kCopied + static_cast<double>(threads) - 1);
  const auto small = std::max<std::size_t>(copied > 0, static_cast<std::size_t>(copied * static_cast<double>(pieces)));
  const std::size_t rest = pieces - small;
  const std::size_t large = copied > 0 ? std::max(rest / kLarger, std::min(rest, threads)) : rest;
  const auto middle = static_cast<std::int64_t>(copied * static_cast<double>(kWhole));
  std::vector<std::int64_t> shares = even_shares(0, middle, small);
  for (const std::int64_t share : even_shares(middle, kWhole, large)) shares.push_back(share);
  const Cuts cuts = cut(call.partition, call.arguments, call.extent, shares);
  Join join(call, cuts, copied > 0 ? cuts.pieces() - std::min(cuts.pieces(), large) : 0);
  run_pieces(cuts.pieces(), threads, [&](std::size_t) { join.run(); }, goes_on);
  return join.joined();
}

}  // namespace mlir_sparse
