#include "text_rows.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "pack_threads.hpp"
#include "text_numbers.hpp"

namespace mlir_sparse {
namespace {

constexpr size_t kTextKept = 300;  // of a line, and of a word, for messages

// Blanks as C has them, without the newline: a carriage return before it is one.
inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }

inline const char *skip_blanks(const char *p) {
  while (is_blank(*p)) ++p;
  return p;
}

std::string kept(const char *begin, const char *end) {
  return {begin, begin + std::min<size_t>(kTextKept, end - begin)};
}

// Reads whole lines into the rows from `row` on.
template <class I>
class PartReader {
 public:
  PartReader(const RowFormat &format, const TextColumns &arrays, int64_t row)
      : comment_(format.comment), value_(format.value), base_(format.base), rank_(format.extents.size()),
        extents_(format.extents.data()), words_(format.words()), row_(row), values_(arrays.values) {
    for (char *column : arrays.coordinates) columns_.push_back(reinterpret_cast<I *>(column));
  }

  // Returns the row behind the last. `line` is the number of the first line.
  int64_t read(const char *p, const char *end, int64_t line) {
    for (; p != end; ++line) {
      line_ = p;
      number_ = line;
      p = skip_blanks(p);
      if (*p != '\n' && *p != comment_) p = read_line(p);
      if (*p != '\n') {
        if (*p != comment_) refuse("words", words_, p);
        p = static_cast<const char *>(std::memchr(p, '\n', end - p));
      }
      ++p;
    }
    return row_;
  }

 private:
  const char *read_line(const char *p) {
    for (size_t dim = 0; dim < rank_; ++dim) p = read_coordinate(dim, p);
    switch (value_) {
      case RowFormat::Value::kNone: break;
      case RowFormat::Value::kInteger: {
        int64_t &slot = reinterpret_cast<int64_t *>(values_)[row_];
        p = behind(rank_, p, read_integer_word(rank_, p, slot));
        break;
      }
      case RowFormat::Value::kUnsigned: {
        uint64_t &slot = reinterpret_cast<uint64_t *>(values_)[row_];
        p = behind(rank_, p, read_integer_word(rank_, p, slot));
        break;
      }
      case RowFormat::Value::kReal: p = read_value(rank_, p, reinterpret_cast<double *>(values_)[row_]); break;
      case RowFormat::Value::kComplex:
        p = read_value(rank_, p, reinterpret_cast<double *>(values_)[2 * row_]);
        p = read_value(rank_ + 1, p, reinterpret_cast<double *>(values_)[2 * row_ + 1]);
        break;
    }
    ++row_;
    return p;
  }

  const char *read_coordinate(size_t dim, const char *p) {
    int64_t coordinate;
    const char *end = p;
    const Number number = read_integer(end, coordinate);
    if (number == Number::kNone) refuse_word("integer", dim, p);
    const char *next = behind(dim, p, end);
    // No overflow: coordinates below the base are refused first.
    if (number == Number::kTooLarge || coordinate < base_ || coordinate - base_ >= extents_[dim])
      refuse("range", dim, p);
    columns_[dim][row_] = static_cast<I>(coordinate - base_);
    return next;
  }

  template <class T>
  const char *read_integer_word(size_t place, const char *p, T &value) {
    const char *end = p;
    const Number number = read_integer(end, value);
    if (number == Number::kNone) refuse_word("integer", place, p);
    behind(place, p, end);  // 1.5 is no integer, and no large one either
    if (number == Number::kTooLarge) refuse("large", place, p);
    return end;
  }

  const char *read_value(size_t place, const char *p, double &value) {
    const char *end = p;
    if (read_real(end, value) == Number::kNone) refuse_word("number", place, p);
    return behind(place, p, end, "number");
  }

  // Returns the begin of the next word; a word must end with its number.
  const char *behind(size_t place, const char *begin, const char *end, const char *kind = "integer") {
    if (*end == '\n') return end;
    if (!is_blank(*end)) {
      if (*end != comment_) refuse(kind, place, begin);
      return end;
    }
    return skip_blanks(end + 1);
  }

  // Refuses a word that is no number, or a missing word.
  [[noreturn]] void refuse_word(const char *kind, size_t place, const char *p) {
    refuse(*p == '\n' || *p == comment_ ? "words" : kind, place, p);
  }

  [[noreturn]] void refuse(const char *kind, size_t place, const char *word) {
    const char *end = word;
    while (*end != '\n' && !is_blank(*end)) ++end;
    const char *stop = end;
    while (*stop != '\n') ++stop;
    RowFault fault;
    fault.kind = kind;
    fault.line = number_;
    fault.place = static_cast<int64_t>(place);
    fault.word = kept(word, end);
    fault.text = kept(line_, stop);
    throw fault;
  }

  const char comment_;
  const RowFormat::Value value_;
  const int64_t base_;
  const size_t rank_;
  const int64_t *extents_;
  const size_t words_;
  int64_t row_;
  char *values_;
  std::vector<I *> columns_;
  const char *line_ = nullptr;
  int64_t number_ = 0;
};

// The begins of parts of about equal length, each at the start of a line.
std::vector<const char *> cut_at_lines(const char *begin, const char *end, size_t parts) {
  std::vector<const char *> cuts{begin};
  const size_t size = end - begin;
  for (size_t part = 1; part < parts; ++part) {
    const char *from = std::max(cuts.back(), begin + size / parts * part);
    const void *newline = from == end ? nullptr : std::memchr(from, '\n', end - from);
    cuts.push_back(newline == nullptr ? end : static_cast<const char *>(newline) + 1);
  }
  cuts.push_back(end);
  return cuts;
}

// Moves rows to where those before them end: lines without an entry leave a gap.
void move_rows(const RowFormat &format, const TextColumns &arrays, int64_t from, int64_t to, int64_t count) {
  if (from == to) return;
  const size_t width = format.width(), bytes = format.value_bytes();
  for (char *column : arrays.coordinates) std::memmove(column + to * width, column + from * width, count * width);
  if (bytes > 0) std::memmove(arrays.values + to * bytes, arrays.values + from * bytes, count * bytes);
}

// Refuses too many rows, at the line of the first one too many.
[[noreturn]] void refuse_more(const RowFormat &format, const char *p, int64_t allowed, int64_t line) {
  for (;; ++line) {
    const char *stop = p;
    while (*stop != '\n') ++stop;
    const char *first = skip_blanks(p);
    if (*first != '\n' && *first != format.comment && allowed-- == 0) {
      RowFault fault;
      fault.kind = "count";
      fault.line = line;
      fault.place = 0;
      fault.text = kept(p, stop);
      throw fault;
    }
    p = stop + 1;
  }
}

}  // namespace

int64_t count_lines(const char *begin, const char *end) { return std::count(begin, end, '\n'); }

int64_t read_rows(const RowFormat &format, const char *begin, const char *end, const TextColumns &arrays, int64_t rows,
                  int64_t most, int64_t &lines) {
  constexpr size_t kEntryBytes = 20;  // bytes of an entry, about
  const size_t parts = thread_count((end - begin) / kEntryBytes * 2);
  const std::vector<const char *> cuts = cut_at_lines(begin, end, parts);
  std::vector<int64_t> counts(parts + 1, 0), stops(parts, 0);
  in_parallel(parts, [&](size_t part) { counts[part + 1] = count_lines(cuts[part], cuts[part + 1]); });
  std::partial_sum(counts.begin(), counts.end(), counts.begin());
  in_parallel(parts, [&](size_t part) {
    const int64_t row = rows + counts[part], line = lines + counts[part] + 1;
    stops[part] = format.narrow ? PartReader<int32_t>(format, arrays, row).read(cuts[part], cuts[part + 1], line)
                                : PartReader<int64_t>(format, arrays, row).read(cuts[part], cuts[part + 1], line);
  });
  int64_t next = rows;
  for (size_t part = 0; part < parts; ++part) {
    const int64_t from = rows + counts[part];
    move_rows(format, arrays, from, next, stops[part] - from);
    next += stops[part] - from;
  }
  if (next > most) refuse_more(format, begin, most - rows, lines + 1);
  lines += counts[parts];
  return next;
}

}  // namespace mlir_sparse
