#include "entry_patterns.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>

namespace mlir_sparse::search {

double Offsets::share(int bits) const {
  for (const auto &[own, share] : shares_)
    if (own == bits) return share;
  return 0.0;
}

Offsets Offsets::turned() const {
  std::vector<std::pair<int, double>> found = shares_;
  for (auto &each : found) each.first = -each.first;
  return Offsets(std::move(found));
}

namespace {

// How many places of a square matrix have an offset of so many bits, on one side.
double places_of(int bits, double extent) {
  if (bits == 0) return extent;
  const double first = std::ldexp(1.0, std::abs(bits) - 1);
  const double last = std::min(2 * first - 1, extent - 1);
  return std::max(1.0, (last - first + 1) * (extent - (first + last) / 2));
}

// By bits a share, those of both signs in one array.
class Shares {
 public:
  explicit Shares(int most) : most_(most), shares_(2 * most + 1, 0.0) {}
  explicit Shares(const Offsets &offsets, int most) : Shares(most) {
    for (const auto &[bits, share] : offsets.shares()) (*this)[bits] = share;
  }
  double &operator[](int bits) { return shares_[most_ + bits]; }
  Offsets offsets() {
    std::vector<std::pair<int, double>> found;
    for (int bits = -most_; bits <= most_; ++bits)
      if ((*this)[bits] != 0.0) found.emplace_back(bits, (*this)[bits]);
    return Offsets(std::move(found));
  }

 private:
  int most_;
  std::vector<double> shares_;
};

// The shares of sums of two offsets.
//
// A sum of offsets has roughly the bits of the larger, and one more where both have as many and the same sign. Where
// they have other signs, it is of either sign, or 0: as far apart as two places of one stretch.
Offsets added(const Offsets &one, const Offsets &other) {
  int most = 0;
  for (const Offsets *each : {&one, &other})
    for (const auto &[bits, share] : each->shares()) most = std::max(most, std::abs(bits));
  Shares left(one, most), right(other, most), found(most + 1);
  double smaller_left = left[0], smaller_right = right[0];
  std::vector<double> opposite{0.0};
  found[0] = smaller_left * smaller_right;
  for (int bits = 1; bits <= most; ++bits) {
    for (int sign : {1, -1}) {
      const double a = left[sign * bits], b = right[sign * bits];
      found[sign * bits] += a * smaller_right + b * smaller_left;
      found[sign * (bits + 1)] += a * b;
    }
    opposite.push_back((left[bits] * right[-bits] + left[-bits] * right[bits]) / std::ldexp(1.0, bits));
    smaller_left = smaller_left + left[bits] + left[-bits];
    smaller_right = smaller_right + right[bits] + right[-bits];
  }
  double both = 0.0;
  for (double each : opposite) both += each;
  found[0] += 2 * both;
  double spread = 0.0;
  for (int bits = most - 1; bits > 0; --bits) {
    spread += opposite[bits + 1];
    found[bits] += spread * std::ldexp(1.0, bits - 1);
    found[-bits] += spread * std::ldexp(1.0, bits - 1);
  }
  return found.offsets();
}

// By variable those that a matrix links to it, with the offsets from it to them.
using Links = std::map<int, std::vector<std::pair<int, const Offsets *>>>;

// The offsets of paths from one variable to another; none if none leads there.
std::optional<Offsets> path_between(const Links &links, int first, int last) {
  if (!links.count(first) || !links.count(last)) return std::nullopt;
  std::map<int, std::pair<int, const Offsets *>> steps;
  std::vector<int> ahead{first};
  for (std::size_t place = 0; place < ahead.size(); ++place) {
    const int variable = ahead[place];
    for (const auto &[other, offsets] : links.at(variable))
      if (other != first && steps.emplace(other, std::make_pair(variable, offsets)).second) ahead.push_back(other);
  }
  const auto found = steps.find(last);
  if (found == steps.end()) return std::nullopt;
  const auto [before, offsets] = found->second;
  const std::optional<Offsets> reached = before == first ? std::nullopt : path_between(links, first, before);
  return reached ? added(*reached, *offsets) : *offsets;
}

}  // namespace

double EntryPattern::chance(const Offsets &paths, int from) const {
  const Offsets &own = offsets(from);
  double found = 0.0;
  for (const auto &[bits, share] : paths.shares())
    if (const double part = own.share(bits); part != 0.0)
      found += share * std::min(1.0, part * entries / places_of(bits, extent));
  return found;
}

double chance_together(const EntryPattern &one, const EntryPattern &other) {
  if (one.tensor == other.tensor) return one.first == other.first ? 1.0 : one.pattern->mirrored;
  return other.chance(one.offsets(one.first), one.first);
}

std::pair<double, std::vector<PatternPointer>> chance_of_cycles(const std::vector<PatternPointer> &patterns) {
  double found = 1.0;
  std::vector<PatternPointer> closing;
  Links links;
  for (const PatternPointer &one : patterns) {
    if (const auto paths = path_between(links, one->first, one->second)) {
      found *= one->chance(*paths, one->first) * (one->extent * one->extent) / std::max(one->entries, 1.0);
      closing.push_back(one);
      continue;
    }
    links[one->first].emplace_back(one->second, &one->offsets(one->first));
    links[one->second].emplace_back(one->first, &one->offsets(one->second));
  }
  return {found, closing};
}

}  // namespace mlir_sparse::search
