// Buffers for chunks of a sparse result that have no place in it yet, and the workspaces of all chunks.

#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "block.hpp"
#include "join.hpp"

namespace mlir_sparse {

// The buffers of one chunk's entries, in one block.
struct ChunkBuffers {
  std::vector<std::int64_t> capacity;  // entries of each level
  std::size_t bytes;
  Block block;
  std::vector<char *> buffers;
};

// All buffers together use no more than a fraction of the bytes of operands and placed entries. A thread without a
// buffer waits until there are more placed entries, or until its chunk's turn comes. At most two chunks, one in each
// direction, may exceed the bound then, with the initial size or a fourth of the bound.
class ChunkBufferPool {
 public:
  // `mutex` guards the turns.
  ChunkBufferPool(const JoinedCall &call, const Cuts &cuts, std::mutex &mutex);

  // The length of a chunk's buffer: the capacity plus one place, which all further entries are written to.
  std::int64_t length_of(std::size_t buffer, const std::vector<std::int64_t> &capacities) const;

  // Returns a buffer. It waits while many buffers wait to be copied, unless `has_turn`, called under the mutex, holds.
  std::unique_ptr<ChunkBuffers> take(const std::function<bool()> &has_turn);
  // Whether the capacity suffices, or even the whole result's would not.
  bool is_enough(const ChunkBuffers &space, const std::vector<std::int64_t> &counts) const;
  // Returns a larger buffer in place of another; null if that would exceed the bound.
  std::unique_ptr<ChunkBuffers> larger(std::unique_ptr<ChunkBuffers> space, const std::vector<std::int64_t> &counts);
  void give_back(std::unique_ptr<ChunkBuffers> space);
  // Waits for the turn of a chunk.
  void wait(const std::function<bool()> &has_turn);
  // Reports the placed entries, and that turns have changed; call it under the mutex.
  void turned(const std::vector<std::int64_t> &placed);

  // Workspaces are all zero between chunks.
  std::vector<Block> take_workspace();
  void give_back(std::vector<Block> workspace);

 private:
  std::unique_ptr<ChunkBuffers> new_buffers(const std::vector<std::int64_t> &capacity);
  std::size_t bytes_of(const std::vector<std::int64_t> &entries) const;
  std::size_t most() const;
  bool take_idle(std::unique_ptr<ChunkBuffers> &found);

  const JoinedCall &call_;
  const ResultLevels &levels_;
  std::mutex &mutex_;
  std::condition_variable freed_;
  std::int64_t most_rows_ = 0;  // of a chunk, where levels above are dense
  std::vector<std::int64_t> capacity_;
  std::size_t least_, operands_ = 0, placed_ = 0, held_ = 0;  // bytes: of what capacities may take, and do
  std::vector<std::unique_ptr<ChunkBuffers>> pool_;
  std::vector<std::vector<Block>> workspaces_;
};

}  // namespace mlir_sparse
