// Where pieces of a sparse result are computed that have no place in it yet, and what all pieces work in.

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

// Buffers of one piece's entries, in one block.
struct Room {
  std::vector<std::int64_t> capacity;  // entries of each level
  std::size_t bytes;
  Block block;
  std::vector<char *> buffers;
};

// All rooms together take no more than a part of what operands and the entries that have their place take. Who finds
// none waits until there is more of those, or until its piece has its turn: two of them at most, one in each direction,
// take room beyond that, of the size that all begin with or a fourth of the part.
class Rooms {
 public:
  // The mutex is that of those who say whose turn it is.
  Rooms(const JoinedCall &call, const Cuts &cuts, std::mutex &mutex);

  // How many places a buffer of a piece has: one more than there is room for, where what is beyond it goes.
  std::int64_t length_of(std::size_t buffer, const std::vector<std::int64_t> &rooms) const;

  // Returns room, after a while where much of it waits to be copied; at once where others wait for the piece itself,
  // which is asked under the mutex.
  std::unique_ptr<Room> take(const std::function<bool()> &has_turn);
  // Whether there is room for so many entries, or not even in the whole result.
  bool is_enough(const Room &room, const std::vector<std::int64_t> &counts) const;
  // Returns room for so many entries in the place of another; null where that would be too much.
  std::unique_ptr<Room> larger(std::unique_ptr<Room> room, const std::vector<std::int64_t> &counts);
  void give_back(std::unique_ptr<Room> room);
  // Returns when a piece has its turn.
  void wait(const std::function<bool()> &has_turn);
  // Says which entries have their place, and that turns have changed; under the mutex.
  void turned(const std::vector<std::int64_t> &placed);

  // Workspaces stay empty between the pieces that use them.
  std::vector<Block> take_workspace();
  void give_back(std::vector<Block> workspace);

 private:
  std::unique_ptr<Room> new_room(const std::vector<std::int64_t> &capacity);
  std::size_t bytes_of(const std::vector<std::int64_t> &entries) const;
  std::size_t most() const;
  bool take_idle(std::unique_ptr<Room> &found);

  const JoinedCall &call_;
  const ResultLevels &levels_;
  std::mutex &mutex_;
  std::condition_variable freed_;
  std::int64_t most_rows_ = 0;  // of a piece, where levels above are dense
  std::vector<std::int64_t> capacity_;
  std::size_t least_, operands_ = 0, placed_ = 0, held_ = 0;  // bytes: of what rooms may take, and do
  std::vector<std::unique_ptr<Room>> rooms_;
  std::vector<std::vector<Block>> workspaces_;
};

}  // namespace mlir_sparse
