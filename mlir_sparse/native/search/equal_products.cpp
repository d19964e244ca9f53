#include "equal_products.hpp"

#include <algorithm>
#include <optional>

namespace mlir_sparse::search {

namespace {

// Factors that read one tensor may be named in any order; of more orders than this only the first are compared.
constexpr int kMostOrders = 24;

// The key of a product with its factors in an order, the first of them transposed or not.
ProductKey numbered(const NamedFactors &product, const std::vector<int> &order, bool turned) {
  ProductKey found;
  std::vector<int> numbers(product.variables.size(), -1), seen;
  for (const int factor : order) {
    std::vector<int> own = product.own[factor];
    const bool symmetric = product.symmetric[factor];
    const bool reversed = symmetric && !own.empty() && numbers[own.back()] >= 0 && numbers[own.front()] < 0;
    if ((turned && found.factors.empty()) || reversed) std::reverse(own.begin(), own.end());
    for (int &variable : own) {
      if (numbers[variable] < 0) {
        numbers[variable] = static_cast<int>(seen.size());
        seen.push_back(variable);
      }
      variable = numbers[variable];
    }
    if (symmetric) std::sort(own.begin(), own.end());
    std::string text = product.text ? product.text(factor, seen) : product.names[factor];
    found.factors.emplace_back(std::move(text), std::move(own));
  }
  for (const int variable : seen)
    if (product.kept[variable]) {
      found.numbers.push_back(numbers[variable]);
      found.names.push_back(product.variables[variable]);
      found.places.push_back(variable);
    }
  return found;
}

// The next order of factors in which names stay sorted, if there is one.
bool next_order(const std::vector<std::string> &names, std::vector<int> &order) {
  for (auto last = order.end(); last != order.begin();) {
    auto first = last;
    while (first != order.begin() && names[*(first - 1)] == names[*(last - 1)]) --first;
    if (std::next_permutation(first, last)) return true;
    last = first;  // in its first order again
  }
  return false;
}

}  // namespace

ProductKey key_of(const NamedFactors &product) {
  std::vector<int> order(product.names.size());
  for (std::size_t place = 0; place < order.size(); ++place) order[place] = static_cast<int>(place);
  std::optional<ProductKey> least;
  const auto take = [&](ProductKey key) {
    if (!least || key < *least) least = std::move(key);
  };
  int orders = 0;
  do {
    take(numbered(product, order, false));
    // The other factors follow the numbers of the first.
    if (!order.empty() && product.symmetric[order[0]] && product.own[order[0]].size() == 2)
      take(numbered(product, order, true));
  } while (++orders < kMostOrders && next_order(product.names, order));
  return *least;
}

}  // namespace mlir_sparse::search
