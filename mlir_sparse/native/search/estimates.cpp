#include "estimates.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "entry_patterns.hpp"

namespace mlir_sparse::search {

namespace {

constexpr double kGreatest = 700.0;  // the largest logarithm of a double, nearly

// A share of the entries of a relation.
Relation part_of(const EntrySet &relation, double share) {
  EntrySet found{relation.variables,      relation.entries * share, relation.sparse, relation.largest, relation.squares,
                 relation.order,          relation.at_most(),       relation.in_memory, relation.pattern,
                 relation.source};
  for (auto &each : found.squares) each.second *= share * share;
  return std::make_shared<const EntrySet>(std::move(found));
}

// Relations with one in place of two matrices over the same variables: where both have entries.
Relations together(Relations sparse) {
  for (bool again = true; again;) {
    again = false;
    for (std::size_t one = 0; one < sparse.size() && !again; ++one)
      for (std::size_t other = one + 1; other < sparse.size() && !again; ++other) {
        const Relation a = sparse[one], b = sparse[other];
        if (!a->pattern || !b->pattern || a->variables != b->variables) continue;
        Relations rest;
        for (const Relation &relation : sparse)
          if (relation != a && relation != b) rest.push_back(relation);
        rest.push_back(part_of(*a, chance_together(*a->pattern, *b->pattern)));
        sparse = std::move(rest);
        again = true;
      }
  }
  return sparse;
}

const DegreeLogarithms &logarithms_of(const EntrySet &relation, int variable, double extent) {
  for (const DegreeLogarithms &known : relation.logarithms)
    if (known.variable == variable && known.extent == extent) return known;
  const double squares = std::log(number_at(relation.squares, variable));
  const double mean = std::log(relation.entries / extent);
  const double most = std::log(std::max(number_at(relation.largest, variable), 1.0));
  const double least = squares - std::log(relation.entries);
  relation.logarithms.push_back({variable, extent, squares, mean, (most + least) / 2});
  return relation.logarithms.back();
}

// The share of pairs of two accesses that are an entry with itself, as in `A(i,j) * A(i,k)`; else 0.
double share_with_itself(const EntrySet &one, const EntrySet &other, const Bits &kept) {
  if (!one.source || !other.source || one.source->first != other.source->first) return 0.0;
  const auto &left = one.source->second, &right = other.source->second;
  if (left.size() != right.size()) return 0.0;
  int shared = 0, apart = 0, place_shared = 0, place_apart = 0;
  for (std::size_t place = 0; place < left.size(); ++place) {
    if (left[place] == right[place]) {
      ++shared;
      place_shared = static_cast<int>(place);
    } else {
      ++apart;
      place_apart = static_cast<int>(place);
    }
  }
  if (shared != 1 || apart != 1) return 0.0;
  if (!kept.has(left[place_apart]) || !kept.has(right[place_apart])) return 0.0;
  const double squares = number_at(one.squares, left[place_shared]);
  return squares != 0.0 ? std::min(1.0, one.entries / squares) : 0.0;
}

// How many times more places there are at most with one relation more, and which; that is first 1.
std::pair<double, const EntrySet *> least_factor(const std::vector<const EntrySet *> &left, const Bits &reached) {
  std::pair<double, const EntrySet *> linked{1.0, nullptr};
  for (const EntrySet *relation : left) {
    if (relation->variables.within(reached)) return {1.0, relation};
    if (linked.second || relation->largest.empty()) continue;
    bool any = false;
    double least = 0.0;
    for (int variable : relation->variables & reached) {
      const double degree = number_at(relation->largest, variable);
      if (degree == 0.0) continue;
      least = any ? std::min(least, degree) : degree;
      any = true;
    }
    if (any) linked = {least, relation};
  }
  return linked;
}

}  // namespace

int Estimates::add(double extent) {
  if (count() == Bits::kMost) throw std::length_error("expected at most 256 variables");
  extents_.push_back(extent);
  return count() - 1;
}

double Estimates::space(const Bits &variables) const {
  double found = 1.0;
  for (int place = 3; place >= 0; --place)
    for (std::uint64_t left = variables.word(place); left;) {
      int highest = 63;
      while (!(left >> highest & 1)) --highest;
      found = extents_.at(64 * place + highest) * found;
      left ^= std::uint64_t{1} << highest;
    }
  return found;
}

double Estimates::join(const Relations &relations) {
  Relations sparse;
  for (const Relation &relation : relations)
    if (relation->sparse) sparse.push_back(relation);
  return meet(sparse).first * space(union_of(relations) - union_of(sparse));
}

std::pair<double, double> Estimates::meet(const Relations &sparse) {
  Key key;
  key.reserve(sparse.size());
  append(key, sparse);
  if (const auto known = met_.find(key); known != met_.end()) return known->second;
  const auto found = meeting(sparse);
  met_.emplace(std::move(key), found);
  return found;
}

std::pair<double, double> Estimates::meeting(const Relations &given) {
  const Relations sparse = given.size() > 1 ? together(given) : given;
  const Bits variables = union_of(sparse);
  double found = space(variables);
  Bits alone;
  for (const Relation &relation : sparse) {
    const double own = space(relation->variables);
    if (relation->entries < own || own == 0.0) found *= own != 0.0 ? relation->entries / own : 0.0;
    if (!relation->variables.several()) alone |= relation->variables;
  }
  const double most = bound(sparse, variables);
  if (sparse.size() > 1) found *= skew(sparse, variables - alone);
  if (sparse.size() > 2) found = in_cycles(found, sparse);
  return {std::min(found, most), most};
}

double Estimates::in_cycles(double places, const Relations &sparse) {
  std::vector<PatternPointer> patterns;
  for (const Relation &relation : sparse)
    if (relation->pattern) patterns.push_back(relation->pattern);
  if (patterns.size() < 3) return places;
  const auto [often, closing] = chance_of_cycles(patterns);
  if (closing.empty()) return places;
  Relations others;
  for (const Relation &relation : sparse)
    if (std::find(closing.begin(), closing.end(), relation->pattern) == closing.end()) others.push_back(relation);
  return std::min(places * often, meet(others).first);
}

double Estimates::prefix(const Relations &relations, const Bits &variables) const {
  double found = space(variables);
  Relations several;
  for (const Relation &relation : relations) {
    const Bits shared = relation->variables & variables;
    if (!shared) continue;
    const double own = space(shared);
    const double places = relation->places_at(shared);
    if (places < own || own == 0.0) found *= own != 0.0 ? places / own : 0.0;
    if (shared.several()) several.push_back(relation);
  }
  return several.size() > 1 ? found * skew(several, variables) : found;
}

double Estimates::projected(double places, const Bits &variables) const {
  const double own = space(variables);
  return own != 0.0 ? std::min(places, own * -std::expm1(-places / own)) : 0.0;
}

double Estimates::entries_of_sum(const Relations &sparse, double places, const Bits &kept) const {
  for (std::size_t one = 0; one < sparse.size(); ++one)
    for (std::size_t other = one + 1; other < sparse.size(); ++other) {
      const double share = share_with_itself(*sparse[one], *sparse[other], kept);
      if (share == 0.0) continue;
      // Each entry meets itself: on the diagonal, which has few places.
      const Bits diagonal = kept - (sparse[one]->variables - sparse[other]->variables);
      const double itself = projected(places * share, diagonal);
      return std::min(space(kept), itself + projected(places * (1 - share), kept));
    }
  return projected(places, kept);
}

double Estimates::skew(const Relations &relations, const Bits &variables) const {
  double found = 1.0;
  Relations meeting;
  for (int variable : variables & repeated(relations)) {
    meeting.clear();
    bool any = true;
    for (const Relation &relation : relations)
      if (number_at(relation->squares, variable) != 0.0) {
        meeting.push_back(relation);
        any = any && relation->entries != 0.0;
      }
    const double extent = extents_.at(variable);
    if (meeting.size() < 2 || extent == 0.0 || !any) continue;
    // By logarithms: products of many numbers may leave the range of doubles.
    const double more = gain(meeting, variable, extent);
    if (more > 0.0) found *= std::exp(std::min(kGreatest, more));
  }
  return found;
}

// The logarithm of how many times more tuples of entries meet than if entries were spread evenly.
//
// No sum over products of degrees exceeds the geometric mean of the sums of their powers (Hoelder's inequality). The
// sum of squares is known; of other powers a number between the bounds that squares and the largest degree give.
double Estimates::gain(const Relations &meeting, int variable, double extent) const {
  const double count = static_cast<double>(meeting.size());
  double found = -std::log(extent);
  for (const Relation &relation : meeting) {
    const DegreeLogarithms &known = logarithms_of(*relation, variable, extent);
    found += (known.squares + (count - 2) * known.power) / count - known.mean;
  }
  return found;
}

// The most places there can be: entries of one relation, times degrees of those joined to it.
double Estimates::bound(const Relations &relations, const Bits &variables) const {
  double best = kInfinity;
  std::vector<const EntrySet *> left;
  for (const Relation &first : relations) {
    double places = first->at_most();
    Bits reached = first->variables;
    left.clear();
    for (const Relation &relation : relations)
      if (relation != first) left.push_back(relation.get());
    while (!left.empty() && places < best) {
      const auto [factor, other] = least_factor(left, reached);
      if (!other) break;
      places *= factor;
      reached |= other->variables;
      left.erase(std::find(left.begin(), left.end(), other));
    }
    if (places < best) best = std::min(best, places * space(variables - reached));
  }
  return best;
}

}  // namespace mlir_sparse::search
