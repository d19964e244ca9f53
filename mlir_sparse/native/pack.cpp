// _native.pack: from coordinates and values to level storage.

#include "module.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <tuple>

#include "pack_build.hpp"
#include "pack_rows.hpp"

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

// Looks at the levels whose order matters, and at the ranges of the others.
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
template <class I, class Index>
Scratch<I> gather(const I *column, const Scratch<Index> &order) {
  Scratch<I> sorted(order.length);
  for (size_t e = 0; e < order.length; ++e)
    sorted[e] = column[order[e]];
  return sorted;
}

template <class I, class Index>
Packed pack_levels(const PackPlan &plan, const Columns<I> &columns, const Scan &scan, const py::array &values) {
  if (scan.sorted) return Builder<I, Index>(plan, columns, nullptr).build(values);
  std::optional<Scratch<Index>> order;
  std::vector<Scratch<I>> sorted;
  Columns<I> in_order{{}, columns.count};
  {
    py::gil_scoped_release release;
    order = sort_order<I, Index>(columns.slice(0, plan.ordered_rank()), plan.ordered_sizes());
    for (const I *column : columns.data)
      sorted.push_back(gather(column, *order));
  }
  for (const auto &column : sorted)
    in_order.data.push_back(column.owned.get());
  return Builder<I, Index>(plan, in_order, order->owned.get()).build(values);
}

template <class I>
Packed pack_columns(const PackPlan &plan, const Columns<I> &columns, const py::array &values) {
  const Scan scan = scan_levels(plan, columns);
  if (packs_by_rows(plan)) {
    if (plan.pos_width == 32)
      return plan.crd_width == 32 ? pack_rows<I, int32_t, int32_t>(plan, columns, scan, values)
                                  : pack_rows<I, int32_t, int64_t>(plan, columns, scan, values);
    return plan.crd_width == 32 ? pack_rows<I, int64_t, int32_t>(plan, columns, scan, values)
                                : pack_rows<I, int64_t, int64_t>(plan, columns, scan, values);
  }
  if (columns.count <= std::numeric_limits<uint32_t>::max())
    return pack_levels<I, uint32_t>(plan, columns, scan, values);
  return pack_levels<I, uint64_t>(plan, columns, scan, values);
}

PackedTuple pack(const std::vector<LevelTuple> &levels, const std::vector<py::array> &coordinates,
                 const py::array &values, const std::string &dtype, int pos_width, int crd_width, bool keep_duplicates,
                 int64_t memory_limit) {
  const PackPlan plan{to_levels(levels), pos_width, crd_width, dtype, keep_duplicates, memory_limit};
  const auto count = static_cast<size_t>(values.size());
  const bool narrow = !coordinates.empty() && coordinates.front().itemsize() == 4;
  Packed packed = narrow ? pack_columns(plan, to_columns<int32_t>(coordinates, count), values)
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

// Makes LevelFault a Python exception whose args are its figures; tensor/faults.py words them.
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
