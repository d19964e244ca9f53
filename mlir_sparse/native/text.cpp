// _native.TextRows and text_of_rows: entries in text files to arrays and back.

#include "module.hpp"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>

#include "memory.hpp"
#include "text_rows.hpp"

namespace mlir_sparse {
namespace {

RowFormat::Value value_kind(const std::string &name) {
  if (name == "real") return RowFormat::Value::kReal;
  if (name == "integer") return RowFormat::Value::kInteger;
  if (name == "unsigned") return RowFormat::Value::kUnsigned;
  if (name == "complex") return RowFormat::Value::kComplex;
  if (name == "pattern") return RowFormat::Value::kNone;
  throw py::value_error("expected real, integer, unsigned, complex or pattern");
}

// Rows read block by block, into arrays that are reserved for the expected number.
class TextRows {
 public:
  TextRows(const std::vector<int64_t> &extents, const std::string &value, char comment, int64_t base, bool narrow,
           int64_t lines, int64_t expected, int64_t most, int64_t memory_limit)
      : format_{extents, value_kind(value), comment, base, narrow}, lines_(lines), most_(most),
        memory_limit_(memory_limit) {
    grow(std::max<int64_t>(std::min(expected, memory_limit / std::max<int64_t>(row_bytes(), 1)), 1));
  }

  // Reads the whole lines of a block; returns their bytes, and the number of lines so far.
  std::pair<size_t, int64_t> feed(const py::buffer &block) {
    const py::buffer_info info = block.request();
    const auto *begin = static_cast<const char *>(info.ptr);
    const char *end = begin + info.size * info.itemsize;
    while (end != begin && end[-1] != '\n') --end;
    if (end == begin) return {0, lines_};
    int64_t space;
    {
      py::gil_scoped_release release;
      space = rows_ + count_lines(begin, end);
    }
    if (space > capacity_) grow(std::max(space, capacity_ + capacity_ / 2));
    TextColumns arrays;
    for (py::array &column : columns_) arrays.coordinates.push_back(static_cast<char *>(column.mutable_data()));
    arrays.values = static_cast<char *>(values_.mutable_data());
    py::gil_scoped_release release;
    rows_ = read_rows(format_, begin, end, arrays, rows_, most_, lines_);
    return {end - begin, lines_};
  }

  // Returns the coordinates, one array a dimension, and the values; `feed` must not be called again.
  std::pair<std::vector<py::array>, py::array> take() {
    for (py::array &column : columns_) column = trim(column, rows_, 0);
    values_ = trim(values_, format_.value_bytes() > 0 ? rows_ : 0, 0);
    return {std::move(columns_), std::move(values_)};
  }

  int64_t rows() const { return rows_; }

 private:
  int64_t row_bytes() const {
    return static_cast<int64_t>(format_.extents.size() * format_.width() + format_.value_bytes());
  }

  void grow(int64_t wanted) {
    const int64_t row = row_bytes();
    // Old and new arrays exist together while rows are copied.
    if (row > 0 && capacity_ > 0 && wanted > memory_limit_ / row - rows_) {
      RowFault fault;
      fault.kind = "memory";
      fault.line = lines_;
      fault.place = wanted;
      throw fault;
    }
    std::vector<py::array> columns;
    const py::dtype crd = format_.narrow ? py::dtype::of<int32_t>() : py::dtype::of<int64_t>();
    for (size_t dim = 0; dim < format_.extents.size(); ++dim)
      columns.push_back(grown(dim < columns_.size() ? &columns_[dim] : nullptr, crd, wanted));
    columns_ = std::move(columns);
    const bool valued = format_.value_bytes() > 0;
    values_ = grown(capacity_ > 0 && valued ? &values_ : nullptr, value_dtype(), valued ? wanted : 0);
    capacity_ = wanted;
  }

  py::dtype value_dtype() const {
    switch (format_.value) {
      case RowFormat::Value::kInteger: return py::dtype::of<int64_t>();
      case RowFormat::Value::kUnsigned: return py::dtype::of<uint64_t>();
      case RowFormat::Value::kComplex: return py::dtype("complex128");
      default: return py::dtype::of<double>();
    }
  }

  py::array grown(const py::array *from, const py::dtype &dtype, int64_t wanted) const {
    py::array made = reserve(static_cast<size_t>(wanted), dtype, false);
    if (from != nullptr) {
      const void *source = from->data();
      void *target = made.mutable_data();
      const size_t bytes = static_cast<size_t>(rows_) * static_cast<size_t>(dtype.itemsize());
      py::gil_scoped_release release;
      std::memcpy(target, source, bytes);
    }
    return made;
  }

  const RowFormat format_;
  int64_t lines_, rows_ = 0, capacity_ = 0;
  const int64_t most_, memory_limit_;
  std::vector<py::array> columns_;
  py::array values_;
};

RowColumn column_of(const py::array &array, int64_t shift) {
  const char kind = array.dtype().kind();
  const auto width = array.itemsize();
  if (array.ndim() != 1) throw py::value_error("expected arrays of one axis");
  RowColumn column{static_cast<const char *>(array.data()), RowColumn::Kind::kDouble,
                   static_cast<size_t>(array.strides(0)), shift};
  if (kind == 'i' && (width == 4 || width == 8))
    column.kind = width == 4 ? RowColumn::Kind::kInt32 : RowColumn::Kind::kInt64;
  else if (kind == 'u' && width == 8)
    column.kind = RowColumn::Kind::kUnsigned;
  else if (kind == 'f' && (width == 4 || width == 8))
    column.kind = width == 4 ? RowColumn::Kind::kFloat : RowColumn::Kind::kDouble;
  else
    throw py::value_error("expected numbers of 32 or 64 bits");
  return column;
}

py::bytes rows_as_text(const std::vector<py::array> &coordinates, const std::vector<py::array> &values, int64_t begin,
                       int64_t end) {
  std::vector<RowColumn> columns;
  for (const py::array &array : coordinates) columns.push_back(column_of(array, 1));
  for (const py::array &array : values) columns.push_back(column_of(array, 0));
  for (const auto *arrays : {&coordinates, &values})
    for (const py::array &array : *arrays)
      if (begin < 0 || begin > end || array.size() < end) throw py::value_error("expected rows that are there");
  if (columns.empty()) throw py::value_error("expected a column");
  std::string text;
  {
    py::gil_scoped_release release;
    text = text_of_rows(columns, begin, end);
  }
  return py::bytes(text);
}

// Makes RowFault a Python exception whose args are its parts; tensor/files/text_rows.py has the messages.
void register_row_fault(py::module_ &module) {
  static PyObject *fault = PyErr_NewException("mlir_sparse._native.RowFault", PyExc_ValueError, nullptr);
  module.attr("RowFault") = py::handle(fault);
  py::register_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const RowFault &f) {
      const auto arguments = py::make_tuple(f.kind, f.line, f.place, py::bytes(f.word), py::bytes(f.text));
      PyErr_SetObject(fault, arguments.ptr());
    }
  });
}

}  // namespace

void register_text(py::module_ &module) {
  register_row_fault(module);
  py::class_<TextRows>(module, "TextRows")
      .def(py::init<const std::vector<int64_t> &, const std::string &, char, int64_t, bool, int64_t, int64_t, int64_t,
                    int64_t>(),
           py::kw_only(), py::arg("extents"), py::arg("value"), py::arg("comment"), py::arg("base"), py::arg("narrow"),
           py::arg("lines"), py::arg("expected"), py::arg("most"), py::arg("memory_limit"))
      .def("feed", &TextRows::feed, py::arg("block"),
           "Reads the whole lines of a block of text; returns how many bytes they have, and how many lines there were.")
      .def("take", &TextRows::take, "Hands over coordinates and values; nothing is to be fed after it.")
      .def_property_readonly("rows", &TextRows::rows);
  module.def("text_of_rows", &rows_as_text, py::arg("coordinates"), py::arg("values"), py::arg("begin"), py::arg("end"),
             "Returns a line for each row: coordinates from 1, and values in the digits that read back to them.");
}

}  // namespace mlir_sparse
