// The element types: moved by size, added by type.

#pragma once

#include <complex>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

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

// Integers wrap around, as in NumPy; signed overflow would be undefined.
inline int8_t add(int8_t a, int8_t b) { return static_cast<int8_t>(static_cast<uint8_t>(a) + static_cast<uint8_t>(b)); }
inline int16_t add(int16_t a, int16_t b) {
  return static_cast<int16_t>(static_cast<uint16_t>(a) + static_cast<uint16_t>(b));
}
inline int32_t add(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}
inline int64_t add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
inline Truth add(Truth a, Truth b) { return {static_cast<uint8_t>((a.byte | b.byte) != 0)}; }
inline Half add(Half a, Half b) { return to_half(to_float(a) + to_float(b)); }
inline Bfloat add(Bfloat a, Bfloat b) { return to_bfloat(to_float(a) + to_float(b)); }
template <class T>
T add(T a, T b) {
  return a + b;
}

// Runs f with a value of the element type that the dialect calls `name`.
template <class F>
auto with_dtype(const std::string &name, F &&f) {
  if (name == "i8") return f(int8_t{});
  if (name == "i16") return f(int16_t{});
  if (name == "i32") return f(int32_t{});
  if (name == "i64") return f(int64_t{});
  if (name == "f16") return f(Half{});
  if (name == "bf16") return f(Bfloat{});
  if (name == "f32") return f(float{});
  if (name == "f64") return f(double{});
  if (name == "c64") return f(std::complex<float>{});
  if (name == "c128") return f(std::complex<double>{});
  if (name == "bool") return f(Truth{});
  throw std::invalid_argument("expected an element type of the dialect, but got " + name);
}

struct Wide {
  uint64_t words[2];
};

// Runs f with an unsigned type of the element's size: rows are moved, not added.
template <class F>
auto with_itemsize(int64_t size, F &&f) {
  switch (size) {
  case 1: return f(uint8_t{});
  case 2: return f(uint16_t{});
  case 4: return f(uint32_t{});
  case 8: return f(uint64_t{});
  default: return f(Wide{});
  }
}

// The places of entries (none: all at the first), and their original order if they had to be sorted.
struct ValuePlaces {
  const int64_t *place;
  const uint64_t *order;
  size_t count;
};

// Adds each value to the value at its place; without gaps the places need not be initialised.
void place_values(const std::string &dtype, const void *from, void *to, const ValuePlaces &places, bool has_gaps);

// Moves values that all have places of their own, one after the other.
void gather_values(int64_t itemsize, const void *from, void *to, const uint64_t *order, size_t count);

} // namespace mlir_sparse
