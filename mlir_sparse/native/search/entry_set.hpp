// What a factor of a product is to its estimates: a set of entries over some variables.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bits.hpp"

namespace mlir_sparse::search {

struct EntryPattern;

// By variable a number, in the order in which they were given.
using ByVariable = std::vector<std::pair<int, double>>;

inline double number_at(const ByVariable &numbers, int variable) {
  for (const auto &[own, number] : numbers)
    if (own == variable) return number;
  return 0.0;
}

// Logarithms of degrees along a variable of an extent: they are asked for again and again.
struct DegreeLogarithms {
  int variable;
  double extent;
  double squares;
  double mean;
  double power;
};

struct EntrySet {
  Bits variables;
  double entries = 0;
  bool sparse = false;  // loops walk its entries; they look an array up
  ByVariable largest;   // the most entries that one coordinate has, where that is known
  ByVariable squares;   // the sum of the squares of these numbers over all coordinates
  std::optional<std::vector<int>> order = std::nullopt;  // of its levels or dimensions, outermost first
  std::optional<double> most = std::nullopt;             // none where the number of entries is known
  bool in_memory = true;                                 // no expression that loops compute
  std::shared_ptr<const EntryPattern> pattern = nullptr;  // where a square matrix has entries
  std::optional<std::pair<std::string, std::vector<int>>> source = std::nullopt;  // tensor and variables of an access
  std::vector<double> stored = {};  // how many places each level of `order` has, where that is known
  // How many functions loops compute for an element, none in memory: those that vectors have, and those that are called.
  std::pair<double, double> functions = {0.0, 0.0};
  // Equal only to itself: what is found for it is kept by this number, which no other one ever has.
  std::uint64_t number = next_number();
  mutable std::vector<DegreeLogarithms> logarithms = {};

  double at_most() const { return most ? *most : entries; }
  bool has_levels() const { return order && order->size() > 1; }
  // How many places loops come to that go over some of its variables: those of a level, or all entries where unknown.
  double places_at(const Bits &some) const;
  // These entries at each place of more variables, of which there are so many.
  EntrySet over(const Bits &more, double often) const;
  // These entries at other variables than their own.
  EntrySet at(const std::vector<int> &own, const std::vector<int> &others) const;

  static std::uint64_t next_number();
};

using Relation = std::shared_ptr<const EntrySet>;
using Relations = std::vector<Relation>;

// The variables of some relations, and those that more than one has.
Bits union_of(const Relations &relations);
Bits repeated(const Relations &relations);

inline void append(Key &key, const Relations &relations) {
  for (const Relation &relation : relations) key.push_back(relation->number);
}

}  // namespace mlir_sparse::search
