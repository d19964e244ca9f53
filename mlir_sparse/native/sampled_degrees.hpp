// Degrees by a sample of the entries, where all of them would take too long. It does not depend on Python.
#pragma once

#include <cstdint>
#include <vector>

#include "level_degrees.hpp"

namespace mlir_sparse {

// Entries, each of which is there by chance, whatever others are, in the order of the storage.
struct EntrySample {
  std::vector<std::vector<std::int64_t>> columns;  // coordinates in each level, outermost first
  double chance = 1;
};

// Takes the same entries of a tensor with so many values each time. Positions are contiguous. Levels are loose, or have
// empty places, in the innermost one only.
// Throws std::out_of_range where coordinates do not belong to the values.
EntrySample sample_entries(const std::vector<CountedLevel> &levels, std::int64_t values);

// Estimates the degrees of all entries by the coordinates of a sample. Of d coordinates by chance c:
// - the sum of squares has no bias, as each pair of entries is there by c squared (Good-Toulmin, Alon et al. 1999);
// - distinct coordinates are off by a factor of 1 / sqrt(c) at most but for noise (Charikar et al. 2000, section 3);
// - the largest degree is the geometric mean of what it is if one coordinate has it, or by chance one of many.
Degrees degrees_of_sample(const IntBuffer &coordinates, std::int64_t extent, double chance);

}  // namespace mlir_sparse
