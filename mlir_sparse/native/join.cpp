#include "join.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "block.hpp"
#include "threads.hpp"

namespace mlir_sparse {
namespace {

// Pieces that are done wait for those before them; no more than so many for each thread, for the memory they take.
constexpr std::size_t kWaitingPerThread = 2;
// Room of a piece at first, in entries: for more than its share of those that there may be at most, which may be far too
// many. Where a piece has more, it is computed once more in more room.
constexpr std::int64_t kMostRoom = std::int64_t{1} << 19;
constexpr std::int64_t kLeastRoom = std::int64_t{1} << 12;
constexpr std::int64_t kShares = 2;
// What a piece takes that is copied, of what it takes in place.
constexpr double kCopied = 1.25;
// How many times as large pieces in place are: nothing of theirs has to stay in the cache, but others wait for the last.
constexpr std::size_t kLarger = 2;
// Positions that a thread raises at a time.
constexpr std::int64_t kStretch = std::int64_t{1} << 16;

template <class T>
void copy_raised(void *to, const void *from, std::int64_t count, std::int64_t by, std::int64_t stride) {
  auto *target = static_cast<T *>(to);
  const auto *source = static_cast<const T *>(from);
  for (std::int64_t n = 0; n < count; ++n) target[n * stride] = static_cast<T>(source[n * stride] + static_cast<T>(by));
}

// Copies every stride-th number, raised by one and the same, which may be negative.
void copy_raised(void *to, const void *from, std::int64_t item, std::int64_t count, std::int64_t by,
                 std::int64_t stride = 1) {
  switch (item) {
    case 1:
      return copy_raised<std::uint8_t>(to, from, count, by, stride);
    case 2:
      return copy_raised<std::uint16_t>(to, from, count, by, stride);
    case 4:
      return copy_raised<std::uint32_t>(to, from, count, by, stride);
    default:
      return copy_raised<std::uint64_t>(to, from, count, by, stride);
  }
}

// Entries of the result grow in two directions from where the buffers' first half ends. One thread lays its pieces out
// there, upwards, where they are to stay: each begins where the one before ended. The others go downwards: how many
// entries a piece has says where it begins, so that it is laid out in room of its own, which stays in the cache, and
// copied. Who has nothing left to do on its side helps on the other.
class Join {
 public:
  Join(const JoinedCall &call, const Cuts &cuts, std::size_t middle)
      : call_(call), cuts_(cuts), levels_(call.levels), done_(cuts.pieces()), capacity_(call.rooms) {
    const auto rank = static_cast<std::size_t>(levels_.rank());
    for (std::size_t level = 1; level < static_cast<std::size_t>(levels_.depth); ++level) inner_ *= call.sizes[level];
    for (std::size_t piece = 0; piece < cuts.pieces(); ++piece)
      most_rows_ = std::max(most_rows_, cuts.coordinates[piece + 1] - cuts.coordinates[piece]);
    for (std::int64_t &room : capacity_)
      room = std::min({room, kMostRoom, kLeastRoom + room / static_cast<std::int64_t>(cuts.pieces() + 1) * kShares});
    const std::size_t threads = thread_limit();
    most_waiting_ = kWaitingPerThread * threads;
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
      give_back(std::move(turn.result.room));
    }
    if (thrown) std::rethrow_exception(thrown);
  }

  Joined joined() {
    Joined found;
    const auto rank = static_cast<std::size_t>(levels_.rank());
    bool fits = true;
    for (std::size_t level = 0; level < rank; ++level) {
      found.counts.push_back(up_.totals[level] + down_.totals[level]);
      found.begins.push_back(before(level) - down_.totals[level]);
      if (found.counts[level] > call_.rooms[level] && !above(level)) fits = false;
    }
    if (fits) settle_positions(found);
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
  // Buffers of one piece's entries, in one block.
  struct Room {
    std::vector<std::int64_t> capacity;
    Block block;
    std::vector<char *> buffers;
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

  bool above(std::size_t level) const { return static_cast<int>(level) < levels_.depth; }
  // How many entries lie before the middle, and where the middle of a buffer is.
  std::int64_t before(std::size_t level) const { return call_.both && !above(level) ? call_.rooms[level] : 0; }
  char *at(std::size_t buffer, std::int64_t place) const {
    return static_cast<char *>(call_.buffers[buffer]) + place * levels_.items[buffer];
  }
  char *values_at(std::int64_t place) const {
    return at(static_cast<std::size_t>(levels_.values()), before(static_cast<std::size_t>(levels_.rank()) - 1) + place);
  }
  char *coordinates_at(std::size_t level, std::int64_t place) const {
    return at(static_cast<std::size_t>(levels_.coordinates[level]), (before(level) + place) * interleaved(level));
  }
  // Rows by number have one position each, of entries in whatever direction.
  char *positions_at(std::size_t level, std::int64_t place) const {
    const bool rows = static_cast<int>(level) <= levels_.depth;
    return at(static_cast<std::size_t>(levels_.positions[level]), rows ? place : before(level - 1) + place);
  }

  // How many coordinates an entry has in the buffer of a level.
  std::int64_t interleaved(std::size_t level) const {
    const auto &all = levels_.coordinates;
    return std::count(all.begin(), all.end(), all[level]);
  }

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

  // How many places a buffer of a piece has: one more than there is room for, where what is beyond it goes.
  std::int64_t length_of(std::size_t buffer, const std::vector<std::int64_t> &rooms) const {
    for (int level = 0; level < levels_.rank(); ++level) {
      const auto l = static_cast<std::size_t>(level);
      if (levels_.positions[l] == static_cast<int>(buffer)) {
        if (level == 0) return 2;
        return level == levels_.depth ? most_rows_ * inner_ + 1 : rooms[l - 1] + 2;
      }
      if (levels_.coordinates[l] == static_cast<int>(buffer)) return (rooms[l] + 1) * interleaved(l);
    }
    return rooms.back() + 1;
  }

  std::unique_ptr<Room> new_room(const std::vector<std::int64_t> &capacity) const {
    auto fresh = std::make_unique<Room>();
    fresh->capacity = capacity;
    std::vector<std::size_t> begins;
    std::size_t bytes = 0;
    for (std::size_t b = 0; b <= static_cast<std::size_t>(levels_.values()); ++b) {
      begins.push_back(bytes);
      bytes += static_cast<std::size_t>((length_of(b, capacity) * levels_.items[b] + 63) / 64 * 64);
    }
    fresh->block = Block(bytes, false, Block::kSmall);
    for (const std::size_t begin : begins) fresh->buffers.push_back(fresh->block.data() + begin);
    return fresh;
  }

  std::unique_ptr<Room> take_room(const Next &next) {
    std::vector<std::int64_t> capacity;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      // The piece that has its turn next gets room in any case: others wait for it.
      freed_.wait(lock, [&] { return !rooms_.empty() || taken_ < most_waiting_ || has_turn(next); });
      if (!rooms_.empty()) {
        std::unique_ptr<Room> found = std::move(rooms_.back());
        rooms_.pop_back();
        return found;
      }
      ++taken_;
      capacity = capacity_;
    }
    try {
      return new_room(capacity);
    } catch (...) {
      std::lock_guard<std::mutex> lock(mutex_);
      --taken_;
      throw;
    }
  }

  void give_back(std::unique_ptr<Room> room) {
    if (!room) return;
    std::lock_guard<std::mutex> lock(mutex_);
    rooms_.push_back(std::move(room));
    freed_.notify_all();
  }

  // Workspaces stay empty between the pieces that use them.
  std::vector<Block> take_workspace() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!workspaces_.empty()) {
        std::vector<Block> found = std::move(workspaces_.back());
        workspaces_.pop_back();
        return found;
      }
    }
    std::vector<Block> fresh;
    const auto first = static_cast<std::size_t>(levels_.values()) + 1;
    for (std::size_t w = 0; w < call_.workspace.size(); ++w)
      fresh.emplace_back(static_cast<std::size_t>(call_.workspace[w] * levels_.items[first + w]), true);
    return fresh;
  }

  void give_back(std::vector<Block> workspace) {
    std::lock_guard<std::mutex> lock(mutex_);
    workspaces_.push_back(std::move(workspace));
  }

  // A piece in room of its own, as large as it turns out to need.
  Result computed(const Next &next) {
    Result result;
    result.room = take_room(next);
    try {
      std::vector<Block> workspace = take_workspace();
      result.counts = call_piece(next, *result.room, workspace);
      while (const auto larger = larger_than(*result.room, result.counts)) {
        result.room = new_room(*larger);
        result.counts = call_piece(next, *result.room, workspace);
      }
      give_back(std::move(workspace));
    } catch (...) {
      give_back(std::move(result.room));
      throw;
    }
    return result;
  }

  // What a piece with so many entries needs; nothing where there is room, or none in the whole result either.
  std::optional<std::vector<std::int64_t>> larger_than(const Room &room, const std::vector<std::int64_t> &counts) {
    bool larger = false;
    for (std::size_t level = 0; level < counts.size(); ++level) {
      if (above(level)) continue;
      if (counts[level] > call_.rooms[level]) return std::nullopt;
      if (counts[level] > room.capacity[level]) larger = true;
    }
    if (!larger) return std::nullopt;
    std::lock_guard<std::mutex> lock(mutex_);
    for (std::size_t level = 0; level < counts.size(); ++level)  // others are alike
      capacity_[level] = std::min(call_.rooms[level], std::max(capacity_[level], counts[level] + counts[level] / 4));
    return capacity_;
  }

  std::vector<std::int64_t> call_piece(const Next &next, Room &room, std::vector<Block> &workspace) const {
    std::vector<char *> buffers = room.buffers;
    const std::int64_t begin = cuts_.coordinates[next.number], end = cuts_.coordinates[next.number + 1];
    if (levels_.depth > 0) {
      const auto rows = static_cast<std::size_t>(levels_.positions[static_cast<std::size_t>(levels_.depth)]);
      const std::int64_t item = levels_.items[rows];
      std::memset(buffers[rows], 0, static_cast<std::size_t>(((end - begin) * inner_ + 1) * item));
      buffers[rows] -= first_of(begin) * item;
    }
    return call(next.number, buffers, room.capacity, std::vector<std::int64_t>(call_.rooms.size(), 0), workspace);
  }

  // A piece where it is to stay.
  Result laid_out(const Next &next) {
    std::vector<Block> workspace = take_workspace();
    std::vector<char *> buffers(static_cast<std::size_t>(levels_.values()) + 1);
    const std::int64_t begin = cuts_.coordinates[next.number];
    std::int64_t root[2] = {0, 0};  // no more than one piece may write those of the result
    for (std::size_t l = static_cast<std::size_t>(levels_.depth); l < next.before.size(); ++l) {
      if (levels_.positions[l] >= 0) {
        const bool rows = static_cast<int>(l) == levels_.depth;
        const std::int64_t place = rows && !call_.partition.listed ? begin * inner_ : 0;
        buffers[static_cast<std::size_t>(levels_.positions[l])] =
            l == 0 ? reinterpret_cast<char *>(root) : positions_at(l, place);
      }
      buffers[static_cast<std::size_t>(levels_.coordinates[l])] = coordinates_at(l, 0);
    }
    buffers.back() = values_at(0);
    Result result;
    result.counts = call(next.number, buffers, call_.rooms, next.before, workspace);
    for (std::size_t l = 0; l < next.before.size(); ++l) result.counts[l] -= next.before[l];
    if (renumbered(begin) && next.before[0] + result.counts[0] <= call_.rooms[0]) {
      char *first = coordinates_at(0, next.before[0]);
      const auto b = static_cast<std::size_t>(levels_.coordinates[0]);
      copy_raised(first, first, levels_.items[b], result.counts[0], begin, interleaved(0));
    }
    give_back(std::move(workspace));
    return result;
  }

  // Whether coordinates of rows count from a piece's first: those of rows by number do.
  bool renumbered(std::int64_t begin) const { return levels_.depth == 0 && !call_.partition.listed && begin > 0; }

  // Rows by number or, where lists say which there are, by coordinate: then positions count from the first of them.
  std::int64_t first_of(std::int64_t begin) const { return call_.partition.listed ? begin * inner_ : 0; }

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
    for (std::size_t b = 0; b < buffers.size(); ++b) packed.add_buffer(buffers[b], length_of(b, rooms));
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
    control[3 * rank + 2] = first_of(piece.begin());
    packed.add_buffer(control.data(), static_cast<std::int64_t>(control.size()));
    call_.function(packed.arguments());
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
    if (side.turn != was) freed_.notify_all();
    return turns;
  }

  Turn placed(std::size_t number, bool upwards) {
    Side &side = upwards ? up_ : down_;
    Turn turn{number, std::move(done_[number]), side.totals, true};
    for (std::size_t level = 0; level < side.totals.size(); ++level) {
      side.totals[level] += turn.result.counts[level];
      if (!upwards) turn.offsets[level] = -side.totals[level];
      if (!above(level) && side.totals[level] > call_.rooms[level]) turn.fits = false;
    }
    return turn;
  }

  void copy(const Turn &turn) const {
    const Room &room = *turn.result.room;
    const std::vector<std::int64_t> &counts = turn.result.counts;
    const std::int64_t begin = cuts_.coordinates[turn.number], end = cuts_.coordinates[turn.number + 1];
    for (int level = levels_.depth; level < levels_.rank(); ++level) {
      const auto l = static_cast<std::size_t>(level);
      if (level > 0 && levels_.positions[l] >= 0) {
        const bool rows = level == levels_.depth;
        const std::int64_t first = rows ? begin * inner_ : turn.offsets[l - 1];
        copy_positions(room, l, first, rows ? (end - begin) * inner_ : counts[l - 1], turn.offsets[l]);
      }
      if (!levels_.listed || level == 0) copy_coordinates(room, l, turn.offsets[l], counts[l], begin);
    }
    if (levels_.listed && interleaved(0) == 1)
      for (std::size_t l = 1; l < levels_.coordinates.size(); ++l)
        copy_coordinates(room, l, turn.offsets[l], counts[l], begin);
    const auto values = static_cast<std::size_t>(levels_.values());
    std::memcpy(values_at(turn.offsets.back()), room.buffers[values],
                static_cast<std::size_t>(counts.back() * levels_.items[values]));
  }

  void copy_positions(const Room &room, std::size_t level, std::int64_t first, std::int64_t count,
                      std::int64_t by) const {
    const auto b = static_cast<std::size_t>(levels_.positions[level]);
    copy_raised(positions_at(level, first + 1), room.buffers[b] + levels_.items[b], levels_.items[b], count, by);
  }

  void copy_coordinates(const Room &room, std::size_t level, std::int64_t first, std::int64_t count,
                        std::int64_t begin) const {
    const auto b = static_cast<std::size_t>(levels_.coordinates[level]);
    const std::int64_t each = interleaved(level), item = levels_.items[b];
    char *to = coordinates_at(level, first);
    std::memcpy(to, room.buffers[b], static_cast<std::size_t>(count * each * item));
    if (level == 0 && renumbered(begin)) copy_raised(to, room.buffers[b], item, count, begin, each);
  }

  // Positions count from the middle so far: those of all entries become counts from the first.
  void settle_positions(const Joined &found) const {
    if (levels_.depth == 0) {
      const auto buffer = static_cast<std::size_t>(levels_.positions[0]);
      write_unsigned(call_.buffers[buffer], levels_.items[buffer], 1, found.counts[0]);
    }
    for (std::size_t l = 1; l < found.counts.size(); ++l) {
      if (levels_.positions[l] < 0) continue;
      const auto buffer = static_cast<std::size_t>(levels_.positions[l]);
      const bool rows = static_cast<int>(l) == levels_.depth;
      const std::int64_t item = levels_.items[buffer], by = down_.totals[l];
      const std::int64_t first = rows ? 0 : -down_.totals[l - 1];
      const std::int64_t count = rows ? call_.sizes[0] * inner_ : found.counts[l - 1];
      if (!rows) write_unsigned(positions_at(l, 0), item, 0, 0);  // pieces in place begin to count there
      const std::size_t stretches = by ? static_cast<std::size_t>((count + kStretch) / kStretch) : 0;
      run_pieces(stretches, thread_limit(), [&](std::size_t stretch) {
        const std::int64_t begin = static_cast<std::int64_t>(stretch) * kStretch;
        char *some = positions_at(l, first + begin);
        copy_raised(some, some, item, std::min(kStretch, count + 1 - begin), by);
      });
      write_unsigned(positions_at(l, first), item, 0, 0);
    }
  }

  const JoinedCall &call_;
  const Cuts &cuts_;
  const ResultLevels &levels_;
  std::int64_t inner_ = 1, most_rows_ = 0;
  std::size_t most_waiting_, taken_ = 0;
  std::mutex mutex_;
  std::condition_variable freed_;
  std::thread::id owner_;  // the thread whose pieces go where they are to stay
  Side up_, down_;
  std::vector<Result> done_;
  std::vector<std::int64_t> capacity_;
  std::vector<std::unique_ptr<Room>> rooms_;
  std::vector<std::vector<Block>> workspaces_;
};

}  // namespace

int ResultLevels::values() const {
  return 1 + std::max(*std::max_element(positions.begin(), positions.end()),
                      *std::max_element(coordinates.begin(), coordinates.end()));
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
