// Levels and buffers as they come from Python, and go back.

#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <optional>
#include <tuple>
#include <vector>

#include "pack_plain.hpp"

namespace mlir_sparse {

namespace py = pybind11;

using LevelTuple = std::tuple<int, bool, bool, bool, int64_t, int64_t>;

inline std::vector<Level> to_levels(const std::vector<LevelTuple> &tuples) {
  std::vector<Level> levels;
  for (const auto &[kind, unique, ordered, soa, size, n] : tuples)
    levels.push_back({static_cast<LevelKind>(kind), unique, ordered, soa, size, n});
  return levels;
}

inline py::dtype width_dtype(int width) {
  return with_width(width, [](auto t) { return py::dtype::of<decltype(t)>(); });
}

inline IntBuffer to_buffer(const py::array &array) {
  return {static_cast<const char *>(array.data()), array.size(),
          array.size() > 1 ? array.strides(0) : array.itemsize(), static_cast<int>(array.itemsize() * 8)};
}

using OptionalArray = std::optional<py::array>;

inline std::vector<IntBuffer> to_buffers(const std::vector<OptionalArray> &arrays) {
  std::vector<IntBuffer> buffers;
  for (const auto &array : arrays)
    buffers.push_back(array ? to_buffer(*array) : IntBuffer());
  return buffers;
}

inline py::array new_array(const py::dtype &dtype, int64_t length, bool zeros = false) {
  if (!zeros) return py::array(dtype, length);  // to ask NumPy for one takes as long as to fill a small one
  return py::module_::import("numpy").attr("zeros")(length, dtype);
}

} // namespace mlir_sparse
