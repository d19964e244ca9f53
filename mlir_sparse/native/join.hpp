// Sparse results computed in chunks, which follow one another in the buffers; in place if their begin is known.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "partition.hpp"
#include "chunks.hpp"

namespace mlir_sparse {

// The buffers of a sparse result: dense levels, then levels with coordinates.
struct ResultLevels {
  int depth;                     // how many dense levels lead
  bool compressed;                   // whether each entry has a coordinate of every level
  std::vector<int> positions;    // the buffer of each level, -1 where it has none
  std::vector<int> coordinates;  // likewise; the same for all levels of an array of structures
  std::vector<std::int64_t> items;  // the bytes of an item of every buffer, those of the workspace after the values

  int rank() const { return static_cast<int>(positions.size()); }
  int values() const;  // the buffer of values
  bool above(std::size_t level) const { return static_cast<int>(level) < depth; }
  // How many coordinates an entry has in the buffer of a level.
  std::int64_t interleaved(std::size_t level) const;
};

// A call with a sparse result.
struct JoinedCall {
  Function function;
  const Partition &partition;
  const std::vector<Argument> &arguments;
  std::int64_t extent;  // of the variable that is cut
  const ResultLevels &levels;
  std::vector<void *> buffers;          // positions, coordinates, values, with the capacity for...
  std::vector<std::int64_t> capacities;      // so many entries of each level
  bool both;                            // and for one more before those: entries may grow in two directions
  std::vector<std::int64_t> sizes;      // of each level
  std::vector<std::int64_t> workspace;  // the lengths of its buffers
  std::int64_t limit;                   // with more entries than that the result is of no use

  std::int64_t inner() const;  // how many places the dense levels below the first have for each of its own
};

// The number of entries of each level, which exceeds the capacity if the buffers must not be used, and the first entry
// in the buffers. Positions of dense rows begin with the first row.
struct Joined {
  std::vector<std::int64_t> counts, begins;
};

// Calls in at most this number of chunks.
Joined join_chunks(const JoinedCall &call, std::size_t chunks, const std::function<void()> &goes_on);

}  // namespace mlir_sparse
