#include "memory.hpp"

#include <atomic>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <pybind11/stl.h>

#include "block.hpp"
#include "module.hpp"

namespace py = pybind11;

namespace mlir_sparse {
namespace {

constexpr const char *kName = "mlir_sparse.block";

// The number of reserved blocks, for tests of leaks.
std::atomic<long long> owned_buffers{0};

// A block that an array in Python owns.
struct Owned {
  Block block;

  explicit Owned(Block &&given) : block(std::move(given)) { owned_buffers.fetch_add(1, std::memory_order_relaxed); }
  Owned(const Owned &) = delete;
  Owned &operator=(const Owned &) = delete;
  ~Owned() { owned_buffers.fetch_sub(1, std::memory_order_relaxed); }
};

py::array wrap(Block &&given, const std::vector<py::ssize_t> &shape, const py::dtype &dtype, std::size_t begin = 0) {
  auto owned = std::make_unique<Owned>(std::move(given));
  void *data = owned->block.data() + begin;
  py::capsule owner(owned.get(), kName, [](void *held) { delete static_cast<Owned *>(held); });
  owned.release();
  return py::array(dtype, shape, data, owner);
}

py::array wrap(Block &&given, std::size_t length, const py::dtype &dtype, std::size_t begin = 0) {
  return wrap(std::move(given), std::vector<py::ssize_t>{static_cast<py::ssize_t>(length)}, dtype, begin);
}

}  // namespace

py::array reserve(std::size_t length, const py::dtype &dtype, bool zeroed) {
  const std::size_t item = static_cast<std::size_t>(dtype.itemsize());
  if (length > (std::size_t{1} << 62) / item) throw std::bad_alloc();
  return wrap(Block(length * item, zeroed), length, dtype);
}

py::array dense_array(const std::vector<py::ssize_t> &shape, const py::dtype &dtype) {
  std::size_t length = 1, bytes = 0;
  for (const py::ssize_t extent : shape)
    if (extent < 0 || __builtin_mul_overflow(length, static_cast<std::size_t>(extent), &length)) throw std::bad_alloc();
  if (__builtin_mul_overflow(length, static_cast<std::size_t>(dtype.itemsize()), &bytes)) throw std::bad_alloc();
  if (bytes < kLargeArray) return py::array(dtype, shape);
  return wrap(Block(bytes, false), shape, dtype);
}

py::array trim(const py::array &array, std::size_t length, std::size_t begin) {
  const py::object base = array.base();
  if (!base || !PyCapsule_IsValid(base.ptr(), kName)) throw py::value_error("expected an array from reserve");
  if (begin > static_cast<std::size_t>(array.size()) || length > static_cast<std::size_t>(array.size()) - begin)
    throw py::value_error("expected no more items than reserved");
  Block block(std::move(static_cast<Owned *>(PyCapsule_GetPointer(base.ptr(), kName))->block));
  const auto item = static_cast<std::size_t>(array.itemsize());
  const std::size_t first = block.shrink(begin * item, (begin + length) * item);
  return wrap(std::move(block), length, array.dtype(), first);
}

py::array array_of(Block &&block, std::size_t length, const py::dtype &dtype, bool writeable) {
  block.shrink(0, length * static_cast<std::size_t>(dtype.itemsize()));
  py::array array = wrap(std::move(block), length, dtype);
  if (!writeable) py::detail::array_proxy(array.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return array;
}

// Libraries that read files take and free megabytes in many threads, each of which has a heap that grows and that malloc
// keeps.
void trim_heaps() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

void register_memory(py::module_ &module) {
  module.def(
      "owned_buffers", [] { return owned_buffers.load(); },
      "Returns how many buffers of results are still referenced from Python.");
  module.def("kept_bytes", &kept_bytes, "Returns how much memory of results that are gone is kept for others to come.");
  module.def("drop_kept", &drop_kept, "Gives back all memory that is kept.");
  module.def("trim_heaps", &trim_heaps, py::call_guard<py::gil_scoped_release>(),
             "Gives memory back to the system that malloc keeps of what is freed, where malloc has a call for it.");
  module.def("reserve", &reserve, py::arg("length"), py::arg("dtype"), py::arg("zeroed") = false,
             "Returns an array of items that nobody has written; room that is never touched costs nothing.");
  module.attr("LARGE_ARRAY") = kLargeArray;
  module.def("dense_array", &dense_array, py::arg("shape"), py::arg("dtype"),
             "Returns an uninitialised array for a dense result; a large one begins with a cache line.");
  module.def("trim", &trim, py::arg("array"), py::arg("length"), py::arg("begin") = 0,
             "Returns some items of a reserved array, and gives back the rest; the array is not to be used again.");
}

}  // namespace mlir_sparse
