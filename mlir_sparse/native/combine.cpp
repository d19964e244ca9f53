#include "combine.hpp"

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstring>
#include <map>
#include <type_traits>

namespace mlir_sparse {
namespace {

// Integers wrap around, as in compiled code; NaN propagates, as in `arith.maximumf`.
struct Sum {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
    else
      return a + b;
  }
};

struct Max {
  template <class T>
  static T of(T a, T b) {
    return b > a || b != b ? b : a;
  }
};

struct Min {
  template <class T>
  static T of(T a, T b) {
    return b < a || b != b ? b : a;
  }
};

template <class Operator, class T>
void combine(void *result, const void *other, std::size_t begin, std::size_t end) {
  auto *to = static_cast<T *>(result);
  const auto *from = static_cast<const T *>(other);
  for (std::size_t e = begin; e < end; ++e) to[e] = Operator::of(to[e], from[e]);
}

template <class Operator>
void add_ordered(std::map<std::string, Combine> &table, const std::string &name) {
  table[name + " float32"] = combine<Operator, float>;
  table[name + " float64"] = combine<Operator, double>;
  table[name + " int8"] = combine<Operator, std::int8_t>;
  table[name + " int16"] = combine<Operator, std::int16_t>;
  table[name + " int32"] = combine<Operator, std::int32_t>;
  table[name + " int64"] = combine<Operator, std::int64_t>;
}

std::map<std::string, Combine> all() {
  std::map<std::string, Combine> table;
  add_ordered<Sum>(table, "sum");
  add_ordered<Max>(table, "max");
  add_ordered<Min>(table, "min");
  table["sum complex64"] = combine<Sum, std::complex<float>>;
  table["sum complex128"] = combine<Sum, std::complex<double>>;
  return table;
}

template <class Word>
void fill_words(void *result, const std::string &element, std::size_t begin, std::size_t end) {
  Word word;
  std::memcpy(&word, element.data(), sizeof word);
  std::fill(static_cast<Word *>(result) + begin, static_cast<Word *>(result) + end, word);
}

}  // namespace

Combine combine_of(const std::string &name) {
  static const std::map<std::string, Combine> table = all();
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

void fill_with(void *result, const std::string &element, std::size_t begin, std::size_t end) {
  const std::size_t item = element.size();
  if (std::all_of(element.begin(), element.end(), [](char byte) { return byte == 0; })) {
    std::memset(static_cast<char *>(result) + begin * item, 0, (end - begin) * item);
    return;
  }
  switch (item) {
    case 1:
      return fill_words<std::uint8_t>(result, element, begin, end);
    case 2:
      return fill_words<std::uint16_t>(result, element, begin, end);
    case 4:
      return fill_words<std::uint32_t>(result, element, begin, end);
    case 8:
      return fill_words<std::uint64_t>(result, element, begin, end);
    default:
      for (std::size_t e = begin; e < end; ++e)
        std::memcpy(static_cast<char *>(result) + e * item, element.data(), item);
  }
}

}  // namespace mlir_sparse
