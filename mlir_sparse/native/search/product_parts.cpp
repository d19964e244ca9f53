// Which sets of the factors of a product its loop nests have as parts.
#include <algorithm>
#include <map>

#include "product_search.hpp"

namespace mlir_sparse::search {

namespace {

// Which tensor a factor reads, and where: a variable of its own counts as where it stands first. A factor that is no
// access is equal to itself alone.
std::vector<long long> place_of(const EntrySet &relation, const Bits &shared) {
  if (!relation.source) return {-1, static_cast<long long>(relation.number)};
  std::vector<long long> found;
  const std::vector<int> &own = relation.source->second;
  for (int variable : own) {
    const auto first = std::find(own.begin(), own.end(), variable) - own.begin();
    found.push_back(shared.has(variable) ? variable : -2 - static_cast<long long>(first));
  }
  return found;
}

}  // namespace

// A number for each factor, which those share that are equal up to variables that they alone have.
const Alike &ProductSearch::alike() {
  if (alike_) return *alike_;
  const Bits shared = result_ | repeated(relations());
  using Place = std::pair<std::string, std::vector<long long>>;
  std::vector<Place> places;
  for (const Relation &relation : relations())
    places.emplace_back(relation->source ? relation->source->first : std::string(), place_of(*relation, shared));
  std::vector<Place> different = places;
  std::sort(different.begin(), different.end());
  if (std::adjacent_find(different.begin(), different.end()) == different.end()) return alike_.emplace();
  std::map<std::pair<Place, int>, int> numbers;
  Alike found;
  for (int one = 0; one < count(); ++one) {
    const int key = keys_->has_equal ? keys_->number(members_of(Bits::one(one))) : one;
    found.push_back(numbers.emplace(std::make_pair(places[one], key), static_cast<int>(numbers.size())).first->second);
  }
  if (static_cast<int>(numbers.size()) == count()) found.clear();
  return alike_.emplace(std::move(found));
}

// Whether a set may be a part: a factor, or some that variables link, if there is time to plan it.
bool ProductSearch::is_part(const Members &part) {
  if (is_single(part)) return true;
  return is_linked(part.factors) &&
         (ways_.find(part) || joined_.count(part) || static_cast<double>(nests_->work) < end_);
}

// Which of some parts are made: all that are sums, and of few factors all but some single ones.
std::vector<Parts> ProductSearch::choices(const Parts &parts, const Bits &late) {
  Parts made;
  for (const Members &part : parts) {
    const Members own = late ? keeping(part, late) : part;
    if (!is_read(own)) made.push_back(own);
  }
  std::vector<Parts> found{made};
  if (count() > kPartitioned) return found;
  std::vector<Parts> fewer = without_some(made);
  if (alike().empty() || late) {
    found.insert(found.end(), fewer.begin(), fewer.end());
    return found;
  }
  SeenPartitions seen(alike());
  for (Parts &some : fewer)
    if (seen.is_new(some)) found.push_back(std::move(some));
  return found;
}

// Calls a function with each way to put a set into parts, but for one part with all, and those that are alike.
void ProductSearch::for_each_partition(const Members &members, const PartsFunction &function) {
  if (members.late || alike().empty()) return all_partitions(members.factors, function);
  SeenPartitions seen(alike());
  all_partitions(members.factors, [&](const Parts &parts) {
    if (seen.is_new(parts)) function(parts);
  });
}

void ProductSearch::all_partitions(const Bits &factors, const PartsFunction &function) {
  std::vector<int> singles;
  for (int one : factors) singles.push_back(one);
  if (singles.size() == 1) return;
  if (!factors.within(plain_)) {
    Parts parts;
    for (int one : singles) parts.push_back(members_of(Bits::one(one)));
    function(parts);
  }
  if (singles.size() > kPartitioned) return halves_and_rests(singles, function);
  for (const Partition &partition : partitions_of_size(static_cast<int>(singles.size()))) {
    Parts parts;
    for (const std::vector<int> &part : partition) {
      Bits own;
      for (int place : part) own |= Bits::one(singles[place]);
      parts.push_back(members_of(own));
    }
    if (std::all_of(parts.begin(), parts.end(), [&](const Members &part) { return is_part(part); })) function(parts);
  }
}

// Two parts, each made first, and one part that is made first with all others as they are.
void ProductSearch::halves_and_rests(const std::vector<int> &singles, const PartsFunction &function) {
  const int places = static_cast<int>(singles.size());
  if (places > kHalved) {  // sets that no search came to are no parts
    for (const Bits &part : known_sets(singles)) half_and_rest(part, singles, function);
    return;
  }
  for (int size = 2; size < places; ++size)
    for_each_choice(places, size, [&](const std::vector<int> &chosen) {
      Bits part;
      for (int place : chosen) part |= Bits::one(singles[place]);
      half_and_rest(part, singles, function);
    });
}

void ProductSearch::half_and_rest(const Bits &part, const std::vector<int> &singles, const PartsFunction &function) {
  if (!is_part(members_of(part))) return;
  Bits rest;
  Parts parts{members_of(part)};
  for (int one : singles)
    if (!part.has(one)) {
      rest |= Bits::one(one);
      parts.push_back(members_of(Bits::one(one)));
    }
  if (rest.several() && part.has(singles[0]) && is_part(members_of(rest)))
    function({members_of(part), members_of(rest)});
  function(parts);
}

// The sets of several of some factors of which a way is known, small ones first.
std::vector<Bits> ProductSearch::known_sets(const std::vector<int> &singles) const {
  Bits all;
  for (int one : singles) all |= Bits::one(one);
  std::vector<std::vector<int>> found;
  const auto add = [&](const Members &members) {
    if (members.late || !members.factors.several() || !members.factors.within(all) || members.factors == all) return;
    std::vector<int> own;
    for (int one : members.factors) own.push_back(one);
    found.push_back(std::move(own));
  };
  for (const auto &each : ways_.values()) add(each.first);
  for (const auto &each : joined_) add(each.first);
  std::sort(found.begin(), found.end(), [](const std::vector<int> &a, const std::vector<int> &b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  found.erase(std::unique(found.begin(), found.end()), found.end());
  std::vector<Bits> sets;
  for (const std::vector<int> &own : found) {
    Bits set;
    for (int one : own) set |= Bits::one(one);
    sets.push_back(set);
  }
  return sets;
}

// -- many factors -----------------------------------------------------------------------------------------------------

// Finds a way for many factors: the cheapest pair of factors or parts is joined, until all are one.
void ProductSearch::join_pairs() {
  std::vector<Bits> left;
  for (int one : whole_) left.push_back(Bits::one(one));
  std::unordered_map<Bits, WayPointer, BitsHash> found;
  while (left.size() > 1) {
    const Bits *cheapest = nullptr;
    Bits pair;
    double least = 0.0;
    for (std::size_t one = 0; one < left.size(); ++one)
      for (std::size_t other = one + 1; other < left.size(); ++other) {
        const Bits both = left[one] | left[other];
        if (!is_linked(both)) continue;
        auto known = found.find(both);
        if (known == found.end()) {
          const WayPointer nest = in_one_nest(members_of(both), kInfinity);
          const WayPointer better = cheaper(nest, members_of(both), {members_of(left[one]), members_of(left[other])});
          known = found.emplace(both, better ? better : nest).first;
        }
        if (!cheapest || known->second->nanoseconds < least) {
          cheapest = &known->first;
          pair = both;
          least = known->second->nanoseconds;
        }
      }
    if (!cheapest) break;
    joined_[members_of(pair)] = found.at(pair);
    left.erase(std::remove_if(left.begin(), left.end(), [&](const Bits &one) { return one.meets(pair); }), left.end());
    left.push_back(pair);
  }
}

// Finds the ways of sets, of small ones first, which larger ones have as parts, while there is time.
void ProductSearch::find_small_sets() {
  std::vector<int> singles;
  for (int one : whole_) singles.push_back(one);
  bool ended = false;
  for (int size = 2; size < count() && !ended; ++size)
    for_each_choice(count(), size, [&](const std::vector<int> &chosen) {
      if (ended) return;
      Bits part;
      for (int place : chosen) part |= Bits::one(singles[place]);
      if (!is_linked(part)) return;
      ended = static_cast<double>(nests_->work) >= end_;
      if (!ended) best(members_of(part));
    });
}

}  // namespace mlir_sparse::search
