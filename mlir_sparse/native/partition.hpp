// The chunks of a call: their parts of operands and result, and the cuts between them. It does not depend on Python.
//
// A chunk is a call of the same function on parts of the arguments. Along an index variable, a dense array is cut by
// its address and its extent; storage with a dense level on top, by the begins of its rows in the buffers below;
// storage with a compressed level on top, by the two positions that bound the level. So no code is compiled for chunks.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mlir_sparse {

class Spreads;

// {allocated, aligned, offset, size, stride} of a memref of rank 1.
struct Descriptor1 {
  void *allocated;
  void *aligned;
  std::int64_t offset;
  std::int64_t size;
  std::int64_t stride;
};

// The storage of an operand: level sizes first in the specifier, and the bytes of an item of each buffer.
struct Storage {
  const std::vector<Descriptor1> *buffers;
  const std::vector<std::int64_t> *specifier;
  const std::vector<std::int64_t> *items;
  Spreads *spreads = nullptr;  // what is remembered of its chunks

  std::int64_t at(int buffer, std::int64_t place) const;
};

// Stores a number in an array of items of 1, 2, 4 or 8 bytes.
void write_unsigned(void *data, std::int64_t item, std::int64_t place, std::int64_t value);

// A dense array in C order; strides count elements.
struct Array {
  char *data;
  std::int64_t item;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;

  std::int64_t size() const;
};

// One argument of a call: an operand in level storage or, where `storage.buffers` is null, an array.
struct Argument {
  Storage storage{nullptr, nullptr, nullptr};
  Array array;
};

// The step from a number of positions in one level to that in the level below.
struct Step {
  enum Kind { kLevel, kTimes, kPositions, kSegments };  // size of a level, a constant, positions, begins and ends
  Kind kind;
  std::int64_t value;  // the level, the constant, the buffer
};

// A buffer whose begin is shifted in a chunk: by the number of positions after these steps, times a constant.
struct Shift {
  int buffer;
  int steps;
  std::int64_t times;
};

// An operand in level storage that is cut at its first level, or at a dense level below. The size of a level below is
// also the stride of the rows above, and stays; the result then bounds the loops of a chunk.
struct StoredPart {
  int parameter;
  bool compressed;         // compressed, its positions the first buffer, its coordinates the second
  std::int64_t block;  // elements of the variable to a coordinate of the level
  std::vector<Step> steps;
  std::vector<Shift> shifts;
  std::int64_t stride;  // from one coordinate of a compressed level to the next
  bool sorted;          // whether those ascend
  int level = 0;        // which level is cut
};

// Follows positions downwards: the number of positions, `steps` below, before one of `total` positions of the cut
// level.
std::int64_t before(const StoredPart &part, const Storage &storage, std::int64_t position, std::int64_t total,
                    int steps);

// Returns the number of the level's coordinates before a value of the variable.
inline std::int64_t rows_of(const StoredPart &part, std::int64_t coordinate) {
  return (coordinate + part.block - 1) / part.block;
}

// An axis of an array along which it is cut.
struct Axis {
  int parameter;
  int dim;
  std::int64_t coefficient;  // of the variable in the subscript
  bool plain;                // whether the variable is all of the subscript: the extent is then the chunk's
};

struct Partition {
  enum Outcome { kApart, kAdded, kJoined };
  int variable;
  std::int64_t unit;          // cuts are at multiples of it
  bool compressed;                // by stored coordinates; else by counted ones
  Outcome outcome;            // each chunk has a part of the result to itself, or all of it, or makes a part
  std::vector<int> factors;   // the variables that each entry met is met for
  std::vector<StoredPart> stored;
  std::vector<Axis> axes;
  bool fills = false;         // whether the function fills its result first
  std::string identity;       // what with: the bytes of an element
  std::string combine;        // how results of all chunks become one
  // What combines them where `combine` names no operator of ours: compiled code of two vectors, the second of which it
  // combines the first into, in MLIR's packed form.
  void (*combining)(void **) = nullptr;
  int reached = -1;           // the buffer of coordinates that are rows of the result written to; positions precede it
  std::int64_t weight = 1;    // how many entries without functions take as long as one

  // Whether an axis is cut along a sum with the variable as one term: the begin of a chunk's part is known, but the
  // other terms decide its end.
  bool is_cut_along_sum(std::size_t parameter) const;
};

// The bounds of chunks: along the variable, and in each compressed operand.
struct Cuts {
  std::vector<std::int64_t> coordinates;
  std::vector<std::vector<std::int64_t>> positions;  // for each of `stored`, empty where it is not compressed

  std::size_t chunks() const { return coordinates.empty() ? 0 : coordinates.size() - 1; }
};

// Returns cuts into at most `chunks` chunks with nearly equal numbers of stored entries.
Cuts cut(const Partition &partition, const std::vector<Argument> &arguments, std::int64_t extent, std::size_t chunks);

// Returns cuts into chunks that end at these fractions of the stored entries, ascending to kWhole.
constexpr std::int64_t kWhole = std::int64_t{1} << 40;
Cuts cut(const Partition &partition, const std::vector<Argument> &arguments, std::int64_t extent,
         const std::vector<std::int64_t> &shares);

// Returns the ends of equal chunks between two fractions.
std::vector<std::int64_t> even_shares(std::int64_t begin, std::int64_t end, std::size_t chunks);

// The arguments of one chunk, packed for compiled code.
class Packed {
 public:
  Packed() = default;
  Packed(const Packed &) = delete;
  Packed &operator=(const Packed &) = delete;

  // Adds arguments; `result` comes first where the function returns a memref.
  void add_returned(std::size_t rank);
  void add(const Storage &storage);
  void add(const Array &array);
  void add_buffer(void *data, std::int64_t size);

  // The level sizes and descriptors of the n-th storage added, which may be changed before the call.
  std::vector<std::int64_t> &specifier(std::size_t n) { return specifiers_[n]; }
  std::vector<Descriptor1> &buffers(std::size_t n) { return descriptors_[n]; }

  // Returns the arguments; nothing may be added after it.
  void **arguments();

 private:
  enum Kind { kStorage, kWords };
  std::vector<std::pair<Kind, std::size_t>> order_;
  std::vector<std::vector<std::int64_t>> words_;
  std::vector<std::vector<std::int64_t>> specifiers_;
  std::vector<std::vector<Descriptor1>> descriptors_;
  std::vector<void *> pointers_;
  std::vector<void *> packed_;
  bool returns_ = false;
};

// The parts of the arguments in one chunk, with memory for the positions of the cut.
class Chunk {
 public:
  Chunk(const Partition &partition, const std::vector<Argument> &arguments, const Cuts &cuts, std::size_t number);

  std::int64_t begin() const { return begin_; }
  std::int64_t end() const { return end_; }
  // The array of a parameter, cut; or another in its place, of its shape.
  Array array(std::size_t parameter) const { return cut(arguments_[parameter].array, parameter); }
  Array cut(Array array, std::size_t parameter) const;
  // Adds the storage of a parameter, cut, to a call.
  void add_storage(Packed &packed, std::size_t parameter, std::size_t number);

 private:
  const Partition &partition_;
  const std::vector<Argument> &arguments_;
  const Cuts &cuts_;
  std::size_t number_;
  std::int64_t begin_, end_;
  std::vector<std::int64_t> roots_;  // begin and end of each compressed level, in items of its positions' width
};

}  // namespace mlir_sparse
