// Calls of compiled functions in pieces.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "partition.hpp"

namespace mlir_sparse {

// Stores past the caches, which functions may use, come in order with what follows: whoever learns that a call is over
// finds what it wrote.
inline void end_stores() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

// MLIR's C interface in packed form: a pointer to each argument's value.
using Function = void (*)(void **);

// In how many pieces so much work is worth cutting, whose dense result has so many elements, or whose sparse result is
// computed at so many points; 1 leaves it whole.
std::size_t pieces_of(const Partition &partition, std::int64_t work, std::int64_t elements);

// Calls a function with a dense result, the last argument, in at most so many pieces at the same time.
void call_in_pieces(Function function, const Partition &partition, const std::vector<Argument> &arguments,
                    std::int64_t extent, std::size_t pieces, const std::function<void()> &goes_on);

// Calls a function of which each piece has some rows of the result, for rows from `begin` to `end`, in so many pieces.
void call_rows(Function function, const Partition &partition, const std::vector<Argument> &arguments,
               std::int64_t begin, std::int64_t end, std::size_t pieces, const std::function<void()> &goes_on);

}  // namespace mlir_sparse
