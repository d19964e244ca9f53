#include "memory.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#ifdef __unix__
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "module.hpp"

namespace py = pybind11;

namespace mlir_sparse {
namespace {

// From here on memory is taken from the system itself: malloc may refuse more than there is, touched or not.
constexpr std::size_t kMapped = std::size_t{1} << 26;
// Large pages make the first touch cheaper; NumPy asks for them from the same size on.
constexpr std::size_t kLargePages = std::size_t{1} << 22;
constexpr const char *kName = "mlir_sparse.block";

// What is reserved and not yet freed, for tests that look for leaks.
std::atomic<long long> owned_buffers{0};

struct Block {
  void *data = nullptr;
  std::size_t bytes = 0;
  bool mapped = false;

  Block() { owned_buffers.fetch_add(1, std::memory_order_relaxed); }
  Block(const Block &) = delete;
  Block &operator=(const Block &) = delete;
  ~Block() {
    owned_buffers.fetch_sub(1, std::memory_order_relaxed);
#ifdef __unix__
    if (mapped) {
      munmap(data, bytes);
      return;
    }
#endif
    std::free(data);
  }

  void take(std::size_t wanted, bool zeroed) {
    bytes = std::max<std::size_t>(wanted, 1);
#ifdef __unix__
    if (bytes >= kMapped) {
#ifdef MAP_NORESERVE
      constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
#else
      constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#endif
      void *found = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
      if (found == MAP_FAILED) throw std::bad_alloc();
      data = found;
      mapped = true;
      advise();
      return;
    }
#endif
    data = zeroed ? std::calloc(bytes, 1) : std::malloc(bytes);
    if (data == nullptr) throw std::bad_alloc();
    advise();
  }

  void shrink(std::size_t used) {
    // As much again as is used stays: memory that shrank is not what malloc gives to the next result of this size.
    if (bytes / 2 <= used + 4096) return;
#ifdef __unix__
    if (mapped) {
      const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
      const std::size_t kept = std::max(page, (used + page - 1) / page * page);
      if (kept >= bytes || munmap(static_cast<char *>(data) + kept, bytes - kept) != 0) return;
      bytes = kept;
      return;
    }
#endif
    if (void *smaller = std::realloc(data, std::max<std::size_t>(used, 1))) {
      data = smaller;
      bytes = used;
    }
  }

 private:
  void advise() const {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (bytes < kLargePages) return;
    const std::uintptr_t begin = (reinterpret_cast<std::uintptr_t>(data) + 4095) & ~std::uintptr_t{4095};
    const std::size_t length = (bytes - (begin - reinterpret_cast<std::uintptr_t>(data))) & ~std::size_t{4095};
    madvise(reinterpret_cast<void *>(begin), length, MADV_HUGEPAGE);  // advice: no matter if it is not taken
#endif
  }
};

py::array wrap(std::unique_ptr<Block> block, std::size_t length, const py::dtype &dtype) {
  void *data = block->data;
  py::capsule owner(block.get(), kName, [](void *held) { delete static_cast<Block *>(held); });
  block.release();
  const py::ssize_t item = dtype.itemsize();
  return py::array(dtype, {static_cast<py::ssize_t>(length)}, {item}, data, owner);
}

}  // namespace

py::array reserve(std::size_t length, const py::dtype &dtype, bool zeroed) {
  const std::size_t item = static_cast<std::size_t>(dtype.itemsize());
  if (length > (std::size_t{1} << 62) / item) throw std::bad_alloc();
  auto block = std::make_unique<Block>();
  block->take(length * item, zeroed);
  return wrap(std::move(block), length, dtype);
}

py::array trim(const py::array &array, std::size_t length) {
  const py::object base = array.base();
  if (!base || !PyCapsule_IsValid(base.ptr(), kName)) throw py::value_error("expected an array from reserve");
  if (length > static_cast<std::size_t>(array.size())) throw py::value_error("expected no more items than reserved");
  auto *held = static_cast<Block *>(PyCapsule_GetPointer(base.ptr(), kName));
  auto block = std::make_unique<Block>();
  std::swap(block->data, held->data);
  std::swap(block->bytes, held->bytes);
  std::swap(block->mapped, held->mapped);
  block->shrink(length * static_cast<std::size_t>(array.itemsize()));
  return wrap(std::move(block), length, array.dtype());
}

void register_memory(py::module_ &module) {
  module.def(
      "owned_buffers", [] { return owned_buffers.load(); },
      "Returns how many buffers of results are still referenced from Python.");
  module.def("reserve", &reserve, py::arg("length"), py::arg("dtype"), py::arg("zeroed") = false,
             "Returns an array of items that nobody has written; room that is never touched costs nothing.");
  module.def("trim", &trim, py::arg("array"), py::arg("length"),
             "Returns the first items of a reserved array, and gives back the rest; the array is not to be used again.");
}

}  // namespace mlir_sparse
