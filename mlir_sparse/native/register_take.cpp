// Rows and segments taken at places, from Python.

#include <pybind11/numpy.h>

#include "module.hpp"
#include "pack_levels.hpp"
#include "take.hpp"

namespace mlir_sparse {
namespace {

Places to_places(const py::array &places) {
  if (places.dtype().kind() != 'i' || !(places.flags() & py::array::c_style))
    throw py::type_error("expected contiguous places, of signed integers");
  return {static_cast<const char *>(places.data()), places.size(), static_cast<int>(places.itemsize() * 8)};
}

void check_contiguous(const py::array &array) {
  if (!(array.flags() & py::array::c_style)) throw py::value_error("expected a contiguous array");
}

int64_t rows_at(const py::array &source, const py::array &places, py::array &out) {
  check_contiguous(source);
  check_contiguous(out);
  const Places at = to_places(places);
  const int64_t count = source.ndim() > 0 ? source.shape(0) : 0;
  int64_t bytes = source.itemsize();
  for (py::ssize_t axis = 1; axis < source.ndim(); ++axis) bytes *= source.shape(axis);
  if (source.ndim() < 1 || out.nbytes() != at.length * bytes)
    throw py::value_error("expected an array of rows, and room for one at each place");
  const auto *from = static_cast<const char *>(source.data());
  auto *to = static_cast<char *>(out.mutable_data());
  py::gil_scoped_release release;
  return take_rows(from, count, bytes, at, to);
}

void segments_at(const py::array &source, const py::array &begins, const py::array &places,
              const py::array_t<int64_t> &starts, py::array &out) {
  check_contiguous(source);
  check_contiguous(out);
  check_contiguous(starts);
  const Places at = to_places(places);
  const IntBuffer buffer = to_buffer(begins);
  if (starts.size() != at.length + 1 || out.itemsize() != source.itemsize() ||
      out.size() != starts.data()[at.length])
    throw py::value_error("expected the starts of the segments, and room for them");
  const auto *from = static_cast<const char *>(source.data());
  auto *to = static_cast<char *>(out.mutable_data());
  const int64_t bytes = source.itemsize(), *first = starts.data();
  py::gil_scoped_release release;
  take_segments(from, bytes, buffer, at, first, to);
}

}  // namespace

void register_take(py::module_ &module) {
  module.def("take_rows", &rows_at, py::arg("source"), py::arg("places"), py::arg("out"),
             "Writes the rows of an array at places; returns the number of the first place that is no row, else -1.");
  module.def("take_segments", &segments_at, py::arg("source"), py::arg("begins"), py::arg("places"), py::arg("starts"),
             py::arg("out"), "Writes the segments of a buffer at places, one after the other.");
}

}  // namespace mlir_sparse
