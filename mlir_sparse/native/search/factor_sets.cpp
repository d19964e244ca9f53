#include "factor_sets.hpp"

#include <stdexcept>

namespace mlir_sparse::search {

FactorSets::FactorSets(Relations relations, const Bits &kept)
    : result_(kept), count_(static_cast<int>(relations.size())), relations_(std::move(relations)) {
  if (count_ > Bits::kMost) throw std::length_error("expected at most 256 factors");
  whole_ = Bits::first(count_);
  for (int one : whole_)
    if (relations_[one]->variables == this->kept({Bits::one(one), Bits()})) plain_ |= Bits::one(one);
}

const Bits &FactorSets::kept(const Members &members) {
  const auto known = kept_.find(members);
  if (known != kept_.end()) return known->second;
  const Bits others = result_ | variables(whole_ - members.factors) | members.late;
  return kept_.emplace(members, variables(members.factors) & others).first->second;
}

Bits FactorSets::variables(const Bits &factors) const {
  Bits found;
  for (int one : factors) found |= relations_[one]->variables;
  return found;
}

Relations FactorSets::relations_of(const Bits &factors) const {
  Relations found;
  for (int one : factors) found.push_back(relations_[one]);
  return found;
}

Members FactorSets::keeping(const Members &members, const Bits &late) {
  return {members.factors, members.late | ((late & variables(members.factors)) - kept(members))};
}

bool FactorSets::is_read(const Members &part) {
  if (!part.late) return !part.factors.several() && part.factors.meets(plain_);
  return !part.factors.several() && relations_[part.factors.lowest()]->variables == kept(part);
}

bool FactorSets::is_linked(const Bits &factors) {
  const auto known = linked_.find(factors);
  if (known != linked_.end()) return known->second;
  Bits reached = relations_[factors.lowest()]->variables, left = factors - Bits::one(factors.lowest());
  while (left) {
    Bits apart;
    for (int one : left)
      if (const Bits &own = relations_[one]->variables; own && !own.meets(reached)) apart |= Bits::one(one);
    if (apart == left) break;
    for (int one : left)
      if (const Bits &own = relations_[one]->variables; !own || own.meets(reached)) reached |= own;
    left = apart;
  }
  return linked_.emplace(factors, !left).first->second;
}

}  // namespace mlir_sparse::search
