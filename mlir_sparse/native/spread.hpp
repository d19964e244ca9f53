// The rows of a result that the chunks of a call write, if stored coordinates decide. It does not depend on Python.

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

// The range of rows that a chunk writes. From its coordinate `apart` on it writes no row of an earlier chunk; `shared`
// entries are before that coordinate.
struct Spread {
  std::int64_t begin, end, apart, shared;
};

// A cache of an operand's spreads: its structure never changes, so coordinates are read once for all calls.
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

// Returns the rows that each chunk writes; null if coordinates do not decide.
Spreads::Found spreads_of(const Partition &partition, const std::vector<Argument> &arguments, const Cuts &cuts);

}  // namespace mlir_sparse
