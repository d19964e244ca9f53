// Values combined with those at their places in an array, where several may have one place, from Python.

#include <pybind11/numpy.h>

#include <string>
#include <vector>

#include "combine.hpp"
#include "module.hpp"

namespace mlir_sparse {
namespace {

// Lines along the last axis, one after the other: places of one line are apart, those of others may be the same.
void combine_lines(Combine combined, char *to, const char *from, const py::ssize_t *shape, const py::ssize_t *strides,
                   const py::ssize_t *steps, py::ssize_t axes, std::size_t bytes) {
  const auto length = static_cast<std::size_t>(shape[0]);
  if (axes > 1) {
    for (py::ssize_t k = 0; k < shape[0]; ++k)
      combine_lines(combined, to + k * strides[0], from + k * steps[0], shape + 1, strides + 1, steps + 1, axes - 1, bytes);
  } else if (strides[0] == static_cast<py::ssize_t>(bytes) && steps[0] == strides[0]) {
    combined(to, from, 0, length);
  } else {
    for (py::ssize_t k = 0; k < shape[0]; ++k) combined(to + k * strides[0], from + k * steps[0], 0, 1);
  }
}

void combine_places(const std::string &name, py::array &places, const py::array &values) {
  const Combine combined = combine_of(name);
  const auto shape = std::vector<py::ssize_t>(values.shape(), values.shape() + values.ndim());
  const bool alike = places.ndim() == values.ndim() && places.dtype().equal(values.dtype()) &&
                     shape == std::vector<py::ssize_t>(places.shape(), places.shape() + places.ndim());
  const bool aligned = places.attr("flags").attr("aligned").cast<bool>() && values.attr("flags").attr("aligned").cast<bool>();
  if (combined == nullptr || !alike || !aligned || !places.writeable() || shape.empty())
    throw py::value_error("expected an operator and an element type, and values for places of that type");
  if (values.size() == 0) return;
  auto *to = static_cast<char *>(places.mutable_data());
  const auto *from = static_cast<const char *>(values.data());
  const auto *strides = places.strides(), *steps = values.strides();
  const auto bytes = static_cast<std::size_t>(values.itemsize());
  py::gil_scoped_release release;
  combine_lines(combined, to, from, shape.data(), strides, steps, static_cast<py::ssize_t>(shape.size()), bytes);
}

}  // namespace

void register_combine_places(py::module_ &module) {
  module.def("combine_places", &combine_places, py::arg("name"), py::arg("places"), py::arg("values"),
             "Combines values with those at their places, line by line, by operator and element type as in "
             "\"sum float64\"; places of different lines may be the same memory.");
}

}  // namespace mlir_sparse
