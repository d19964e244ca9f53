// Which products are equal up to the names of their variables and the order of their factors.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace mlir_sparse::search {

// Factors sorted by name, with places for their variables.
struct NamedFactors {
  std::vector<std::string> names;         // of tensors; functions have one, and sums
  std::vector<std::vector<int>> own;      // the variables of each factor
  std::vector<std::string> variables;     // their names
  std::vector<bool> kept;                 // whether the product keeps them
  std::vector<bool> symmetric;            // which factors are matrices that are their own transposes
  // The text of a function or a sum, with numbers for the variables that were seen; none for an access.
  std::function<std::string(int factor, const std::vector<int> &seen)> text;
};

// What equal products have in common: of each factor its text and the numbers of its variables, and the numbers of
// the variables that are kept.
struct ProductKey {
  std::vector<std::pair<std::string, std::vector<int>>> factors;
  std::vector<int> numbers;
  std::vector<std::string> names;  // of the variables that are kept, in this order
  std::vector<int> places;         // the same variables

  bool operator<(const ProductKey &other) const {
    if (factors != other.factors) return factors < other.factors;
    if (numbers != other.numbers) return numbers < other.numbers;
    return names < other.names;
  }
};

// The least of the keys that a product has in the orders of its factors, of more orders than a few those that come
// first: numbers stand for variables and factors.
ProductKey key_of(const NamedFactors &product);

}  // namespace mlir_sparse::search
