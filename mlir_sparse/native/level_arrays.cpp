// The buffers of a tensor as arrays by level. Each result of an operation asks for it once.

#include <pybind11/numpy.h>

#include "module.hpp"

namespace py = pybind11;

namespace mlir_sparse {
namespace {

constexpr int kSettled = py::array::c_style | py::detail::npy_api::NPY_ARRAY_ALIGNED_;

// Returns the array, or a contiguous and aligned copy.
py::array settled(py::handle buffer) {
  if (!py::isinstance<py::array>(buffer)) throw py::type_error("expected buffers that are arrays");
  auto array = py::reinterpret_borrow<py::array>(buffer);
  if ((array.flags() & kSettled) == kSettled) return array;
  return py::module_::import("numpy").attr("array")(array, py::arg("order") = "C");
}

// Returns the array, or a read-only view of it: structure never changes.
py::array frozen(py::array array) {
  if (!array.writeable()) return array;
  py::array view = array.attr("view")();
  py::detail::array_proxy(view.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return view;
}

// Every `count`th item of the last axis, from `first` on.
py::object interleaved(const py::array &array, int64_t first, int64_t count) {
  return array[py::make_tuple(py::ellipsis(), py::slice(py::int_(first), py::none(), py::int_(count)))];
}

// Returns positions and coordinates by level, and the buffers. `places` has for each buffer of the structure its first
// level, whether it has positions, and how many levels share it; values follow.
py::tuple level_arrays(const py::tuple &places, size_t levels, const py::sequence &buffers) {
  const size_t count = places.size() / 3;
  if (buffers.size() != count + 1) throw py::value_error("expected a buffer for each place, and values");
  py::tuple positions(levels), coordinates(levels), own(count + 1);
  for (size_t level = 0; level < levels; ++level) {
    positions[level] = py::none();
    coordinates[level] = py::none();
  }
  const auto number = [&](size_t at) { return PyLong_AsSsize_t(PyTuple_GET_ITEM(places.ptr(), static_cast<py::ssize_t>(at))); };
  for (size_t k = 0; k < count; ++k) {
    const py::array buffer = frozen(settled(py::object(buffers[k])));
    const py::ssize_t level = number(3 * k), shared = number(3 * k + 2);
    if (level < 0 || shared < 1 || level + shared > static_cast<py::ssize_t>(levels))
      throw py::value_error("expected places of levels");
    py::tuple &to = number(3 * k + 1) ? positions : coordinates;
    for (py::ssize_t at = 0; at < shared; ++at)
      to[static_cast<size_t>(level + at)] = shared == 1 ? py::object(buffer) : interleaved(buffer, at, shared);
    own[k] = buffer;
  }
  own[count] = settled(py::object(buffers[count]));
  return py::make_tuple(positions, coordinates, own);
}

// Returns a LevelStorage, an object of a frozen class with slots: its `__init__` would take longer than all the rest.
py::object level_storage(const py::type &kind, const py::object &encoding, const py::tuple &places,
                         const py::tuple &sizes, const py::sequence &buffers) {
  const py::tuple found = level_arrays(places, sizes.size(), buffers);
  const auto type = reinterpret_cast<PyTypeObject *>(kind.ptr());
  auto storage = py::reinterpret_steal<py::object>(type->tp_new(type, py::tuple().ptr(), nullptr));
  if (!storage) throw py::error_already_set();
  const py::tuple own = found[2];
  const auto set = [&](const char *name, py::handle value) {
    const auto key = py::reinterpret_steal<py::object>(PyUnicode_InternFromString(name));
    if (!key || PyObject_GenericSetAttr(storage.ptr(), key.ptr(), value.ptr()) != 0) throw py::error_already_set();
  };
  set("encoding", encoding);
  set("level_sizes", sizes);
  set("positions", found[0]);
  set("coordinates", found[1]);
  set("values", own[own.size() - 1]);
  set("view", py::tuple());
  set("_buffers", own);
  return storage;
}

}  // namespace

void register_level_arrays(py::module_ &module) {
  module.def("level_storage", &level_storage, py::arg("kind"), py::arg("encoding"), py::arg("places"),
             py::arg("sizes"), py::arg("buffers"),
             "Returns a LevelStorage of buffers, which are made contiguous, and their structure read-only.");
}

}  // namespace mlir_sparse
