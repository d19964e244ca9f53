// The cheapest way to compute one product: which of its factors make a part that is computed first.
//
// Dynamic programming over sets of factors, as orders of joins are found in databases (Selinger et al. 1979). Of each
// set it knows the cheapest loop nest over factors and over parts that are sets themselves. Sets that are equal up to
// the names of variables are made once.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "factor_partitions.hpp"
#include "factor_sets.hpp"
#include "nest_times.hpp"

namespace mlir_sparse::search {

// A way to compute a set of factors.
struct Way {
  double nanoseconds;  // parts included
  Relation result;     // the result as another nest's operand
  Bits read;           // the factors that the last loop nest reads as they are
  Parts made;          // the sets of factors that are made first, each a part that it reads
  bool by_blas = false;
};
using WayPointer = std::shared_ptr<const Way>;

// Says which sets of factors are equal.
class PartKeys {
 public:
  virtual ~PartKeys() = default;
  // Returns a number that sets share which are equal up to the names of variables.
  virtual int number(const Members &part) = 0;
  // Returns whether an equal set is made already.
  virtual bool is_made(const Members &part) = 0;
  // Returns a number that sets share which are equal at the same variables.
  virtual int occurrence(const Members &part) = 0;
  // Throws where the search is to end.
  virtual void check() {}

  bool has_equal = true;        // whether sets may be equal at all
  bool has_occurrences = true;  // whether equal sets may be at the same variables
  bool any_size = false;        // whether sets are compared that keep unlike numbers of variables for later
  bool may_be_made = false;     // whether any may be made already
  std::vector<int> names;       // by factor a number of its tensor: sets of others are not equal; none if unknown
  std::set<std::vector<int>> made_names;  // the names of factors of what is made already, sorted; none if unknown
};

// By how much a plan must be cheaper than another to be taken in its place.
struct SearchMargins {
  double full;      // from this share of its elements on a part is an array
  double noticed;   // estimates are no better
  double unsummed;  // where a factor is summed in the loops that read it
  double later;     // where a sum is done later than it could be
  double beyond;    // ways that take so many times as long as a part may take have no say in which of them is taken
};

// By set a value, in the order in which sets were added.
template <typename Value>
class BySet {
 public:
  Value *find(const Members &members) {
    const auto known = places_.find(members);
    return known == places_.end() ? nullptr : &values_[known->second].second;
  }
  void set(const Members &members, Value value) {
    const auto [known, added] = places_.emplace(members, values_.size());
    if (added)
      values_.emplace_back(members, std::move(value));
    else
      values_[known->second].second = std::move(value);
  }
  void clear() {
    places_.clear();
    values_.clear();
  }
  const std::vector<std::pair<Members, Value>> &values() const { return values_; }

 private:
  std::unordered_map<Members, std::size_t, BitsHash> places_;
  std::vector<std::pair<Members, Value>> values_;
};

class ProductSearch : public FactorSets {
 public:
  // `into_array` says whether the result is an array although loops could leave elements out, and `has_arrays` whether
  // parts that are nearly full may be arrays.
  ProductSearch(Relations relations, const Bits &kept, std::shared_ptr<NestTimes> nests,
                std::unique_ptr<PartKeys> keys, const PartRoom &room, const SearchMargins &margins, bool has_arrays,
                bool into_array);

  // The cheapest way to compute a set.
  WayPointer best(const Members &members);
  // The cheapest way for each choice of what the last loop nest of the product reads, cheapest first.
  const std::vector<WayPointer> &ranked();
  // Takes another way than the cheapest to compute the product, by its place among `ranked`.
  void take(std::size_t rank) { ways_.set(whole(), ranked().at(rank)); }
  // The way without parts, one loop nest over all factors of a set, or one that takes a time.
  WayPointer in_one_nest(const Members &members, double most);
  // Whether the result of a set is an array although loops could leave elements out, as far as known.
  bool is_array(const Members &members) const;
  // By factor a number that it shares with those that may change places with it; empty where no two do.
  const Alike &alike();
  const std::shared_ptr<NestTimes> &nests() const { return nests_; }
  // The sets that were searched for whatever time they take, in this order.
  const std::vector<Members> &searched_sets() const { return searched_sets_; }

 private:
  // A set with variables that are summed later, and the least time that plans with it can take beside other parts.
  using LateParts = std::vector<std::pair<Members, double>>;
  using PartsFunction = std::function<void(const Parts &)>;

  WayPointer best_within(const Members &members, double most);
  WayPointer searched(const Members &members, double most);
  WayPointer summed_early(const Members &members, double most);
  WayPointer in_parts(WayPointer found, const Members &members);
  WayPointer summed_later(const WayPointer &early);
  WayPointer refined(WayPointer found, const Members &members);
  bool decides_storage(const Members &part);
  bool fills_array(const Members &part, const NestTime &nest);
  WayPointer cheaper(const WayPointer &found, const Members &members, const Parts &parts);
  WayPointer with_late_sums(WayPointer found, const Members &members);
  bool all_within(const Parts &made, std::size_t without, double most);
  LateParts later_parts(const Members &part);
  LateParts later_than(const Members &part, const WayPointer &way, bool alone);
  WayPointer with_parts(const WayPointer &found, const Members &members, const Parts &made, double noticed);
  Relations results_of(const Parts &made);
  std::vector<bool> which_have_keys(const Parts &made) const;
  std::vector<int> names_of(const Members &part) const;
  int numbered(const Members &part);
  bool is_made(const Members &part);
  WayPointer way(const Members &members, const Bits &read, const Parts &made, const Relations &operands,
                 const NestTime &nest, double below);

  bool is_part(const Members &part);
  std::vector<Parts> choices(const Parts &parts, const Bits &late);
  void for_each_partition(const Members &members, const PartsFunction &function);
  void all_partitions(const Bits &factors, const PartsFunction &function);
  void halves_and_rests(const std::vector<int> &singles, const PartsFunction &function);
  void half_and_rest(const Bits &part, const std::vector<int> &singles, const PartsFunction &function);
  std::vector<Bits> known_sets(const std::vector<int> &singles) const;
  void join_pairs();
  void find_small_sets();

  std::shared_ptr<NestTimes> nests_;
  std::unique_ptr<PartKeys> keys_;
  PartRoom room_;
  SearchMargins margins_;
  bool has_arrays_;
  std::unordered_map<Members, bool, BitsHash> arrays_;
  std::unordered_map<Members, int, BitsHash> numbers_;
  std::unordered_map<Members, bool, BitsHash> made_;
  BySet<WayPointer> ways_;
  BySet<double> exceeded_;  // by set a time that its cheapest way takes longer than
  std::unordered_map<Members, LateParts, BitsHash> later_;  // by set those that are summed later
  double least_ = 0.0;  // the least time of ways in which no sum is later, once that is known
  std::unordered_map<Members, WayPointer, BitsHash> joined_;  // what joining pairs came to, for sets not searched
  double end_;  // the work after which only ways that are known are taken
  std::optional<Alike> alike_;
  std::optional<std::vector<WayPointer>> ranked_;
  std::vector<Members> searched_sets_;
};

}  // namespace mlir_sparse::search
