// Arrays joined to one, from Python.

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <optional>

#include "concatenate.hpp"
#include "memory.hpp"
#include "module.hpp"
#include "pack_levels.hpp"
#include "rows_beside.hpp"

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

using Positions = py::array_t<int64_t, py::array::c_style | py::array::forcecast>;

Items to_adjacent(const py::array &array) {
  if (!(array.flags() & py::array::c_style)) throw py::value_error("expected contiguous arrays");
  return to_items(array);
}

// Positions ascend from 0 to the number of entries, as those of a tensor do.
void check_begins(const Positions &begins, int64_t rows, int64_t entries) {
  if (begins.ndim() != 1 || begins.size() != rows + 1 || begins.data()[rows] > entries)
    throw py::value_error("expected where each row begins, and where the last one ends");
}

// Returns where rows of matrices that stand beside each other start, their coordinates, shifted, and their values.
py::tuple rows_beside(const std::vector<Positions> &begins, const std::vector<py::array> &coordinates,
                      const std::vector<int64_t> &shifts, const std::vector<py::array> &values, const py::dtype &width) {
  const size_t count = begins.size();
  if (count < 1 || coordinates.size() != count || shifts.size() != count || values.size() != count)
    throw py::value_error("expected begins, coordinates, a shift and values of each matrix");
  const auto rows = static_cast<int64_t>(begins[0].size()) - 1;
  std::vector<RowsBeside> parts;
  for (size_t k = 0; k < count; ++k) {
    check_begins(begins[k], rows, std::min(coordinates[k].size(), values[k].size()));
    if (!coordinates[k].dtype().equal(coordinates[0].dtype()) || !values[k].dtype().equal(values[0].dtype()))
      throw py::type_error("expected matrices of the same types");
    parts.push_back({begins[k].data(), to_items(coordinates[k]), shifts[k], to_adjacent(values[k])});
  }
  if (width.itemsize() != coordinates[0].itemsize() && width.itemsize() != 8)
    throw py::type_error("expected coordinates of the matrices' width, or of 64 bits");
  py::array_t<int64_t> starts(rows + 1);
  int64_t *const to = starts.mutable_data();
  {
    py::gil_scoped_release release;
    start_rows_beside(parts, rows, to);
  }
  py::array named = reserve(static_cast<size_t>(to[rows]), width, false);
  py::array kept = reserve(static_cast<size_t>(to[rows]), values[0].dtype(), false);
  const Items named_to = to_items(named), kept_to = to_items(kept);
  {
    py::gil_scoped_release release;
    write_rows_beside(parts, rows, to, named_to, kept_to);
  }
  return py::make_tuple(starts, named, kept);
}

// Returns the lines and the coordinates of entries, of those that a mask keeps, by line or by coordinate.
py::tuple listed_lines(const Positions &begins, const py::array &coordinates, const std::optional<py::array> &kept,
                       int64_t extent, bool by_line) {
  const auto lines = static_cast<int64_t>(begins.size()) - 1;
  check_begins(begins, lines, coordinates.size());
  ListedLines from{lines, begins.data(), to_buffer(coordinates), extent, nullptr};
  int64_t count = begins.data()[lines];
  if (kept) {
    if (kept->itemsize() != 1 || kept->size() < count || !(kept->flags() & py::array::c_style))
      throw py::value_error("expected a truth value for each entry");
    from.kept = static_cast<const uint8_t *>(kept->data());
    count -= std::count(from.kept, from.kept + count, uint8_t{0});
  }
  py::array_t<int64_t> line(count), coordinate(count);
  int64_t *const line_to = line.mutable_data(), *const coordinate_to = coordinate.mutable_data();
  {
    py::gil_scoped_release release;
    (by_line ? list_by_line : list_by_coordinate)(from, line_to, coordinate_to);
  }
  return py::make_tuple(line, coordinate);
}

}  // namespace

void register_concatenate(py::module_ &module) {
  module.def("concatenate", &concatenate_arrays, py::arg("parts"), py::arg("shifts"), py::arg("out"),
             "Writes arrays one after the other, with a number added to each item of each; 8 and 16 bits have no sign.");
  module.def("rows_beside", &rows_beside, py::arg("begins"), py::arg("coordinates"), py::arg("shifts"),
             py::arg("values"), py::arg("width"),
             "Joins matrices row by row: returns where rows start, and their shifted coordinates and values.");
  module.def("listed_lines", &listed_lines, py::arg("begins"), py::arg("coordinates"), py::arg("kept"),
             py::arg("extent"), py::arg("by_line"),
             "Returns the lines and the coordinates of entries, by line or by coordinate.");
}

}  // namespace mlir_sparse
