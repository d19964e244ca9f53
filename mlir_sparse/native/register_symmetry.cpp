// Whether matrices are symmetric, and what holds of all values of an array, from Python.

#include <vector>

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

bool is_plain(const py::array &values) {
  return (values.flags() & py::array::c_style) != 0 && values.attr("flags").attr("aligned").cast<bool>();
}

py::object nonzero(const py::array &values, std::size_t limit) {
  const char kind = values.dtype().kind();
  const auto count = values.size(), itemsize = values.itemsize();
  const bool has_words = itemsize == 1 || itemsize == 2 || itemsize == 4 || itemsize == 8;
  if (!is_plain(values) || !has_words || (kind != 'f' && kind != 'i' && kind != 'u' && kind != 'b'))
    throw py::value_error("expected contiguous and aligned integers, or floating-point numbers, of 1 to 8 bytes");
  const auto *data = static_cast<const char *>(values.data());
  std::vector<std::int64_t> found;
  {
    py::gil_scoped_release release;
    if (!nonzero_places(data, count, itemsize, kind == 'f', limit, found)) return py::none();
  }
  return py::array_t<std::int64_t>(static_cast<py::ssize_t>(found.size()), found.data());
}

bool finite(const py::array &values) {
  const bool plain = is_plain(values);
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
  module.def("nonzero_places", &nonzero, py::arg("values"), py::arg("limit"),
             "Returns the places of the elements of a contiguous array that are not 0, in order; None for more than "
             "`limit`.");
  module.def("are_finite", &finite, py::arg("values"),
             "Returns whether no value of a contiguous array of f32 or f64 is an infinity or NaN; True of none.");
}

}  // namespace mlir_sparse
