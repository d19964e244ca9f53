#include "pack_threads.hpp"

#include "threads.hpp"

namespace mlir_sparse {

size_t thread_count(size_t entries) {
  constexpr size_t kMost = 16;
  // Three times what is worth a chunk of a kernel: parts are joined, or read what others wrote.
  return entries < 3 * machine_chunk_work() ? 1 : std::min(thread_limit(), kMost);
}

void in_parallel(size_t parts, const std::function<void(size_t)> &work) { run_chunks(parts, parts, work); }

} // namespace mlir_sparse
