// How often products that close a circle have an entry, from where square matrices have theirs.
//
// Spread evenly, `A(i,j) * A(j,k) * A(k,i)` would meet in hardly any place of a grid, whose entries are all near the
// diagonal: from i over j back to near i. What matters is how far j - i is, in bits, and on which side.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mlir_sparse::search {

// By bits of an offset and its sign, a share of entries or paths: how far their ends are apart.
class Offsets {
 public:
  explicit Offsets(std::vector<std::pair<int, double>> shares) : shares_(std::move(shares)) {}
  const std::vector<std::pair<int, double>> &shares() const { return shares_; }
  double share(int bits) const;
  Offsets turned() const;

 private:
  std::vector<std::pair<int, double>> shares_;
};

// Where a matrix has entries: the offsets of its rows from its columns, and of these from those.
struct Pattern {
  Offsets down;
  Offsets up;
  double mirrored;  // the share of entries at (i, j) for which there is one at (j, i)
};

// Where the entries of an access of a square matrix are.
struct EntryPattern {
  std::string tensor;
  int first;   // the variable of its rows
  int second;  // that of its columns
  double entries;
  double extent;  // of both
  std::shared_ptr<const Pattern> pattern;

  // The offsets from one of its variables to the other.
  const Offsets &offsets(int from) const { return from == first ? pattern->down : pattern->up; }
  // The chance that there is an entry where a path from one of its variables to the other ends.
  double chance(const Offsets &paths, int from) const;
};

using PatternPointer = std::shared_ptr<const EntryPattern>;

// The share of one matrix's entries where another over the same variables has one too.
double chance_together(const EntryPattern &one, const EntryPattern &other);

// How many times as often as if spread evenly matrices that close circles have entries, and which do.
std::pair<double, std::vector<PatternPointer>> chance_of_cycles(const std::vector<PatternPointer> &patterns);

}  // namespace mlir_sparse::search
