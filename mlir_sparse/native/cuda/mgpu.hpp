#pragma once

namespace mlir_sparse::cuda {

// Throws the first failure of this thread's `mgpu*` calls since the last call of this function.
void raise_recorded();

}  // namespace mlir_sparse::cuda
