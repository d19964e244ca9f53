// Shared libraries found when they are first needed; nothing here is linked against CUDA.
#pragma once

#include <string>
#include <vector>

namespace mlir_sparse::cuda {

class Library {
 public:
  // Opens the first of the candidates that there is; `name` is what messages call it.
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
