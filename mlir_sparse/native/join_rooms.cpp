#include "join_rooms.hpp"

#include <algorithm>
#include <utility>

#include "threads.hpp"

namespace mlir_sparse {
namespace {

// Pieces that are done wait for those before them; no more than so many for each thread, for the memory they take.
constexpr std::size_t kWaitingPerThread = 2;
// Room of a piece at first, in entries: for more than its share of those that there may be at most, which may be far
// too many. Where a piece has more, it is computed once more in more room.
constexpr std::int64_t kMostRoom = std::int64_t{1} << 19;
constexpr std::int64_t kLeastRoom = std::int64_t{1} << 12;
constexpr std::int64_t kShares = 2;

}  // namespace

Rooms::Rooms(const JoinedCall &call, const Cuts &cuts, std::mutex &mutex)
    : call_(call),
      levels_(call.levels),
      mutex_(mutex),
      capacity_(call.rooms),
      most_waiting_(kWaitingPerThread * thread_limit()) {
  for (std::size_t piece = 0; piece < cuts.pieces(); ++piece)
    most_rows_ = std::max(most_rows_, cuts.coordinates[piece + 1] - cuts.coordinates[piece]);
  most_rows_ *= call.inner();
  const auto pieces = static_cast<std::int64_t>(cuts.pieces() + 1);
  for (std::int64_t &room : capacity_) room = std::min({room, kMostRoom, kLeastRoom + room / pieces * kShares});
}

std::int64_t Rooms::length_of(std::size_t buffer, const std::vector<std::int64_t> &rooms) const {
  for (std::size_t level = 0; level < rooms.size(); ++level) {
    if (levels_.positions[level] == static_cast<int>(buffer)) {
      if (level == 0) return 2;
      return static_cast<int>(level) == levels_.depth ? most_rows_ + 1 : rooms[level - 1] + 2;
    }
    if (levels_.coordinates[level] == static_cast<int>(buffer)) return (rooms[level] + 1) * levels_.interleaved(level);
  }
  return rooms.back() + 1;
}

std::unique_ptr<Room> Rooms::new_room(const std::vector<std::int64_t> &capacity) const {
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

std::unique_ptr<Room> Rooms::take(const std::function<bool()> &has_turn) {
  std::vector<std::int64_t> capacity;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    freed_.wait(lock, [&] { return !rooms_.empty() || taken_ < most_waiting_ || has_turn(); });
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

std::unique_ptr<Room> Rooms::larger_than(const Room &room, const std::vector<std::int64_t> &counts) {
  bool larger = false;
  for (std::size_t level = 0; level < counts.size(); ++level) {
    if (levels_.above(level)) continue;
    if (counts[level] > call_.rooms[level]) return nullptr;
    if (counts[level] > room.capacity[level]) larger = true;
  }
  if (!larger) return nullptr;
  std::vector<std::int64_t> capacity;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (std::size_t level = 0; level < counts.size(); ++level)  // others are alike
      capacity_[level] = std::min(call_.rooms[level], std::max(capacity_[level], counts[level] + counts[level] / 4));
    capacity = capacity_;
  }
  return new_room(capacity);
}

void Rooms::give_back(std::unique_ptr<Room> room) {
  if (!room) return;
  std::lock_guard<std::mutex> lock(mutex_);
  rooms_.push_back(std::move(room));
  freed_.notify_all();
}

std::vector<Block> Rooms::take_workspace() {
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

void Rooms::give_back(std::vector<Block> workspace) {
  std::lock_guard<std::mutex> lock(mutex_);
  workspaces_.push_back(std::move(workspace));
}

}  // namespace mlir_sparse
