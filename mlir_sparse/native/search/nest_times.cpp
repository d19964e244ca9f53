#include "nest_times.hpp"

#include <algorithm>

namespace mlir_sparse::search {

void NestTimes::allow_copies(const PartRoom &room) {
  copies_.emplace(room);
  known_.clear();
  exceeded_.clear();
}

std::optional<NestTime> NestTimes::of(const Relations &relations, const Bits &kept, double most, bool array) {
  Key key;
  key.reserve(5 + relations.size());
  append(key, kept);
  key.push_back(array);
  append(key, relations);
  if (const auto known = known_.find(key); known != known_.end())
    return known->second.nanoseconds <= most ? std::optional<NestTime>(known->second) : std::nullopt;
  if (const auto exceeded = exceeded_.find(key); most <= (exceeded == exceeded_.end() ? 0.0 : exceeded->second))
    return std::nullopt;
  auto found = least(relations, kept, most, array);
  if (!found) {
    exceeded_[key] = most;
    return std::nullopt;
  }
  known_.emplace(std::move(key), *found);
  return found->nanoseconds <= most ? found : std::nullopt;
}

std::optional<NestTime> NestTimes::least(const Relations &relations, const Bits &kept, double most, bool array) {
  const double blas = has_blas_ ? blas_time(relations, kept, *estimates_, *machine_) : kInfinity;
  const Masks none;
  const Masks &masks = has_masks_ && relations.size() > 2 ? masks_among(relations, kept) : none;
  const double within = !masks.empty() || blas < kInfinity ? kInfinity : most;
  auto found = loops_within(relations, kept, within, array);
  if (copies_) found = with_copied(relations, kept, std::move(found), within, array);
  if (!found) return std::nullopt;
  if (blas < found->nanoseconds) {
    found->nanoseconds = blas;
    found->by_blas = true;
    found->copied.clear();
  }
  for (const auto &mask : masks) {
    const double apart = of_mask(*mask);
    if (!(apart < found->nanoseconds)) continue;
    Relations rest = mask->others;
    rest.push_back(mask->result());
    const auto others = of(rest, kept, found->nanoseconds - apart, array);
    if (others && apart + others->nanoseconds < found->nanoseconds) {
      found->nanoseconds = apart + others->nanoseconds;
      found->masked = mask;
      found->copied.clear();
    }
  }
  return found;
}

const Masks &NestTimes::masks_among(const Relations &relations, const Bits &kept) {
  Key key;
  append(key, kept);
  append(key, relations);
  const auto known = masks_.find(key);
  // Nodes stay where they are, whatever is added later.
  return known != masks_.end() ? known->second
                               : masks_.emplace(std::move(key), masks_of(relations, kept, estimates_)).first->second;
}

// A nest that reads some operands from copies, one after the other, while that takes less time.
std::optional<NestTime> NestTimes::with_copied(const Relations &relations, const Bits &kept,
                                               std::optional<NestTime> found, double most, bool array) {
  if (found) most = found->nanoseconds;
  const std::vector<CopiedPointer> left = copies_->among(relations, most, *estimates_, *machine_);
  std::vector<CopiedPointer> chosen;
  std::vector<std::vector<CopiedPointer>> ways;
  for (const CopiedPointer &one : left) ways.push_back({one});
  if (left.size() > 1) ways.push_back(left);
  while (!ways.empty()) {
    const std::vector<CopiedPointer> *best = nullptr;
    for (const auto &way : ways)
      if (auto nest = of_copies(way, relations, kept, most, array)) {
        most = nest->nanoseconds;
        found = std::move(nest);
        best = &way;
      }
    if (!best) break;
    chosen = *best;
    ways.clear();
    for (const CopiedPointer &one : left)
      if (std::find(chosen.begin(), chosen.end(), one) == chosen.end()) {
        ways.push_back(chosen);
        ways.back().push_back(one);
      }
  }
  return found;
}

// A nest that reads some operands from copies, if it takes less than a time, copies included.
std::optional<NestTime> NestTimes::of_copies(const std::vector<CopiedPointer> &copied, const Relations &relations,
                                             const Bits &kept, double most, bool array) {
  const Relations read = with_copies(relations, copied);
  double spent = 0.0;
  for (const CopiedPointer &one : copied) spent += one->nanoseconds;
  auto found = loops_within(read, kept, most - spent, array);
  double total = found ? found->nanoseconds : kInfinity;
  if (has_blas_)
    if (const double blas = blas_time(read, kept, *estimates_, *machine_); blas < total) {
      const double space = estimates_->space(kept);
      found = NestTime{blas, space, space, false, space, true};
      total = blas;
    }
  if (!found || !(total + spent < most)) return std::nullopt;
  found->nanoseconds = total + spent;
  found->copied = copied;
  return found;
}

std::optional<NestTime> NestTimes::loops_within(const Relations &relations, const Bits &kept, double most,
                                                bool array) {
  const auto ordered = last_.find(kept);
  const int last = ordered == last_.end() ? -1 : ordered->second;
  Key key;
  key.reserve(6 + relations.size());
  append(key, kept);
  key.push_back(array);
  key.push_back(static_cast<std::uint64_t>(static_cast<std::int64_t>(last)));
  append(key, relations);
  auto known = nests_.find(key);
  if (known == nests_.end()) {
    ++nests_made;
    Priced priced{LoopNest(relations, kept, estimates_, machine_, array, last, has_workspaces_), std::nullopt};
    known = nests_.emplace(std::move(key), std::move(priced)).first;
  }
  auto &time = known->second.time;
  if (!time) time = known->second.nest.time(most);
  return time && time->nanoseconds <= most ? time : std::nullopt;
}

double NestTimes::of_mask(Mask &mask) {
  if (mask.nanoseconds) return *mask.nanoseconds;
  ++masks_priced;
  const double pairs = estimates_->join({mask.left, mask.right});
  double total = machine_->call + machine_->sparse_result, sorted = 0.0;
  for (const Relation &one : mask.sorted_anew()) sorted += time_to_sort(*one, *estimates_, *machine_);
  total += sorted;
  const double look_up = machine_->look_up_in(estimates_->extent(mask.order()[2]));
  total += mask.left->entries * (machine_->walk + machine_->enter_in(mask.right->entries));
  total += pairs * (machine_->walk + look_up);
  // An entry of the mask is scattered, and cleared.
  const double met = estimates_->meet(mask.relations()).first;
  mask.nanoseconds = total + 2 * mask.mask->entries * machine_->walk + met * machine_->insert;
  return *mask.nanoseconds;
}

std::vector<int> NestTimes::loop_order(const Relations &relations, const Bits &kept) const {
  const LoopNest nest(relations, kept, estimates_, machine_, false, -1, has_workspaces_);
  std::vector<int> found;
  if (!nest.is_sparse()) return found;
  Bits before;
  if (const auto loops = nest.loops(kInfinity))
    for (const Loop &loop : *loops) {
      for (int variable : loop.inside - before) found.push_back(variable);
      before = loop.inside;
    }
  return found;
}

}  // namespace mlir_sparse::search
