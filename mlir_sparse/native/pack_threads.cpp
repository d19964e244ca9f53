#include "pack_threads.hpp"

#include <cstdlib>
#include <exception>
#include <system_error>
#include <thread>

namespace mlir_sparse {

size_t thread_count(size_t entries) {
  constexpr size_t kWorthwhile = 100000, kMost = 16;
  if (entries < kWorthwhile) return 1;
  const char *asked = std::getenv("MLIR_SPARSE_NUM_THREADS");
  const long number = asked ? std::strtol(asked, nullptr, 10) : 0;
  const size_t wanted = number > 0 ? static_cast<size_t>(number) : std::thread::hardware_concurrency();
  return std::clamp<size_t>(wanted, 1, kMost);
}

void in_parallel(size_t parts, const std::function<void(size_t)> &work) {
  if (parts == 0) return;
  if (parts == 1) return work(0);
  std::vector<std::exception_ptr> thrown(parts);
  const auto guarded = [&](size_t part) {
    try {
      work(part);
    } catch (...) {
      thrown[part] = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  others.reserve(parts);
  for (size_t part = 1; part < parts; ++part) {
    try {
      others.emplace_back(guarded, part);
    } catch (const std::system_error &) { // no more threads to be had
      guarded(part);
    }
  }
  guarded(0);
  for (std::thread &other : others)
    other.join();
  for (const std::exception_ptr &exception : thrown)
    if (exception) std::rethrow_exception(exception);
}

} // namespace mlir_sparse
