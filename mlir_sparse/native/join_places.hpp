// Where entries of a sparse result stand that grow in two directions from the middle of its buffers.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "join.hpp"
#include "join_rooms.hpp"

namespace mlir_sparse {

// A piece that has its place: where from the middle its entries of each level begin, and how many there are.
struct Placed {
  const Room &room;
  const std::vector<std::int64_t> &counts, &offsets;
  std::int64_t begin, end;  // its coordinates
};

class Places {
 public:
  explicit Places(const JoinedCall &call) : call_(call), levels_(call.levels), inner_(call.inner()) {}

  // How many places lie before the middle.
  std::int64_t before(std::size_t level) const {
    return call_.both && !levels_.above(level) ? call_.rooms[level] + 1 : 0;
  }

  // Whether there are such places.
  bool is_within(const std::vector<std::int64_t> &first) const;
  // The buffers of a piece from a coordinate on that is computed where it is to stay, those of each level from a place
  // on. Where the first level lists its coordinates, its positions are written to `root`: no more than one piece may
  // write those of the result.
  std::vector<char *> buffers(std::int64_t begin, const std::vector<std::int64_t> &first, void *root) const;
  // Coordinates of rows that count from a piece's first become those of the result.
  void renumber(std::int64_t place, std::int64_t count, std::int64_t begin) const;

  // Rows by number or, where lists say which there are, by coordinate: then positions count from the first of them.
  std::int64_t first_of(std::int64_t begin) const { return call_.partition.listed ? begin * inner_ : 0; }

  // Copies a piece, which may overlap with its place from below.
  void copy(const Placed &piece) const;

  // Positions count from the middle so far: those of all entries become counts from the first, so many of which lie
  // before the middle.
  void settle(const std::vector<std::int64_t> &counts, const std::vector<std::int64_t> &downwards) const;

 private:
  char *at(std::size_t buffer, std::int64_t place) const;
  char *values_at(std::int64_t place) const;
  char *coordinates_at(std::size_t level, std::int64_t place) const;
  char *positions_at(std::size_t level, std::int64_t place) const;
  bool renumbered(std::int64_t begin) const;
  void copy_positions(const Room &room, std::size_t level, std::int64_t first, std::int64_t count,
                      std::int64_t by) const;
  void copy_coordinates(const Placed &piece, std::size_t level) const;

  const JoinedCall &call_;
  const ResultLevels &levels_;
  std::int64_t inner_;
};

}  // namespace mlir_sparse
