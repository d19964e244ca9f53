// How far ahead loops of this library ask for memory that entries name: what the machine's profile says.

#pragma once

#include <cstddef>
#include <cstdint>

namespace mlir_sparse {

// The greatest of them, in entries.
constexpr std::int64_t kMostAhead = 64;

// The distance for single elements, and that for rows: powers of 2 up to kMostAhead, or 0 where nothing is asked for.
std::int64_t gather_distance();
std::int64_t row_distance();

// Sets both, each to the power of 2 at or below what is given.
void set_machine_distances(std::size_t gathers, std::size_t rows);

}  // namespace mlir_sparse
