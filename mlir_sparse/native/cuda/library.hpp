// Shared libraries, loaded at their first use; nothing is linked against CUDA.
#pragma once

#include <string>
#include <vector>

namespace mlir_sparse::cuda {

class Library {
 public:
  // Opens the first candidate that exists; `name` is its name in messages.
  Library(const char *name, const std::vector<std::string> &candidates);

  void *symbol(const char *name) const;
  // Returns null where there is none.
  void *optional(const char *name) const noexcept;
  const std::string &path() const { return path_; }

 private:
  const char *name_;
  std::string path_;
  void *handle_ = nullptr;  // never closed: its threads and memory outlive whoever asked
};

}  // namespace mlir_sparse::cuda
