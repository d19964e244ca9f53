#include "text_numbers.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>

#if !defined(__cpp_lib_to_chars)
#include <clocale>
#include <cstdlib>
#if defined(__APPLE__)
#include <xlocale.h>
#endif
#endif

namespace mlir_sparse {
namespace {

constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr int64_t kExact = 22;                       // the largest power of ten that is a double
constexpr uint64_t kWhole = uint64_t{1} << 53;       // up to here each integer is a double
constexpr int64_t kFar = 1000000000000;              // beyond any exponent that digits of a line could make up for

inline unsigned digit_of(char c) { return static_cast<unsigned char>(c) - unsigned{'0'}; }

// A decimal number: its digits as an integer while they fit, and the place of its first nonzero digit.
struct Decimal {
  uint64_t digits = 0;
  int64_t significant = 0;  // how many digits there are from the first that is not 0
  int64_t power = 0;        // of ten, that `digits` is multiplied by
  bool fortran = false;     // whether d stands for e
};

// Reads digits and a point; returns where they end, or null where there is no digit.
inline const char *read_digits(const char *p, Decimal &decimal) {
  const char *start = p;
  uint64_t sum = 0;
  for (unsigned d; (d = digit_of(*p)) < 10; ++p) sum = sum * 10 + d;
  int64_t count = p - start;
  const char *point = nullptr;
  if (*p == '.') {
    point = p++;
    for (unsigned d; (d = digit_of(*p)) < 10; ++p) sum = sum * 10 + d;
    decimal.power = -(p - point - 1);
    count += -decimal.power;
  }
  if (count == 0) return nullptr;
  if (count > 19) {  // the sum may have run over: zeros in front do not count
    while (*start == '0' || start == point) {
      count -= *start == '0';
      ++start;
    }
  }
  decimal.digits = sum;
  decimal.significant = count;
  return p;
}

// Reads an exponent where there is one; returns where it ends, or null for one without digits.
inline const char *read_exponent(const char *p, Decimal &decimal) {
  const char letter = static_cast<char>(*p | 0x20);
  if (letter != 'e' && letter != 'd') return p;
  decimal.fortran = letter == 'd';
  const bool negative = *++p == '-';
  if (negative || *p == '+') ++p;
  const char *start = p;
  int64_t exponent = 0;
  for (unsigned d; (d = digit_of(*p)) < 10; ++p) exponent = std::min(exponent * 10 + d, kFar);
  if (p == start) return nullptr;
  decimal.power += negative ? -exponent : exponent;
  return p;
}

// Converts a valid number without sign that needs more than one multiplication.
double rounded(const char *begin, const char *end, const Decimal &decimal) {
  std::string copy;
  if (decimal.fortran) {
    copy.assign(begin, end);
    std::replace_if(copy.begin(), copy.end(), [](char c) { return (c | 0x20) == 'd'; }, 'e');
    begin = copy.data();
    end = begin + copy.size();
  }
#if defined(__cpp_lib_to_chars)
  double value = 0;
  if (std::from_chars(begin, end, value).ec != std::errc::result_out_of_range) return value;
  // Out of range: the place of the first nonzero digit decides between infinity and 0.
  return decimal.significant + decimal.power > 0 ? std::numeric_limits<double>::infinity() : 0.0;
#else
  static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
  const std::string terminated(begin, end);
  return strtod_l(terminated.c_str(), nullptr, plain);
#endif
}

// Returns the end of a word, in any case, or null if it is not here.
const char *after(const char *p, const char *word) {
  for (; *word; ++word, ++p)
    if ((*p | 0x20) != *word) return nullptr;
  return p;
}

Number read_special(const char *&at, const char *p, bool negative, double &value) {
  const double infinite = std::numeric_limits<double>::infinity();
  if (const char *end = after(p, "inf")) {
    const char *longer = after(end, "inity");
    at = longer ? longer : end;
    value = negative ? -infinite : infinite;
    return Number::kRead;
  }
  if (const char *end = after(p, "nan")) {
    at = end;
    value = std::numeric_limits<double>::quiet_NaN();
    return Number::kRead;
  }
  return Number::kNone;
}

}  // namespace

Number read_real(const char *&at, double &value) {
  const char *p = at;
  const bool negative = *p == '-';
  if (negative || *p == '+') ++p;
  Decimal decimal;
  const char *end = read_digits(p, decimal);
  if (end == nullptr) return read_special(at, p, negative, value);
  end = read_exponent(end, decimal);
  if (end == nullptr) return Number::kNone;
  double found;
  // Two exact doubles and one operation that rounds (Clinger 1990).
  const bool whole = decimal.significant <= 19 && decimal.digits <= kWhole;
  if (whole && decimal.power >= -kExact && decimal.power <= kExact) {
    found = static_cast<double>(decimal.digits);
    found = decimal.power < 0 ? found / kPowers[-decimal.power] : found * kPowers[decimal.power];
  } else {
    found = whole && decimal.digits == 0 ? 0.0 : rounded(p, end, decimal);
  }
  value = negative ? -found : found;
  at = end;
  return Number::kRead;
}

}  // namespace mlir_sparse
