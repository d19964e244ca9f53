// Conversions of matrices to rows, from rows, and between row formats, without intermediate coordinates.

#include "module.hpp"

#include <pybind11/stl.h>

#include <limits>
#include <optional>
#include <tuple>

#include "convert_lines.hpp"
#include "convert_rows.hpp"
#include "pack_levels.hpp"
#include "pack_rows.hpp"

namespace mlir_sparse {
namespace {

using Arrays = std::tuple<py::array, py::array, py::array>;

RowMatrix to_matrix(int64_t columns, const py::array &pos, const py::array &crd, const py::array &values) {
  return {pos.size() - 1,
          columns,
          values.size(),
          static_cast<int>(pos.itemsize() * 8),
          static_cast<int>(crd.itemsize() * 8),
          values.itemsize(),
          pos.data(),
          crd.data(),
          values.data()};
}

int64_t stride_of(const py::array &array) { return array.size() > 1 ? array.strides(0) / array.itemsize() : 1; }

Arrays transpose_rows(int64_t columns, const py::array &pos, const py::array &crd, const py::array &values) {
  Arrays out{new_array(pos.dtype(), columns + 1), new_array(crd.dtype(), crd.size()),
             new_array(values.dtype(), values.size())};
  RowMatrix from = to_matrix(columns, pos, crd, values);
  from.crd_stride = stride_of(crd);
  void *to[] = {std::get<0>(out).mutable_data(), std::get<1>(out).mutable_data(), std::get<2>(out).mutable_data()};
  py::gil_scoped_release release;
  transpose(from, to[0], to[1], to[2]);
  return out;
}

// Without values none are copied.
std::pair<py::array, OptionalArray> list_rows(const py::array &pos, const py::array &crd, const OptionalArray &values,
                                              bool rows_only) {
  const RowMatrix from = to_matrix(0, pos, crd, values ? *values : crd);
  std::pair<py::array, OptionalArray> out{new_array(crd.dtype(), crd.size() * (rows_only ? 1 : 2)), std::nullopt};
  if (values) out.second = new_array(values->dtype(), values->size());
  void *const listed = out.first.mutable_data(), *const copied = values ? out.second->mutable_data() : nullptr;
  py::gil_scoped_release release;
  list_entries(from, rows_only, listed, copied);
  return out;
}

Arrays block_rows(int64_t height, int64_t width, int64_t memory_limit, const py::array &pos, const py::array &crd,
                  const py::array &values) {
  const RowMatrix from = to_matrix(0, pos, crd, values);
  auto pos_out = new_array(pos.dtype(), from.rows / height + (from.rows % height != 0) + 1);
  void *const starts = pos_out.mutable_data();
  int64_t blocks = 0;
  {
    py::gil_scoped_release release;
    blocks = count_blocks(from, height, width, starts);
  }
  int64_t size = 0, bytes = 0;
  if (__builtin_mul_overflow(blocks, height, &size) || __builtin_mul_overflow(size, width, &size) ||
      __builtin_mul_overflow(size, from.itemsize, &bytes))
    bytes = std::numeric_limits<int64_t>::max();
  if (bytes > memory_limit) throw LevelFault("memory", 4, size, memory_limit, bytes);
  Arrays out{pos_out, new_array(crd.dtype(), blocks), new_array(values.dtype(), size, true)};
  void *to[] = {std::get<1>(out).mutable_data(), std::get<2>(out).mutable_data()};
  py::gil_scoped_release release;
  fill_blocks(from, height, width, starts, to[0], to[1]);
  return out;
}

// The rows of a list, in its widths; without `copied`, only their positions.
Arrays rows_of_list(int64_t rows, const py::array &row_crd, const py::array &crd, const py::array &values,
                    bool copied) {
  const int64_t count = values.size();
  Arrays out{new_array(crd.dtype(), rows + 1), new_array(crd.dtype(), copied ? count : 0),
             new_array(values.dtype(), copied ? count : 0)};
  const RowList from{rows,           count,      static_cast<int>(crd.itemsize() * 8), stride_of(row_crd),
                     values.itemsize(), row_crd.data(), crd.data(), values.data()};
  void *to[] = {std::get<0>(out).mutable_data(), std::get<1>(out).mutable_data(), std::get<2>(out).mutable_data()};
  py::gil_scoped_release release;
  list_to_rows(from, to[0], copied ? to[1] : nullptr, copied ? to[2] : nullptr);
  return out;
}

// The rows of another format; none if the entries exceed this width of positions, or if rows that had to be sorted
// repeat a coordinate.
template <class Matrix>
std::optional<Arrays> rows_of(const Matrix &from, int64_t rows, int width, const py::dtype &dtype, bool sorted) {
  RowShares shares;
  {
    py::gil_scoped_release release;
    shares = count_entries(from);
  }
  if (shares.count() > width_limit(width)) return std::nullopt;
  Arrays out{new_array(width_dtype(width), rows + 1), new_array(width_dtype(width), shares.count()),
             new_array(dtype, shares.count())};
  const RowOutput to{width, std::get<0>(out).mutable_data(), std::get<1>(out).mutable_data(),
                     std::get<2>(out).mutable_data()};
  py::gil_scoped_release release;
  fill_rows(from, shares, to);
  if (!sorted && sort_rows({rows, width, to.pos, to.crd, to.values}, dtype.itemsize())) return std::nullopt;
  return out;
}

std::optional<Arrays> rows_of_slots(int64_t rows, int64_t lines, bool by_row, const py::array &crd,
                                    const py::array &values) {
  const int width = static_cast<int>(crd.itemsize() * 8);
  return rows_of(SlotMatrix{rows, lines, by_row, width, values.itemsize(), crd.data(), values.data()}, rows, width,
                 values.dtype(), false);
}

std::optional<Arrays> rows_of_diagonals(int64_t rows, int64_t columns, int width, const py::array &offsets,
                                        const py::array &values, const std::string &dtype) {
  const auto *numbers = static_cast<const int64_t *>(offsets.data());
  return rows_of(DiagonalMatrix{rows, columns, offsets.size(), numbers, dtype, values.data()}, rows, width,
                 values.dtype(), true);
}

std::optional<Arrays> rows_of_blocks(int64_t rows, int64_t columns, int64_t height, int64_t width,
                                     const py::array &pos, const py::array &crd, const py::array &values,
                                     const std::string &dtype) {
  const int crd_width = static_cast<int>(crd.itemsize() * 8);
  return rows_of(BlockMatrix{rows, columns, height, width, static_cast<int>(pos.itemsize() * 8), crd_width, dtype,
                             pos.data(), crd.data(), values.data()},
                 rows, crd_width, values.dtype(), true);
}

std::pair<py::array, py::array> slots_of_rows(int64_t lines, bool by_row, const py::array &pos, const py::array &crd,
                                              const py::array &values) {
  const RowMatrix from = to_matrix(0, pos, crd, values);
  std::pair<py::array, py::array> out{new_array(crd.dtype(), lines * from.rows),
                                      new_array(values.dtype(), lines * from.rows)};
  void *to[] = {out.first.mutable_data(), out.second.mutable_data()};
  py::gil_scoped_release release;
  if (by_row)
    rows_to_tables(from, lines, to[0], to[1]);
  else
    rows_to_slots(from, lines, to[0], to[1]);
  return out;
}

py::array present_diagonals(int64_t columns, const py::array &pos, const py::array &crd, const py::array &values) {
  const RowMatrix from = to_matrix(columns, pos, crd, values);
  py::array out = new_array(py::dtype::of<bool>(), std::max<int64_t>(0, from.rows + columns - 1), true);
  auto *present = static_cast<uint8_t *>(out.mutable_data());
  py::gil_scoped_release release;
  if (from.count > 0) mark_diagonals(from, present);
  return out;
}

py::array diagonals_of_rows(int64_t columns, const py::array &begins, int64_t count, const py::array &pos,
                            const py::array &crd, const py::array &values) {
  const RowMatrix from = to_matrix(columns, pos, crd, values);
  py::array out = new_array(values.dtype(), count, true);
  const auto *places = static_cast<const int64_t *>(begins.data());
  void *to = out.mutable_data();
  py::gil_scoped_release release;
  rows_to_diagonals(from, places, to);
  return out;
}

int64_t longest(const py::array &pos) {
  const RowMatrix from{pos.size() - 1, 0, 0, static_cast<int>(pos.itemsize() * 8), 32, 1, pos.data(), nullptr, nullptr};
  py::gil_scoped_release release;
  return longest_row(from);
}

} // namespace

// Positions and coordinates are contiguous, have 32 or 64 bits unless stated, and are validated.
void register_convert_matrix(py::module_ &module) {
  module.def("transpose", &transpose_rows, py::arg("columns"), py::arg("positions"), py::arg("coordinates"),
             py::arg("values"), "Returns positions, coordinates and values of a matrix of rows by its columns.");
  module.def("list_rows", &list_rows, py::arg("positions"), py::arg("coordinates"), py::arg("values"),
             py::arg("rows_only"),
             "Returns the row and column of every entry in turn, or its row alone, and a copy of the values, if any.");
  module.def("block_rows", &block_rows, py::arg("height"), py::arg("width"), py::arg("memory_limit"),
             py::arg("positions"), py::arg("coordinates"), py::arg("values"),
             "Returns positions, coordinates and values of the blocks of a matrix of rows whose coordinates ascend.");
  module.def("rows_of_list", &rows_of_list, py::arg("rows"), py::arg("row_coordinates"), py::arg("coordinates"),
             py::arg("values"), py::arg("copied"),
             "Returns positions, coordinates and values of entries that are in the order of their rows, or positions "
             "alone; both coordinates may be strided alike.");
  module.def("rows_of_slots", &rows_of_slots, py::arg("rows"), py::arg("lines"), py::arg("by_row"),
             py::arg("coordinates"), py::arg("values"),
             "Returns rows of what has a place for each row in every slot, or for each slot in every row; None where "
             "a coordinate is in a row twice.");
  module.def("rows_of_diagonals", &rows_of_diagonals, py::arg("rows"), py::arg("columns"), py::arg("width"),
             py::arg("offsets"), py::arg("values"), py::arg("dtype"),
             "Returns rows, of this width, of diagonals at offsets, int64, that ascend; zeros are left out.");
  module.def("rows_of_blocks", &rows_of_blocks, py::arg("rows"), py::arg("columns"), py::arg("height"),
             py::arg("width"), py::arg("positions"), py::arg("coordinates"), py::arg("values"), py::arg("dtype"),
             "Returns rows, of the coordinates' width, of rows of blocks; zeros are left out.");
  module.def("slots_of_rows", &slots_of_rows, py::arg("lines"), py::arg("by_row"), py::arg("positions"),
             py::arg("coordinates"), py::arg("values"),
             "Returns coordinates and values of rows by slot, or, by row, in hash tables.");
  module.def("present_diagonals", &present_diagonals, py::arg("columns"), py::arg("positions"),
             py::arg("coordinates"), py::arg("values"),
             "Returns for every diagonal, from j - i = 1 - rows on, whether it has an entry.");
  module.def("diagonals_of_rows", &diagonals_of_rows, py::arg("columns"), py::arg("begins"), py::arg("count"),
             py::arg("positions"), py::arg("coordinates"), py::arg("values"),
             "Returns `count` values by diagonal; `begins`, int64, says where each begins among them.");
  module.def("longest_row", &longest, py::arg("positions"), "Returns the largest number of entries of a row.");
}

} // namespace mlir_sparse
