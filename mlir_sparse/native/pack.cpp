// _native.pack: from coordinates and values to level storage.

#include "module.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <tuple>

#include "memory.hpp"
#include "pack_build.hpp"
#include "pack_rows.hpp"
#include "pack_tree.hpp"

namespace mlir_sparse {
namespace {

using PackedTuple = std::tuple<std::vector<OptionalArray>, std::vector<OptionalArray>, py::array>;

template <class I>
Columns<I> to_columns(const std::vector<py::array> &arrays, size_t count) {
  Columns<I> columns{{}, count};
  for (const auto &array : arrays)
    columns.data.push_back(static_cast<const I *>(array.data()));
  return columns;
}

template <class I>
int64_t largest(const I *column, size_t count) {
  return count == 0 ? -1 : static_cast<int64_t>(*std::max_element(column, column + count));
}

// Raises the first coordinate that is out of range; called when there is one.
template <class I>
void raise_range(const Columns<I> &columns, const std::vector<int64_t> &extents) {
  for (size_t dim = 0; dim < extents.size(); ++dim)
    for (size_t e = 0; e < columns.count; ++e) {
      const auto c = static_cast<int64_t>(columns.data[dim][e]);
      if (c < 0 || c >= extents[dim]) throw LevelFault("range", dim, static_cast<int64_t>(e), extents[dim], c);
    }
}

template <class I>
std::vector<int64_t> check_columns(const Columns<I> &columns, const std::vector<int64_t> &extents) {
  std::vector<int64_t> maxima;
  if (!scan(columns, extents, true).in_range) raise_range(columns, extents);
  for (const I *column : columns.data)
    maxima.push_back(largest(column, columns.count));
  return maxima;
}

// Scans the levels whose order matters, and the ranges of the others.
template <class I>
Scan scan_levels(const PackPlan &plan, const Columns<I> &columns) {
  py::gil_scoped_release release;
  const auto sizes = plan.sizes();
  const size_t ordered = plan.ordered_rank();
  const Scan found = scan(columns.slice(0, ordered), plan.ordered_sizes(), true);
  const Scan rest = scan(columns.slice(ordered, sizes.size()), {sizes.begin() + ordered, sizes.end()}, true);
  if (!found.in_range || !rest.in_range) raise_range(columns, sizes);
  return found;
}

// Each level is read many times, by then in order: one random pass over a column is enough.
template <class I>
Scratch<I> gather(const I *column, const Scratch<uint64_t> &order) {
  Scratch<I> sorted(order.length);
  for (size_t e = 0; e < order.length; ++e)
    sorted[e] = column[order[e]];
  return sorted;
}

// Whether all levels are compressed.
bool is_tree(const PackPlan &plan) {
  const auto compressed = [](const Level &level) { return level.kind == LevelKind::Compressed && level.unique; };
  return plan.levels.size() > 1 && plan.levels.size() < 256 &&
         std::all_of(plan.levels.begin(), plan.levels.end(), compressed);
}

template <class I>
PackedLevels pack_tree(const PackPlan &plan, const Columns<I> &columns, const py::array &values) {
  const auto built = [&] {
    py::gil_scoped_release release;
    return std::make_unique<Tree<I>>(columns);
  }();
  const size_t rank = plan.levels.size();
  PackedLevels packed{std::vector<OptionalArray>(rank), std::vector<OptionalArray>(rank), {}};
  std::vector<void *> pos, crd;
  for (size_t level = 0; level < rank; ++level) {
    const int64_t parents = level ? built->nodes(level - 1) : 1, count = built->nodes(level);
    require_width("posWidth", level, plan.pos_width, count);
    require_memory(plan, level, parents + 1, plan.pos_width / 8);
    require_memory(plan, level, count, plan.crd_width / 8);
    packed.positions[level] = reserve(static_cast<size_t>(parents + 1), width_dtype(plan.pos_width), false);
    packed.coordinates[level] = reserve(static_cast<size_t>(count), width_dtype(plan.crd_width), false);
    pos.push_back(packed.positions[level]->mutable_data());
    crd.push_back(packed.coordinates[level]->mutable_data());
  }
  require_memory(plan, rank, built->nodes(rank - 1), values.itemsize());
  packed.values = reserve(static_cast<size_t>(values.size()), values.dtype(), false);
  const void *from = values.data();
  void *to = packed.values.mutable_data();
  const int64_t itemsize = values.itemsize();
  py::gil_scoped_release release;
  built->fill(plan.pos_width, plan.crd_width, pos, crd);
  built->copy_values(from, to, itemsize);
  return packed;
}

template <class I>
PackedLevels pack_levels(const PackPlan &plan, const Columns<I> &columns, const Scan &scan, const py::array &values) {
  if (scan.sorted && scan.distinct && is_tree(plan)) return pack_tree(plan, columns, values);
  if (scan.sorted) return Builder<I>(plan, columns, nullptr).build(values);
  std::optional<Scratch<uint64_t>> order;
  std::vector<Scratch<I>> sorted;
  Columns<I> in_order{{}, columns.count};
  {
    py::gil_scoped_release release;
    order = sort_order(columns.slice(0, plan.ordered_rank()), plan.ordered_sizes());
    for (const I *column : columns.data)
      sorted.push_back(gather(column, *order));
  }
  for (const auto &column : sorted)
    in_order.data.push_back(column.data());
  return Builder<I>(plan, in_order, order->data()).build(values);
}

// The number of rows of dense levels above one compressed level; none for other levels, and for rows that the
// coordinates' type cannot number.
std::optional<int64_t> rows_of(const PackPlan &plan, int64_t largest) {
  const auto &levels = plan.levels;
  if (levels.empty() || levels.back().kind != LevelKind::Compressed || plan.keep_duplicates) return std::nullopt;
  if (plan.pos_width < 32 || plan.crd_width < 32) return std::nullopt;
  int64_t rows = 1;
  for (auto level = levels.begin(); level + 1 != levels.end(); ++level) {
    if (level->kind != LevelKind::Dense) return std::nullopt;
    rows = checked_product(rows, level->size);
  }
  return levels.size() == 2 || rows <= largest ? std::optional(rows) : std::nullopt;
}

// The row of every entry where it is no column already.
template <class I>
Scratch<I> number_rows(const PackPlan &plan, const Columns<I> &columns) {
  Scratch<I> rows(columns.count);
  const auto sizes = plan.sizes();
  for (size_t e = 0; e < columns.count; ++e)
    rows[e] = static_cast<I>(linear_key(columns, sizes, 0, sizes.size() - 1, e));
  return rows;
}

// Buffers of a row level, filled at the wider of both widths, then narrowed to the wanted ones.
class RowArrays {
public:
  RowArrays(const PackPlan &plan, int64_t rows, int64_t count, const py::array &values)
      : plan_(plan), width_(std::max(plan.pos_width, plan.crd_width)), rows_(rows) {
    const size_t last = plan.levels.size() - 1;
    require_memory(plan, last, rows, width_ / 8);
    require_memory(plan, last, count, width_ / 8 + values.itemsize());
    require_width("posWidth", last, plan.pos_width, count);
    pos_ = new_array(width_dtype(width_), rows + 1);
    crd_ = new_array(width_dtype(width_), count);
    values_ = new_array(values.dtype(), count);
  }

  RowBuffers buffers() {
    return {rows_, width_, pos_.mutable_data(), crd_.mutable_data(), values_.mutable_data()};
  }

  void shorten(int64_t count) {
    for (py::array *array : {&crd_, &values_})
      *array = (*array)[py::slice(0, static_cast<py::ssize_t>(count), 1)].attr("copy")();
  }

  PackedLevels packed() const {
    const size_t rank = plan_.levels.size();
    PackedLevels packed{std::vector<OptionalArray>(rank), std::vector<OptionalArray>(rank), values_};
    packed.positions.back() = of_width(pos_, plan_.pos_width);
    packed.coordinates.back() = of_width(crd_, plan_.crd_width);
    return packed;
  }

private:
  py::array of_width(const py::array &array, int width) const {
    return width == width_ ? array : py::array(array.attr("astype")(width_dtype(width)));
  }

  const PackPlan &plan_;
  int width_;
  int64_t rows_;
  py::array pos_, crd_, values_;
};

template <class I>
PackedLevels pack_by_rows(const PackPlan &plan, const Columns<I> &columns, int64_t rows, const Scan &scan,
                    const py::array &values) {
  RowArrays arrays(plan, rows, static_cast<int64_t>(columns.count), values);
  const auto out = arrays.buffers();
  RowEntries<I> entries{nullptr, columns.data.back(), values.data(), columns.count, values.itemsize(),
                        plan.levels.back().size};
  std::optional<int64_t> kept;
  {
    py::gil_scoped_release release;
    std::optional<Scratch<I>> numbers;
    if (columns.data.size() != 2) numbers = number_rows(plan, columns);
    entries.rows = numbers ? numbers->data() : columns.data.front();
    if (pack_rows(entries, scan, out)) kept = sum_row_duplicates(out, plan.dtype);
  }
  if (kept) arrays.shorten(*kept);
  return arrays.packed();
}

// Whether entries, which are not sorted, are a matrix in coordinates that its rows are counted for in less time than
// the entries are sorted in.
bool is_counted(const PackPlan &plan, size_t count) {
  const auto &levels = plan.levels;
  if (levels.size() != 2 || plan.keep_duplicates || plan.pos_width < 32 || plan.crd_width < 32) return false;
  if (count > static_cast<size_t>(width_limit(32))) return false; // its rows have positions as wide as coordinates
  const bool is_list = levels[0].kind == LevelKind::Compressed && !levels[0].unique &&
                       levels[1].kind == LevelKind::Singleton && levels[1].unique;
  return is_list && levels[0].ordered && levels[1].ordered && levels[0].size / 4 <= static_cast<int64_t>(count);
}

// Writes the row of each entry, and its coordinate.
template <class T>
void list_rows(const RowBuffers &rows, T *row, T *coordinate, int64_t stride) {
  const auto *pos = static_cast<const T *>(rows.pos), *crd = static_cast<const T *>(rows.crd);
  for (int64_t r = 0; r < rows.rows; ++r)
    for (int64_t e = pos[r]; e < pos[r + 1]; ++e) {
      row[e * stride] = static_cast<T>(r);
      coordinate[e * stride] = crd[e];
    }
}

// Packs a matrix by rows, whose entries are then listed one after the other.
template <class I>
PackedLevels pack_list(const PackPlan &plan, const Columns<I> &columns, const Scan &scan, const py::array &values) {
  PackPlan by_rows = plan;
  by_rows.levels[0].kind = LevelKind::Dense;
  by_rows.levels[1].kind = LevelKind::Compressed;
  by_rows.pos_width = by_rows.crd_width; // positions of rows are not kept
  const int64_t rows = plan.levels[0].size;
  PackedLevels packed = pack_by_rows(by_rows, columns, rows, scan, values);
  py::array &pos = *packed.positions[1], &crd = *packed.coordinates[1];
  const auto count = static_cast<int64_t>(crd.size()), stride = int64_t{plan.levels[1].soa ? 1 : 2};
  require_memory(plan, 0, 2 * count, plan.crd_width / 8);
  const auto dtype = width_dtype(plan.crd_width);
  py::array first = new_array(dtype, count * stride);
  OptionalArray second;
  if (stride == 1) second = new_array(dtype, count);
  const RowBuffers from{rows, plan.crd_width, pos.mutable_data(), crd.mutable_data(), nullptr};
  void *row = first.mutable_data(), *coordinate = second ? second->mutable_data() : nullptr;
  {
    py::gil_scoped_release release;
    with_wide(plan.crd_width, [&](auto t) {
      auto *to = static_cast<decltype(t) *>(row);
      list_rows(from, to, coordinate ? static_cast<decltype(t) *>(coordinate) : to + 1, stride);
    });
  }
  py::array ends = new_array(width_dtype(plan.pos_width), 2);
  with_wide(plan.pos_width, [&](auto t) {
    auto *end = static_cast<decltype(t) *>(ends.mutable_data());
    end[0] = 0;
    end[1] = static_cast<decltype(t)>(count);
  });
  return {{ends, std::nullopt}, {first, second}, packed.values};
}

template <class I>
PackedLevels pack_columns(const PackPlan &plan, const Columns<I> &columns, const py::array &values) {
  const Scan scan = scan_levels(plan, columns);
  if (const auto rows = rows_of(plan, std::numeric_limits<I>::max()))
    return pack_by_rows(plan, columns, *rows, scan, values);
  if (!scan.sorted && is_counted(plan, columns.count)) return pack_list(plan, columns, scan, values);
  return pack_levels(plan, columns, scan, values);
}

PackedTuple pack(const std::vector<LevelTuple> &levels, const std::vector<py::array> &coordinates,
                 const py::array &values, const std::string &dtype, int pos_width, int crd_width, bool keep_duplicates,
                 int64_t memory_limit) {
  const PackPlan plan{to_levels(levels), pos_width, crd_width, dtype, keep_duplicates, memory_limit};
  const auto count = static_cast<size_t>(values.size());
  const bool narrow = !coordinates.empty() && coordinates.front().itemsize() == 4;
  PackedLevels packed = narrow ? pack_columns(plan, to_columns<int32_t>(coordinates, count), values)
                         : pack_columns(plan, to_columns<int64_t>(coordinates, count), values);
  return {std::move(packed.positions), std::move(packed.coordinates), std::move(packed.values)};
}

std::vector<int64_t> check_ranges(const std::vector<py::array> &coordinates, const std::vector<int64_t> &extents) {
  if (coordinates.empty()) return {};
  const auto count = static_cast<size_t>(coordinates.front().size());
  const bool narrow = coordinates.front().itemsize() == 4;
  py::gil_scoped_release release;
  return narrow ? check_columns(to_columns<int32_t>(coordinates, count), extents)
                : check_columns(to_columns<int64_t>(coordinates, count), extents);
}

// Makes LevelFault a Python exception whose args are its figures; tensor/storage_fault_messages.py has the messages.
void register_fault(py::module_ &module) {
  static PyObject *fault = PyErr_NewException("mlir_sparse._native.LevelFault", PyExc_ValueError, nullptr);
  module.attr("LevelFault") = py::handle(fault);
  py::register_exception_translator([](std::exception_ptr raised) {
    try {
      if (raised) std::rethrow_exception(raised);
    } catch (const LevelFault &f) {
      PyErr_SetObject(fault, py::make_tuple(f.kind, f.level, f.position, f.expected, f.got).ptr());
    }
  });
}

} // namespace

void register_pack(py::module_ &module) {
  register_fault(module);
  module.def("pack", &pack, py::arg("levels"), py::arg("coordinates"), py::arg("values"), py::arg("dtype"),
             py::arg("pos_width"), py::arg("crd_width"), py::arg("keep_duplicates"), py::arg("memory_limit"),
             "Packs level coordinates (contiguous, all int32 or all int64, in range) and values into level buffers.");
  module.def("check_ranges", &check_ranges, py::arg("coordinates"), py::arg("extents"),
             "Returns the largest coordinate of each dimension (-1 for none), or raises the first out of range.");
}

} // namespace mlir_sparse
