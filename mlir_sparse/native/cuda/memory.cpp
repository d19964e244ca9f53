#include "memory.hpp"

#include <atomic>
#include <cstdio>

namespace mlir_sparse::cuda {
namespace {

std::atomic<long long> live{0};

CUresult take(Driver &cuda, CUmemoryPool pool, CUdeviceptr *pointer, std::size_t bytes, CUstream stream) {
  return pool != nullptr ? cuda.cuMemAllocFromPoolAsync(pointer, bytes, pool, stream) : cuda.cuMemAlloc(pointer, bytes);
}

}  // namespace

std::string in_units(std::size_t bytes) {
  const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; amount >= 1024 && unit < 6; ++unit) amount /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.3g %s", amount, units[unit]);
  return text;
}

Memory::Memory(int device, std::size_t bytes, CUstream stream) : device_(device), bytes_(bytes), stream_(stream) {
  raise_noted();
  Current current(device);
  if (bytes == 0) return;
  Driver &cuda = driver();
  CUmemoryPool pool = cuda.pool(device);
  const char *name = pool != nullptr ? "cuMemAllocFromPoolAsync" : "cuMemAlloc";
  CUresult code = take(cuda, pool, &pointer_, bytes, stream);
  if (code == kOutOfMemory && pool != nullptr) {
    // Memory freed on streams stays in the pool until a synchronisation and a trim.
    cuda.check(cuda.cuCtxSynchronize(), "cuCtxSynchronize");
    CHECKED(cuda, cuMemPoolTrimTo, pool, 0);
    code = take(cuda, pool, &pointer_, bytes, stream);
  }
  if (code == kOutOfMemory) {
    std::size_t free = 0, total = 0;
    CHECKED(cuda, cuMemGetInfo, &free, &total);
    throw Failure(Kind::memory, "expected " + in_units(bytes) + " to fit in the memory of cuda:" +
                                    std::to_string(device) + ", but got " + in_units(free) + " free of " +
                                    in_units(total) + " (" + cuda.describe(code, name) + ")");
  }
  cuda.check(code, name, "of " + in_units(bytes));
  pooled_ = pool != nullptr;
  live.fetch_add(1, std::memory_order_relaxed);
}

Memory::~Memory() {
  if (pointer_ == 0) return;
  live.fetch_sub(1, std::memory_order_relaxed);
  try {
    Driver &cuda = driver();
    Current current(device_);
    const char *name = "cuCtxSynchronize";
    CUresult code = shared_ ? cuda.cuCtxSynchronize() : kSuccess;
    if (code == kSuccess) {
      name = pooled_ ? "cuMemFreeAsync" : "cuMemFree";
      code = pooled_ ? cuda.cuMemFreeAsync(pointer_, stream_) : cuda.cuMemFree(pointer_);
    }
    // At the end of the process the driver is gone before Python, and its memory with it.
    if (code != kSuccess && code != kDeinitialized) note(cuda.describe(code, name));
  } catch (const Failure &failure) {
    note(failure.what());
  }
}

long long live_allocations() { return live.load(); }

}  // namespace mlir_sparse::cuda
