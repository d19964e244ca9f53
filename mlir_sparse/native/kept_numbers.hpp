// An array of 64-bit integers whose pages are kept for the next one. It does not depend on Python.
#pragma once

#include <cstddef>
#include <cstdint>

#include "block.hpp"
#include "pack_plain.hpp"

namespace mlir_sparse {

// What it holds is not set. Fresh pages would take longer to get than most of what is done with them.
class KeptNumbers {
public:
  KeptNumbers() = default;
  explicit KeptNumbers(std::int64_t length)
      : block_(static_cast<std::size_t>(length) * sizeof(std::int64_t), false), length_(length) {}

  std::int64_t *data() { return reinterpret_cast<std::int64_t *>(block_.data()); }
  IntBuffer buffer() const { return {block_.data(), length_, sizeof(std::int64_t), 64}; }

private:
  Block block_;
  std::int64_t length_ = 0;
};

}  // namespace mlir_sparse
