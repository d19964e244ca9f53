// Triangular systems, incomplete factors, and steps of solvers, from Python.

#include <pybind11/complex.h>
#include <pybind11/numpy.h>

#include <initializer_list>

#include "incomplete.hpp"
#include "krylov_steps.hpp"
#include "module.hpp"
#include "pack_levels.hpp"
#include "triangle.hpp"

namespace mlir_sparse {
namespace {

bool is_in_place(const py::array &array) {
  return (array.flags() & py::array::c_style) != 0 && array.attr("flags").attr("aligned").cast<bool>();
}

TriangleValue value_type(const py::array &values) {
  const char kind = values.dtype().kind();
  const auto bytes = values.itemsize();
  if (kind == 'f' && bytes == 4) return TriangleValue::F32;
  if (kind == 'f' && bytes == 8) return TriangleValue::F64;
  if (kind == 'c' && bytes == 8) return TriangleValue::C64;
  if (kind == 'c' && bytes == 16) return TriangleValue::C128;
  throw py::type_error("expected values of f32, f64, c64 or c128");
}

void check_structure(const py::array &positions, const py::array &coordinates) {
  const bool integers = positions.dtype().kind() == 'i' && coordinates.dtype().kind() == 'i';
  const bool wide = positions.itemsize() >= 4 && positions.itemsize() == coordinates.itemsize();
  if (!integers || !wide || positions.size() < 1 || !is_in_place(positions) || !is_in_place(coordinates))
    throw py::value_error("expected contiguous positions and coordinates of one width, of 32 or 64 bits");
}

// A structure that keeps its arrays.
class OwnedTriangle {
 public:
  OwnedTriangle(py::array positions, py::array coordinates, std::int64_t size, bool lower, bool by_columns,
                std::int64_t block)
      : positions_(std::move(positions)), coordinates_(std::move(coordinates)), size_(size), area_(block * block),
        triangle_(structure(lower, by_columns, block)) {}

  std::int64_t solve(const py::array &values, const py::array &given, py::array &sides, bool unit) {
    const TriangleValue type = value_type(values);
    const bool same = values.dtype().is(sides.dtype()) || values.dtype().equal(sides.dtype());
    const std::int64_t count = sides.ndim() == 2 ? sides.shape(1) : 1;
    if (!same || !is_in_place(values) || !is_in_place(sides) || sides.ndim() < 1 || sides.ndim() > 2 ||
        sides.shape(0) != size_ || values.size() != coordinates_.size() * area_)
      throw py::value_error("expected a value for each entry, and right sides of the same type in row-major order");
    const bool alike = given.dtype().equal(sides.dtype()) && given.size() == sides.size() && is_in_place(given);
    if (!alike) throw py::value_error("expected right sides of the solution's type and number in row-major order");
    const void *from = values.data(), *of = given.data();
    void *to = sides.mutable_data();
    py::gil_scoped_release release;
    return size_ == 0 || count == 0 ? -1 : triangle_.solve(type, from, of, to, count, unit);
  }

  std::int64_t levels() {
    py::gil_scoped_release release;
    return triangle_.levels();
  }

 private:
  TriangleStructure structure(bool lower, bool by_columns, std::int64_t block) const {
    check_structure(positions_, coordinates_);
    if (block < 1 || (block > 1 && by_columns) || positions_.size() - 1 != (size_ + block - 1) / block)
      throw py::value_error("expected positions for each row, and rows of blocks");
    return {to_buffer(positions_), to_buffer(coordinates_), size_, block, lower, by_columns};
  }

  py::array positions_, coordinates_;
  std::int64_t size_, area_;
  Triangle triangle_;
};

using Factor = std::int64_t (*)(const IntBuffer &, const IntBuffer &, TriangleValue, void *);

template <Factor factor>
std::int64_t factored(const py::array &positions, const py::array &coordinates, py::array &values) {
  check_structure(positions, coordinates);
  if (!is_in_place(values) || values.size() != coordinates.size())
    throw py::value_error("expected a value for each coordinate, contiguous");
  const IntBuffer begins = to_buffer(positions), places = to_buffer(coordinates);
  const TriangleValue type = value_type(values);
  void *data = values.mutable_data();
  py::gil_scoped_release release;
  return factor(begins, places, type, data);
}

py::tuple lower_triangle(const py::array &positions, const py::array &coordinates) {
  check_structure(positions, coordinates);
  const IntBuffer begins = to_buffer(positions), places = to_buffer(coordinates);
  py::array_t<std::int64_t> own(positions.size());
  std::int64_t *data = own.mutable_data();
  std::vector<std::int64_t> found;
  {
    py::gil_scoped_release release;
    found = lower_places(begins, places, data);
  }
  return py::make_tuple(own, py::array_t<std::int64_t>(static_cast<py::ssize_t>(found.size()), found.data()));
}

// The element type of vectors, which are all of one size.
TriangleValue vector_type(std::initializer_list<const py::array *> vectors) {
  const py::array &first = **vectors.begin();
  for (const py::array *vector : vectors)
    if (vector->ndim() != 1 || vector->size() != first.size() || !vector->dtype().equal(first.dtype()) ||
        !is_in_place(*vector))
      throw py::value_error("expected contiguous vectors of one size and type");
  return value_type(first);
}

std::complex<double> inner(const py::array &a, const py::array &b) {
  const TriangleValue type = vector_type({&a, &b});
  const void *left = a.data(), *right = b.data();
  const std::int64_t size = a.size();
  py::gil_scoped_release release;
  return inner_product(type, left, right, size);
}

double advanced(py::array &x, py::array &r, const py::array &p, const py::array &q, std::complex<double> step) {
  const TriangleValue type = vector_type({&x, &r, &p, &q});
  void *solution = x.mutable_data(), *residual = r.mutable_data();
  const void *direction = p.data(), *product = q.data();
  const std::int64_t size = x.size();
  py::gil_scoped_release release;
  return advance(type, solution, residual, direction, product, step, size);
}

void direction_turned(py::array &p, const py::array &z, std::complex<double> factor) {
  const TriangleValue type = vector_type({&p, &z});
  void *direction = p.mutable_data();
  const void *residual = z.data();
  const std::int64_t size = p.size();
  py::gil_scoped_release release;
  turn_direction(type, direction, residual, factor, size);
}

}  // namespace

void register_triangle(py::module_ &module) {
  py::class_<OwnedTriangle>(module, "Triangle", "The structure of a triangular matrix, for systems with any values.")
      .def(py::init<py::array, py::array, std::int64_t, bool, bool, std::int64_t>(), py::arg("positions"),
           py::arg("coordinates"), py::arg("size"), py::arg("lower"), py::arg("by_columns"), py::arg("block"))
      .def("solve", &OwnedTriangle::solve, py::arg("values"), py::arg("given"), py::arg("sides"), py::arg("unit"),
           "Solves for given right sides into `sides`, the same array or one apart; returns the first row without a diagonal element other than zero, else -1.")
      .def_property_readonly("levels", &OwnedTriangle::levels,
                             "The number of sets of rows that depend on rows of earlier sets alone.");
  module.def("factor_ilu0", &factored<&factor_ilu0>, py::arg("positions"), py::arg("coordinates"), py::arg("values"),
             "Replaces values by those of ILU(0); returns the first row without a pivot, else -1.");
  module.def("lower_triangle", &lower_triangle, py::arg("positions"), py::arg("coordinates"),
             "Returns the positions of the lower triangle of compressed rows, and where its entries are.");
  module.def("factor_ic0", &factored<&factor_ic0>, py::arg("positions"), py::arg("coordinates"), py::arg("values"),
             "Replaces values of a lower triangle by those of IC(0); returns the first row without a positive pivot, "
             "else -1.");
  module.def("inner_product", &inner, py::arg("a"), py::arg("b"), "Returns the sum of conj(a) * b.");
  module.def("advance", &advanced, py::arg("x"), py::arg("r"), py::arg("p"), py::arg("q"), py::arg("step"),
             "Adds step * p to x, takes step * q from r, and returns the sum of |r|^2.");
  module.def("turn_direction", &direction_turned, py::arg("p"), py::arg("z"), py::arg("factor"),
             "Replaces p by z + factor * p.");
}

}  // namespace mlir_sparse
