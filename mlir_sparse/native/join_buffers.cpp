#include "join_buffers.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "threads.hpp"

namespace mlir_sparse {
namespace {

// Chunk buffers may use this fraction of the bytes of operands and placed entries, or, if that is more, a number of
// bytes for each thread and each entry of the least worthwhile chunk: 2 MiB a thread.
constexpr std::size_t kPart = 6;
constexpr std::size_t kOfThread = 64;
// The initial capacity of a chunk buffer in entries: more than its share of the upper bound, which may be far too
// large. A chunk with more entries is computed again, in a larger buffer or in place.
constexpr std::int64_t kMostCapacity = std::int64_t{1} << 17;
constexpr std::int64_t kLeastCapacity = std::int64_t{1} << 12;
constexpr std::int64_t kShares = 2;

// The bytes of all operands, which may be repeated.
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

ChunkBufferPool::ChunkBufferPool(const JoinedCall &call, const Cuts &cuts, std::mutex &mutex)
    : call_(call),
      levels_(call.levels),
      mutex_(mutex),
      capacity_(call.capacities),
      least_(kOfThread * chunk_work() * thread_limit()),
      operands_(bytes_of_operands(call.arguments)) {
  for (std::size_t chunk = 0; chunk < cuts.chunks(); ++chunk)
    most_rows_ = std::max(most_rows_, cuts.coordinates[chunk + 1] - cuts.coordinates[chunk]);
  most_rows_ *= call.inner();
  const auto chunks = static_cast<std::int64_t>(cuts.chunks() + 1);
  for (std::int64_t &most : capacity_) most = std::min({most, kMostCapacity, kLeastCapacity + most / chunks * kShares});
}

std::int64_t ChunkBufferPool::length_of(std::size_t buffer, const std::vector<std::int64_t> &capacities) const {
  for (std::size_t level = 0; level < capacities.size(); ++level) {
    if (levels_.positions[level] == static_cast<int>(buffer)) {
      if (level == 0) return 2;
      return static_cast<int>(level) == levels_.depth ? most_rows_ + 1 : capacities[level - 1] + 2;
    }
    if (levels_.coordinates[level] == static_cast<int>(buffer))
      return (capacities[level] + 1) * levels_.interleaved(level);
  }
  return capacities.back() + 1;
}

std::size_t ChunkBufferPool::bytes_of(const std::vector<std::int64_t> &entries) const {
  std::int64_t bytes = 0;
  for (std::size_t b = 0; b <= static_cast<std::size_t>(levels_.values()); ++b)
    bytes += (length_of(b, entries) * levels_.items[b] + 63) / 64 * 64;
  return static_cast<std::size_t>(bytes);
}

// The bytes that all chunk buffers may use; call it under the mutex.
std::size_t ChunkBufferPool::most() const { return std::max(least_, (operands_ + placed_) / kPart); }

// Allocates a buffer whose bytes are counted already.
std::unique_ptr<ChunkBuffers> ChunkBufferPool::new_buffers(const std::vector<std::int64_t> &capacity) {
  const std::size_t bytes = bytes_of(capacity);
  try {
    auto fresh = std::make_unique<ChunkBuffers>();
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

// Takes an idle buffer; call it under the mutex. Idle buffers that have turned out to be far too small are freed.
bool ChunkBufferPool::take_idle(std::unique_ptr<ChunkBuffers> &found) {
  if (pool_.empty()) return false;
  const std::size_t wanted = bytes_of(capacity_), without = held_ - pool_.back()->bytes;
  found = std::move(pool_.back());
  pool_.pop_back();
  if (found->bytes >= wanted / 2 || without + wanted > most()) return true;
  found->block.forget();
  found.reset();
  held_ = without;
  return false;
}

std::unique_ptr<ChunkBuffers> ChunkBufferPool::take(const std::function<bool()> &has_turn) {
  std::vector<std::int64_t> capacity;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    freed_.wait(lock, [&] { return !pool_.empty() || held_ + bytes_of(capacity_) <= most() || has_turn(); });
    std::unique_ptr<ChunkBuffers> found;
    if (take_idle(found)) return found;
    capacity = capacity_;
    held_ += bytes_of(capacity);
  }
  return new_buffers(capacity);
}

bool ChunkBufferPool::is_enough(const ChunkBuffers &space, const std::vector<std::int64_t> &counts) const {
  bool enough = true;
  for (std::size_t level = 0; level < counts.size(); ++level) {
    if (levels_.above(level)) continue;
    if (counts[level] > call_.capacities[level]) return true;
    if (counts[level] > space.capacity[level]) enough = false;
  }
  return enough;
}

std::unique_ptr<ChunkBuffers> ChunkBufferPool::larger(std::unique_ptr<ChunkBuffers> space,
                                                      const std::vector<std::int64_t> &counts) {
  std::vector<std::int64_t> capacity = space->capacity, others = capacity;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (std::size_t level = 0; level < counts.size(); ++level) {
      const std::int64_t wanted = counts[level] + counts[level] / 4;
      capacity[level] = std::min(call_.capacities[level], std::max(capacity[level], wanted));
      // Other chunks are similar, or this one is an exception.
      others[level] = std::min(capacity[level], 2 * capacity_[level]);
      others[level] = std::max(capacity_[level], others[level]);
    }
    if (4 * bytes_of(others) <= most()) capacity_ = others;
    const std::size_t without = held_ - space->bytes;
    if (without + bytes_of(capacity) > most()) {
      pool_.push_back(std::move(space));
      freed_.notify_all();
      return nullptr;
    }
    held_ = without + bytes_of(capacity);
  }
  space->block.forget();
  space.reset();
  return new_buffers(capacity);
}

void ChunkBufferPool::give_back(std::unique_ptr<ChunkBuffers> space) {
  if (!space) return;
  std::lock_guard<std::mutex> lock(mutex_);
  pool_.push_back(std::move(space));
  freed_.notify_all();
}

void ChunkBufferPool::wait(const std::function<bool()> &has_turn) {
  std::unique_lock<std::mutex> lock(mutex_);
  freed_.wait(lock, has_turn);
}

void ChunkBufferPool::turned(const std::vector<std::int64_t> &placed) {
  placed_ = bytes_of(placed);
  freed_.notify_all();
}

std::vector<Block> ChunkBufferPool::take_workspace() {
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

void ChunkBufferPool::give_back(std::vector<Block> workspace) {
  std::lock_guard<std::mutex> lock(mutex_);
  workspaces_.push_back(std::move(workspace));
}

}  // namespace mlir_sparse
