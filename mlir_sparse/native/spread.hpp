// Which rows of a result the pieces of a call write to, where stored coordinates say. Nothing here knows of Python.

#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace mlir_sparse {

struct Argument;
struct Cuts;
struct Partition;

// Rows of the result that a piece writes to: from begin on, before end. From the coordinate `apart` of the piece's own
// on it writes to none that an earlier piece writes to; `shared` entries lie before.
struct Spread {
  std::int64_t begin, end, apart, shared;
};

// What was found of the pieces of an operand, whose structure never changes: coordinates are read once for all calls.
class Spreads {
 public:
  using Key = std::vector<std::int64_t>;
  using Found = std::shared_ptr<const std::vector<Spread>>;

  Found find(const Key &key);
  void keep(Key key, Found found);

 private:
  std::mutex mutex_;
  std::deque<std::pair<Key, Found>> kept_;
};

// Returns what each piece writes to; null where coordinates do not say.
Spreads::Found spreads_of(const Partition &partition, const std::vector<Argument> &arguments, const Cuts &cuts);

}  // namespace mlir_sparse
