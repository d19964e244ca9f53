// Conversions of numbers of 16 bits that compiled code calls where the processor has no instruction for them.
//
// LLVM expects them from the compiler's own library. That of GCC has them for bf16 since version 13 and for f16 since
// 12: on other systems, kernels of these types would have no code on processors without AVX-512 BF16.

#include "half_conversions.hpp"

#include <cmath>

#include "element_types.hpp"

namespace mlir_sparse {
namespace {

// The types of 16 bits are passed and returned in the low bits of a register of floats, as GCC 12 and LLVM do.
float in_register(uint16_t bits) { return bits_to_float(bits); }

// Rounds to odd: a last bit tells that the float is not exact, so that what rounds it again rounds the double once.
float to_odd(double value) {
  const float nearest = static_cast<float>(value);
  if (std::isnan(value) || static_cast<double>(nearest) == value) return nearest;
  const bool is_larger = std::fabs(static_cast<double>(nearest)) > std::fabs(value);
  return bits_to_float((float_to_bits(nearest) - (is_larger ? 1u : 0u)) | 1u);
}

}  // namespace
}  // namespace mlir_sparse

#if defined(_MSC_VER)
#define MLIR_SPARSE_EXPORTED
#else
#define MLIR_SPARSE_EXPORTED __attribute__((visibility("default")))
#endif

// The names are LLVM's: sf is f32, df is f64, hf is f16, bf is bf16.
extern "C" {

MLIR_SPARSE_EXPORTED float __truncsfbf2(float value) {
  return mlir_sparse::in_register(mlir_sparse::to_bfloat(value).bits);
}

MLIR_SPARSE_EXPORTED float __truncdfbf2(double value) {
  return mlir_sparse::in_register(mlir_sparse::to_bfloat(mlir_sparse::to_odd(value)).bits);
}

MLIR_SPARSE_EXPORTED float __truncsfhf2(float value) {
  return mlir_sparse::in_register(mlir_sparse::to_half(value).bits);
}

MLIR_SPARSE_EXPORTED float __truncdfhf2(double value) {
  return mlir_sparse::in_register(mlir_sparse::to_half(mlir_sparse::to_odd(value)).bits);
}

MLIR_SPARSE_EXPORTED float __extendhfsf2(float half) {
  return mlir_sparse::to_float(mlir_sparse::Half{static_cast<uint16_t>(mlir_sparse::float_to_bits(half))});
}

}  // extern "C"

namespace mlir_sparse {

void *half_conversion(const std::string &name) {
  if (name == "__truncsfbf2") return reinterpret_cast<void *>(&__truncsfbf2);
  if (name == "__truncdfbf2") return reinterpret_cast<void *>(&__truncdfbf2);
  if (name == "__truncsfhf2") return reinterpret_cast<void *>(&__truncsfhf2);
  if (name == "__truncdfhf2") return reinterpret_cast<void *>(&__truncdfhf2);
  if (name == "__extendhfsf2") return reinterpret_cast<void *>(&__extendhfsf2);
  return nullptr;
}

}  // namespace mlir_sparse
