#pragma once

namespace mlir_sparse::cuda {

// Throws what the `mgpu*` calls of this thread came to since it was last asked.
void raise_recorded();

}  // namespace mlir_sparse::cuda
