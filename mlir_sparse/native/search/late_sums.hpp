// Sums that are done later than they could be: by what reads a part, not by the part itself.
//
// A part that is summed as far as it can be is often smaller. It is not where the sum leaves one variable: a vector is
// an array, and what reads it has no entries to skip others by. Nor is it cheaper where loops into the sum meet rows, or
// come to its elements in no order, and those into a sparse part with a variable more append their places.
#pragma once

#include <utility>
#include <vector>

#include "nest_times.hpp"

namespace mlir_sparse::search {

// What a late sum is asked for.
struct LateSum {
  Bits kept;        // the variables of the part that are read
  Bits summed;      // those that it is summed over
  double most;      // the time of the part that is summed
  double all_most;  // the time of the whole product
  double gains;     // the share of that time which plans with the part must save
  // Whether the part is all that is read, so that sums into a sparse result append its entries again.
  bool alone;
  double elements;  // how many elements the part has as an array that is read, of which entries are to be few; else 0
};

// What a part is that keeps variables beyond those that are read, where that can pay at all.
//
// Each has the least time of loops into such a part, and of the call of those that read it. Of what is a part where
// levels contradict each other nothing is known: the plan says which operand is sorted, and estimates say no better.
std::vector<std::pair<EntrySet, double>> late_sums(const Relations &factors, const LateSum &asked, NestTimes &nests);

// The least that loops take whose places are summed later, from the least time of those that sum, into an array of so
// many elements; 0 for none.
//
// They come to the same places, and each takes as long as a step at least; they write no array and look none up.
// Nothing is known of tensors with three levels, whose order may let sums come between loops that meet rows.
double least_of_loops(const Relations &factors, double nanoseconds, double elements, const NestTimes &nests);

}  // namespace mlir_sparse::search
