// Arrays joined to one, from Python.

#include <pybind11/numpy.h>

#include "concatenate.hpp"
#include "module.hpp"
#include "pack_levels.hpp"

namespace mlir_sparse {
namespace {

Items to_items(const py::array &array) {
  const auto bytes = static_cast<py::ssize_t>(array.itemsize());
  if (array.ndim() != 1 || bytes == 0 || (array.size() > 1 && array.strides(0) % bytes != 0))
    throw py::value_error("expected arrays of one axis, some items apart");
  const py::ssize_t stride = array.size() > 1 ? array.strides(0) / bytes : 1;
  // Written to only where it is the result, whose flags are checked.
  return {static_cast<char *>(const_cast<void *>(array.data())), array.size(), stride, static_cast<int>(bytes)};
}

void concatenate_arrays(const std::vector<py::array> &parts, const std::vector<int64_t> &shifts, py::array &out) {
  if (shifts.size() != parts.size()) throw py::value_error("expected a shift for each array");
  if (!out.writeable()) throw py::value_error("expected a result that can be written to");
  const Items result = to_items(out);
  std::vector<Items> items;
  int64_t total = 0;
  for (size_t k = 0; k < parts.size(); ++k) {
    items.push_back(to_items(parts[k]));
    total += items.back().length;
    // A shift changes no width: `out` holds the sums. Items of other kinds are copied as they are.
    const char kind = parts[k].dtype().kind();
    const bool integers = (kind == 'i' || kind == 'u') && out.itemsize() <= 8;
    const bool copied = shifts[k] == 0 && parts[k].dtype().equal(out.dtype()) && items.back().stride == 1 && result.stride == 1;
    if (!copied && (!integers || items.back().bytes > result.bytes))
      throw py::type_error("expected integers, or arrays of the type of the result");
  }
  if (total != result.length) throw py::value_error("expected a result as long as all arrays together");
  py::gil_scoped_release release;
  concatenate(items, shifts, result);
}

}  // namespace

void register_concatenate(py::module_ &module) {
  module.def("concatenate", &concatenate_arrays, py::arg("parts"), py::arg("shifts"), py::arg("out"),
             "Writes arrays one after the other, with a number added to each item of each; 8 and 16 bits have no sign.");
}

}  // namespace mlir_sparse
