#include "late_sums.hpp"

#include <algorithm>

namespace mlir_sparse::search {

namespace {

constexpr double kGains = 0.01;  // what cannot save this share of the time of a product is not looked at
constexpr double kFew = 0.25;    // a sparse part is read in place of an array of which so few elements have entries

// Whether loops meet several sparse tensors whatever is made first: no factor is an array, nor becomes one. Those over
// one sparse tensor append what they come to.
bool all_inserted(const Relations &factors, const Bits &kept) {
  if (factors.size() == 1) return false;
  const Bits left = kept | repeated(factors);
  return std::all_of(factors.begin(), factors.end(), [&](const Relation &one) {
    return one->sparse && (one->variables & left).several();
  });
}

// The sets of some variables but for that of none, small ones first.
std::vector<Bits> subsets(const Bits &variables) {
  std::vector<Bits> found{Bits()};
  for (int one : variables)
    for (std::size_t place = 0, size = found.size(); place < size; ++place)
      found.push_back(found[place] | Bits::one(one));
  found.erase(found.begin());
  std::stable_sort(found.begin(), found.end(), [](const Bits &a, const Bits &b) { return a.count() < b.count(); });
  return found;
}

}  // namespace

std::vector<std::pair<EntrySet, double>> late_sums(const Relations &factors, const LateSum &asked, NestTimes &nests) {
  const MachineSteps &machine = *nests.machine();
  Estimates &estimates = *nests.estimates();
  std::vector<std::pair<EntrySet, double>> found;
  Relations sparse;
  for (const Relation &one : factors)
    if (one->sparse) sparse.push_back(one);
  const Bits walked = union_of(sparse), kept = asked.kept;
  const double least = 2 * machine.call + machine.sparse_result;
  const double saved = std::max(kGains, asked.gains) * asked.all_most;
  if (!asked.summed.meets(walked) || !kept.within(walked) || least >= asked.all_most - saved) return found;
  if (sparse.size() > 1 && !predecessors(sparse)) return found;
  const Bits factor = factors.size() == 1 ? union_of(factors) : Bits();
  const double reading = asked.alone && kept.several() ? machine.append : machine.walk;
  double left = 0.0;
  if (!asked.alone && sparse.size() > 1)
    for (const Relation &one : sparse) left = &one == &sparse[0] ? one->entries : std::max(left, one->entries);
  const double met = estimates.meet(sparse).first;
  for (const Bits &late : subsets(asked.summed & walked)) {
    const Bits variables = kept | late;
    if (variables == factor || !variables.several()) continue;
    const double entries = estimates.projected(met, variables);
    const double time = least + (all_inserted(factors, variables) ? machine.insert : machine.append) * entries;
    const bool fewer = entries < left || estimates.projected(entries, kept) < kFew * asked.elements;
    if (time + reading * entries < (fewer ? asked.all_most : asked.most) - saved)
      found.emplace_back(EntrySet{variables, entries, true, {}, {}}, time);
  }
  return found;
}

double least_of_loops(const Relations &factors, double nanoseconds, double elements, const NestTimes &nests) {
  for (const Relation &one : factors)
    if (one->variables.count() > 2) return 0.0;
  if (elements == 0.0) return nanoseconds;
  const MachineSteps &machine = *nests.machine();
  const double written = std::max(machine.write, machine.fresh_write) + machine.far_line / 8;
  return (nanoseconds - elements * written) / (1 + machine.scatter_in(elements) / machine.walk);
}

}  // namespace mlir_sparse::search
