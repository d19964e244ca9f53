// What one element type is called: T as it is stored, S as sums of it are kept, and how the one becomes the other.
// A file is compiled once for each, with -DTYPE_f64 and the like.
#ifndef ELEMENT_H
#define ELEMENT_H
#include <complex.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(TYPE_f16)
typedef _Float16 T;
typedef float S;
#elif defined(TYPE_bf16)
typedef uint16_t T;
typedef float S;
#elif defined(TYPE_f32)
typedef float T;
typedef float S;
#elif defined(TYPE_f64)
typedef double T;
typedef double S;
#elif defined(TYPE_i8)
typedef int8_t T;
typedef int8_t S;
#elif defined(TYPE_i32)
typedef int32_t T;
typedef int32_t S;
#elif defined(TYPE_c64)
typedef float complex T;
typedef float complex S;
#endif

#if defined(TYPE_bf16)
// The upper half of an f32; rounded to the nearest, ties to even. Nothing here is NaN.
static inline S wide(T stored) {
  uint32_t bits = (uint32_t)stored << 16;
  S value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
static inline T narrow(S value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (T)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
#else
static inline S wide(T stored) { return (S)stored; }
static inline T narrow(S value) { return (T)value; }
#endif

typedef int32_t Int;
#endif
