// Coordinates of the filled places of a table. It does not depend on Python.
#pragma once

#include <cstdint>

#include "pack_plain.hpp"

namespace mlir_sparse {

// So many numbers behind those that are found may be written.
constexpr std::int64_t kWrittenBehind = 8;

// Writes the coordinates that are not negative to `found`, in order; returns how many there are. To counts[g] it adds how
// many are among places each * g to each * (g + 1) - 1. Places that are so many bytes behind are read soon.
std::int64_t gather_filled(const IntBuffer &coordinates, std::int64_t each, std::int64_t next, std::int64_t *found,
                           std::int64_t *counts);

}  // namespace mlir_sparse
