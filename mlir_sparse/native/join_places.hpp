// The places of entries in a sparse result that grows in two directions from the middle of its buffers.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "join.hpp"
#include "join_buffers.hpp"

namespace mlir_sparse {

// A placed chunk: the begin of its entries in each level, relative to the middle, and their number.
struct Placed {
  const ChunkBuffers &space;
  const std::vector<std::int64_t> &counts, &offsets;
  std::int64_t begin, end;  // its coordinates
};

class Places {
 public:
  explicit Places(const JoinedCall &call) : call_(call), levels_(call.levels), inner_(call.inner()) {}

  // The number of places before the middle.
  std::int64_t before(std::size_t level) const {
    return call_.both && !levels_.above(level) ? call_.capacities[level] + 1 : 0;
  }

  // Whether the buffers have these places.
  bool is_within(const std::vector<std::int64_t> &first) const;
  // The buffers of a chunk that is computed in place: it begins at a coordinate, and in each level at a place. If the
  // first level is compressed, its positions go to `root`, as only one chunk may write those of the result.
  std::vector<char *> buffers(std::int64_t begin, const std::vector<std::int64_t> &first, void *root) const;
  // Renumbers coordinates of rows that start at the chunk's first row to those of the result.
  void renumber(std::int64_t place, std::int64_t count, std::int64_t begin) const;

  // The first row of a chunk in a dense level; 0 in a compressed one, whose positions are relative.
  std::int64_t first_of(std::int64_t begin) const { return call_.partition.compressed ? begin * inner_ : 0; }

  // Copies a chunk, whose buffer may overlap its place from below.
  void copy(const Placed &chunk) const;

  // Makes positions, which are relative to the middle, relative to the first entry, given the number before the middle.
  void settle(const std::vector<std::int64_t> &counts, const std::vector<std::int64_t> &downwards) const;

 private:
  char *at(std::size_t buffer, std::int64_t place) const;
  char *values_at(std::int64_t place) const;
  char *coordinates_at(std::size_t level, std::int64_t place) const;
  char *positions_at(std::size_t level, std::int64_t place) const;
  bool renumbered(std::int64_t begin) const;
  void copy_positions(const ChunkBuffers &space, std::size_t level, std::int64_t first, std::int64_t count,
                      std::int64_t by) const;
  void copy_coordinates(const Placed &chunk, std::size_t level) const;

  const JoinedCall &call_;
  const ResultLevels &levels_;
  std::int64_t inner_;
};

}  // namespace mlir_sparse
