#include "product_search.hpp"

#include <algorithm>
#include <map>

#include "late_sums.hpp"
#include "nest_results.hpp"

namespace mlir_sparse::search {

namespace {

// Up to kPartitioned factors all partitions are tried, and whether each factor is summed first; beyond, pairs of parts,
// and one part with all others as they are. Up to kExact factors no such way is left out. Beyond, pairs are joined
// first; then sets are searched up to kHalved factors, as long as no more ways than kWork are looked at.
constexpr int kExact = 6;
constexpr double kWork = 1000;
// After so many ways no sum is done later than it could be that was not looked at before.
constexpr double kLate = 300;
// How many ways are looked at between two looks at signals.
constexpr long long kBetweenChecks = 256;

}  // namespace

ProductSearch::ProductSearch(Relations relations, const Bits &kept, std::shared_ptr<NestTimes> nests,
                             std::unique_ptr<PartKeys> keys, const PartRoom &room, const SearchMargins &margins,
                             bool has_arrays, bool into_array)
    : FactorSets(std::move(relations), kept),
      nests_(std::move(nests)),
      keys_(std::move(keys)),
      room_(room),
      margins_(margins),
      has_arrays_(has_arrays),
      end_(count() <= kExact ? kInfinity : 0.0) {
  arrays_.emplace(whole(), into_array);
}

WayPointer ProductSearch::best(const Members &members) {
  if (const WayPointer *found = ways_.find(members)) return *found;
  if (const auto joined = joined_.find(members);
      joined != joined_.end() && static_cast<double>(nests_->work) >= end_)
    return joined->second;
  WayPointer found = searched(members, kInfinity);
  ways_.set(members, found);
  return found;
}

// The cheapest way to compute a set; none where that takes longer than a time.
WayPointer ProductSearch::best_within(const Members &members, double most) {
  if (const WayPointer *found = ways_.find(members)) return *found;
  if (count() > kExact) return best(members);  // what is left out changes for how much there is time
  const double *exceeded = exceeded_.find(members);
  if (most <= (exceeded ? *exceeded : 0.0)) return nullptr;
  WayPointer found = searched(members, most * margins_.beyond);
  if (found->nanoseconds > most) {
    exceeded_.set(members, most);
    return nullptr;
  }
  ways_.set(members, found);
  return found;
}

const std::vector<WayPointer> &ProductSearch::ranked() {
  if (ranked_) return *ranked_;
  const WayPointer cheapest = best(whole()), first = in_one_nest(whole(), kInfinity);
  Way unbounded = *first;
  unbounded.nanoseconds = kInfinity;
  const WayPointer beyond = std::make_shared<const Way>(std::move(unbounded));
  std::vector<WayPointer> others;
  const auto add = [&](const WayPointer &found) {
    if (!found || found->made == cheapest->made) return;
    for (WayPointer &other : others)
      if (other->made == found->made) {
        other = found;
        return;
      }
    others.push_back(found);
  };
  add(first);
  for_each_partition(whole(), [&](const Parts &parts) {
    add(with_parts(beyond, whole(), choices(parts, Bits())[0], margins_.noticed));
  });
  std::stable_sort(others.begin(), others.end(),
                   [](const WayPointer &a, const WayPointer &b) { return a->nanoseconds < b->nanoseconds; });
  others.insert(others.begin(), cheapest);
  return ranked_.emplace(std::move(others));
}

// The cheapest way to compute a set, or one that takes a time or longer where all do.
WayPointer ProductSearch::searched(const Members &members, double most) {
  if (most == kInfinity) searched_sets_.push_back(members);
  const WayPointer found = summed_early(members, most);
  if (members == whole() && count() <= kPartitioned) return summed_later(found);
  return least_ != 0.0 ? with_late_sums(found, members) : found;
}

// The cheapest way in which each part of the set is summed as far as it can be.
WayPointer ProductSearch::summed_early(const Members &members, double most) {
  WayPointer found = in_one_nest(members, most);
  if (members == whole() && count() > kExact) {
    join_pairs();
    if (const auto joined = joined_.find(members); joined != joined_.end())
      if (joined->second->nanoseconds < found->nanoseconds * margins_.noticed) found = joined->second;
    if (count() > kHalved) {
      Parts singles;
      for (int one : members.factors) singles.push_back(members_of(Bits::one(one)));
      const WayPointer better = cheaper(found, members, singles);
      return better ? better : found;
    }
    end_ = static_cast<double>(nests_->work) + kWork;
    find_small_sets();
  }
  return in_parts(found, members);
}

// A way in which some sets are parts, where that is cheaper.
WayPointer ProductSearch::in_parts(WayPointer found, const Members &members) {
  for_each_partition(members, [&](const Parts &parts) {
    if (WayPointer better = cheaper(found, members, parts)) found = std::move(better);
  });
  return refined(std::move(found), members);
}

// A way in which parts are summed later than they could be, where that takes so much less.
//
// The best way in which none is says which are worth a look; sets without such a part keep the ways that they have.
WayPointer ProductSearch::summed_later(const WayPointer &early) {
  least_ = early->nanoseconds;
  BySet<WayPointer> ways = ways_;
  ways.set(whole(), early);
  std::vector<Members> known;
  for (const auto &each : ways.values()) known.push_back(each.first);
  for (const auto &each : exceeded_.values())
    if (!ways.find(each.first)) known.push_back(each.first);
  std::stable_sort(known.begin(), known.end(),
                   [](const Members &a, const Members &b) { return a.count() < b.count(); });
  bool any = false;
  later_.clear();
  for (const Members &part : known) {
    const WayPointer *own = ways.find(part);
    LateParts found = later_than(part, own ? *own : nullptr, false);
    any = any || !found.empty();
    later_.emplace(part, std::move(found));
  }
  least_ *= any ? 1.0 : 0.0;
  if (least_ == 0.0) return early;
  end_ = static_cast<double>(nests_->work) + kLate;
  WayPointer found = early;
  bool again = false;
  exceeded_.clear();
  for (const Members &members : known) {
    const WayPointer *own = ways.find(members);
    if (!own) {
      again |= best_within(members, least_ * margins_.later) != nullptr;
      continue;
    }
    found = with_late_sums(again ? in_parts(*own, members) : *own, members);
    ways_.set(members, found);
    again |= found != *own;
  }
  if (found->nanoseconds < early->nanoseconds * margins_.later) return found;
  for (const auto &each : ways.values()) ways_.set(each.first, each.second);
  return early;
}

// A way in which single factors are summed first, or are not, where that is cheaper.
WayPointer ProductSearch::refined(WayPointer found, const Members &members) {
  if (!members.factors.several()) return found;
  for (int factor : members.factors) {
    const Members one = keeping(members_of(Bits::one(factor)), members.late);
    const auto place = std::find(found->made.begin(), found->made.end(), one);
    WayPointer better;
    if (place != found->made.end()) {
      Parts fewer;
      for (const Members &part : found->made)
        if (part != one) fewer.push_back(part);
      better = with_parts(found, members, fewer, margins_.unsummed);
    } else if (found->read.has(factor) && !is_read(one)) {
      Parts more = found->made;
      more.push_back(one);
      better = with_parts(found, members, more, margins_.noticed);
    }
    if (better) found = std::move(better);
  }
  return found;
}

WayPointer ProductSearch::in_one_nest(const Members &members, double most) {
  const Relations operands = relations_of(members.factors);
  const Bits own = kept(members);
  const bool decides = decides_storage(members);
  auto nest = nests_->of(operands, own, decides ? kInfinity : most, is_array(members));
  if (!nest) return std::make_shared<const Way>(Way{most, operands[0], members.factors, {}});
  if (decides && fills_array(members, *nest)) nest = nests_->exact(operands, own, true);
  return way(members, members.factors, {}, operands, *nest, 0.0);
}

bool ProductSearch::is_array(const Members &members) const {
  const auto found = arrays_.find(members);
  return found != arrays_.end() && found->second;
}

// Whether what its loops fill decides if a part is an array: it may be one, and memory has room.
bool ProductSearch::decides_storage(const Members &part) {
  const Bits own = kept(part);
  if (arrays_.count(part) || !own.several()) return false;  // results over one variable are arrays anyway
  const double space = nests_->estimates()->space(own);
  if (has_arrays_ && room_.fits(EntrySet{own, space, false, {}, {}}, *nests_->estimates())) return true;
  arrays_[part] = false;
  return false;
}

// Whether a part is an array, as its loops would fill most of one.
bool ProductSearch::fills_array(const Members &part, const NestTime &nest) {
  const double space = nests_->estimates()->space(kept(part));
  return arrays_[part] = nest.sparse ? nest.entries > margins_.full * space : !nest.copied.empty();
}

// The way with some parts, if it is cheaper than another. Single factors of which variables are summed over are parts,
// or they are read as they are.
WayPointer ProductSearch::cheaper(const WayPointer &found, const Members &members, const Parts &parts) {
  WayPointer better;
  double noticed = margins_.noticed;
  for (const Parts &made : choices(parts, members.late)) {
    if (WayPointer next = with_parts(better ? better : found, members, made, noticed)) better = std::move(next);
    noticed = margins_.unsummed;
  }
  return better;
}

// A way in which one of the parts, or the product, is summed later, where that is cheaper.
WayPointer ProductSearch::with_late_sums(WayPointer found, const Members &members) {
  double noticed = margins_.later;
  const auto take = [&](const Parts &made) {
    if (WayPointer better = with_parts(found, members, made, noticed)) {
      found = std::move(better);
      noticed = margins_.noticed;
    }
  };
  const LateParts own = later_than(members, found, true);
  for (std::size_t place = 0; place < own.size(); ++place) {
    const auto &[later, least] = own[place];
    if (!(least < found->nanoseconds * noticed)) continue;
    const int number = numbered(later);
    const bool seen = std::any_of(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(place),
                                  [&](const auto &other) { return numbered(other.first) == number; });
    if (!seen) take({later});
  }
  for_each_partition(members, [&](const Parts &parts) {
    for (const Parts &made : choices(parts, members.late))
      for (std::size_t place = 0; place < made.size(); ++place) {
        if (!(static_cast<double>(nests_->work) < end_)) continue;
        for (const auto &[later, least] : later_parts(made[place])) {
          if (!all_within(made, place, found->nanoseconds * noticed - least)) continue;
          Parts others;
          for (std::size_t other = 0; other < made.size(); ++other)
            if (other != place) others.push_back(made[other]);
          others.push_back(later);
          take(others);
        }
      }
  });
  return found;
}

// Whether all parts but one take less than a time together, each for itself.
bool ProductSearch::all_within(const Parts &made, std::size_t without, double most) {
  for (std::size_t place = 0; place < made.size(); ++place) {
    if (place == without) continue;
    const WayPointer own = best_within(made[place], most);
    most -= own ? own->nanoseconds : kInfinity;
  }
  return most > 0;
}

ProductSearch::LateParts ProductSearch::later_parts(const Members &part) {
  const auto known = later_.find(part);
  if (known != later_.end()) return known->second;
  LateParts found = later_than(part, best_within(part, least_ * margins_.later), false);
  later_[part] = found;
  return found;
}

// A set with variables that are summed later, where plans may take less time than a way to compute it.
//
// Such a part saves time itself, or what reads it does, as it has fewer entries than an array has elements. No way is
// known of what takes too long.
ProductSearch::LateParts ProductSearch::later_than(const Members &part, const WayPointer &own, bool alone) {
  LateParts found;
  const Bits read = kept(part), summed = variables(part.factors) - read;
  if (!summed) return found;
  alone = alone || part == whole();
  const Relations relations = relations_of(part.factors);
  const double space = nests_->estimates()->space(read);
  const double *exceeded = exceeded_.find(part);
  const double takes = own ? own->nanoseconds : exceeded ? *exceeded : 0.0;
  const double most = own ? std::min(takes, least_) : least_;
  const bool into_array = !own || !own->result->sparse;
  if (least_of_loops(relations, takes, read && into_array ? space : 0.0, *nests_) >= least_ * margins_.later)
    return found;
  const double elements = into_array && !alone ? space : 0.0;
  const LateSum asked{read, summed, most, least_, 1 - margins_.later, alone, elements};
  for (const auto &[one, least] : late_sums(relations, asked, *nests_))
    if (room_.fits(one, *nests_->estimates())) found.emplace_back(keeping(part, one.variables - read), least);
  return found;
}

// The way in which some parts are made and other factors read, if it is cheaper than another.
WayPointer ProductSearch::with_parts(const WayPointer &found, const Members &members, const Parts &made,
                                     double noticed) {
  if (++nests_->work % kBetweenChecks == 0) keys_->check();
  const double most = found->nanoseconds * noticed;
  double below = 0.0;
  std::vector<int> seen;
  bool again = false;
  const std::vector<bool> keyed = which_have_keys(made);
  for (std::size_t place = 0; place < made.size(); ++place) {
    const Members &part = made[place];
    if (keyed[place]) {
      const int number = numbered(part);
      if (std::find(seen.begin(), seen.end(), number) != seen.end()) {
        again = true;
        continue;
      }
      seen.push_back(number);
    }
    const bool there = keyed[place] && is_made(part);
    const WayPointer own = there ? best(part) : best_within(part, most - below);
    if (!own || !room_.fits(*own->result, *nests_->estimates())) return nullptr;
    below += there ? 0.0 : own->nanoseconds;
    if (below >= most) return nullptr;
  }
  Bits read = members.factors;
  for (const Members &part : made) read -= part.factors;
  Relations operands = relations_of(read);
  if (again) {
    for (Relation &result : results_of(made)) operands.push_back(std::move(result));
  } else {
    for (const Members &part : made) operands.push_back(best(part)->result);
  }
  const auto nest = nests_->of(operands, kept(members), most - below, is_array(members));
  if (!nest || below + nest->nanoseconds >= most) return nullptr;
  return way(members, read, made, operands, *nest, below);
}

// The results of parts, one object where they are equal at the same variables.
Relations ProductSearch::results_of(const Parts &made) {
  Relations found;
  std::map<int, Relation> by_occurrence;
  for (const Members &part : made) {
    Relation result = best(part)->result;
    if (keys_->has_occurrences) result = by_occurrence.emplace(keys_->occurrence(part), result).first->second;
    found.push_back(std::move(result));
  }
  return found;
}

// Which parts may be equal to others, or made already: those of different size are not equal, nor are those that read
// other tensors.
std::vector<bool> ProductSearch::which_have_keys(const Parts &made) const {
  std::vector<bool> found(made.size(), false);
  if (!keys_->has_equal) return found;
  bool sizes = keys_->any_size;
  for (std::size_t one = 0; one < made.size() && !sizes; ++one)
    for (std::size_t other = one + 1; other < made.size(); ++other)
      sizes = sizes || made[one].count() == made[other].count();
  if (keys_->names.empty()) {
    found.assign(made.size(), sizes || keys_->may_be_made);
    return found;
  }
  if (!sizes && !keys_->may_be_made) return found;
  std::vector<std::vector<int>> names;
  for (const Members &part : made) names.push_back(names_of(part));
  for (std::size_t one = 0; one < made.size(); ++one) {
    const bool equal = sizes && std::count(names.begin(), names.end(), names[one]) > 1;
    const bool there = keys_->may_be_made && (keys_->made_names.empty() || keys_->made_names.count(names[one]));
    found[one] = equal || there;
  }
  return found;
}

std::vector<int> ProductSearch::names_of(const Members &part) const {
  std::vector<int> found;
  for (int one : part.factors) found.push_back(keys_->names[one]);
  std::sort(found.begin(), found.end());
  return found;
}

int ProductSearch::numbered(const Members &part) {
  if (const auto known = numbers_.find(part); known != numbers_.end()) return known->second;
  // Without equal sets each has a number of its own.
  const int number = keys_->has_equal ? keys_->number(part) : static_cast<int>(numbers_.size());
  return numbers_.emplace(part, number).first->second;
}

bool ProductSearch::is_made(const Members &part) {
  if (!keys_->may_be_made) return false;
  if (const auto known = made_.find(part); known != made_.end()) return known->second;
  return made_.emplace(part, keys_->is_made(part)).first->second;
}

WayPointer ProductSearch::way(const Members &members, const Bits &read, const Parts &made, const Relations &operands,
                              const NestTime &nest, double below) {
  Relation result = result_of(operands, kept(members), nest);
  return std::make_shared<const Way>(Way{below + nest.nanoseconds, std::move(result), read, made, nest.by_blas});
}

}  // namespace mlir_sparse::search
