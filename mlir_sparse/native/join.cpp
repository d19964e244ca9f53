#include "join.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "threads.hpp"

namespace mlir_sparse {
namespace {

// Pieces that are done wait for those before them; no more than so many for each thread, for the memory they take.
constexpr std::size_t kWaitingPerThread = 4;

using Memory = std::unique_ptr<char, void (*)(void *)>;

Memory take(std::int64_t length, std::int64_t item, bool zeroed) {
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(length, 1));
  const auto bytes = static_cast<std::size_t>(item);
  void *found = zeroed ? std::calloc(count, bytes) : std::malloc(count * bytes);
  if (found == nullptr) throw std::bad_alloc();
  return Memory(static_cast<char *>(found), std::free);
}

template <class T>
void copy_raised(void *to, const void *from, std::int64_t count, std::int64_t by, std::int64_t stride) {
  auto *target = static_cast<T *>(to);
  const auto *source = static_cast<const T *>(from);
  for (std::int64_t n = 0; n < count; ++n) target[n * stride] = static_cast<T>(source[n * stride] + static_cast<T>(by));
}

// Copies every stride-th number, raised by one and the same.
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

class Join {
 public:
  Join(const JoinedCall &call, const Cuts &cuts)
      : call_(call), cuts_(cuts), levels_(call.levels), totals_(call.rooms.size(), 0), done_(cuts.pieces()) {
    for (int level = 1; level < levels_.depth; ++level) inner_ *= call.sizes[static_cast<std::size_t>(level)];
    for (std::size_t piece = 0; piece < cuts.pieces(); ++piece)
      most_rows_ = std::max(most_rows_, cuts.coordinates[piece + 1] - cuts.coordinates[piece]);
    most_waiting_ = kWaitingPerThread * thread_limit();
  }

  // Runs a piece, and copies what has its turn. No piece is left without an end: those after it wait for it.
  void run(std::size_t number) {
    Result result;
    std::exception_ptr thrown;
    try {
      if (goes_on()) result = computed(number);
    } catch (...) {
      thrown = std::current_exception();
    }
    std::vector<Turn> turns = finished(number, std::move(result));
    for (Turn &turn : turns) {
      if (turn.fits && turn.result.room) copy(turn);
      give_back(std::move(turn.result.room));
    }
    if (thrown) std::rethrow_exception(thrown);
  }

  std::vector<std::int64_t> counts() const {
    if (levels_.depth == 0) {
      const auto buffer = static_cast<std::size_t>(levels_.positions[0]);
      write_unsigned(call_.buffers[buffer], levels_.items[buffer], 1, totals_[0]);
    }
    return totals_;
  }

 private:
  // Buffers of one piece's entries.
  struct Room {
    std::vector<Memory> buffers;
  };
  struct Result {
    std::unique_ptr<Room> room;
    std::vector<std::int64_t> counts;
    bool ready = false;
  };
  struct Turn {
    std::size_t number;
    Result result;
    std::vector<std::int64_t> offsets;
    bool fits;
  };

  char *at(void *buffer, std::size_t number, std::int64_t place) const {
    return static_cast<char *>(buffer) + place * levels_.items[number];
  }

  bool goes_on() {
    std::lock_guard<std::mutex> lock(mutex_);
    return totals_.back() <= call_.limit;
  }

  // How many places a buffer of a piece has: one more than there is room for, where what is beyond it goes.
  std::int64_t length_of(std::size_t buffer) const {
    for (int level = 0; level < levels_.rank(); ++level) {
      const auto l = static_cast<std::size_t>(level);
      if (levels_.positions[l] == static_cast<int>(buffer)) {
        if (level == 0) return 2;
        return level == levels_.depth ? most_rows_ * inner_ + 1 : call_.rooms[l - 1] + 2;
      }
      if (levels_.coordinates[l] == static_cast<int>(buffer)) return (call_.rooms[l] + 1) * interleaved(l);
    }
    return call_.rooms.back() + 1;
  }

  // How many coordinates an entry has in the buffer of a level.
  std::int64_t interleaved(std::size_t level) const {
    const auto &all = levels_.coordinates;
    return std::count(all.begin(), all.end(), all[level]);
  }

  std::unique_ptr<Room> take_room(std::size_t number) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      // The piece that has its turn next gets room in any case: others wait for it.
      freed_.wait(lock, [&] { return !rooms_.empty() || taken_ < most_waiting_ || number == next_; });
      if (!rooms_.empty()) {
        std::unique_ptr<Room> found = std::move(rooms_.back());
        rooms_.pop_back();
        return found;
      }
      ++taken_;
    }
    auto fresh = std::make_unique<Room>();
    try {
      for (std::size_t b = 0; b <= static_cast<std::size_t>(levels_.values()); ++b)
        fresh->buffers.push_back(take(length_of(b), levels_.items[b], false));
    } catch (...) {
      std::lock_guard<std::mutex> lock(mutex_);
      --taken_;
      throw;
    }
    return fresh;
  }

  void give_back(std::unique_ptr<Room> room) {
    if (!room) return;
    std::lock_guard<std::mutex> lock(mutex_);
    rooms_.push_back(std::move(room));
    freed_.notify_all();
  }

  // Workspaces stay empty between the pieces that use them.
  std::vector<Memory> take_workspace() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!workspaces_.empty()) {
        std::vector<Memory> found = std::move(workspaces_.back());
        workspaces_.pop_back();
        return found;
      }
    }
    std::vector<Memory> fresh;
    const auto first = static_cast<std::size_t>(levels_.values()) + 1;
    for (std::size_t w = 0; w < call_.workspace.size(); ++w)
      fresh.push_back(take(call_.workspace[w], levels_.items[first + w], true));
    return fresh;
  }

  Result computed(std::size_t number) {
    Result result;
    result.room = take_room(number);
    std::vector<Memory> workspace;
    try {
      workspace = take_workspace();
      result.counts = call_piece(number, *result.room, workspace);
    } catch (...) {
      give_back(std::move(result.room));
      throw;
    }
    std::lock_guard<std::mutex> lock(mutex_);
    workspaces_.push_back(std::move(workspace));
    return result;
  }

  std::vector<std::int64_t> call_piece(std::size_t number, Room &room, std::vector<Memory> &workspace) const {
    Piece piece(call_.partition, call_.arguments, cuts_, number);
    Packed packed;
    std::size_t stored = 0;
    for (std::size_t p = 0; p < call_.arguments.size(); ++p) {
      if (call_.arguments[p].storage.buffers)
        piece.add_storage(packed, p, stored++);
      else
        packed.add(piece.array(p));
    }
    const auto rank = static_cast<std::size_t>(levels_.rank());
    // Rows by number or, where lists say which there are, by coordinate: then positions count from the first of them.
    const bool listed = call_.partition.listed;
    const std::int64_t first = listed ? piece.begin() * inner_ : 0;
    for (std::size_t b = 0; b < room.buffers.size(); ++b) {
      char *data = room.buffers[b].get();
      const int positions = levels_.positions[static_cast<std::size_t>(levels_.depth)];
      if (levels_.depth > 0 && positions == static_cast<int>(b)) {
        std::memset(data, 0, static_cast<std::size_t>(((piece.end() - piece.begin()) * inner_ + 1) * levels_.items[b]));
        data -= first * levels_.items[b];
      }
      packed.add_buffer(data, length_of(b));
    }
    for (std::size_t w = 0; w < workspace.size(); ++w) packed.add_buffer(workspace[w].get(), call_.workspace[w]);
    std::vector<std::int64_t> control(3 * rank + 3, 0);
    std::copy(call_.rooms.begin(), call_.rooms.end(), control.begin());
    std::copy(call_.sizes.begin(), call_.sizes.end(), control.begin() + static_cast<std::ptrdiff_t>(rank));
    if (!listed) control[rank] = piece.end() - piece.begin();
    if (listed && levels_.depth > 0) control[rank] = piece.end();
    control[3 * rank + 1] = call_.limit;
    control[3 * rank + 2] = first;
    packed.add_buffer(control.data(), static_cast<std::int64_t>(control.size()));
    call_.function(packed.arguments());
    const auto counts = control.begin() + static_cast<std::ptrdiff_t>(2 * rank);
    return {counts, counts + static_cast<std::ptrdiff_t>(rank)};
  }

  // Takes a piece's result; returns those that have their turn now, with the places of their entries.
  std::vector<Turn> finished(std::size_t number, Result result) {
    std::vector<Turn> turns;
    std::lock_guard<std::mutex> lock(mutex_);
    if (result.counts.empty()) result.counts.assign(totals_.size(), 0);
    result.ready = true;
    done_[number] = std::move(result);
    const std::size_t before = next_;
    for (; next_ < done_.size() && done_[next_].ready; ++next_) {
      Turn turn{next_, std::move(done_[next_]), totals_, true};
      for (std::size_t level = 0; level < totals_.size(); ++level) {
        totals_[level] += turn.result.counts[level];
        if (static_cast<int>(level) >= levels_.depth && totals_[level] > call_.rooms[level]) turn.fits = false;
      }
      turns.push_back(std::move(turn));
    }
    if (next_ != before) freed_.notify_all();
    return turns;
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
    std::memcpy(at(call_.buffers[values], values, turn.offsets.back()), room.buffers[values].get(),
                static_cast<std::size_t>(counts.back() * levels_.items[values]));
  }

  void copy_positions(const Room &room, std::size_t level, std::int64_t first, std::int64_t count,
                      std::int64_t by) const {
    const auto b = static_cast<std::size_t>(levels_.positions[level]);
    copy_raised(at(call_.buffers[b], b, first + 1), at(room.buffers[b].get(), b, 1), levels_.items[b], count, by);
  }

  void copy_coordinates(const Room &room, std::size_t level, std::int64_t first, std::int64_t count,
                        std::int64_t begin) const {
    const auto b = static_cast<std::size_t>(levels_.coordinates[level]);
    const std::int64_t each = interleaved(level), item = levels_.items[b];
    char *to = at(call_.buffers[b], b, first * each);
    const char *from = room.buffers[b].get();
    std::memcpy(to, from, static_cast<std::size_t>(count * each * item));
    // Coordinates of rows by number count from the piece's first.
    if (level == 0 && !call_.partition.listed && begin > 0) copy_raised(to, from, item, count, begin, each);
  }

  const JoinedCall &call_;
  const Cuts &cuts_;
  const ResultLevels &levels_;
  std::int64_t inner_ = 1, most_rows_ = 0;
  std::size_t most_waiting_, taken_ = 0, next_ = 0;
  std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<std::int64_t> totals_;
  std::vector<Result> done_;
  std::vector<std::unique_ptr<Room>> rooms_;
  std::vector<std::vector<Memory>> workspaces_;
};

}  // namespace

int ResultLevels::values() const {
  return 1 + std::max(*std::max_element(positions.begin(), positions.end()),
                      *std::max_element(coordinates.begin(), coordinates.end()));
}

std::vector<std::int64_t> join_pieces(const JoinedCall &call, std::size_t pieces,
                                      const std::function<void()> &goes_on) {
  const Cuts cuts = cut(call.partition, call.arguments, call.extent, pieces);
  Join join(call, cuts);
  run_pieces(cuts.pieces(), thread_limit(), [&](std::size_t piece) { join.run(piece); }, goes_on);
  return join.counts();
}

}  // namespace mlir_sparse
