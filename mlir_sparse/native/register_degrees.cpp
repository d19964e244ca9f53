// Degrees of buffers of coordinates and positions, from Python.

#include <optional>
#include <tuple>

#include <pybind11/stl.h>

#include "degrees.hpp"
#include "module.hpp"
#include "pack_levels.hpp"

namespace mlir_sparse {
namespace {

using DegreeTuple = std::tuple<double, double, double>;

DegreeTuple without_last(const Degrees &found) { return {found.distinct, found.largest, found.squares}; }

DegreeTuple segments(const py::array &begins, const OptionalArray &above) {
  const IntBuffer buffer = to_buffer(begins), outer = above ? to_buffer(*above) : IntBuffer();
  if (buffer.length < 1 || (above && outer.length < 1) || !buffer.contiguous())
    throw py::value_error("expected contiguous begins, one or more");
  py::gil_scoped_release release;
  return without_last(above ? degrees_of_segments(buffer, outer) : degrees_of_segments(buffer));
}

DegreeTuple runs(const py::array &coordinates) {
  const IntBuffer buffer = to_buffer(coordinates);
  py::gil_scoped_release release;
  return without_last(degrees_of_runs(buffer));
}

std::tuple<double, double, double, double> count(const py::array &coordinates, int64_t extent,
                                                 const OptionalArray &begins) {
  const IntBuffer buffer = to_buffer(coordinates);
  const IntBuffer weights = begins ? to_buffer(*begins) : IntBuffer();
  if (begins && (weights.length != buffer.length + 1 || !weights.contiguous()))
    throw py::value_error("expected contiguous begins, one more than coordinates");
  py::gil_scoped_release release;
  const Degrees found = begins ? count_degrees(buffer, extent, weights) : count_degrees(buffer, extent);
  return {found.distinct, found.largest, found.squares, found.last};
}

}  // namespace

void register_degrees(py::module_ &module) {
  module.def("segment_degrees", &segments, py::arg("begins"), py::arg("above") = py::none(),
             "Returns how many differences of neighbours in begins, or in begins[above], are positive, the largest, "
             "and the sum of their squares.");
  module.def("run_degrees", &runs, py::arg("coordinates"),
             "Returns the number of runs of equal coordinates, the longest, and the sum of squared lengths.");
  module.def("count_degrees", &count, py::arg("coordinates"), py::arg("extent"), py::arg("begins") = py::none(),
             "Returns distinct coordinates, the largest degree, the sum of squares, and the last coordinate's degree.");
}

}  // namespace mlir_sparse
