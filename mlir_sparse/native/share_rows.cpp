// Compressed rows of other libraries as level buffers, checked and shared in one call.
//
// This is the common case of `validate`, for arrays that need no conversion: to look at each array in Python takes many
// times as long as to check a small matrix. For anything else it returns None, and Python converts, or says what is
// wrong.

#include "module.hpp"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <optional>
#include <tuple>

#include "pack_levels.hpp"
#include "validate_rows.hpp"

namespace mlir_sparse {
namespace {

using SharedRows = std::optional<std::tuple<py::array, py::array, py::array>>;

// Whether an object is an array of one axis, and no subclass, that compiled code reads as it is.
bool is_plain_vector(const py::handle &object) {
  if (Py_TYPE(object.ptr()) != py::detail::npy_api::get().PyArray_Type_) return false;
  const auto *array = py::detail::array_proxy(object.ptr());
  constexpr int wanted = py::array::c_style | py::detail::npy_api::NPY_ARRAY_ALIGNED_;
  return array->nd == 1 && (array->flags & wanted) == wanted;
}

bool holds_integers(const py::array &array) {
  const py::dtype dtype = array.dtype();
  return dtype.kind() == 'i' && dtype.itemsize() >= 4 && dtype.byteorder() == '=';
}

// Whether positions start with 0, never descend, and end with a number of entries.
template <class P>
bool counts_up_to(const P *positions, int64_t rows, int64_t entries) {
  if (positions[0] != 0 || static_cast<int64_t>(positions[rows]) != entries) return false;
  bool ascends = true;
  for (int64_t row = 0; row < rows; ++row)
    ascends &= positions[row] <= positions[row + 1];
  return ascends;
}

bool are_valid(const IntBuffer &positions, const IntBuffer &coordinates, int64_t rows, int64_t size) {
  const bool counted = with_wide(positions.width, [&](auto p) {
    return counts_up_to(reinterpret_cast<const decltype(p) *>(positions.data), rows, coordinates.length);
  });
  return counted && (coordinates.length == 0 || rows_in_order(rows, positions, coordinates, size));
}

// The array, or a view of it that nobody writes to: the structure of tensors never changes.
py::array read_only(py::array array) {
  if (!array.writeable()) return array;
  py::array view(array.dtype(), {array.shape(0)}, {array.strides(0)}, array.data(), array);
  py::detail::array_proxy(view.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return view;
}

// Positions, coordinates and values of `rows` compressed rows of `size` elements.
SharedRows share_rows(const py::object &positions, const py::object &coordinates, const py::object &values,
                      int64_t rows, int64_t size) {
  if (!is_plain_vector(positions) || !is_plain_vector(coordinates) || !is_plain_vector(values)) return std::nullopt;
  const auto pos = py::reinterpret_borrow<py::array>(positions), crd = py::reinterpret_borrow<py::array>(coordinates);
  auto stored = py::reinterpret_borrow<py::array>(values);
  if (!holds_integers(pos) || !holds_integers(crd) || rows < 0 || pos.shape(0) - 1 != rows) return std::nullopt;
  if (crd.shape(0) != stored.shape(0)) return std::nullopt;
  const IntBuffer counts = to_buffer(pos), places = to_buffer(crd);
  bool valid = false;
  {
    py::gil_scoped_release release;
    valid = are_valid(counts, places, rows, size);
  }
  if (!valid) return std::nullopt;
  return std::make_tuple(read_only(pos), read_only(crd), std::move(stored));
}

}  // namespace

void register_share_rows(py::module_ &module) {
  module.def("share_rows", &share_rows, py::arg("positions"), py::arg("coordinates"), py::arg("values"),
             py::arg("rows"), py::arg("size"),
             "Returns the arrays of compressed rows, checked, the first two read-only; None where they do not fit.");
}

}  // namespace mlir_sparse
