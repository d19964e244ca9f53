// What a call into the driver or a library of it can come to, as a C++ exception; Python sees `mlir_sparse.errors`.
#pragma once

#include <stdexcept>
#include <string>

namespace mlir_sparse::cuda {

enum class Kind { device, memory, unsupported };

class Failure : public std::runtime_error {
 public:
  Failure(Kind kind, const std::string &message) : std::runtime_error(message), kind(kind) {}
  const Kind kind;
};

// A failure where nobody can be told at once, as when memory is freed: kept for the next call that can.
void note(const std::string &message) noexcept;
// Throws what was noted, and forgets it.
void raise_noted();

}  // namespace mlir_sparse::cuda
