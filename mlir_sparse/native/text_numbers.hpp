// Strict reading of numbers in text, without locale and Python.
//
// Callers guarantee a newline at the end of the text, so that loops over digits need no test for the end.

#pragma once

#include <cstdint>
#include <type_traits>

namespace mlir_sparse {

enum class Number { kRead, kNone, kTooLarge };  // kTooLarge: an integer beyond 64 bits

// Reads [+-]?[0-9]+ as an int64_t or a uint64_t and moves `at` behind it. An integer that is too large is passed over
// to its end.
template <class T>
Number read_integer(const char *&at, T &value) {
  const char *p = at;
  const bool negative = *p == '-';
  if (negative || *p == '+') ++p;
  const char *digits = p;
  uint64_t sum = 0;
  for (unsigned digit; (digit = static_cast<unsigned char>(*p) - unsigned{'0'}) < 10; ++p) sum = sum * 10 + digit;
  if (p == digits) return Number::kNone;
  at = p;
  if (p - digits > 18) {  // 18 digits always fit
    while (*digits == '0') ++digits;
    if (p - digits > 20 || (p - digits == 20 && (*digits > '1' || sum < uint64_t{10000000000000000000u})))
      return Number::kTooLarge;  // the sum ran over
    if (std::is_signed_v<T> && sum > static_cast<uint64_t>(INT64_MAX) + negative) return Number::kTooLarge;
  }
  if (std::is_unsigned_v<T> && negative && sum != 0) return Number::kTooLarge;
  value = static_cast<T>(negative ? 0 - sum : sum);
  return Number::kRead;
}

// Reads a decimal number, rounded once to the nearest double: [+-]? digits with at most one point and at least one
// digit, then at most one exponent, [eEdD][+-]?[0-9]+ (d as Fortran writes it); or inf, infinity or nan in any case.
// Numbers out of range become infinite, or 0, as in Python.
Number read_real(const char *&at, double &value);

}  // namespace mlir_sparse
