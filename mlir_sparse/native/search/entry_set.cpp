#include "entry_set.hpp"

#include <atomic>
#include <stdexcept>

namespace mlir_sparse::search {

std::uint64_t EntrySet::next_number() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

double EntrySet::places_at(const Bits &some) const {
  if (stored.empty() || !order) return entries;
  Bits outside;
  for (std::size_t level = 0; level < stored.size(); ++level) {
    outside |= Bits::one((*order)[level]);
    if (outside == some) return stored[level];
  }
  return entries;
}

EntrySet EntrySet::over(const Bits &more, double often) const {
  EntrySet found{more, entries * often, sparse, largest, squares, order, most, in_memory, pattern, source};
  for (auto &each : found.largest) each.second *= often;
  for (auto &each : found.squares) each.second *= often * often;
  if (most) found.most = *most * often;
  return found;
}

EntrySet EntrySet::at(const std::vector<int> &own, const std::vector<int> &others) const {
  if (own.size() != others.size()) throw std::invalid_argument("expected as many variables as an entry set has");
  const auto renamed = [&](int variable) {
    for (std::size_t place = own.size(); place-- > 0;)
      if (own[place] == variable) return others[place];
    throw std::invalid_argument("expected the variables of an entry set");
  };
  EntrySet found{Bits(), entries, sparse, largest, squares, order, most};
  found.stored = stored;
  for (int variable : others) found.variables |= Bits::one(variable);
  for (auto &each : found.largest) each.first = renamed(each.first);
  for (auto &each : found.squares) each.first = renamed(each.first);
  if (found.order)
    for (int &variable : *found.order) variable = renamed(variable);
  return found;
}

Bits union_of(const Relations &relations) {
  Bits found;
  for (const Relation &relation : relations) found |= relation->variables;
  return found;
}

Bits repeated(const Relations &relations) {
  Bits once, again;
  for (const Relation &relation : relations) {
    again |= once & relation->variables;
    once |= relation->variables;
  }
  return again;
}

}  // namespace mlir_sparse::search
