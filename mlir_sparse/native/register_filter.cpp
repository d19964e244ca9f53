// Entries that a mask keeps, and places of one shape in another, from Python.

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <limits>

#include "filter.hpp"
#include "memory.hpp"
#include "module.hpp"

namespace mlir_sparse {
namespace {

bool is_contiguous(const py::array &array) { return (array.flags() & py::array::c_style) != 0; }

// Returns the starts of segments after a mask, the coordinates that it keeps, and the values.
py::tuple kept_entries(const py::array_t<int64_t> &begins, const py::array_t<bool> &mask, const py::array &coordinates,
                       const py::array &values) {
  if (!is_contiguous(begins) || !is_contiguous(mask) || !is_contiguous(coordinates) || !is_contiguous(values))
    throw py::value_error("expected contiguous arrays");
  const int64_t count = mask.size(), segments = begins.size() - 1;
  const int64_t *begin = begins.data();
  const bool bounds = segments >= 0 && begin[0] >= 0 && begin[segments] <= count && std::is_sorted(begin, begin + segments + 1);
  if (!bounds || values.size() != count || (count != 0 && coordinates.size() % count != 0))
    throw py::value_error("expected segments of a mask, and coordinates and a value for each entry");
  const MaskedSegments masked{segments, begin, reinterpret_cast<const char *>(mask.data())};
  const int64_t each = count == 0 ? 1 : coordinates.size() / count;
  py::array_t<int64_t> starts(segments + 1);
  int64_t *started = starts.mutable_data();
  {
    py::gil_scoped_release release;
    count_kept(masked, started);
  }
  const auto kept = static_cast<size_t>(started[segments]);
  py::array named = reserve(kept * static_cast<size_t>(each), coordinates.dtype(), false);
  py::array stored = reserve(kept, values.dtype(), false);
  const auto *from = static_cast<const char *>(coordinates.data()), *value = static_cast<const char *>(values.data());
  const int64_t bytes = each * coordinates.itemsize(), itemsize = values.itemsize();
  auto *to = static_cast<char *>(named.mutable_data()), *value_to = static_cast<char *>(stored.mutable_data());
  {
    py::gil_scoped_release release;
    copy_kept(masked, started, from, bytes, to);
    copy_kept(masked, started, value, itemsize, value_to);
  }
  return py::make_tuple(starts, named, stored);
}

int64_t places_of(const std::vector<int64_t> &shape) {
  int64_t places = 1;
  for (const int64_t extent : shape)
    if (extent < 0 || __builtin_mul_overflow(places, extent, &places))
      throw py::value_error("expected a shape whose places 64 bits number");
  return places;
}

// Returns the coordinates in another shape, in 32 bits where all fit.
std::vector<py::array> relocated(const std::vector<py::array> &columns, const std::vector<int64_t> &given,
                                 const std::vector<int64_t> &wanted) {
  if (columns.empty() || wanted.empty() || columns.size() != given.size() || places_of(given) != places_of(wanted))
    throw py::value_error("expected coordinates for each axis, and two shapes of as many places");
  const int64_t count = columns[0].size();
  std::vector<PlaceColumn> from;
  for (const py::array &column : columns) {
    const bool is_column = column.dtype().kind() == 'i' && (column.itemsize() == 4 || column.itemsize() == 8);
    if (!is_column || !is_contiguous(column) || column.size() != count)
      throw py::value_error("expected columns of one length, of 32 or 64 bits");
    from.push_back({static_cast<const char *>(column.data()), static_cast<int>(column.itemsize() * 8)});
  }
  if (count != 0 && places_of(wanted) == 0) throw py::value_error("expected no coordinates in a shape without places");
  const int64_t largest = *std::max_element(wanted.begin(), wanted.end());
  const int width = largest - 1 <= std::numeric_limits<std::int32_t>::max() ? 32 : 64;
  std::vector<py::array> found;
  std::vector<char *> to;
  for (size_t axis = 0; axis < wanted.size(); ++axis) {
    found.push_back(reserve(static_cast<size_t>(count), py::dtype(width == 32 ? "i4" : "i8"), false));
    to.push_back(static_cast<char *>(found.back().mutable_data()));
  }
  py::gil_scoped_release release;
  relocate(from, count, given, wanted, width, to);
  return found;
}

}  // namespace

void register_filter(py::module_ &module) {
  module.def("kept_entries", &kept_entries, py::arg("begins"), py::arg("mask"), py::arg("coordinates"), py::arg("values"),
             "Returns the starts of segments, the coordinates and the values of the entries that a mask keeps.");
  module.def("relocated", &relocated, py::arg("columns"), py::arg("given"), py::arg("wanted"),
             "Returns the coordinates of places, in row-major order, in another shape.");
}

}  // namespace mlir_sparse
