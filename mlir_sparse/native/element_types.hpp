// The element types: what holds an element, and how elements are added.

#pragma once

#include <complex>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace mlir_sparse {

struct Half {
  uint16_t bits;
};
struct Bfloat {
  uint16_t bits;
};
// A truth value as NumPy has it: a byte of 0 or 1.
struct Truth {
  uint8_t byte;
};

inline float bits_to_float(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline uint32_t float_to_bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline float to_float(Bfloat v) { return bits_to_float(static_cast<uint32_t>(v.bits) << 16); }

inline float to_float(Half v) {
  const uint32_t sign = static_cast<uint32_t>(v.bits & 0x8000u) << 16;
  const uint32_t rest = v.bits & 0x7fffu;
  if (rest >= 0x7c00u) return bits_to_float(sign | 0x7f800000u | ((rest & 0x3ffu) << 13));
  if (rest >= 0x400u) return bits_to_float(sign | ((rest << 13) + 0x38000000u));
  const float subnormal = static_cast<float>(rest) * 5.9604644775390625e-8f; // times 2^-24
  return sign ? -subnormal : subnormal;
}

// Rounds to nearest, ties to even, as NumPy and ml_dtypes do.
inline Bfloat to_bfloat(float value) {
  const uint32_t bits = float_to_bits(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {static_cast<uint16_t>((bits >> 16) | 0x40u)};
  return {static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

inline Half to_half(float value) {
  const uint32_t bits = float_to_bits(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t rest = bits & 0x7fffffffu;
  if (rest > 0x7f800000u) return {static_cast<uint16_t>(sign | 0x7e00u)};
  if (rest >= 0x477ff000u) return {static_cast<uint16_t>(sign | 0x7c00u)};
  if (rest < 0x38800000u) { // subnormal: let the float adder do the rounding
    const float shifted = bits_to_float(rest) + 0.5f;
    return {static_cast<uint16_t>(sign | (float_to_bits(shifted) - 0x3f000000u))};
  }
  const uint32_t rounded = rest - 0x38000000u + 0xfffu + ((rest >> 13) & 1u);
  return {static_cast<uint16_t>(sign | (rounded >> 13))};
}

inline Half operator-(Half v) { return {static_cast<uint16_t>(v.bits ^ 0x8000u)}; }
inline Bfloat operator-(Bfloat v) { return {static_cast<uint16_t>(v.bits ^ 0x8000u)}; }

// Every element type: its name, NumPy's, and what holds an element. All that depends on the type is made from this list.
#define MLIR_SPARSE_ELEMENT_TYPES(TYPE)        \
  TYPE(i8, int8, int8_t)                       \
  TYPE(i16, int16, int16_t)                    \
  TYPE(i32, int32, int32_t)                    \
  TYPE(i64, int64, int64_t)                    \
  TYPE(u8, uint8, uint8_t)                     \
  TYPE(u16, uint16, uint16_t)                  \
  TYPE(u32, uint32, uint32_t)                  \
  TYPE(u64, uint64, uint64_t)                  \
  TYPE(f16, float16, Half)                     \
  TYPE(bf16, bfloat16, Bfloat)                 \
  TYPE(f32, float32, float)                    \
  TYPE(f64, float64, double)                   \
  TYPE(c64, complex64, std::complex<float>)    \
  TYPE(c128, complex128, std::complex<double>) \
  TYPE(bool, bool, Truth)

template <class T>
constexpr bool is_complex = false;
template <class T>
constexpr bool is_complex<std::complex<T>> = true;

// Integers wrap around, as in NumPy; signed overflow would be undefined.
template <class T>
T add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
  } else {
    return a + b;
  }
}
inline Truth add(Truth a, Truth b) { return {static_cast<uint8_t>((a.byte | b.byte) != 0)}; }
inline Half add(Half a, Half b) { return to_half(to_float(a) + to_float(b)); }
inline Bfloat add(Bfloat a, Bfloat b) { return to_bfloat(to_float(a) + to_float(b)); }

// Runs f with a value of the element type of a name.
template <class F>
auto with_dtype(const std::string &name, F &&f) {
#define MLIR_SPARSE_RUN(dtype, numpy, Value) \
  if (name == #dtype) return f(Value{});
  MLIR_SPARSE_ELEMENT_TYPES(MLIR_SPARSE_RUN)
#undef MLIR_SPARSE_RUN
  throw std::invalid_argument("expected an element type of the dialect, but got " + name);
}

} // namespace mlir_sparse
