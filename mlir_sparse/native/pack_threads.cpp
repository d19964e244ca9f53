#include "pack_threads.hpp"

#include "threads.hpp"

namespace mlir_sparse {

size_t thread_count(size_t entries) {
  constexpr size_t kWorthwhile = 100000, kMost = 16;
  return entries < kWorthwhile ? 1 : std::min(thread_limit(), kMost);
}

void in_parallel(size_t parts, const std::function<void(size_t)> &work) { run_chunks(parts, parts, work); }

} // namespace mlir_sparse
