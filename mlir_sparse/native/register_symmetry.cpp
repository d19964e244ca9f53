// Whether matrices are symmetric, and what holds of all values of an array, from Python.

#include "all_values.hpp"
#include "module.hpp"
#include "pack_levels.hpp"
#include "symmetry.hpp"

namespace mlir_sparse {
namespace {

bool symmetric(const py::array &positions, const py::array &coordinates, const py::array &values) {
  const IntBuffer begins = to_buffer(positions), places = to_buffer(coordinates);
  const bool contiguous = begins.contiguous() && places.contiguous() && (values.flags() & py::array::c_style) != 0;
  if (begins.length < 1 || values.size() != places.length || !contiguous)
    throw py::value_error("expected contiguous begins, one or more, and a value for each coordinate");
  const auto *data = static_cast<const char *>(values.data());
  py::gil_scoped_release release;
  return is_symmetric(begins, places, data, values.itemsize());
}

bool equal(const py::array &values) {
  if ((values.flags() & py::array::c_style) == 0) throw py::value_error("expected contiguous values");
  const auto *data = static_cast<const char *>(values.data());
  const auto count = values.size(), itemsize = values.itemsize();
  py::gil_scoped_release release;
  return are_equal(data, count, itemsize);
}

bool finite(const py::array &values) {
  const bool plain = (values.flags() & py::array::c_style) != 0 && values.attr("flags").attr("aligned").cast<bool>();
  const auto count = values.size(), itemsize = values.itemsize();
  if (!plain || values.dtype().kind() != 'f' || (itemsize != 4 && itemsize != 8))
    throw py::value_error("expected contiguous and aligned values of f32 or f64");
  const auto *data = static_cast<const char *>(values.data());
  py::gil_scoped_release release;
  return are_finite(data, count, itemsize);
}

}  // namespace

void register_symmetry(py::module_ &module) {
  module.def("is_symmetric", &symmetric, py::arg("positions"), py::arg("coordinates"), py::arg("values"),
             "Returns whether a square matrix of rows of ascending coordinates, in 32 or 64 bits, is its own transpose, "
             "bit for bit.");
  module.def("are_equal", &equal, py::arg("values"),
             "Returns whether the values of a contiguous array all have the same bits; True of none.");
  module.def("are_finite", &finite, py::arg("values"),
             "Returns whether no value of a contiguous array of f32 or f64 is an infinity or NaN; True of none.");
}

}  // namespace mlir_sparse
