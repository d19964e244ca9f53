// Conversions of numbers of 16 bits that compiled code calls where the processor has no instruction for them.
#pragma once

#include <string>

namespace mlir_sparse {

// Returns the address of one of LLVM's conversions; null for another name.
void *half_conversion(const std::string &name);

}  // namespace mlir_sparse
