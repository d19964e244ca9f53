// Adds up degrees as they come. It does not depend on Python.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "degrees.hpp"

namespace mlir_sparse {

// Independent sums: one alone would wait for each addition.
constexpr std::int64_t kLanes = 4;

struct Lanes {
  double distinct[kLanes] = {}, largest[kLanes] = {}, squares[kLanes] = {};

  void add(std::int64_t lane, double degree) {
    distinct[lane] += degree > 0 ? 1.0 : 0.0;
    largest[lane] = std::max(largest[lane], degree);
    squares[lane] += degree * degree;
  }

  Degrees total() const {
    Degrees all;
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      all.distinct += distinct[lane];
      all.largest = std::max(all.largest, largest[lane]);
      all.squares += squares[lane];
    }
    return all;
  }
};

// Adds up degree(begin) to degree(end - 1).
template <class Degree>
void add_all(Lanes &lanes, std::int64_t begin, std::int64_t end, const Degree &degree) {
  std::int64_t k = begin;
  for (; k + kLanes <= end; k += kLanes)
    for (std::int64_t lane = 0; lane < kLanes; ++lane) lanes.add(lane, static_cast<double>(degree(k + lane)));
  for (; k < end; ++k) lanes.add(0, static_cast<double>(degree(k)));
}

// Adds up the degrees of parts; each coordinate is in one of them.
inline Degrees sum_of(const std::vector<Degrees> &found) {
  Degrees all;
  for (const Degrees &one : found) {
    all.distinct += one.distinct;
    all.largest = std::max(all.largest, one.largest);
    all.squares += one.squares;
  }
  return all;
}

}  // namespace mlir_sparse
