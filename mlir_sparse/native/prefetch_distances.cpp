#include "prefetch_distances.hpp"

#include <algorithm>
#include <atomic>

namespace mlir_sparse {
namespace {

// Until the machine's profile says others: those that suit most machines.
std::atomic<std::int64_t> gathers_ahead{32}, rows_ahead{8};

std::int64_t power_below(std::size_t number) {
  const auto most = static_cast<std::int64_t>(std::min(number, static_cast<std::size_t>(kMostAhead)));
  std::int64_t found = most > 0 ? 1 : 0;
  while (2 * found <= most && found > 0) found *= 2;
  return found;
}

}  // namespace

std::int64_t gather_distance() { return gathers_ahead.load(std::memory_order_relaxed); }

std::int64_t row_distance() { return rows_ahead.load(std::memory_order_relaxed); }

void set_machine_distances(std::size_t gathers, std::size_t rows) {
  gathers_ahead.store(power_below(gathers));
  rows_ahead.store(power_below(rows));
}

}  // namespace mlir_sparse
