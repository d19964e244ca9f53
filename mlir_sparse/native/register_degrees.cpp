// Degrees of buffers of coordinates and positions, from Python.

#include <optional>
#include <tuple>
#include <vector>

#include <pybind11/stl.h>

#include "degrees.hpp"
#include "level_degrees.hpp"
#include "module.hpp"
#include "pack_levels.hpp"
#include "row_sample.hpp"
#include "sampled_degrees.hpp"

namespace mlir_sparse {
namespace {

using DegreeTuple = std::tuple<double, double, double>;

DegreeTuple without_last(const Degrees &found) { return {found.distinct, found.largest, found.squares}; }

DegreeTuple segments(const py::array &begins, const OptionalArray &above) {
  const IntBuffer buffer = to_buffer(begins), outer = above ? to_buffer(*above) : IntBuffer();
  if (buffer.length < 1 || (above && outer.length < 1) || !buffer.contiguous())
    throw py::value_error("expected contiguous begins, one or more");
  py::gil_scoped_release release;
  return without_last(above ? degrees_of_segments(buffer, outer) : degrees_of_segments(buffer));
}

DegreeTuple runs(const py::array &coordinates) {
  const IntBuffer buffer = to_buffer(coordinates);
  py::gil_scoped_release release;
  return without_last(degrees_of_runs(buffer));
}

std::tuple<double, double, double, double> count(const py::array &coordinates, int64_t extent,
                                                 const OptionalArray &begins) {
  const IntBuffer buffer = to_buffer(coordinates);
  const IntBuffer weights = begins ? to_buffer(*begins) : IntBuffer();
  if (begins && (weights.length != buffer.length + 1 || !weights.contiguous()))
    throw py::value_error("expected contiguous begins, one more than coordinates");
  py::gil_scoped_release release;
  const Degrees found = begins ? count_degrees(buffer, extent, weights) : count_degrees(buffer, extent);
  return {found.distinct, found.largest, found.squares, found.last};
}

// A level as its degrees need it: kind, unique, ordered, whether negative coordinates are empty places.
using LevelKinds = std::vector<std::tuple<int, bool, bool, bool>>;

// The levels, whose buffers live as long as the arrays.
std::vector<CountedLevel> counted_levels(const LevelKinds &kinds, const std::vector<std::int64_t> &sizes,
                                         const std::vector<OptionalArray> &positions,
                                         const std::vector<OptionalArray> &coordinates) {
  if (sizes.size() != kinds.size() || positions.size() != kinds.size() || coordinates.size() != kinds.size())
    throw py::value_error("expected a size, positions and coordinates, or None, for each level");
  const auto begins = to_buffers(positions), places = to_buffers(coordinates);
  std::vector<CountedLevel> counted;
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    const auto &[kind, unique, ordered, has_empty] = kinds[k];
    const Level level{static_cast<LevelKind>(kind), unique, ordered, false, sizes[k], 0};
    counted.push_back({level, has_empty, begins[k], places[k]});
  }
  return counted;
}

std::vector<DegreeTuple> levels(const LevelKinds &kinds, const std::vector<std::int64_t> &sizes,
                                const std::vector<OptionalArray> &positions,
                                const std::vector<OptionalArray> &coordinates, std::int64_t values) {
  const std::vector<CountedLevel> counted = counted_levels(kinds, sizes, positions, coordinates);
  std::vector<DegreeTuple> all;
  py::gil_scoped_release release;
  for (const Degrees &found : degrees_of_levels(counted, values)) all.push_back(without_last(found));
  return all;
}

std::tuple<std::vector<py::array_t<std::int64_t>>, double> sample_of_levels(
    const LevelKinds &kinds, const std::vector<std::int64_t> &sizes, const std::vector<OptionalArray> &positions,
    const std::vector<OptionalArray> &coordinates, std::int64_t values) {
  const std::vector<CountedLevel> counted = counted_levels(kinds, sizes, positions, coordinates);
  for (const CountedLevel &one : counted)
    if (one.level.has_positions() && !one.positions.contiguous()) throw py::value_error("expected contiguous positions");
  EntrySample found;
  {
    py::gil_scoped_release release;
    found = sample_entries(counted, values);
  }
  std::vector<py::array_t<std::int64_t>> columns;
  for (const auto &column : found.columns)
    columns.emplace_back(static_cast<py::ssize_t>(column.size()), column.data());
  return {std::move(columns), found.chance};
}

DegreeTuple by_sample(const py::array &coordinates, std::int64_t extent, double chance) {
  const IntBuffer buffer = to_buffer(coordinates);
  if (!(chance > 0 && chance <= 1)) throw py::value_error("expected a chance above 0, up to 1");
  py::gil_scoped_release release;
  return without_last(degrees_of_sample(buffer, extent, chance));
}

std::tuple<double, bool, py::dict> sample(const py::array &positions, const py::array &coordinates,
                                          const py::array &values) {
  const IntBuffer begins = to_buffer(positions), places = to_buffer(coordinates);
  const bool contiguous = begins.contiguous() && (values.flags() & py::array::c_style) != 0;
  if (begins.length < 2 || places.length < 1 || values.size() != places.length || !contiguous)
    throw py::value_error("expected contiguous begins, two or more, and a value for each coordinate, one or more");
  const RowSample found = sample_rows(begins, places, static_cast<const char *>(values.data()), values.itemsize());
  py::dict shares;
  for (int bits = -RowSample::kBits; bits <= RowSample::kBits; ++bits)
    if (const double share = found.shares[static_cast<std::size_t>(RowSample::kBits + bits)]; share > 0)
      shares[py::int_(bits)] = share;
  return {found.mirrored, found.alike, shares};
}

}  // namespace

void register_degrees(py::module_ &module) {
  module.def("segment_degrees", &segments, py::arg("begins"), py::arg("above") = py::none(),
             "Returns how many differences of neighbours in begins, or in begins[above], are positive, the largest, "
             "and the sum of their squares.");
  module.def("run_degrees", &runs, py::arg("coordinates"),
             "Returns the number of runs of equal coordinates, the longest, and the sum of squared lengths.");
  module.def("count_degrees", &count, py::arg("coordinates"), py::arg("extent"), py::arg("begins") = py::none(),
             "Returns distinct coordinates, the largest degree, the sum of squares, and the last coordinate's degree.");
  module.def("level_degrees", &levels, py::arg("kinds"), py::arg("sizes"), py::arg("positions"), py::arg("coordinates"),
             py::arg("values"),
             "Returns distinct coordinates, the largest degree and the sum of squares of each level, (kind, unique, "
             "ordered, has empty places) each, with so many values.");
  module.def("sample_entries", &sample_of_levels, py::arg("kinds"), py::arg("sizes"), py::arg("positions"),
             py::arg("coordinates"), py::arg("values"),
             "Returns the coordinates in each level of entries that are taken by chance, the same each time, and the "
             "chance of each to be taken. Levels are as for level_degrees.");
  module.def("sampled_degrees", &by_sample, py::arg("coordinates"), py::arg("extent"), py::arg("chance"),
             "Returns estimates of distinct coordinates, the largest degree and the sum of squares of all entries, by "
             "the coordinates of those that were taken by chance.");
  module.def("sample_rows", &sample, py::arg("positions"), py::arg("coordinates"), py::arg("values"),
             "Returns of a sample of a square matrix's entries the share that is mirrored, whether all have the same "
             "bits, and the shares by the bits of column - row, with its sign.");
}

}  // namespace mlir_sparse
