#include "nest_results.hpp"

#include <algorithm>

namespace mlir_sparse::search {

namespace {

void raise(ByVariable &numbers, int variable, double least, double number) {
  for (auto &each : numbers)
    if (each.first == variable) {
      each.second = std::max(each.second, number);
      return;
    }
  numbers.emplace_back(variable, std::max(least, number));
}

// The degrees of a result whose operands leave some of their entries, or have each at several places.
void set_degrees(EntrySet &result, const Relations &operands, const NestTime &nest) {
  if (!nest.sparse) return;
  for (const Relation &one : operands) {
    if (!one->sparse || one->entries == 0.0 || one->squares.empty() || !one->variables.within(result.variables))
      continue;
    const double often = nest.entries / one->entries;
    for (const auto &[variable, number] : one->squares) {
      // Of entries that are left by chance, a share of the pairs and of themselves.
      const double known = often * often * number + std::max(0.0, 1 - often) * nest.entries;
      raise(result.squares, variable, 0.0, known);
      const double most = std::min(nest.entries, std::max(1.0, number_at(one->largest, variable) * often));
      raise(result.largest, variable, 1.0, most);
    }
  }
}

}  // namespace

Relation result_of(const Relations &read, const Bits &kept, const NestTime &nest) {
  const Relations operands = with_copies(read, nest.copied);
  auto found = std::make_shared<EntrySet>(EntrySet{kept, nest.entries, nest.sparse, {}, {}});
  found->most = nest.most;
  const EntrySet *inherited = nullptr;
  Relations sparse;
  for (const Relation &one : operands) {
    if (!one->sparse) continue;
    if (!inherited && one->variables == kept) inherited = one.get();
    if (nest.sparse) sparse.push_back(one);
  }
  if (inherited) {
    // Entries are those of an operand that has all variables, and so are their degrees.
    found->largest = inherited->largest;
    found->squares = inherited->squares;
  } else {
    set_degrees(*found, operands, nest);
  }
  if (!sparse.empty()) found->order = order_left(sparse, kept);
  // Arrays beside it change its values, not where it has entries.
  if (inherited && sparse.size() == 1) found->pattern = sparse[0]->pattern;
  return found;
}

}  // namespace mlir_sparse::search
