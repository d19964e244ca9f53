#include "masked_products.hpp"

#include <algorithm>
#include <cmath>

namespace mlir_sparse::search {

namespace {

// How many entries of a mask a product has: all where nothing says how often they meet.
double entries_of(const Mask &way) {
  if (way.mask->entries == 0.0 || !way.mask->pattern || !way.left->pattern || !way.right->pattern)
    return way.mask->entries;
  return way.mask->entries * -std::expm1(-way.estimates->meet(way.relations()).first / way.mask->entries);
}

double sorted_entries(const Mask &way) {
  double found = 0.0;
  for (const Relation &one : way.sorted_anew()) found += one->entries;
  return found;
}

}  // namespace

std::array<int, 3> Mask::order() const {
  const Bits summed = left->variables & right->variables;
  return {(left->variables ^ summed).lowest(), summed.lowest(), (right->variables ^ summed).lowest()};
}

Relations Mask::sorted_anew() const {
  const auto [rows, summed, columns] = order();
  const auto differs = [](const Relation &one, int first, int second) {
    return one->order && *one->order != std::vector<int>{first, second};
  };
  Relations found;
  if (differs(mask, rows, columns)) found.push_back(mask);
  if (differs(left, rows, summed)) found.push_back(left);
  if (differs(right, summed, columns)) found.push_back(right);
  return found;
}

const Relation &Mask::result() {
  if (!made) {
    const auto [rows, summed, columns] = order();
    made = std::make_shared<const EntrySet>(EntrySet{mask->variables, entries_of(*this), mask->sparse, mask->largest,
                                                     mask->squares, std::vector<int>{rows, columns}, mask->at_most(),
                                                     mask->in_memory});
  }
  return made;
}

Masks masks_of(const Relations &relations, const Bits &kept, const std::shared_ptr<Estimates> &estimates) {
  std::vector<std::size_t> places;
  for (std::size_t place = 0; place < relations.size(); ++place)
    if (relations[place]->sparse && relations[place]->variables.count() == 2) places.push_back(place);
  Masks found;
  if (places.size() < 3) return found;
  for (auto one = places.begin(); one != places.end(); ++one)
    for (auto other = one + 1; other != places.end(); ++other) {
      const Relation &left = relations[*one], &right = relations[*other];
      const Bits summed = left->variables & right->variables, outside = left->variables ^ right->variables;
      if (summed.count() != 1 || summed.meets(kept) || outside.within(kept)) continue;
      const auto mask = std::find_if(places.begin(), places.end(),
                                     [&](std::size_t place) { return relations[place]->variables == outside; });
      const auto reading = std::count_if(relations.begin(), relations.end(),
                                         [&](const Relation &each) { return each->variables.meets(summed); });
      if (mask == places.end() || reading != 2) continue;
      Relations others;
      for (std::size_t place = 0; place < relations.size(); ++place)
        if (place != *mask && place != *one && place != *other) others.push_back(relations[place]);
      auto way = std::make_shared<Mask>(Mask{relations[*mask], left, right, others, estimates});
      auto turned = std::make_shared<Mask>(Mask{relations[*mask], right, left, others, estimates});
      found.push_back(sorted_entries(*turned) < sorted_entries(*way) ? turned : way);
    }
  return found;
}

}  // namespace mlir_sparse::search
