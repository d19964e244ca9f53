// Failures of calls into the driver and its libraries as C++ exceptions; Python raises those of `mlir_sparse.errors`.
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

// Calls an entry point of a library, whose `check` throws under its name unless it succeeds.
#define CHECKED(library, entry, ...) (library).check((library).entry(__VA_ARGS__), #entry)

// Records a failure that cannot be raised at once, as when memory is freed, for the next call that can raise it.
void note(const std::string &message) noexcept;
// Throws the recorded failure, and forgets it.
void raise_noted();

}  // namespace mlir_sparse::cuda
