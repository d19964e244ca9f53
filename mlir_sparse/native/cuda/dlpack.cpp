// Arrays to and from other libraries by DLPack, with the structures of dlpack.h, version 1.

#include <cstdint>
#include <string>
#include <vector>

#include "module.hpp"

namespace py = pybind11;

namespace mlir_sparse::cuda {
namespace {

struct DLDevice {
  std::int32_t type;
  std::int32_t id;
};

struct DLDataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct DLTensor {
  void *data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t *shape;
  std::int64_t *strides;
  std::uint64_t byte_offset;
};

struct DLManagedTensor {
  DLTensor tensor;
  void *context;
  void (*deleter)(DLManagedTensor *);
};

struct DLManagedTensorVersioned {
  std::uint32_t major;
  std::uint32_t minor;
  void *context;
  void (*deleter)(DLManagedTensorVersioned *);
  std::uint64_t flags;
  DLTensor tensor;
};

constexpr std::uint64_t kReadOnly = 1;

// An exported tensor, with the owner of its memory.
template <typename Managed>
struct Exported {
  Managed managed{};
  std::vector<std::int64_t> shape, strides;
  PyObject *owner = nullptr;
};

template <typename Managed>
void dispose(Managed *managed) {
  auto *exported = static_cast<Exported<Managed> *>(managed->context);
  if (Py_IsInitialized()) {
    py::gil_scoped_acquire hold;  // consumers drop tensors on threads of their own
    Py_XDECREF(exported->owner);
  }
  delete exported;
}

template <typename Managed>
constexpr const char *kName = "dltensor";
template <>
constexpr const char *kName<DLManagedTensorVersioned> = "dltensor_versioned";

template <typename Managed>
Managed *prepared(std::uintptr_t pointer, const std::vector<std::int64_t> &shape, int code, int bits, int device,
                  const py::object &owner) {
  auto *exported = new Exported<Managed>;
  exported->shape = shape;
  exported->strides.assign(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) exported->strides[d - 1] = exported->strides[d] * shape[d];
  exported->owner = owner.ptr();
  Py_INCREF(exported->owner);
  DLTensor &tensor = exported->managed.tensor;
  tensor.data = reinterpret_cast<void *>(pointer);
  tensor.device = {2, device};  // CUDA
  tensor.ndim = static_cast<std::int32_t>(shape.size());
  tensor.dtype = {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(bits), 1};
  tensor.shape = exported->shape.data();
  tensor.strides = exported->strides.data();
  exported->managed.context = exported;
  exported->managed.deleter = dispose<Managed>;
  return &exported->managed;
}

template <typename Managed>
py::object capsule(Managed *managed) {
  PyObject *made = PyCapsule_New(managed, kName<Managed>, [](PyObject *held) {
    // A consumer renames the capsule.
    if (!PyCapsule_IsValid(held, kName<Managed>)) return;
    auto *kept = static_cast<Managed *>(PyCapsule_GetPointer(held, kName<Managed>));
    kept->deleter(kept);
  });
  if (made == nullptr) {
    managed->deleter(managed);
    throw py::error_already_set();
  }
  return py::reinterpret_steal<py::object>(made);
}

py::object to_dlpack(std::uintptr_t pointer, const std::vector<std::int64_t> &shape, int code, int bits, int device,
                     const py::object &owner, bool versioned, bool read_only) {
  if (!versioned) return capsule(prepared<DLManagedTensor>(pointer, shape, code, bits, device, owner));
  auto *managed = prepared<DLManagedTensorVersioned>(pointer, shape, code, bits, device, owner);
  managed->major = 1;
  managed->flags = read_only ? kReadOnly : 0;
  return capsule(managed);
}

template <typename Managed>
py::tuple taken(const py::object &given, const char *used, bool read_only) {
  auto *managed = static_cast<Managed *>(PyCapsule_GetPointer(given.ptr(), kName<Managed>));
  const DLTensor &tensor = managed->tensor;
  const std::vector<std::int64_t> shape(tensor.shape, tensor.shape + tensor.ndim);
  py::object strides = py::none();
  if (tensor.strides != nullptr)
    strides = py::cast(std::vector<std::int64_t>(tensor.strides, tensor.strides + tensor.ndim));
  py::capsule owner(managed, "mlir_sparse.dlpack", [](void *held) {
    auto *kept = static_cast<Managed *>(held);
    if (kept->deleter != nullptr) kept->deleter(kept);
  });
  if (PyCapsule_SetName(given.ptr(), used) != 0) throw py::error_already_set();
  const std::uintptr_t pointer = reinterpret_cast<std::uintptr_t>(tensor.data) + tensor.byte_offset;
  return py::make_tuple(pointer, py::tuple(py::cast(shape)), strides, static_cast<int>(tensor.dtype.code),
                        static_cast<int>(tensor.dtype.bits), static_cast<int>(tensor.dtype.lanes), tensor.device.type,
                        tensor.device.id, read_only, owner);
}

py::tuple from_dlpack(const py::object &given) {
  if (PyCapsule_IsValid(given.ptr(), kName<DLManagedTensorVersioned>)) {
    const auto *managed = static_cast<DLManagedTensorVersioned *>(
        PyCapsule_GetPointer(given.ptr(), kName<DLManagedTensorVersioned>));
    if (managed->major != 1)
      throw py::value_error("expected DLPack of version 1, but got version " + std::to_string(managed->major));
    const bool read_only = (managed->flags & kReadOnly) != 0;
    return taken<DLManagedTensorVersioned>(given, "used_dltensor_versioned", read_only);
  }
  if (!PyCapsule_IsValid(given.ptr(), kName<DLManagedTensor>))
    throw py::value_error("expected a capsule of DLPack that nobody took yet");
  return taken<DLManagedTensor>(given, "used_dltensor", false);
}

}  // namespace

void register_dlpack(py::module_ &module) {
  module.def("to_dlpack", &to_dlpack, py::arg("pointer"), py::arg("shape"), py::arg("code"), py::arg("bits"),
             py::arg("device"), py::arg("owner"), py::arg("versioned"), py::arg("read_only"),
             "Returns a capsule over contiguous memory of a device; the owner lives as long as somebody holds it.");
  module.def("from_dlpack", &from_dlpack, py::arg("capsule"),
             "Returns address, shape, strides, type code, bits, lanes, device type and number, whether it is read-only, "
             "and the owner of a capsule's tensor, which is taken.");
}

}  // namespace mlir_sparse::cuda
