// The level storage of a tensor as an argument of compiled functions.

#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <pybind11/numpy.h>

#include "partition.hpp"
#include "spread.hpp"

namespace mlir_sparse {

// The bytes an array covers, for overlap checks; contiguous arrays only.
struct Range {
  const char *begin;
  const char *end;
  bool overlaps(const Range &other) const { return begin < other.end && other.begin < end; }
};

inline Range range_of(const pybind11::array &array) {
  const char *data = static_cast<const char *>(array.data());
  return {data, data + array.nbytes()};
}

// The level storage of one tensor as an argument: built once a tensor, shared by all calls.
class Operand {
 public:
  Operand(std::int64_t type_id, std::vector<std::int64_t> shape, std::vector<std::int64_t> level_sizes,
          std::vector<pybind11::array> buffers, bool padded)
      : type_id_(type_id),
        padded_(padded),
        shape_(std::move(shape)),
        specifier_(std::move(level_sizes)),
        buffers_(std::move(buffers)) {
    descriptors_.reserve(buffers_.size());
    for (const pybind11::array &buffer : buffers_) {
      constexpr int wanted = pybind11::array::c_style | pybind11::detail::npy_api::NPY_ARRAY_ALIGNED_;
      if (buffer.ndim() != 1 || (buffer.flags() & wanted) != wanted)
        throw pybind11::value_error("expected contiguous, aligned buffers of rank 1");
      void *data = const_cast<void *>(buffer.data());
      const std::int64_t size = buffer.shape(0);
      descriptors_.push_back({data, data, 0, size, 1});
      specifier_.push_back(size);
      items_.push_back(buffer.itemsize());
      ranges_.push_back(range_of(buffer));
    }
    for (Descriptor1 &descriptor : descriptors_) pointers_.push_back(&descriptor);
  }
  Operand(const Operand &) = delete;
  Operand &operator=(const Operand &) = delete;

  std::int64_t type_id() const { return type_id_; }
  // Whether the shape is rounded up to whole blocks.
  bool padded() const { return padded_; }
  const std::vector<std::int64_t> &shape() const { return shape_; }
  const std::vector<Range> &ranges() const { return ranges_; }

  // The number of stored values.
  std::int64_t entries() const { return descriptors_.back().size; }
  Storage storage() const { return {&descriptors_, &specifier_, &items_, &spreads_}; }

  template <typename List>
  void append_to(List &packed) {
    for (Descriptor1 *&pointer : pointers_) packed.push_back(&pointer);
    packed.push_back(specifier_.data());
  }

 private:
  std::int64_t type_id_;
  bool padded_;
  std::vector<std::int64_t> shape_;
  std::vector<std::int64_t> specifier_;  // level sizes, then the used length of every buffer
  std::vector<pybind11::array> buffers_;
  std::vector<std::int64_t> items_;  // bytes of an item of every buffer
  std::vector<Descriptor1> descriptors_;
  std::vector<Descriptor1 *> pointers_;
  std::vector<Range> ranges_;
  mutable Spreads spreads_;
};

}  // namespace mlir_sparse
