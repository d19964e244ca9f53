// The CUDA driver: its entry points as its documentation declares them, each call checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "failure.hpp"
#include "library.hpp"

namespace mlir_sparse::cuda {

// The names and types of cuda.h, declared here so that the build needs no toolkit.
using CUresult = int;
using CUdevice = int;
using CUdeviceptr = std::uint64_t;
using CUcontext = struct CUctx_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUstream = struct CUstream_st *;
using CUevent = struct CUevent_st *;
using CUmemoryPool = struct CUmemPoolHandle_st *;

inline void *address(CUdeviceptr pointer) { return reinterpret_cast<void *>(static_cast<std::uintptr_t>(pointer)); }

constexpr CUresult kSuccess = 0;
constexpr CUresult kOutOfMemory = 2;
constexpr CUresult kDeinitialized = 4;
constexpr CUresult kInvalidImage = 200;
constexpr CUresult kNoBinaryForGpu = 209;
constexpr CUresult kInvalidPtx = 218;
constexpr CUresult kUnsupportedPtxVersion = 222;

constexpr int kMaxThreadsPerBlock = 1;
constexpr int kMultiprocessors = 16;
constexpr int kComputeMajor = 75;
constexpr int kComputeMinor = 76;
constexpr int kMemoryPools = 115;

// CUmemPoolProps: memory of one device, not shared with other processes.
struct PoolProperties {
  int allocation_type = 1;  // pinned to where it is
  int handle_types = 0;
  int location_type = 1;  // a device
  int location_id = 0;
  void *security_attributes = nullptr;
  std::size_t max_size = 0;
  unsigned short usage = 0;
  unsigned char reserved[54] = {};
};
static_assert(sizeof(PoolProperties) == 88, "as the driver reads it");
constexpr int kReleaseThreshold = 4;

// (member, symbol, arguments): later versions of an entry point have their own symbols.
#define MLIR_SPARSE_CUDA_DRIVER(ENTRY)                                                                          \
  ENTRY(cuInit, cuInit, (unsigned))                                                                             \
  ENTRY(cuDriverGetVersion, cuDriverGetVersion, (int *))                                                        \
  ENTRY(cuGetErrorName, cuGetErrorName, (CUresult, const char **))                                              \
  ENTRY(cuGetErrorString, cuGetErrorString, (CUresult, const char **))                                          \
  ENTRY(cuDeviceGetCount, cuDeviceGetCount, (int *))                                                            \
  ENTRY(cuDeviceGet, cuDeviceGet, (CUdevice *, int))                                                            \
  ENTRY(cuDeviceGetName, cuDeviceGetName, (char *, int, CUdevice))                                              \
  ENTRY(cuDeviceGetAttribute, cuDeviceGetAttribute, (int *, int, CUdevice))                                     \
  ENTRY(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice))                            \
  ENTRY(cuCtxGetCurrent, cuCtxGetCurrent, (CUcontext *))                                                        \
  ENTRY(cuCtxPushCurrent, cuCtxPushCurrent_v2, (CUcontext))                                                     \
  ENTRY(cuCtxPopCurrent, cuCtxPopCurrent_v2, (CUcontext *))                                                     \
  ENTRY(cuCtxSynchronize, cuCtxSynchronize, ())                                                                 \
  ENTRY(cuMemGetInfo, cuMemGetInfo_v2, (std::size_t *, std::size_t *))                                          \
  ENTRY(cuMemAlloc, cuMemAlloc_v2, (CUdeviceptr *, std::size_t))                                                \
  ENTRY(cuMemFree, cuMemFree_v2, (CUdeviceptr))                                                                 \
  ENTRY(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync, (CUdeviceptr *, std::size_t, CUmemoryPool, CUstream)) \
  ENTRY(cuMemFreeAsync, cuMemFreeAsync, (CUdeviceptr, CUstream))                                                \
  ENTRY(cuMemPoolCreate, cuMemPoolCreate, (CUmemoryPool *, const PoolProperties *))                             \
  ENTRY(cuMemPoolSetAttribute, cuMemPoolSetAttribute, (CUmemoryPool, int, void *))                              \
  ENTRY(cuMemPoolTrimTo, cuMemPoolTrimTo, (CUmemoryPool, std::size_t))                                          \
  ENTRY(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, (CUdeviceptr, const void *, std::size_t, CUstream))            \
  ENTRY(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, (void *, CUdeviceptr, std::size_t, CUstream))                  \
  ENTRY(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, (CUdeviceptr, CUdeviceptr, std::size_t, CUstream))             \
  ENTRY(cuMemcpyAsync, cuMemcpyAsync, (CUdeviceptr, CUdeviceptr, std::size_t, CUstream))                        \
  ENTRY(cuMemcpyPeerAsync, cuMemcpyPeerAsync,                                                                   \
        (CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, std::size_t, CUstream))                                \
  ENTRY(cuMemsetD8Async, cuMemsetD8Async, (CUdeviceptr, unsigned char, std::size_t, CUstream))                  \
  ENTRY(cuMemsetD16Async, cuMemsetD16Async, (CUdeviceptr, unsigned short, std::size_t, CUstream))               \
  ENTRY(cuMemsetD32Async, cuMemsetD32Async, (CUdeviceptr, unsigned, std::size_t, CUstream))                     \
  ENTRY(cuStreamCreate, cuStreamCreate, (CUstream *, unsigned))                                                 \
  ENTRY(cuStreamDestroy, cuStreamDestroy_v2, (CUstream))                                                        \
  ENTRY(cuStreamSynchronize, cuStreamSynchronize, (CUstream))                                                   \
  ENTRY(cuStreamWaitEvent, cuStreamWaitEvent, (CUstream, CUevent, unsigned))                                    \
  ENTRY(cuEventCreate, cuEventCreate, (CUevent *, unsigned))                                                    \
  ENTRY(cuEventDestroy, cuEventDestroy_v2, (CUevent))                                                           \
  ENTRY(cuEventRecord, cuEventRecord, (CUevent, CUstream))                                                      \
  ENTRY(cuEventSynchronize, cuEventSynchronize, (CUevent))                                                      \
  ENTRY(cuEventElapsedTime, cuEventElapsedTime, (float *, CUevent, CUevent))                                    \
  ENTRY(cuModuleLoadDataEx, cuModuleLoadDataEx, (CUmodule *, const void *, unsigned, int *, void **))           \
  ENTRY(cuModuleUnload, cuModuleUnload, (CUmodule))                                                             \
  ENTRY(cuModuleGetFunction, cuModuleGetFunction, (CUfunction *, CUmodule, const char *))                       \
  ENTRY(cuLaunchKernel, cuLaunchKernel,                                                                         \
        (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **))

class Driver {
 public:
#define ENTRY(member, symbol, arguments) CUresult(*member) arguments = nullptr;
  MLIR_SPARSE_CUDA_DRIVER(ENTRY)
#undef ENTRY

  explicit Driver(const std::vector<std::string> &candidates);

  const std::string &path() const { return library_.path(); }
  int count() const { return count_; }
  int version() const { return version_; }
  // The primary context of a device, which other libraries in this process share.
  CUcontext context(int device);
  CUmemoryPool pool(int device);  // null where the device has none
  int attribute(int device, int what) const;

  // Throws unless the call succeeded; `name` is the entry point, `about` a detail for the message.
  void check(CUresult code, const char *name, const std::string &about = "") const {
    if (code != kSuccess) fail(code, name, about);
  }
  std::string describe(CUresult code, const char *name, const std::string &about = "") const;

 private:
  struct Device {
    CUdevice handle = 0;
    CUcontext context = nullptr;
    CUmemoryPool pool = nullptr;
    bool opened = false;
  };

  [[noreturn]] void fail(CUresult code, const char *name, const std::string &about) const;
  Device &opened(int device);

  Library library_;
  int count_ = 0;
  int version_ = 0;
  std::vector<Device> devices_;
};

// The loaded driver. Throws if there is none.
Driver &driver();
void load_driver(const std::vector<std::string> &candidates);
bool has_driver();
void forget_driver();

// Makes the context of a device current during its lifetime, then restores the thread's context.
class Current {
 public:
  explicit Current(int device);
  ~Current();
  Current(const Current &) = delete;
  Current &operator=(const Current &) = delete;

 private:
  bool pushed_ = false;
};

}  // namespace mlir_sparse::cuda
