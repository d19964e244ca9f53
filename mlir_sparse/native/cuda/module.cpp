// mlir_sparse._cuda: the CUDA driver and its sparse libraries, loaded at their first use.

#include "module.hpp"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "driver.hpp"
#include "launch.hpp"
#include "memory.hpp"
#include "mgpu.hpp"
#include "sparse.hpp"
#include "structured.hpp"

namespace py = pybind11;

namespace mlir_sparse::cuda {
namespace {

void raise_in_python(const Failure &failure) {
  const char *name = failure.kind == Kind::unsupported ? "UnsupportedError"
                     : failure.kind == Kind::memory    ? "DeviceMemoryError"
                                                       : "DeviceError";
  const py::object error = py::module_::import("mlir_sparse.errors").attr(name);
  PyErr_SetObject(error.ptr(), error(failure.what()).ptr());
}

// What the driver has made on a device, with an owner.
template <typename Handle>
class Owned {
 public:
  Owned(int device, CUresult (*destroy)(Handle), const char *name) : device_(device), destroy_(destroy), name_(name) {}
  ~Owned() {
    if (handle_ == nullptr) return;
    try {
      Current current(device_);
      const CUresult code = destroy_(handle_);
      if (code != kSuccess && code != kDeinitialized) note(driver().describe(code, name_));
    } catch (const Failure &) {
      // The driver is gone, and what it made with it.
    }
  }
  Owned(const Owned &) = delete;
  Owned &operator=(const Owned &) = delete;
  int device() const { return device_; }

 protected:
  const int device_;
  Handle handle_ = nullptr;

 private:
  CUresult (*destroy_)(Handle);
  const char *name_;
};

class Stream : public Owned<CUstream> {
 public:
  explicit Stream(int device) : Owned(device, driver().cuStreamDestroy, "cuStreamDestroy") {
    Current current(device);
    CHECKED(driver(), cuStreamCreate, &handle_, 1);  // beside the default stream
  }
  std::uintptr_t handle() const { return reinterpret_cast<std::uintptr_t>(handle_); }
};

class Event : public Owned<CUevent> {
 public:
  explicit Event(int device) : Owned(device, driver().cuEventDestroy, "cuEventDestroy") {
    Current current(device);
    CHECKED(driver(), cuEventCreate, &handle_, 0);
  }
  void record(std::uintptr_t stream) {
    Current current(device_);
    CHECKED(driver(), cuEventRecord, handle_, stream_of(stream));
  }
  void hold(std::uintptr_t stream) {
    Current current(device_);
    CHECKED(driver(), cuStreamWaitEvent, stream_of(stream), handle_, 0);
  }
  double until(const Event &later) {
    Current current(device_);
    float milliseconds = 0;
    CHECKED(driver(), cuEventSynchronize, later.handle_);
    CHECKED(driver(), cuEventElapsedTime, &milliseconds, handle_, later.handle_);
    return milliseconds * 1e-3;
  }
};

py::buffer_info contiguous(const py::buffer &buffer, bool writable) {
  py::buffer_info info = buffer.request(writable);
  py::ssize_t step = info.itemsize;
  for (std::size_t d = info.shape.size(); d-- > 0;) {
    if (info.shape[d] > 1 && info.strides[d] != step) throw py::value_error("expected contiguous memory");
    step *= info.shape[d];
  }
  return info;
}

void copy_in(int device, CUdeviceptr target, const py::buffer &source, std::uintptr_t stream) {
  const py::buffer_info info = contiguous(source, false);
  const std::size_t bytes = static_cast<std::size_t>(info.size * info.itemsize);
  if (bytes == 0) return;
  py::gil_scoped_release release;
  Current current(device);
  Driver &cuda = driver();
  cuda.check(cuda.cuMemcpyHtoDAsync(target, info.ptr, bytes, stream_of(stream)), "cuMemcpyHtoDAsync",
             "of " + in_units(bytes));
  // The caller may write to the memory, or free it, as soon as this returns.
  CHECKED(cuda, cuStreamSynchronize, stream_of(stream));
}

void copy_out(int device, const py::buffer &target, CUdeviceptr source, std::uintptr_t stream) {
  const py::buffer_info info = contiguous(target, true);
  const std::size_t bytes = static_cast<std::size_t>(info.size * info.itemsize);
  if (bytes == 0) return;
  py::gil_scoped_release release;
  Current current(device);
  Driver &cuda = driver();
  cuda.check(cuda.cuMemcpyDtoHAsync(info.ptr, source, bytes, stream_of(stream)), "cuMemcpyDtoHAsync",
             "of " + in_units(bytes));
  CHECKED(cuda, cuStreamSynchronize, stream_of(stream));
}

void copy_across(int target_device, CUdeviceptr target, int source_device, CUdeviceptr source, std::size_t bytes,
                 std::uintptr_t stream) {
  if (bytes == 0) return;
  Current current(target_device);
  Driver &cuda = driver();
  if (target_device == source_device)
    return cuda.check(cuda.cuMemcpyDtoDAsync(target, source, bytes, stream_of(stream)), "cuMemcpyDtoDAsync",
                      "of " + in_units(bytes));
  CUcontext from = cuda.context(source_device), to = cuda.context(target_device);
  {
    // Writes to the source run on streams of the other device.
    Current other(source_device);
    cuda.check(cuda.cuCtxSynchronize(), "cuCtxSynchronize");
  }
  cuda.check(cuda.cuMemcpyPeerAsync(target, to, source, from, bytes, stream_of(stream)), "cuMemcpyPeerAsync",
             "of " + in_units(bytes));
  CHECKED(cuda, cuStreamSynchronize, stream_of(stream));
}

void fill(int device, CUdeviceptr target, int byte, std::size_t bytes, std::uintptr_t stream) {
  if (bytes == 0) return;
  Current current(device);
  driver().check(driver().cuMemsetD8Async(target, static_cast<unsigned char>(byte), bytes, stream_of(stream)),
                 "cuMemsetD8Async", "of " + in_units(bytes));
}

void synchronize(int device, std::uintptr_t stream) {
  py::gil_scoped_release release;
  Current current(device);
  CHECKED(driver(), cuStreamSynchronize, stream_of(stream));
}

std::pair<std::size_t, std::size_t> memory_info(int device) {
  Current current(device);
  std::size_t free = 0, total = 0;
  CHECKED(driver(), cuMemGetInfo, &free, &total);
  return {free, total};
}

std::string device_name(int device) {
  CUdevice handle = 0;
  char name[256] = {};
  CHECKED(driver(), cuDeviceGet, &handle, device);
  CHECKED(driver(), cuDeviceGetName, name, sizeof name - 1, handle);
  return name;
}

// Integers are passed in 8 bytes, of which a narrower parameter reads the first; other values as their bytes.
Function::Slot slot_of(PyObject *item) {
  Function::Slot slot{};
  if (PyLong_Check(item)) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(item, &overflow);
    slot[0] = overflow == 0 ? static_cast<std::uint64_t>(number) : PyLong_AsUnsignedLongLong(item);
    if (PyErr_Occurred() != nullptr) throw py::error_already_set();
    return slot;
  }
  char *data = nullptr;
  Py_ssize_t size = 0;
  if (!PyBytes_Check(item) || PyBytes_AsStringAndSize(item, &data, &size) != 0)
    throw py::type_error("expected integers and bytes as parameters of a kernel");
  if (size > static_cast<Py_ssize_t>(sizeof slot)) throw py::value_error("expected parameters of at most 16 bytes");
  std::memcpy(slot.data(), data, static_cast<std::size_t>(size));
  return slot;
}

void launch(Function &function, int device, const Function::Extent &grid, const Function::Extent &block,
            unsigned shared, std::uintptr_t stream, const py::tuple &parameters) {
  std::vector<Function::Slot> slots(parameters.size());
  for (std::size_t at = 0; at < slots.size(); ++at)
    slots[at] = slot_of(PyTuple_GET_ITEM(parameters.ptr(), static_cast<Py_ssize_t>(at)));
  function.launch(device, grid, block, shared, stream_of(stream), slots);
}

void register_driver(py::module_ &module) {
  module.def("load_driver", &load_driver, py::arg("candidates"), "Opens the driver, the first time only.");
  module.def("load_sparse", &load_sparse, py::arg("candidates"), "Opens cuSPARSE, the first time only.");
  module.def("load_structured", &load_structured, py::arg("candidates"), "Opens cuSPARSELt, the first time only.");
  module.def(
      "forget",
      [] {
        forget_structured();
        forget_sparse();
        forget_driver();
      },
      "Forgets all libraries; nothing of them may be in use.");
  module.def("has_driver", &has_driver, "Returns whether the driver is open.");
  module.def("has_sparse", &has_sparse, "Returns whether cuSPARSE is open.");
  module.def("has_structured", &has_structured, "Returns whether cuSPARSELt is open.");
  module.def("sparse_path", [] { return sparse().path(); });
  module.def("structured_path", [] { return structured().path(); });
  module.def("driver_path", [] { return driver().path(); });
  module.def("driver_version", [] { return driver().version(); });
  module.def("sparse_version", [](int device) { return sparse().version(device); }, py::arg("device"));
  module.def("structured_version", [](int device) { return structured().version(device); }, py::arg("device"));
  module.def("device_count", [] { return driver().count(); });
  module.def("device_name", &device_name, py::arg("device"));
  module.def("attribute", [](int device, int what) { return driver().attribute(device, what); }, py::arg("device"),
             py::arg("what"));
  module.def("memory_info", &memory_info, py::arg("device"), "Returns the bytes free and in all.");
  module.def("raise_recorded", &raise_recorded, "Raises what the mgpu functions came to on this thread.");
  module.def("raise_noted", &raise_noted, "Raises what went wrong where memory was freed.");
  module.def("live_allocations", &live_allocations, "Returns how many allocations are not yet freed.");
}

void register_memory(py::module_ &module) {
  py::class_<Memory>(module, "Memory", "Memory of a device, freed with the object.")
      .def(py::init([](int device, std::size_t bytes, std::uintptr_t stream) {
             return std::make_unique<Memory>(device, bytes, stream_of(stream));
           }),
           py::arg("device"), py::arg("nbytes"), py::arg("stream"))
      .def_property_readonly("pointer", &Memory::pointer)
      .def_property_readonly("nbytes", &Memory::bytes)
      .def_property_readonly("device", &Memory::device)
      .def_property_readonly("stream", [](const Memory &m) { return reinterpret_cast<std::uintptr_t>(m.stream()); })
      .def_property_readonly("shared", &Memory::shared)
      .def("share", &Memory::share);
  module.def("copy_in", &copy_in, py::arg("device"), py::arg("target"), py::arg("source"), py::arg("stream"));
  module.def("copy_out", &copy_out, py::arg("device"), py::arg("target"), py::arg("source"), py::arg("stream"));
  module.def("copy_across", &copy_across, py::arg("target_device"), py::arg("target"), py::arg("source_device"),
             py::arg("source"), py::arg("nbytes"), py::arg("stream"));
  module.def("fill", &fill, py::arg("device"), py::arg("target"), py::arg("byte"), py::arg("nbytes"), py::arg("stream"));
  module.def("synchronize", &synchronize, py::arg("device"), py::arg("stream"));
}

void register_launch(py::module_ &module) {
  py::class_<Stream>(module, "Stream", "A stream of a device.")
      .def(py::init<int>(), py::arg("device"))
      .def_property_readonly("handle", &Stream::handle)
      .def_property_readonly("device", &Stream::device);
  py::class_<Event>(module, "Event", "A point in the work of a stream.")
      .def(py::init<int>(), py::arg("device"))
      .def("record", &Event::record, py::arg("stream"))
      .def("hold", &Event::hold, py::arg("stream"), "Lets what a stream does next wait for the event.")
      .def("until", &Event::until, py::arg("later"), "Returns the seconds until another event.");
  py::class_<Module, std::shared_ptr<Module>>(module, "Module", "PTX, compiled once for each device.")
      .def(py::init<std::string, std::string>(), py::arg("image"), py::arg("label"));
  py::class_<Function>(module, "Function", "A kernel of a module.")
      .def(py::init<std::shared_ptr<Module>, std::string>(), py::arg("module"), py::arg("name"))
      // The driver compiles here, which may take long.
      .def("load", &Function::load, py::arg("device"), py::call_guard<py::gil_scoped_release>())
      .def("launch", &launch, py::arg("device"), py::arg("grid"), py::arg("block"), py::arg("shared"),
           py::arg("stream"), py::arg("parameters"));
}

}  // namespace
}  // namespace mlir_sparse::cuda

PYBIND11_MODULE(_cuda, module) {
  using namespace mlir_sparse::cuda;
  module.doc() = "The CUDA driver, cuSPARSE and cuSPARSELt, opened when they are first needed.";
  py::register_exception_translator([](std::exception_ptr raised) {
    try {
      if (raised) std::rethrow_exception(raised);
    } catch (const Failure &failure) {
      raise_in_python(failure);
    }
  });
  register_driver(module);
  register_memory(module);
  register_launch(module);
  register_dlpack(module);
  register_products(module);
}
