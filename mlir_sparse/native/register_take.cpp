// Rows, segments and entries taken at places, from Python.

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <numeric>

#include "choose.hpp"
#include "dense_entries.hpp"
#include "line_extremes.hpp"
#include "memory.hpp"
#include "module.hpp"
#include "pack_levels.hpp"
#include "take.hpp"

namespace mlir_sparse {
namespace {

Places to_places(const py::array &places) {
  if (places.dtype().kind() != 'i' || !(places.flags() & py::array::c_style))
    throw py::type_error("expected contiguous places, of signed integers");
  return {static_cast<const char *>(places.data()), places.size(), static_cast<int>(places.itemsize() * 8)};
}

void check_contiguous(const py::array &array) {
  if (!(array.flags() & py::array::c_style)) throw py::value_error("expected a contiguous array");
}

int64_t rows_at(const py::array &source, const py::array &places, py::array &out) {
  check_contiguous(source);
  check_contiguous(out);
  const Places at = to_places(places);
  const int64_t count = source.ndim() > 0 ? source.shape(0) : 0;
  int64_t bytes = source.itemsize();
  for (py::ssize_t axis = 1; axis < source.ndim(); ++axis) bytes *= source.shape(axis);
  if (source.ndim() < 1 || out.nbytes() != at.length * bytes)
    throw py::value_error("expected an array of rows, and room for one at each place");
  const auto *from = static_cast<const char *>(source.data());
  auto *to = static_cast<char *>(out.mutable_data());
  py::gil_scoped_release release;
  return take_rows(from, count, bytes, at, to);
}

void segments_at(const py::array &source, const py::array &begins, const py::array &places,
              const py::array_t<int64_t> &starts, py::array &out) {
  check_contiguous(source);
  check_contiguous(out);
  check_contiguous(starts);
  const Places at = to_places(places);
  const IntBuffer buffer = to_buffer(begins);
  if (starts.size() != at.length + 1 || out.itemsize() != source.itemsize() ||
      out.size() != starts.data()[at.length])
    throw py::value_error("expected the starts of the segments, and room for them");
  const auto *from = static_cast<const char *>(source.data());
  auto *to = static_cast<char *>(out.mutable_data());
  const int64_t bytes = source.itemsize(), *first = starts.data();
  py::gil_scoped_release release;
  take_segments(from, bytes, buffer, at, first, to);
}

Rows to_rows(const py::array_t<int64_t> &begins, const py::array &coordinates) {
  check_contiguous(begins);
  check_contiguous(coordinates);
  if (begins.size() < 1) throw py::value_error("expected the begins of rows, and the end of the last");
  return {static_cast<int64_t>(begins.size()) - 1, begins.data(), to_buffer(coordinates)};
}

// Returns where the entries of each row start after a renumbering, and their number.
py::array_t<int64_t> chosen_starts(const py::array_t<int64_t> &begins, const py::array &coordinates,
                                   const py::array_t<int64_t> &firsts) {
  check_contiguous(firsts);
  const Rows rows = to_rows(begins, coordinates);
  const Renumbering by{firsts.data(), nullptr};
  py::array_t<int64_t> starts(rows.count + 1);
  int64_t *counted = starts.mutable_data();
  py::gil_scoped_release release;
  counted[0] = 0;
  count_chosen(rows, by, counted + 1);
  std::partial_sum(counted, counted + rows.count + 1, counted);
  return starts;
}

void chosen_entries(const py::array_t<int64_t> &begins, const py::array &coordinates, const py::array &values,
                    const py::array_t<int64_t> &firsts, const py::array_t<int64_t> &numbers,
                    const py::array_t<int64_t> &starts, py::array &named, py::array &kept) {
  for (const py::array &one : {values, py::array(firsts), py::array(numbers), py::array(starts), named, kept})
    check_contiguous(one);
  const Rows rows = to_rows(begins, coordinates);
  const Renumbering by{firsts.data(), numbers.data()};
  if (starts.size() != rows.count + 1 || named.itemsize() != coordinates.itemsize() ||
      kept.itemsize() != values.itemsize() || named.size() != starts.data()[rows.count] || kept.size() != named.size())
    throw py::value_error("expected the starts of the rows, and room for their entries");
  const auto *from = static_cast<const char *>(values.data());
  const int64_t bytes = values.itemsize(), *first = starts.data();
  auto *to = static_cast<char *>(named.mutable_data()), *values_to = static_cast<char *>(kept.mutable_data());
  py::gil_scoped_release release;
  write_chosen(rows, from, bytes, by, first, to, values_to);
}

// Returns where each row's entries at coordinates low, low + step, ... start, then the coordinates, numbered anew, and
// the values. These are no more than the rows have, so that coordinates of their width count to them; a step and a
// count that they do not count to are the caller's to refuse.
py::tuple entries_between(const py::array_t<int64_t> &begins, const py::array &coordinates, const py::array &values,
                          int64_t low, int64_t step, int64_t count, bool reversed) {
  check_contiguous(values);
  const Rows rows = to_rows(begins, coordinates);
  if (low < 0 || step < 1 || count < 0) throw py::value_error("expected coordinates that ascend from 0 or more");
  const Stretch stretch{low, step, count, reversed};
  py::array_t<int64_t> starts(rows.count + 1), firsts(rows.count);
  int64_t *counted = starts.mutable_data(), *first = firsts.mutable_data();
  {
    py::gil_scoped_release release;
    counted[0] = 0;
    count_between(rows, stretch, first, counted + 1);
    std::partial_sum(counted, counted + rows.count + 1, counted);
  }
  const auto total = static_cast<size_t>(counted[rows.count]);
  py::array named = reserve(total, coordinates.dtype(), false), kept = reserve(total, values.dtype(), false);
  const auto *from = static_cast<const char *>(values.data());
  const int64_t bytes = values.itemsize();
  auto *to = static_cast<char *>(named.mutable_data()), *values_to = static_cast<char *>(kept.mutable_data());
  {
    py::gil_scoped_release release;
    write_between(rows, from, bytes, stretch, first, counted, to, values_to);
  }
  return py::make_tuple(starts, named, kept);
}

py::array_t<int64_t> found_at(const py::array_t<int64_t> &begins, const py::array &coordinates,
                              const py::array_t<int64_t> &lines, const py::array_t<int64_t> &wanted) {
  check_contiguous(lines);
  check_contiguous(wanted);
  if (lines.size() != wanted.size()) throw py::value_error("expected as many rows as coordinates");
  const Rows rows = to_rows(begins, coordinates);
  const int64_t *line = lines.data(), *coordinate = wanted.data(), count = lines.size();
  py::array_t<int64_t> found(count);
  int64_t *to = found.mutable_data();
  py::gil_scoped_release release;
  find_entries(rows, line, coordinate, count, to);
  return found;
}

// Refuses begins that descend, or go beyond so many entries.
void check_begins(const py::array &begins, int64_t entries) {
  check_contiguous(begins);
  if (begins.size() < 1) throw py::value_error("expected the begins of rows, and the end of the last");
  const int64_t count = begins.size();
  const bool bounds = to_buffer(begins).visit([&](auto begin_of) {
    bool ascending = begin_of(0) == 0;
    for (int64_t k = 1; k < count; ++k) ascending &= begin_of(k - 1) <= begin_of(k);
    return ascending && begin_of(count - 1) <= entries;
  });
  if (!bounds) throw py::value_error("expected begins that ascend from 0 to the entries");
}

// Returns the begins of rows from `first` to first + count as 64 bits.
std::vector<int64_t> wide_begins(const py::array &begins, int64_t first, int64_t count) {
  check_contiguous(begins);
  if (first < 0 || count < 0 || count > static_cast<int64_t>(begins.size()) - 1 - first)
    throw py::value_error("expected a range of the rows");
  std::vector<int64_t> wide(static_cast<size_t>(count) + 1);
  to_buffer(begins).visit([&](auto begin_of) {
    for (int64_t k = 0; k <= count; ++k) wide[static_cast<size_t>(k)] = begin_of(first + k);
  });
  return wide;
}

// Returns the entries at row low + k and coordinate right + k, for k from 0 to count - 1: each k, in 32 or 64 bits, and
// the values.
py::tuple diagonal_of(const py::array &begins, const py::array &coordinates, const py::array &values, int64_t low,
                      int64_t right, int64_t count, const py::dtype &width) {
  check_contiguous(coordinates);
  check_contiguous(values);
  const std::vector<int64_t> wide = wide_begins(begins, low, count);
  const Rows rows{count, wide.data(), to_buffer(coordinates)};
  if (right < 0) throw py::value_error("expected a diagonal within the rows");
  std::vector<OnDiagonal> parts;
  {
    py::gil_scoped_release release;
    parts = find_diagonal(rows, 0, right, count);
  }
  size_t total = 0;
  for (const OnDiagonal &part : parts) total += part.along.size();
  py::array along = new_array(width, static_cast<int64_t>(total));
  py::array kept = reserve(total, values.dtype(), false);
  const int64_t bytes = values.itemsize();
  const auto *from = static_cast<const char *>(values.data());
  auto *to = static_cast<char *>(kept.mutable_data());
  with_wide(static_cast<int>(width.itemsize() * 8), [&](auto number) {
    auto *along_to = static_cast<decltype(number) *>(along.mutable_data());
    for (const OnDiagonal &part : parts)
      along_to = std::transform(part.along.begin(), part.along.end(), along_to,
                                [](int64_t k) { return static_cast<decltype(number)>(k); });
  });
  for (const OnDiagonal &part : parts) {
    const auto length = static_cast<int64_t>(part.along.size());
    take_rows(from, values.size(), bytes, {reinterpret_cast<const char *>(part.entries.data()), length, 64}, to);
    to += length * bytes;
  }
  return py::make_tuple(along, kept);
}

// Writes listed entries to their elements of a dense array. Extents and strides, in elements, are of the coordinates.
void written_dense(const py::array &begins, const py::array &coordinates, const py::array &values, py::array &out,
                   int64_t parent_stride, const std::vector<int64_t> &extents, const std::vector<int64_t> &strides) {
  for (const py::array &one : {begins, coordinates, values, py::array(out)}) check_contiguous(one);
  const int64_t parents = begins.size() - 1, bytes = values.itemsize();
  if (parents < 0 || extents.empty() || strides.size() != extents.size() || out.itemsize() != bytes || bytes > 16 ||
      (bytes & (bytes - 1)) != 0)
    throw py::value_error("expected begins, a stride for each extent, and an array of the values' type");
  int64_t last = parent_stride * std::max<int64_t>(0, parents - 1);
  bool is_empty = parents == 0;
  for (size_t level = 0; level < extents.size(); ++level) {
    is_empty = is_empty || extents[level] == 0;
    last += (extents[level] - 1) * strides[level];
  }
  if (!is_empty && last >= out.size()) throw py::value_error("expected an array with an element for each place");
  check_begins(begins, std::min<int64_t>(values.size(), coordinates.size() / static_cast<int64_t>(extents.size())));
  const DenseEntries entries{to_buffer(begins), to_buffer(coordinates), parent_stride, extents, strides};
  const auto *from = static_cast<const char *>(values.data());
  auto *to = static_cast<char *>(out.mutable_data());
  bool all = false;
  {
    py::gil_scoped_release release;
    all = is_empty || write_dense(entries, bytes, from, to);
  }
  if (!all) throw py::index_error("expected coordinates below the extents");
}

// Returns where the greatest or least element of each row is, or of each coordinate in the rows.
py::array_t<int64_t> best_places(const py::array &begins, const py::array &coordinates, const py::array &values,
                                 int64_t extent, bool over_rows, bool largest) {
  check_contiguous(coordinates);
  check_contiguous(values);
  const int64_t count = begins.size() - 1;
  check_begins(begins, std::min(values.size(), coordinates.size()));
  const std::vector<int64_t> wide = wide_begins(begins, 0, count);
  const Rows rows{count, wide.data(), to_buffer(coordinates)};
  const char kind = values.dtype().kind();
  const Compared compared{static_cast<const char *>(values.data()), kind == 'b' ? 'u' : kind,
                          static_cast<int>(values.itemsize())};
  py::array_t<int64_t> found(over_rows ? extent : count);
  int64_t *to = found.mutable_data();
  py::gil_scoped_release release;
  (over_rows ? best_over_rows : best_in_rows)(rows, compared, extent, largest, to);
  return found;
}

}  // namespace

void register_take(py::module_ &module) {
  module.def("take_rows", &rows_at, py::arg("source"), py::arg("places"), py::arg("out"),
             "Writes the rows of an array at places; returns the number of the first place that is no row, else -1.");
  module.def("take_segments", &segments_at, py::arg("source"), py::arg("begins"), py::arg("places"), py::arg("starts"),
             py::arg("out"), "Writes the segments of a buffer at places, one after the other.");
  module.def("chosen_starts", &chosen_starts, py::arg("begins"), py::arg("coordinates"), py::arg("firsts"),
             "Returns where each row's entries start after a renumbering of their coordinates, and their number.");
  module.def("chosen_entries", &chosen_entries, py::arg("begins"), py::arg("coordinates"), py::arg("values"),
             py::arg("firsts"), py::arg("numbers"), py::arg("starts"), py::arg("named"), py::arg("kept"),
             "Writes the coordinates and values of rows after a renumbering of their coordinates.");
  module.def("entries_between", &entries_between, py::arg("begins"), py::arg("coordinates"), py::arg("values"),
             py::arg("low"), py::arg("step"), py::arg("count"), py::arg("reversed"),
             "Returns the rows' entries at equally distant coordinates, numbered anew: starts, coordinates and values.");
  module.def("find_entries", &found_at, py::arg("begins"), py::arg("coordinates"), py::arg("lines"), py::arg("wanted"),
             "Returns the places of entries in rows, -1 where there is none.");
  module.def("diagonal_entries", &diagonal_of, py::arg("begins"), py::arg("coordinates"), py::arg("values"),
             py::arg("low"), py::arg("right"), py::arg("count"), py::arg("width"),
             "Returns how far along a diagonal of rows its entries are, and their values.");
  module.def("write_dense", &written_dense, py::arg("begins"), py::arg("coordinates"), py::arg("values"),
             py::arg("out"), py::arg("parent_stride"), py::arg("extents"), py::arg("strides"),
             "Writes listed entries, each once, to their elements of a dense array.");
  module.def("best_places", &best_places, py::arg("begins"), py::arg("coordinates"), py::arg("values"),
             py::arg("extent"), py::arg("over_rows"), py::arg("largest"),
             "Returns the first place of the greatest or least element of each row, or of each coordinate in rows.");
}

}  // namespace mlir_sparse
