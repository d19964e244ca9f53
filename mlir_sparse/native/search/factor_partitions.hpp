// Partitions of the factors of a product into parts, without those that differ in the places of equal factors alone.
//
// Factors as those of `A(i,j) * A(i,k) * A(i,l)`, summed over j, k and l, may change places: plans in which they have
// take as long, and a search looks at one of them.
#pragma once

#include <set>
#include <vector>

#include "bits.hpp"

namespace mlir_sparse::search {

using Parts = std::vector<Members>;

// Up to so many factors all partitions are tried.
constexpr int kPartitioned = 4;
// Up to so many, two parts, and one part beside single factors; beyond, those alone that joining pairs came to.
constexpr int kHalved = 9;

// By a number of factors up to that: the ways to put them into parts, but for one part with all and one part each.
using Partition = std::vector<std::vector<int>>;
const std::vector<Partition> &partitions_of_size(int factors);

// Some parts without some of those that are single factors, but not none.
std::vector<Parts> without_some(const Parts &made);

// By factor a number that it shares with those that may change places with it; empty where no two do.
using Alike = std::vector<int>;

// Says of partitions whether they are an earlier one in which factors have changed places.
class SeenPartitions {
 public:
  explicit SeenPartitions(const Alike &alike) : alike_(alike) {}
  bool is_new(const Parts &parts);

 private:
  const Alike &alike_;
  std::set<std::vector<std::vector<int>>> seen_;
};

// Calls a function with each choice of some of so many places, in the order of these.
template <typename Function>
void for_each_choice(int places, int size, const Function &function) {
  std::vector<int> chosen(size);
  for (int place = 0; place < size; ++place) chosen[place] = place;
  while (size <= places) {
    function(chosen);
    int last = size - 1;
    while (last >= 0 && chosen[last] == places - size + last) --last;
    if (last < 0) return;
    ++chosen[last];
    for (int place = last + 1; place < size; ++place) chosen[place] = chosen[place - 1] + 1;
  }
}

}  // namespace mlir_sparse::search
