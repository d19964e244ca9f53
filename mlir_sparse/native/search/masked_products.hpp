// Products of two sparse matrices of which only the elements at the entries of a third are read.
//
// Loops into a sparse result walk rows of the two, and look up the row of the mask, which they scatter once. Those over
// a sum meet entries of all three.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "estimates.hpp"

namespace mlir_sparse::search {

struct Mask {
  Relation mask;    // the matrix at whose entries it is computed, over the rows of one and the columns of the other
  Relation left;    // the matrix whose rows are walked, whose columns are summed over
  Relation right;   // the matrix whose rows are walked for each entry of the left one
  Relations others;  // the other operands of the statement, which have no variable that is summed over
  std::shared_ptr<Estimates> estimates;
  std::optional<double> nanoseconds = std::nullopt;  // once it is known
  Relation made = nullptr;                           // what the product is to loops that read it, once it is asked for

  Relations relations() const { return {mask, left, right}; }
  // The order of loops in which rows of the mask are looked up.
  std::array<int, 3> order() const;
  // What the loops need in another order of levels.
  Relations sorted_anew() const;
  // What the product is to loops that read it: some entries of the mask, in the order of the loops.
  const Relation &result();
};
using Masks = std::vector<std::shared_ptr<Mask>>;

// How a product may be computed with a mask. One over the variables of the mask is one nest with it anyway.
Masks masks_of(const Relations &relations, const Bits &kept, const std::shared_ptr<Estimates> &estimates);

}  // namespace mlir_sparse::search
