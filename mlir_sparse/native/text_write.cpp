// The text of rows, with the shortest digits that identify a number.

#include <charconv>
#include <cmath>
#include <cstring>

#include "pack_threads.hpp"
#include "text_rows.hpp"

namespace mlir_sparse {
namespace {

template <class T>
T at(const RowColumn &column, int64_t row) {
  T value;
  std::memcpy(&value, column.data + row * static_cast<int64_t>(column.stride), sizeof value);
  return value;
}

constexpr size_t kLongest = 32;  // of a number in text

template <class T>
char *put_integer(char *p, const RowColumn &column, int64_t row) {
  return std::to_chars(p, p + kLongest, static_cast<int64_t>(at<T>(column, row)) + column.shift).ptr;
}

template <class T>
char *put_real(char *p, const RowColumn &column, int64_t row) {
  const T value = at<T>(column, row);
  if (std::isnan(value)) return static_cast<char *>(std::memcpy(p, "nan", 3)) + 3;  // without its sign
  char *end = std::to_chars(p, p + kLongest, value).ptr;
  // Digits alone would read as an integer in some programs: add a point.
  for (const char *c = p; c != end; ++c)
    if (*c != '-' && (*c < '0' || *c > '9')) return end;
  *end++ = '.';
  *end++ = '0';
  return end;
}

char *put(char *p, const RowColumn &column, int64_t row) {
  switch (column.kind) {
    case RowColumn::Kind::kInt32: return put_integer<int32_t>(p, column, row);
    case RowColumn::Kind::kInt64: return put_integer<int64_t>(p, column, row);
    case RowColumn::Kind::kUnsigned: return std::to_chars(p, p + kLongest, at<uint64_t>(column, row)).ptr;
    case RowColumn::Kind::kFloat: return put_real<float>(p, column, row);
    default: return put_real<double>(p, column, row);
  }
}

std::string text_of_part(const std::vector<RowColumn> &columns, int64_t begin, int64_t end) {
  std::string text(static_cast<size_t>(end - begin) * columns.size() * kLongest, '\0');
  char *p = &text[0];
  for (int64_t row = begin; row < end; ++row) {
    for (const RowColumn &column : columns) {
      p = put(p, column, row);
      *p++ = ' ';
    }
    p[-1] = '\n';
  }
  text.resize(p - text.data());
  return text;
}

}  // namespace

std::string text_of_rows(const std::vector<RowColumn> &columns, int64_t begin, int64_t end) {
  const size_t parts = thread_count(static_cast<size_t>(end - begin) * 4);
  const std::vector<size_t> begins = even_parts(static_cast<size_t>(end - begin), parts);
  std::vector<std::string> texts(parts);
  in_parallel(parts, [&](size_t part) {
    texts[part] = text_of_part(columns, begin + static_cast<int64_t>(begins[part]),
                               begin + static_cast<int64_t>(begins[part + 1]));
  });
  std::string all = std::move(texts[0]);
  for (size_t part = 1; part < parts; ++part) all += texts[part];
  return all;
}

}  // namespace mlir_sparse
