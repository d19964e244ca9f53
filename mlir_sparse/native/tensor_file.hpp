// Files of tensors as programs open them: Matrix Market's coordinates, and FROSTT's with a head.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "text_rows.hpp"

namespace mlir_sparse {

// A file in memory, of which the head has been read.
class TensorFile {
 public:
  // Throws std::runtime_error with what is wrong, and where in the file.
  explicit TensorFile(const std::string &name);

  const std::string &name() const { return name_; }
  const std::vector<int64_t> &sizes() const { return sizes_; }
  int64_t entries() const { return entries_; }
  bool is_symmetric() const { return symmetric_; }
  bool is_complex() const { return kind_ == RowFormat::Value::kComplex && known_; }

  // The entries as the file lists them, a symmetric matrix's once: coordinates from 0 in `coordinates`, entry by entry.
  // A file that does not say what its values are has complex ones if `complex`. Values come as doubles, two for a
  // complex one, and integers also as integers. Throws std::runtime_error.
  struct Entries {
    std::vector<int64_t> coordinates;
    std::vector<double> reals;
    std::vector<int64_t> integers;
  };
  Entries read(bool complex) const;

 private:
  void read_market_head();
  void read_frostt_head();
  bool next_line(std::string &line, char comment);
  [[noreturn]] void refuse(const std::string &rule, const std::string &got) const;

  std::string name_, text_;
  std::size_t at_ = 0;
  int64_t line_ = 0;  // lines read
  std::vector<int64_t> sizes_;
  int64_t entries_ = 0;
  RowFormat::Value kind_ = RowFormat::Value::kReal;
  bool symmetric_ = false, known_ = false;
  char comment_ = '#';
};

}  // namespace mlir_sparse
