// Whether parts fit in memory.
#pragma once

#include <algorithm>

#include "estimates.hpp"

namespace mlir_sparse::search {

struct PartRoom {
  double most = kInfinity;  // the bytes that one part may take
  double itemsize = 0;                                    // of a number
  double width = 0;                                       // of a position or coordinate

  // The bytes of a part with a result.
  double bytes_of(const EntrySet &result, const Estimates &estimates) const {
    return bytes_of(result, result.at_most(), estimates);
  }
  // The same for the entries that it has by estimate.
  double expected_bytes_of(const EntrySet &result, const Estimates &estimates) const {
    return bytes_of(result, result.entries, estimates);
  }
  bool fits(const EntrySet &result, const Estimates &estimates) const {
    return most == kInfinity || bytes_of(result, estimates) <= most;
  }

 private:
  double bytes_of(const EntrySet &result, double entries, const Estimates &estimates) const {
    if (!result.sparse) return entries * itemsize;
    double rows = 0.0;
    for (int variable : result.variables) rows = std::max(rows, estimates.extent(variable));
    return entries * (itemsize + width) + rows * width;
  }
};

}  // namespace mlir_sparse::search
