#include "memory.hpp"

#include <atomic>
#include <cstdlib>

#include "module.hpp"

namespace py = pybind11;

namespace mlir_sparse {
namespace {

// What is adopted and not yet freed, for tests that look for leaks.
std::atomic<long long> owned_buffers{0};

void release(void *allocated) {
  std::free(allocated);
  owned_buffers.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace

py::array adopt(void *allocated, void *data, std::size_t capacity, std::size_t length, const py::dtype &dtype) {
  const std::size_t item = static_cast<std::size_t>(dtype.itemsize());
  const bool wasteful = (capacity - length) * item > 4096 && capacity > length + length / 8;
  if (wasteful && allocated == data) {
    if (void *smaller = std::realloc(allocated, length * item + 1)) allocated = data = smaller;
  }
  owned_buffers.fetch_add(1, std::memory_order_relaxed);
  py::capsule owner(allocated, release);
  return py::array(dtype, {static_cast<py::ssize_t>(length)}, {static_cast<py::ssize_t>(item)}, data, owner);
}

void register_memory(py::module_ &module) {
  module.def(
      "owned_buffers", [] { return owned_buffers.load(); },
      "Returns how many buffers that compiled code allocated are still referenced from Python.");
}

}  // namespace mlir_sparse
