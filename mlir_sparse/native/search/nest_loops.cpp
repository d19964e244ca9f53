#include "nest_loops.hpp"

#include <algorithm>

namespace mlir_sparse::search {

namespace {

// What all orders of the loops of one nest share.
class Nest {
 public:
  Nest(const Relations &relations, const Bits &kept, const Estimates &estimates, double meet)
      : variables(union_of(relations)), relations_(relations), kept_(kept), estimates_(estimates), meet_(meet) {
    if (auto found = predecessors(relations)) before = std::move(*found);
  }

  // Returns the time of loops of which the outermost is over one variable, and each further one takes the least time.
  double loops_from(int first, double most, Loops &loops) {
    loops.clear();
    Bits chosen = Bits::one(first), last = chosen;
    double total = places(chosen);
    loops.push_back({chosen, total, iterations(Bits(), first, Bits()).second});
    while (chosen != variables && total < most) {
      double least = kInfinity;
      std::optional<Loop> following;
      for (int variable : next(chosen)) {
        const auto [count, meeting] = iterations(chosen, variable, last);
        const double time = meeting ? count * meet_ : count;
        if (time < least || !following) {
          least = time;
          following = Loop{chosen | Bits::one(variable), count, meeting};
        }
      }
      total += least;
      last = chosen ^ following->inside;
      chosen = following->inside;
      loops.push_back(*following);
    }
    return total;
  }

  Bits variables;
  Predecessors before;

 private:
  // How many iterations a loop inside of others has, and whether it goes over several rows together.
  std::pair<double, bool> iterations(const Bits &chosen, int variable, const Bits &last) {
    // The relations of whose rows it goes over one; a vector is a row that it comes to again.
    std::vector<const EntrySet *> rows;
    if (relations_.size() > 1)
      for (const Relation &relation : relations_) {
        const Bits &own = relation->variables;
        if (own.has(variable) && (own.meets(chosen) || !own.several())) rows.push_back(relation.get());
      }
    if (rows.size() < 2) return {places(chosen | Bits::one(variable)), false};
    if (rows.size() == 2 && scatters(chosen, variable, last)) {
      // Loops walk what a scattered row does not have, too.
      const bool first = rows[0]->variables.meets(last), second = rows[1]->variables.meets(last);
      if (first != second) return {places(chosen) * degree(first ? *rows[0] : *rows[1], chosen), false};
    }
    double met = 0.0;
    for (const EntrySet *row : rows) met += degree(*row, chosen);
    return {places(chosen) * met, true};
  }

  // Whether the innermost loop is over a sparse result, inside of one that the result sums over.
  bool scatters(const Bits &chosen, int variable, const Bits &last) const {
    return kept_.has(variable) && bool(last - kept_) && (chosen | Bits::one(variable)) == variables;
  }

  double places(const Bits &chosen) {
    for (const auto &[own, found] : known_)
      if (own == chosen) return found;
    return known_.emplace_back(chosen, estimates_.prefix(relations_, chosen)).second;
  }

  // How many entries a relation has at one place of some variables, for entries that meet it.
  double degree(const EntrySet &relation, const Bits &chosen) const {
    const Bits shared = relation.variables & chosen;
    if (shared.count() == 1 && relation.entries != 0.0)
      if (const double squares = number_at(relation.squares, shared.lowest()); squares != 0.0)
        return squares / relation.entries;
    const double rows = std::min(relation.entries, estimates_.space(shared));
    return rows != 0.0 ? relation.entries / rows : 0.0;
  }

  // Which variables loops may be over next: those that a relation links to the ones before, if any.
  Bits next(const Bits &chosen) const {
    Bits linked;
    const Bits left = variables - chosen;
    for (const Relation &relation : relations_)
      if (relation->variables.meets(chosen)) linked |= relation->variables;
    if (const Bits found = ready(linked & left, chosen)) return found;
    // What levels have outside of those.
    Bits outside;
    for (int variable : linked & left) outside |= before.of(variable);
    if (const Bits found = ready(outside & left, chosen)) return found;
    const Bits found = ready(left, chosen);
    return found ? found : left;
  }

  Bits ready(const Bits &some, const Bits &chosen) const {
    if (!before.any()) return some;
    Bits found;
    for (int variable : some)
      if (before.of(variable).within(chosen)) found |= Bits::one(variable);
    return found;
  }

  const Relations &relations_;
  Bits kept_;
  const Estimates &estimates_;
  double meet_;
  std::vector<std::pair<Bits, double>> known_;
};

// Which variables levels have outside of one, and outside of these.
Bits outside_of(int variable, const Predecessors &before) {
  Bits found = before.of(variable);
  for (int outer : before.of(variable)) found |= outside_of(outer, before);
  return found;
}

}  // namespace

std::optional<Loops> loops_over(const Relations &relations, const Bits &kept, const Estimates &estimates, double meet,
                                double most, const Bits &outer) {
  Nest nest(relations, kept, estimates, meet);
  double best = most;
  std::optional<Loops> found;
  Loops loops;
  for (const Bits &some : {nest.variables & outer, nest.variables - outer})
    for (int first : some) {
      if (nest.before.of(first)) continue;
      const double total = nest.loops_from(first, best, loops);
      if (total < best) {
        best = total;
        found = loops;
      }
    }
  return found;
}

std::optional<Predecessors> predecessors(const Relations &relations) {
  Predecessors found;
  for (const Relation &relation : relations) {
    if (!relation->has_levels()) continue;
    Bits outside;
    for (int variable : *relation->order) {
      const auto known = std::find_if(found.outside.begin(), found.outside.end(),
                                      [&](const auto &each) { return each.first == variable; });
      if (known == found.outside.end())
        found.outside.emplace_back(variable, outside);
      else
        known->second |= outside;
      outside = Bits::one(variable);
    }
  }
  Bits left;
  for (const auto &each : found.outside) left |= Bits::one(each.first);
  while (left) {
    Bits free;
    for (const auto &[variable, outside] : found.outside)
      if (left.has(variable) && !outside.meets(left)) free |= Bits::one(variable);
    if (!free) return std::nullopt;
    left -= free;
  }
  return found;
}

std::optional<std::vector<int>> order_left(const Relations &relations, const Bits &kept) {
  const auto before = predecessors(relations);
  if (!before || !before->any()) return std::nullopt;
  std::vector<std::pair<int, int>> found;  // how many variables are outside of each, and which it is
  for (int variable : kept) found.emplace_back((outside_of(variable, *before) & kept).count(), variable);
  std::stable_sort(found.begin(), found.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
  std::vector<int> order;
  for (const auto &[outside, variable] : found) {
    if (outside != static_cast<int>(order.size())) return std::nullopt;
    order.push_back(variable);
  }
  return order;
}

}  // namespace mlir_sparse::search
