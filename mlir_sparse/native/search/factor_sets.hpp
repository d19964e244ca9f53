// Sets of factors of a product: the variables of each, and those that it keeps where it is a part.
#pragma once

#include <unordered_map>
#include <vector>

#include "entry_set.hpp"

namespace mlir_sparse::search {

class FactorSets {
 public:
  // `kept` are the variables of the result.
  FactorSets(Relations relations, const Bits &kept);

  Members whole() const { return {whole_, Bits()}; }
  int count() const { return count_; }
  const Relations &relations() const { return relations_; }
  // The variables of a set that the result or other factors have, or that are summed later.
  const Bits &kept(const Members &members);
  Bits variables(const Bits &factors) const;
  // What the factors of a set are to estimates.
  Relations relations_of(const Bits &factors) const;
  // A set that keeps some variables more, those of them that it has and does not keep yet.
  Members keeping(const Members &members, const Bits &late);
  // Whether a part is a factor that is read as it is: no variable is summed over in it alone.
  bool is_read(const Members &part);
  // Whether variables link all factors of a set: a product of others is larger than both.
  bool is_linked(const Bits &factors);

 protected:
  Bits whole_, result_;
  Bits plain_;  // the factors that are read as they are: no variable is summed over in one of them alone

 private:
  int count_;
  Relations relations_;
  std::unordered_map<Bits, bool, BitsHash> linked_;
  std::unordered_map<Members, Bits, BitsHash> kept_;
};

// A set that is summed as far as it can be.
inline Members members_of(const Bits &factors) { return {factors, Bits()}; }

// Whether a set is one factor, summed as far as it can be.
inline bool is_single(const Members &part) { return part.count() == 1; }

}  // namespace mlir_sparse::search
