// Random numbers as MLIR's runner has them: a generator by seed, numbers up to a bound, shuffled numbers.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>

#include "memref_descriptors.hpp"
#include "program_call.hpp"

MLIR_SPARSE_PROGRAM_FUNCTION void *rtsrand(uint64_t seed) {
  return new std::mt19937(static_cast<std::mt19937::result_type>(seed));
}
MLIR_SPARSE_PROGRAM_FUNCTION uint64_t rtrand(void *generator, uint64_t most) {
  return std::uniform_int_distribution<uint64_t>(0, most)(*static_cast<std::mt19937 *>(generator));
}
MLIR_SPARSE_PROGRAM_FUNCTION void rtdrand(void *generator) { delete static_cast<std::mt19937 *>(generator); }

// Fills a vector with the numbers from 0, shuffled.
MLIR_SPARSE_PROGRAM_FUNCTION void _mlir_ciface_shuffle(mlir_sparse::MemRef<uint64_t, 1> *memref, void *generator) {
  if (memref->sizes[0] > 1 && memref->strides[0] != 1)
    mlir_sparse::end_program("expected a vector without gaps to shuffle, but got strides");
  uint64_t *begin = memref->aligned + memref->offset, *end = begin + memref->sizes[0];
  std::iota(begin, end, uint64_t{0});
  std::shuffle(begin, end, *static_cast<std::mt19937 *>(generator));
}

namespace mlir_sparse {

void add_random_functions(ProgramFunctions &functions) {
  MLIR_SPARSE_ADD_FUNCTION(functions, rtsrand);
  MLIR_SPARSE_ADD_FUNCTION(functions, rtrand);
  MLIR_SPARSE_ADD_FUNCTION(functions, rtdrand);
  MLIR_SPARSE_ADD_FUNCTION(functions, _mlir_ciface_shuffle);
}

}  // namespace mlir_sparse
