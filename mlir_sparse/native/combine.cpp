#include "combine.hpp"

#include <algorithm>
#include <map>

#include "element_types.hpp"

namespace mlir_sparse {
namespace {

struct Sum {
  template <class T>
  static T of(T a, T b) {
    return add(a, b);
  }
};

// NaN propagates, as in `arith.maximumf`.
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

struct Product {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_integral_v<T>)  // wraps around, as in NumPy
      return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    else
      return a * b;
  }
};

bool is_true(Truth value) { return value.byte != 0; }

template <class T>
bool is_true(T value) {
  return value != T{0};
}

template <class T>
T as_truth(bool value) {
  return static_cast<T>(value);
}

template <>
Truth as_truth<Truth>(bool value) {
  return Truth{static_cast<std::uint8_t>(value)};
}

// Whether any, and whether all; both give 0 or 1.
struct Or {
  template <class T>
  static T of(T a, T b) {
    return as_truth<T>(is_true(a) || is_true(b));
  }
};

struct And {
  template <class T>
  static T of(T a, T b) {
    return as_truth<T>(is_true(a) && is_true(b));
  }
};

template <class Operator, class T>
void combine(void *result, const void *other, std::size_t begin, std::size_t end) {
  auto *to = static_cast<T *>(result);
  const auto *from = static_cast<const T *>(other);
  for (std::size_t e = begin; e < end; ++e) to[e] = Operator::of(to[e], from[e]);
}

// Sums and products, extremes of what is ordered, and truth. What C++ has no numbers of is not combined by sums.
template <class T>
void add_type(std::map<std::string, Combine> &table, const std::string &name) {
  if constexpr (std::is_arithmetic_v<T> || is_complex<T>) table["sum " + name] = combine<Sum, T>;
  if constexpr (std::is_arithmetic_v<T>) {
    table["max " + name] = combine<Max, T>;
    table["min " + name] = combine<Min, T>;
  }
  if constexpr (std::is_arithmetic_v<T> || is_complex<T>) table["prod " + name] = combine<Product, T>;
  if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, Truth>) {
    table["or " + name] = combine<Or, T>;
    table["and " + name] = combine<And, T>;
  }
}

std::map<std::string, Combine> all() {
  std::map<std::string, Combine> table;
#define MLIR_SPARSE_ADD(dtype, numpy, Value) add_type<Value>(table, #numpy);
  MLIR_SPARSE_ELEMENT_TYPES(MLIR_SPARSE_ADD)
#undef MLIR_SPARSE_ADD
  return table;
}

}  // namespace

Combine combine_of(const std::string &name) {
  static const std::map<std::string, Combine> table = all();
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace mlir_sparse
