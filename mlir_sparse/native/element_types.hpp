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
// A real number of 8 bits: a sign, an exponent, and as many bits of its fraction as it says. Of E4M3FN, which has no
// infinities, only a fraction and an exponent of ones alone are no number.
template <int FRACTION, bool HAS_INFINITIES>
struct Eighth {
  uint8_t bits;
};
using E4m3fn = Eighth<3, false>;
using E5m2 = Eighth<2, true>;
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

template <int FRACTION, bool INFINITIES>
float to_float(Eighth<FRACTION, INFINITIES> v) {
  constexpr int BIAS = (1 << (6 - FRACTION)) - 1;
  constexpr uint32_t MOST = 0x7fu >> FRACTION; // the greatest exponent
  const uint32_t sign = static_cast<uint32_t>(v.bits & 0x80u) << 24;
  const uint32_t exponent = (v.bits & 0x7fu) >> FRACTION, fraction = v.bits & ((1u << FRACTION) - 1);
  const bool last = exponent == MOST;
  if (last && (INFINITIES ? fraction != 0 : fraction + 1 == 1u << FRACTION)) return bits_to_float(sign | 0x7fc00000u);
  if (INFINITIES && last) return bits_to_float(sign | 0x7f800000u);
  if (exponent != 0) return bits_to_float(sign | ((exponent + 127 - BIAS) << 23) | (fraction << (23 - FRACTION)));
  const float quantum = bits_to_float(static_cast<uint32_t>(127 - BIAS + 1 - FRACTION) << 23);
  const float subnormal = static_cast<float>(fraction) * quantum;
  return sign ? -subnormal : subnormal;
}

// Rounds to nearest, ties to even, as ml_dtypes does: past the greatest number to infinity, or to what is no number.
template <class V>
struct Rounded;
template <int FRACTION, bool INFINITIES>
struct Rounded<Eighth<FRACTION, INFINITIES>> {
  static Eighth<FRACTION, INFINITIES> from(float value) {
    constexpr int BIAS = (1 << (6 - FRACTION)) - 1;
    constexpr uint32_t MOST = INFINITIES ? (0x7fu >> FRACTION) << FRACTION : 0x7fu; // the first bits past all numbers
    const uint32_t bits = float_to_bits(value), rest = bits & 0x7fffffffu;
    const uint8_t sign = static_cast<uint8_t>((bits >> 24) & 0x80u);
    if (rest > 0x7f800000u) return {static_cast<uint8_t>(sign | (INFINITIES ? 0x7eu : 0x7fu))};
    constexpr uint32_t LEAST = static_cast<uint32_t>(127 - BIAS + 1) << 23; // the least number that is not subnormal
    uint32_t rounded;
    if (rest < LEAST) { // let the float adder do the rounding: the sum's last bit is a subnormal's
      const uint32_t magic = static_cast<uint32_t>(127 - BIAS + 1 - FRACTION + 23) << 23;
      rounded = float_to_bits(bits_to_float(rest) + bits_to_float(magic)) - magic;
    } else {
      const uint32_t shifted = rest - (static_cast<uint32_t>(127 - BIAS) << 23);
      constexpr int DROPPED = 23 - FRACTION;
      rounded = (shifted + (1u << (DROPPED - 1)) - 1 + ((shifted >> DROPPED) & 1u)) >> DROPPED;
    }
    return {static_cast<uint8_t>(sign | (rounded < MOST ? rounded : MOST))};
  }
};

inline Half operator-(Half v) { return {static_cast<uint16_t>(v.bits ^ 0x8000u)}; }
inline Bfloat operator-(Bfloat v) { return {static_cast<uint16_t>(v.bits ^ 0x8000u)}; }

template <int FRACTION, bool INFINITIES>
Eighth<FRACTION, INFINITIES> operator-(Eighth<FRACTION, INFINITIES> v) {
  return {static_cast<uint8_t>(v.bits ^ 0x80u)};
}

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
  TYPE(f8e4m3fn, float8_e4m3fn, E4m3fn)        \
  TYPE(f8e5m2, float8_e5m2, E5m2)              \
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
template <int FRACTION, bool INFINITIES>
Eighth<FRACTION, INFINITIES> add(Eighth<FRACTION, INFINITIES> a, Eighth<FRACTION, INFINITIES> b) {
  return Rounded<Eighth<FRACTION, INFINITIES>>::from(to_float(a) + to_float(b));
}

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
