#include "driver.hpp"

#include <limits>
#include <mutex>

namespace mlir_sparse::cuda {
namespace {

std::mutex mutex;
std::unique_ptr<Driver> loaded;

}  // namespace

Driver::Driver(const std::vector<std::string> &candidates) : library_("CUDA driver (libcuda.so.1)", candidates) {
#define ENTRY(member, symbol_name, arguments) \
  member = reinterpret_cast<CUresult(*) arguments>(library_.symbol(#symbol_name));
  MLIR_SPARSE_CUDA_DRIVER(ENTRY)
#undef ENTRY
  check(cuInit(0), "cuInit");
  check(cuDriverGetVersion(&version_), "cuDriverGetVersion");
  check(cuDeviceGetCount(&count_), "cuDeviceGetCount");
  devices_.resize(static_cast<std::size_t>(count_));
}

std::string Driver::describe(CUresult code, const char *name, const std::string &about) const {
  const char *text = nullptr, *reason = nullptr;
  std::string said = std::string(name) + (about.empty() ? "" : " " + about) + " failed: ";
  if (cuGetErrorName(code, &text) == kSuccess && text != nullptr) {
    said += text;
  } else {
    said += "error";
  }
  said += " (" + std::to_string(code) + ")";
  if (cuGetErrorString(code, &reason) == kSuccess && reason != nullptr) said += std::string(", ") + reason;
  return said;
}

void Driver::fail(CUresult code, const char *name, const std::string &about) const {
  throw Failure(code == kOutOfMemory ? Kind::memory : Kind::device, describe(code, name, about));
}

Driver::Device &Driver::opened(int device) {
  if (device < 0 || device >= count_)
    throw Failure(Kind::device, "expected a device from cuda:0 to cuda:" + std::to_string(count_ - 1) +
                                    ", but got cuda:" + std::to_string(device));
  Device &found = devices_[static_cast<std::size_t>(device)];
  std::lock_guard<std::mutex> hold(mutex);
  if (found.opened) return found;
  check(cuDeviceGet(&found.handle, device), "cuDeviceGet");
  int pools = 0;
  check(cuDeviceGetAttribute(&pools, kMemoryPools, found.handle), "cuDeviceGetAttribute");
  check(cuDevicePrimaryCtxRetain(&found.context, found.handle), "cuDevicePrimaryCtxRetain");
  if (pools != 0) {
    PoolProperties properties;
    properties.location_id = device;
    check(cuMemPoolCreate(&found.pool, &properties), "cuMemPoolCreate");
    // By default a pool frees all of its memory at every synchronisation.
    std::uint64_t kept = std::numeric_limits<std::uint64_t>::max();
    check(cuMemPoolSetAttribute(found.pool, kReleaseThreshold, &kept), "cuMemPoolSetAttribute");
  }
  found.opened = true;
  return found;
}

CUcontext Driver::context(int device) { return opened(device).context; }

CUmemoryPool Driver::pool(int device) { return opened(device).pool; }

int Driver::attribute(int device, int what) const {
  CUdevice handle = 0;
  int value = 0;
  check(cuDeviceGet(&handle, device), "cuDeviceGet");
  check(cuDeviceGetAttribute(&value, what, handle), "cuDeviceGetAttribute");
  return value;
}

Driver &driver() {
  if (!loaded) throw Failure(Kind::device, "no CUDA driver (libcuda.so.1) found");
  return *loaded;
}

void load_driver(const std::vector<std::string> &candidates) {
  if (!loaded) loaded = std::make_unique<Driver>(candidates);
}

bool has_driver() { return loaded != nullptr; }

void forget_driver() { loaded.reset(); }

Current::Current(int device) {
  Driver &cuda = driver();
  CUcontext wanted = cuda.context(device), present = nullptr;
  CHECKED(cuda, cuCtxGetCurrent, &present);
  if (present == wanted) return;
  CHECKED(cuda, cuCtxPushCurrent, wanted);
  pushed_ = true;
}

Current::~Current() {
  CUcontext popped = nullptr;
  if (pushed_ && loaded && loaded->cuCtxPopCurrent(&popped) != kSuccess) note("cuCtxPopCurrent failed");
}

}  // namespace mlir_sparse::cuda
