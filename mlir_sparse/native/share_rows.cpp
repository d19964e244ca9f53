// Compressed rows and lists of entries of other libraries as level buffers, checked and shared in one call.
//
// These are the common cases of `validate`, for arrays that need no conversion: to look at each array in Python takes
// many times as long as to check a small matrix. For anything else they return None, and Python converts, or says what
// is wrong.

#include "module.hpp"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include "pack_levels.hpp"
#include "validate_entries.hpp"
#include "validate_rows.hpp"

namespace mlir_sparse {
namespace {

using SharedRows = std::optional<std::tuple<py::array, py::array, py::array>>;
using SharedEntries = std::optional<std::tuple<py::array, py::tuple, py::object, py::array>>;

// Whether an object is an array of some axes, and no subclass, that compiled code reads as it is.
bool is_plain(const py::handle &object, int axes) {
  if (Py_TYPE(object.ptr()) != py::detail::npy_api::get().PyArray_Type_) return false;
  const auto *array = py::detail::array_proxy(object.ptr());
  constexpr int wanted = py::array::c_style | py::detail::npy_api::NPY_ARRAY_ALIGNED_;
  return array->nd == axes && (array->flags & wanted) == wanted;
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

// A view of `length` elements, `step` apart, of an array, that nobody writes to: the structure of tensors never changes.
py::array view_of(const py::array &array, py::ssize_t first, py::ssize_t length, py::ssize_t step) {
  const py::ssize_t bytes = array.itemsize();
  py::array view(array.dtype(), {length}, {step * bytes}, static_cast<const char *>(array.data()) + first * bytes, array);
  py::detail::array_proxy(view.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return view;
}

// The array itself, or such a view.
py::array read_only(py::array array) {
  return array.writeable() ? view_of(array, 0, array.shape(0), 1) : array;
}

// Positions, coordinates and values of `rows` compressed rows of `size` elements, or blocks of `area` elements each.
SharedRows share_rows(const py::object &positions, const py::object &coordinates, const py::object &values,
                      int64_t rows, int64_t size, int64_t area) {
  if (!is_plain(positions, 1) || !is_plain(coordinates, 1) || !is_plain(values, 1)) return std::nullopt;
  const auto pos = py::reinterpret_borrow<py::array>(positions), crd = py::reinterpret_borrow<py::array>(coordinates);
  auto stored = py::reinterpret_borrow<py::array>(values);
  if (!holds_integers(pos) || !holds_integers(crd) || rows < 0 || size < 0 || pos.shape(0) - 1 != rows)
    return std::nullopt;
  if (area < 1 || stored.shape(0) % area != 0 || crd.shape(0) != stored.shape(0) / area) return std::nullopt;
  const IntBuffer counts = to_buffer(pos), places = to_buffer(crd);
  bool valid = false;
  {
    py::gil_scoped_release release;
    valid = are_valid(counts, places, rows, size);
  }
  if (!valid) return std::nullopt;
  return std::make_tuple(read_only(pos), read_only(crd), std::move(stored));
}

// The object whose memory an array is a view of.
PyObject *owner_of(PyObject *object) {
  const auto &api = py::detail::npy_api::get();
  while (PyObject_TypeCheck(object, api.PyArray_Type_) && py::detail::array_proxy(object)->base != nullptr)
    object = py::detail::array_proxy(object)->base;
  return object;
}

// One array whose rows are vectors of one array, at equal distances in its memory; None for any other vectors.
std::optional<py::array> join_views(const std::vector<py::array> &vectors) {
  if (vectors.empty() || vectors[0].ndim() != 1 || vectors[0].shape(0) == 0) return std::nullopt;
  const py::array &first = vectors[0];
  const auto *start = static_cast<const char *>(first.data());
  const py::ssize_t step = vectors.size() > 1 ? static_cast<const char *>(vectors[1].data()) - start : first.itemsize();
  PyObject *owner = owner_of(first.ptr());
  py::ssize_t at = 0;
  for (const py::array &vector : vectors) {
    const bool alike = vector.ndim() == 1 && vector.shape(0) == first.shape(0) && vector.strides(0) == first.strides(0) &&
                       vector.dtype().equal(first.dtype());
    if (!alike || step <= 0 || static_cast<const char *>(vector.data()) - start != at || owner_of(vector.ptr()) != owner)
      return std::nullopt;
    at += step;
  }
  const auto count = static_cast<py::ssize_t>(vectors.size());
  py::array joined(first.dtype(), {count, first.shape(0)}, {step, first.strides(0)}, start, first);
  py::detail::array_proxy(joined.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return joined;
}

// The positions of a list of entries: 0, and their number.
template <class P>
py::array first_positions(py::ssize_t count) {
  py::array_t<P> made(2);
  made.mutable_at(0) = 0;
  made.mutable_at(1) = static_cast<P>(count);
  return made;
}

// Entries in row-major order, each once, whose coordinates are the rows of one array, or `interleaved`, its columns.
SharedEntries share_entries(const py::object &indices, const py::object &values, const std::vector<int64_t> &shape,
                            bool interleaved) {
  const auto rank = static_cast<py::ssize_t>(shape.size());
  const bool is_shape = rank > 0 && *std::min_element(shape.begin(), shape.end()) >= 0;
  if (!is_shape || !is_plain(indices, 2) || !is_plain(values, 1)) return std::nullopt;
  const auto places = py::reinterpret_borrow<py::array>(indices);
  auto stored = py::reinterpret_borrow<py::array>(values);
  const py::ssize_t count = stored.shape(0);
  if (!holds_integers(places) || places.shape(interleaved ? 1 : 0) != rank || places.shape(interleaved ? 0 : 1) != count)
    return std::nullopt;
  const bool wide = places.itemsize() == 8;
  if (!wide && count > std::numeric_limits<int32_t>::max()) return std::nullopt;
  const ListedEntries listed{places.data(), count, rank, wide, interleaved};
  bool valid = false;
  {
    py::gil_scoped_release release;
    valid = entries_in_order(listed, shape.data());
  }
  if (!valid) return std::nullopt;
  const bool flat = interleaved && rank > 1;
  py::tuple columns(rank);
  const py::array whole = flat ? view_of(places, 0, count * rank, 1) : py::array();
  for (py::ssize_t dim = 0; dim < rank; ++dim)
    columns[dim] = flat ? view_of(whole, dim, count, rank) : view_of(places, dim * count, count, 1);
  py::object shared = flat ? py::object(whole) : py::object(py::none());
  py::array positions = read_only(wide ? first_positions<int64_t>(count) : first_positions<int32_t>(count));
  return std::make_tuple(std::move(positions), std::move(columns), std::move(shared), std::move(stored));
}

}  // namespace

void register_share_rows(py::module_ &module) {
  module.def("share_rows", &share_rows, py::arg("positions"), py::arg("coordinates"), py::arg("values"),
             py::arg("rows"), py::arg("size"), py::arg("area") = 1,
             "Returns the arrays of compressed rows, or rows of blocks of `area` elements, checked, the first two "
             "read-only; None where they do not fit.");
  module.def("share_entries", &share_entries, py::arg("indices"), py::arg("values"), py::arg("shape"),
             py::arg("interleaved"),
             "Returns positions, the coordinates of each dimension, the flat array that they are columns of or None, "
             "and values, of entries in row-major order, each once; None where they do not fit.");
  module.def("join_views", &join_views, py::arg("vectors"),
             "Returns one read-only array whose rows are the vectors, on their memory; None where they do not lie at "
             "equal distances in that of one array.");
}

}  // namespace mlir_sparse
