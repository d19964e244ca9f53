#include "join_rooms.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "threads.hpp"

namespace mlir_sparse {
namespace {

// Rooms take such a part of what operands and the entries placed take, or so many bytes for each thread and each entry
// of the least piece that is worth one: 2 MiB a thread, for it to have room at all.
constexpr std::size_t kPart = 6;
constexpr std::size_t kOfThread = 64;
// Room of a piece at first, in entries: for more than its share of those that there may be at most, which may be far
// too many. Where a piece has more, it is computed once more, in more room or where it is to stay.
constexpr std::int64_t kMostRoom = std::int64_t{1} << 17;
constexpr std::int64_t kLeastRoom = std::int64_t{1} << 12;
constexpr std::int64_t kShares = 2;

// The bytes of all operands, each of which may be there several times.
std::size_t bytes_of_operands(const std::vector<Argument> &arguments) {
  std::set<const void *> seen;
  std::int64_t bytes = 0;
  for (const Argument &argument : arguments) {
    if (!argument.storage.buffers) {
      if (seen.insert(argument.array.data).second) bytes += argument.array.size() * argument.array.item;
      continue;
    }
    const std::vector<Descriptor1> &buffers = *argument.storage.buffers;
    for (std::size_t b = 0; b < buffers.size(); ++b)
      if (seen.insert(buffers[b].aligned).second) bytes += buffers[b].size * (*argument.storage.items)[b];
  }
  return static_cast<std::size_t>(bytes);
}

}  // namespace

Rooms::Rooms(const JoinedCall &call, const Cuts &cuts, std::mutex &mutex)
    : call_(call),
      levels_(call.levels),
      mutex_(mutex),
      capacity_(call.rooms),
      least_(kOfThread * piece_work() * thread_limit()),
      operands_(bytes_of_operands(call.arguments)) {
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

std::size_t Rooms::bytes_of(const std::vector<std::int64_t> &entries) const {
  std::int64_t bytes = 0;
  for (std::size_t b = 0; b <= static_cast<std::size_t>(levels_.values()); ++b)
    bytes += (length_of(b, entries) * levels_.items[b] + 63) / 64 * 64;
  return static_cast<std::size_t>(bytes);
}

// What all rooms may take; under the mutex.
std::size_t Rooms::most() const { return std::max(least_, (operands_ + placed_) / kPart); }

// Makes room that is counted already.
std::unique_ptr<Room> Rooms::new_room(const std::vector<std::int64_t> &capacity) {
  const std::size_t bytes = bytes_of(capacity);
  try {
    auto fresh = std::make_unique<Room>();
    fresh->capacity = capacity;
    fresh->bytes = bytes;
    fresh->block = Block(bytes, false, Block::kSmall);
    char *begin = fresh->block.data();
    for (std::size_t b = 0; b <= static_cast<std::size_t>(levels_.values()); ++b) {
      fresh->buffers.push_back(begin);
      begin += (length_of(b, capacity) * levels_.items[b] + 63) / 64 * 64;
    }
    return fresh;
  } catch (...) {
    std::lock_guard<std::mutex> lock(mutex_);
    held_ -= bytes;
    throw;
  }
}

// Finds room that waits for a piece; under the mutex. Where pieces have turned out to need far more, it makes way.
bool Rooms::take_idle(std::unique_ptr<Room> &found) {
  if (rooms_.empty()) return false;
  const std::size_t wanted = bytes_of(capacity_), without = held_ - rooms_.back()->bytes;
  found = std::move(rooms_.back());
  rooms_.pop_back();
  if (found->bytes >= wanted / 2 || without + wanted > most()) return true;
  found->block.forget();
  found.reset();
  held_ = without;
  return false;
}

std::unique_ptr<Room> Rooms::take(const std::function<bool()> &has_turn) {
  std::vector<std::int64_t> capacity;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    freed_.wait(lock, [&] { return !rooms_.empty() || held_ + bytes_of(capacity_) <= most() || has_turn(); });
    std::unique_ptr<Room> found;
    if (take_idle(found)) return found;
    capacity = capacity_;
    held_ += bytes_of(capacity);
  }
  return new_room(capacity);
}

bool Rooms::is_enough(const Room &room, const std::vector<std::int64_t> &counts) const {
  bool enough = true;
  for (std::size_t level = 0; level < counts.size(); ++level) {
    if (levels_.above(level)) continue;
    if (counts[level] > call_.rooms[level]) return true;
    if (counts[level] > room.capacity[level]) enough = false;
  }
  return enough;
}

std::unique_ptr<Room> Rooms::larger(std::unique_ptr<Room> room, const std::vector<std::int64_t> &counts) {
  std::vector<std::int64_t> capacity = room->capacity, others = capacity;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (std::size_t level = 0; level < counts.size(); ++level) {
      const std::int64_t wanted = counts[level] + counts[level] / 4;
      capacity[level] = std::min(call_.rooms[level], std::max(capacity[level], wanted));
      // Others are alike, or this one is an exception.
      others[level] = std::min(capacity[level], 2 * capacity_[level]);
      others[level] = std::max(capacity_[level], others[level]);
    }
    if (4 * bytes_of(others) <= most()) capacity_ = others;
    const std::size_t without = held_ - room->bytes;
    if (without + bytes_of(capacity) > most()) {
      rooms_.push_back(std::move(room));
      freed_.notify_all();
      return nullptr;
    }
    held_ = without + bytes_of(capacity);
  }
  room->block.forget();
  room.reset();
  return new_room(capacity);
}

void Rooms::give_back(std::unique_ptr<Room> room) {
  if (!room) return;
  std::lock_guard<std::mutex> lock(mutex_);
  rooms_.push_back(std::move(room));
  freed_.notify_all();
}

void Rooms::wait(const std::function<bool()> &has_turn) {
  std::unique_lock<std::mutex> lock(mutex_);
  freed_.wait(lock, has_turn);
}

void Rooms::turned(const std::vector<std::int64_t> &placed) {
  placed_ = bytes_of(placed);
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
