// The loops of a nest over sparse operands, in an order that levels allow, with how many iterations each has.
#pragma once

#include <optional>
#include <vector>

#include "estimates.hpp"

namespace mlir_sparse::search {

struct Loop {
  Bits inside;        // the variables of this loop and those around it
  double iterations;  // over all iterations of those around it
  bool meeting;       // whether it goes over several rows together
};
using Loops = std::vector<Loop>;

// By variable those that levels have outside of it.
struct Predecessors {
  std::vector<std::pair<int, Bits>> outside;

  bool any() const { return !outside.empty(); }
  Bits of(int variable) const {
    for (const auto &[own, found] : outside)
      if (own == variable) return found;
    return Bits();
  }
};

// Loops over sparse relations in a good order that levels allow, outermost first.
//
// `kept` are the variables of a sparse result, if there is one: rows that a sum around the innermost loop comes to again
// and again are scattered, and looked up. `meet` is the time of an iteration that meets rows, as a multiple of that of
// one that walks a row; there is no result from `most` such on. One of `outer` is outermost where others take as long.
std::optional<Loops> loops_over(const Relations &relations, const Bits &kept, const Estimates &estimates, double meet,
                                double most, const Bits &outer);

// Which variables levels have outside of each; none where orders of levels contradict each other.
std::optional<Predecessors> predecessors(const Relations &relations);

// The order of levels of a sparse result, where those of its sparse operands leave no other.
std::optional<std::vector<int>> order_left(const Relations &relations, const Bits &kept);

}  // namespace mlir_sparse::search
