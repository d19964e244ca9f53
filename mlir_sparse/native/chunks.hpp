// Calls of compiled functions in chunks.

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

// Orders non-temporal stores of functions before later stores: a thread that learns of the end of a call sees its
// writes.
inline void end_stores() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

// MLIR's C interface in packed form: a pointer to each argument's value.
using Function = void (*)(void **);

// The number of chunks that some work is worth, with the elements of a dense result, or the points of a sparse one; 1
// means no cut.
std::size_t chunks_of(const Partition &partition, std::int64_t work, std::int64_t elements);

// Whether one chunk is worth while, as all elements of a result of so many bytes are to be set before loops add to
// some: the function itself writes them through the caches.
bool fills_past_caches(const Partition &partition, std::size_t bytes);

// Calls a function with a dense result, the last argument, in at most this number of parallel chunks.
void call_in_chunks(Function function, const Partition &partition, const std::vector<Argument> &arguments,
                    std::int64_t extent, std::size_t chunks, const std::function<void()> &goes_on);

// Calls a function whose chunks have separate rows of the result, for the rows from `begin` to `end`.
void call_rows(Function function, const Partition &partition, const std::vector<Argument> &arguments,
               std::int64_t begin, std::int64_t end, std::size_t chunks, const std::function<void()> &goes_on);

}  // namespace mlir_sparse
