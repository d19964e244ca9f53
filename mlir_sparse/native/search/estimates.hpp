// How many places a join of tensors has, from sketches.
//
// Entries are taken to be spread evenly and independently, corrected where two sparse tensors share a variable: there
// the norms of their degrees say how many pairs of entries meet, exactly for a tensor with itself, and at most
// otherwise. No estimate exceeds the bound by largest degrees (Deeds et al. 2025, section 5).
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "entry_set.hpp"

namespace mlir_sparse::search {

class Estimates {
 public:
  // Returns the number of a further variable of an extent.
  int add(double extent);
  int count() const { return static_cast<int>(extents_.size()); }

  // How many places an array over some variables has.
  double space(const Bits &variables) const;
  double extent(int variable) const { return extents_.at(variable); }
  // At how many places all relations have an entry.
  double join(const Relations &relations);
  // At how many places some sparse relations have an entry, and the most that there can be.
  std::pair<double, double> meet(const Relations &sparse);
  // How many places of some variables are left by the relations, each projected onto them.
  double prefix(const Relations &relations, const Bits &variables) const;
  // How many different places of some variables there are, of places over more.
  double projected(double places, const Bits &variables) const;
  // How many entries a sum has of products of sparse relations at some places.
  double entries_of_sum(const Relations &sparse, double places, const Bits &kept) const;

 private:
  std::pair<double, double> meeting(const Relations &sparse);
  double in_cycles(double places, const Relations &sparse);
  double skew(const Relations &relations, const Bits &variables) const;
  double gain(const Relations &meeting, int variable, double extent) const;
  double bound(const Relations &relations, const Bits &variables) const;

  std::vector<double> extents_;
  std::unordered_map<Key, std::pair<double, double>, KeyHash> met_;
};

}  // namespace mlir_sparse::search
