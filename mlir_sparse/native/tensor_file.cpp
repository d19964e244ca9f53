#include "tensor_file.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <sstream>
#include <stdexcept>

namespace mlir_sparse {
namespace {

constexpr const char *kMarket = "%%MatrixMarket";
constexpr std::size_t kMostRank = 64;

std::string content_of(const std::string &name) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(std::fopen(name.c_str(), "rb"), &std::fclose);
  const auto refuse = [&] {
    throw std::runtime_error("expected a file of a tensor, but cannot read " + name + ": " + std::strerror(errno));
  };
  if (!file) refuse();
  std::string text;
  char block[1 << 16];
  errno = 0;
  while (const std::size_t got = std::fread(block, 1, sizeof block, file.get())) text.append(block, got);
  if (std::ferror(file.get())) refuse();
  if (text.empty() || text.back() != '\n') text += '\n';
  return text;
}

std::string lower(std::string word) {
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return word;
}

// The numbers of a line that consists of nothing else; none are negative.
bool numbers_of(const std::string &line, std::vector<int64_t> &numbers) {
  std::istringstream words(line);
  for (int64_t number; words >> number;) {
    if (number < 0) return false;
    numbers.push_back(number);
  }
  return words.eof();
}

// What is wrong with a line of an entry.
std::string text_of(const RowFault &fault) {
  const std::string word = fault.word.empty() ? "" : "'" + fault.word + "' in ";
  const std::string what = fault.kind == "words"    ? "its coordinates and value"
                           : fault.kind == "range"  ? "a coordinate from 1 to the size of its dimension"
                           : fault.kind == "number" ? "a number"
                           : fault.kind == "count"  ? "no more entries than the head says"
                                                    : "an integer of 64 bits";
  return "expected " + what + ", but got " + word + "'" + fault.text + "'";
}

}  // namespace

TensorFile::TensorFile(const std::string &name) : name_(name), text_(content_of(name)) {
  if (text_.compare(0, std::strlen(kMarket), kMarket) == 0)
    read_market_head();
  else
    read_frostt_head();
}

void TensorFile::refuse(const std::string &rule, const std::string &got) const {
  throw std::runtime_error(name_ + ":" + std::to_string(line_) + ": expected " + rule + ", but got " + got);
}

// Reads the next line with words that is no comment.
bool TensorFile::next_line(std::string &line, char comment) {
  while (at_ < text_.size()) {
    const std::size_t end = text_.find('\n', at_);
    line = text_.substr(at_, end - at_);
    at_ = end + 1;
    ++line_;
    const std::size_t first = line.find_first_not_of(" \t\r\f\v");
    if (first != std::string::npos && line[first] != comment) return true;
  }
  return false;
}

void TensorFile::read_market_head() {
  comment_ = '%';
  std::string line, object, format, field, symmetry, banner;
  next_line(line, '\0');
  std::istringstream(line) >> banner >> object >> format >> field >> symmetry;
  if (lower(object) != "matrix" || lower(format) != "coordinate")
    refuse("a matrix in coordinates, which programs read", "'" + line + "'");
  field = lower(field);
  known_ = true;
  if (field == "pattern") kind_ = RowFormat::Value::kNone;
  else if (field == "integer") kind_ = RowFormat::Value::kInteger;
  else if (field == "complex") kind_ = RowFormat::Value::kComplex;
  else if (field != "real" && field != "double") refuse("real, integer, complex or pattern values", "'" + line + "'");
  symmetric_ = lower(symmetry) != "general";
  std::vector<int64_t> numbers;
  if (!next_line(line, comment_) || !numbers_of(line, numbers) || numbers.size() != 3)
    refuse("the numbers of rows, columns and entries", "'" + line + "'");
  sizes_ = {numbers[0], numbers[1]};
  entries_ = numbers[2];
}

void TensorFile::read_frostt_head() {
  std::string line;
  std::vector<int64_t> numbers;
  if (!next_line(line, comment_) || !numbers_of(line, numbers) || numbers.size() != 2 || numbers[0] < 1 ||
      numbers[0] > static_cast<int64_t>(kMostRank))
    refuse("FROSTT's extended head, the numbers of dimensions and of entries, or Matrix Market's", "'" + line + "'");
  const auto rank = static_cast<std::size_t>(numbers[0]);
  entries_ = numbers[1];
  if (!next_line(line, comment_) || !numbers_of(line, sizes_) || sizes_.size() != rank)
    refuse("the sizes of " + std::to_string(rank) + " dimensions", "'" + line + "'");
}

TensorFile::Entries TensorFile::read(bool complex) const {
  const std::size_t rank = sizes_.size();
  RowFormat format{sizes_, known_ ? kind_ : complex ? RowFormat::Value::kComplex : RowFormat::Value::kReal, comment_, 1,
                   false};
  const char *begin = text_.data() + at_, *end = text_.data() + text_.size();
  const auto lines = static_cast<std::size_t>(count_lines(begin, end));
  std::vector<std::vector<int64_t>> columns(rank, std::vector<int64_t>(lines));
  std::vector<char> values(lines * format.value_bytes());
  TextColumns arrays{{}, values.data()};
  for (auto &column : columns) arrays.coordinates.push_back(reinterpret_cast<char *>(column.data()));
  int64_t line = line_, found;
  try {
    found = read_rows(format, begin, end, arrays, 0, entries_, line);
  } catch (const RowFault &fault) {
    throw std::runtime_error(name_ + ":" + std::to_string(fault.line) + ": " + text_of(fault));
  }
  if (found != entries_)
    throw std::runtime_error(name_ + ": expected " + std::to_string(entries_) + " entries, as its head says, but got " +
                             std::to_string(found));
  const auto count = static_cast<std::size_t>(found);
  Entries entries;
  entries.coordinates.resize(count * rank);
  for (std::size_t dim = 0; dim < rank; ++dim)
    for (std::size_t e = 0; e < count; ++e) entries.coordinates[e * rank + dim] = columns[dim][e];
  if (format.value == RowFormat::Value::kInteger) {
    entries.integers.resize(count);
    if (count) std::memcpy(entries.integers.data(), values.data(), count * 8);
  } else if (format.value == RowFormat::Value::kNone) {
    entries.integers.assign(count, 1);
  } else {
    entries.reals.resize(values.size() / 8 / std::max<std::size_t>(lines, 1) * count);
    if (count) std::memcpy(entries.reals.data(), values.data(), entries.reals.size() * sizeof(double));
  }
  return entries;
}

}  // namespace mlir_sparse
