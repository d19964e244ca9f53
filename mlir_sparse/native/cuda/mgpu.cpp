// The `mgpu*` functions that MLIR's GPU lowerings call, `gpu-to-llvm` and `sparse-gpu-codegen` with libgen alike.
//
// Compiled code calls them, which no exception may cross. So the first failure of a thread is recorded, its later calls
// do nothing, and the caller of the code raises the failure afterwards (`raise_recorded`). Numbers and orders of the
// parameters are those of the dialect's lowering (mlir/lib/Conversion/GPUCommon).

#include "mgpu.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "driver.hpp"
#include "sparse.hpp"

#define MGPU_EXPORT extern "C" __attribute__((visibility("default")))

namespace mlir_sparse::cuda {
namespace {

struct Recorded {
  bool failed = false;
  Kind kind = Kind::device;
  std::string message;
};
thread_local Recorded recorded;
thread_local int default_device = 0;

// Runs a call unless an earlier one failed; returns its result, or zero.
template <typename Result = int, typename Call>
Result guarded(Call &&call) noexcept {
  if (recorded.failed) return Result{};
  try {
    Current current(default_device);
    return call(driver());
  } catch (const Failure &failure) {
    recorded = {true, failure.kind, failure.what()};
  } catch (const std::exception &failure) {
    recorded = {true, Kind::device, failure.what()};
  }
  return Result{};
}

CUdeviceptr pointer_of(const void *address) { return static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(address)); }
void *address_of(CUdeviceptr pointer) { return reinterpret_cast<void *>(static_cast<std::uintptr_t>(pointer)); }

// Runs a call of cuSPARSE with a handle for the stream.
template <typename Result = int, typename Call>
Result leased(CUstream stream, Call &&call) noexcept {
  return guarded<Result>([&](Driver &) {
    Sparse &library = sparse();
    const Lease lease(library, default_device, stream);
    return call(library, lease.get());
  });
}

}  // namespace

void raise_recorded() {
  if (!recorded.failed) return;
  const Recorded failure = recorded;
  recorded = {};
  throw Failure(failure.kind, failure.message);
}

}  // namespace mlir_sparse::cuda

using namespace mlir_sparse::cuda;

MGPU_EXPORT void mgpuSetDefaultDevice(std::int32_t device) { default_device = device; }

// Streams and events.

MGPU_EXPORT CUstream mgpuStreamCreate() {
  return guarded<CUstream>([](Driver &cuda) {
    CUstream stream = nullptr;
    cuda.check(cuda.cuStreamCreate(&stream, 1), "cuStreamCreate");
    return stream;
  });
}

MGPU_EXPORT void mgpuStreamDestroy(CUstream stream) {
  guarded([&](Driver &cuda) {
    cuda.check(cuda.cuStreamDestroy(stream), "cuStreamDestroy");
    return 0;
  });
}

MGPU_EXPORT void mgpuStreamSynchronize(CUstream stream) {
  guarded([&](Driver &cuda) {
    cuda.check(cuda.cuStreamSynchronize(stream), "cuStreamSynchronize");
    return 0;
  });
}

MGPU_EXPORT void mgpuStreamWaitEvent(CUstream stream, CUevent event) {
  guarded([&](Driver &cuda) {
    cuda.check(cuda.cuStreamWaitEvent(stream, event, 0), "cuStreamWaitEvent");
    return 0;
  });
}

MGPU_EXPORT CUevent mgpuEventCreate() {
  return guarded<CUevent>([](Driver &cuda) {
    CUevent event = nullptr;
    cuda.check(cuda.cuEventCreate(&event, 2), "cuEventCreate");  // without times
    return event;
  });
}

MGPU_EXPORT void mgpuEventDestroy(CUevent event) {
  guarded([&](Driver &cuda) {
    cuda.check(cuda.cuEventDestroy(event), "cuEventDestroy");
    return 0;
  });
}

MGPU_EXPORT void mgpuEventSynchronize(CUevent event) {
  guarded([&](Driver &cuda) {
    cuda.check(cuda.cuEventSynchronize(event), "cuEventSynchronize");
    return 0;
  });
}

MGPU_EXPORT void mgpuEventRecord(CUevent event, CUstream stream) {
  guarded([&](Driver &cuda) {
    cuda.check(cuda.cuEventRecord(event, stream), "cuEventRecord");
    return 0;
  });
}

// Memory. It is not stream-ordered: compiled code frees it without naming the stream of the last use.

MGPU_EXPORT void *mgpuMemAlloc(std::uint64_t bytes, CUstream, bool) {
  return guarded<void *>([&](Driver &cuda) -> void * {
    if (bytes == 0) return nullptr;
    CUdeviceptr pointer = 0;
    cuda.check(cuda.cuMemAlloc(&pointer, bytes), "cuMemAlloc", "of " + in_units(bytes));
    return address_of(pointer);
  });
}

MGPU_EXPORT void mgpuMemFree(void *pointer, CUstream) {
  guarded([&](Driver &cuda) {
    if (pointer != nullptr) cuda.check(cuda.cuMemFree(pointer_of(pointer)), "cuMemFree");
    return 0;
  });
}

MGPU_EXPORT void mgpuMemcpy(void *target, void *source, std::size_t bytes, CUstream stream) {
  guarded([&](Driver &cuda) {
    if (bytes != 0)
      cuda.check(cuda.cuMemcpyAsync(pointer_of(target), pointer_of(source), bytes, stream), "cuMemcpyAsync",
                 "of " + in_units(bytes));
    return 0;
  });
}

MGPU_EXPORT void mgpuMemset32(void *target, unsigned value, std::size_t count, CUstream stream) {
  guarded([&](Driver &cuda) {
    cuda.check(cuda.cuMemsetD32Async(pointer_of(target), value, count, stream), "cuMemsetD32Async");
    return 0;
  });
}

MGPU_EXPORT void mgpuMemset16(void *target, unsigned short value, std::size_t count, CUstream stream) {
  guarded([&](Driver &cuda) {
    cuda.check(cuda.cuMemsetD16Async(pointer_of(target), value, count, stream), "cuMemsetD16Async");
    return 0;
  });
}

// Modules.

MGPU_EXPORT CUmodule mgpuModuleLoad(void *data, std::size_t) {
  return guarded<CUmodule>([&](Driver &cuda) {
    CUmodule module = nullptr;
    cuda.check(cuda.cuModuleLoadDataEx(&module, data, 0, nullptr, nullptr), "cuModuleLoadDataEx");
    return module;
  });
}

MGPU_EXPORT CUmodule mgpuModuleLoadJIT(void *data, int level, std::size_t) {
  return guarded<CUmodule>([&](Driver &cuda) {
    CUmodule module = nullptr;
    std::array<char, 4096> log{};
    int options[] = {5, 6, 7};  // the error log, its bytes, the optimisation level
    void *values[] = {log.data(), reinterpret_cast<void *>(log.size() - 1),
                      reinterpret_cast<void *>(static_cast<std::uintptr_t>(level))};
    const CUresult code = cuda.cuModuleLoadDataEx(&module, data, 3, options, values);
    if (code != kSuccess)
      throw Failure(Kind::device, cuda.describe(code, "cuModuleLoadDataEx") + "\n" + std::string(log.data()));
    return module;
  });
}

MGPU_EXPORT void mgpuModuleUnload(CUmodule module) {
  guarded([&](Driver &cuda) {
    cuda.check(cuda.cuModuleUnload(module), "cuModuleUnload");
    return 0;
  });
}

MGPU_EXPORT CUfunction mgpuModuleGetFunction(CUmodule module, const char *name) {
  return guarded<CUfunction>([&](Driver &cuda) {
    CUfunction function = nullptr;
    cuda.check(cuda.cuModuleGetFunction(&function, module, name), "cuModuleGetFunction", std::string("of ") + name);
    return function;
  });
}

MGPU_EXPORT void mgpuLaunchKernel(CUfunction function, std::intptr_t grid_x, std::intptr_t grid_y,
                                  std::intptr_t grid_z, std::intptr_t block_x, std::intptr_t block_y,
                                  std::intptr_t block_z, std::int32_t shared, CUstream stream, void **parameters,
                                  void **extra, std::size_t) {
  guarded([&](Driver &cuda) {
    if (grid_x == 0 || grid_y == 0 || grid_z == 0) return 0;
    const auto u = [](std::intptr_t value) { return static_cast<unsigned>(value); };
    cuda.check(cuda.cuLaunchKernel(function, u(grid_x), u(grid_y), u(grid_z), u(block_x), u(block_y), u(block_z),
                                   u(shared), stream, parameters, extra),
               "cuLaunchKernel");
    return 0;
  });
}

// cuSPARSE: descriptors.

MGPU_EXPORT void mgpuCreateSparseEnv() {
  guarded([](Driver &) {
    sparse();
    return 0;
  });
}

MGPU_EXPORT void mgpuDestroySparseEnv() {}  // handles are kept for later calls

MGPU_EXPORT void *mgpuCreateDnVec(std::intptr_t size, void *values, std::int32_t type, CUstream stream) {
  return leased<void *>(stream, [&](Sparse &lib, cusparseHandle) {
    cusparseDnVec made = nullptr;
    lib.check(lib.cusparseCreateDnVec(&made, size, values, type), "cusparseCreateDnVec");
    return made;
  });
}

MGPU_EXPORT void mgpuDestroyDnVec(void *vector, CUstream stream) {
  leased(stream, [&](Sparse &lib, cusparseHandle) {
    lib.check(lib.cusparseDestroyDnVec(static_cast<cusparseDnVec>(vector)), "cusparseDestroyDnVec");
    return 0;
  });
}

MGPU_EXPORT void *mgpuCreateDnMat(std::intptr_t rows, std::intptr_t columns, void *values, std::int32_t type,
                                  CUstream stream) {
  return leased<void *>(stream, [&](Sparse &lib, cusparseHandle) {
    cusparseDnMat made = nullptr;
    lib.check(lib.cusparseCreateDnMat(&made, rows, columns, columns, values, type, kRowOrder), "cusparseCreateDnMat");
    return made;
  });
}

MGPU_EXPORT void mgpuDestroyDnMat(void *matrix, CUstream stream) {
  leased(stream, [&](Sparse &lib, cusparseHandle) {
    lib.check(lib.cusparseDestroyDnMat(static_cast<cusparseDnMat>(matrix)), "cusparseDestroyDnMat");
    return 0;
  });
}

MGPU_EXPORT void *mgpuCreateCoo(std::intptr_t rows, std::intptr_t columns, std::intptr_t entries, void *row,
                                void *column, void *values, std::int32_t index, std::int32_t type, CUstream stream) {
  return leased<void *>(stream, [&](Sparse &lib, cusparseHandle) {
    cusparseSpMat made = nullptr;
    lib.check(lib.cusparseCreateCoo(&made, rows, columns, entries, row, column, values, index, kZeroBased, type),
              "cusparseCreateCoo");
    return made;
  });
}

MGPU_EXPORT void *mgpuCreateCsr(std::intptr_t rows, std::intptr_t columns, std::intptr_t entries, void *positions,
                                void *coordinates, void *values, std::int32_t position, std::int32_t coordinate,
                                std::int32_t type, CUstream stream) {
  return leased<void *>(stream, [&](Sparse &lib, cusparseHandle) {
    cusparseSpMat made = nullptr;
    lib.check(lib.cusparseCreateCsr(&made, rows, columns, entries, positions, coordinates, values, position, coordinate,
                                    kZeroBased, type),
              "cusparseCreateCsr");
    return made;
  });
}

MGPU_EXPORT void *mgpuCreateCsc(std::intptr_t rows, std::intptr_t columns, std::intptr_t entries, void *positions,
                                void *coordinates, void *values, std::int32_t position, std::int32_t coordinate,
                                std::int32_t type, CUstream stream) {
  return leased<void *>(stream, [&](Sparse &lib, cusparseHandle) {
    cusparseSpMat made = nullptr;
    lib.check(lib.cusparseCreateCsc(&made, rows, columns, entries, positions, coordinates, values, position, coordinate,
                                    kZeroBased, type),
              "cusparseCreateCsc");
    return made;
  });
}

MGPU_EXPORT void *mgpuCreateBsr(std::intptr_t block_rows, std::intptr_t block_columns, std::intptr_t blocks,
                                std::intptr_t height, std::intptr_t width, void *positions, void *coordinates,
                                void *values, std::int32_t position, std::int32_t coordinate, std::int32_t type,
                                CUstream stream) {
  return leased<void *>(stream, [&](Sparse &lib, cusparseHandle) {
    if (lib.cusparseCreateBsr == nullptr)
      throw Failure(Kind::unsupported, "expected a cuSPARSE with blocks (12.1 or newer), but got " + lib.path());
    cusparseSpMat made = nullptr;
    lib.check(lib.cusparseCreateBsr(&made, block_rows, block_columns, blocks, height, width, positions, coordinates,
                                    values, position, coordinate, kZeroBased, type, kRowOrder),
              "cusparseCreateBsr");
    return made;
  });
}

MGPU_EXPORT void mgpuDestroySpMat(void *matrix, CUstream stream) {
  leased(stream, [&](Sparse &lib, cusparseHandle) {
    lib.check(lib.cusparseDestroySpMat(static_cast<cusparseSpMat>(matrix)), "cusparseDestroySpMat");
    return 0;
  });
}

MGPU_EXPORT void mgpuSpMatGetSize(void *matrix, void *rows, void *columns, void *entries, CUstream stream) {
  leased(stream, [&](Sparse &lib, cusparseHandle) {
    lib.check(lib.cusparseSpMatGetSize(static_cast<cusparseSpMat>(matrix), static_cast<std::int64_t *>(rows),
                                       static_cast<std::int64_t *>(columns), static_cast<std::int64_t *>(entries)),
              "cusparseSpMatGetSize");
    return 0;
  });
}

MGPU_EXPORT void mgpuSetCsrPointers(void *matrix, void *positions, void *coordinates, void *values, CUstream stream) {
  leased(stream, [&](Sparse &lib, cusparseHandle) {
    lib.check(lib.cusparseCsrSetPointers(static_cast<cusparseSpMat>(matrix), positions, coordinates, values),
              "cusparseCsrSetPointers");
    return 0;
  });
}

// cuSPARSE: products, which accumulate into the output.

MGPU_EXPORT std::intptr_t mgpuSpMVBufferSize(std::int32_t mode, void *a, void *x, void *y, std::int32_t type,
                                             CUstream stream) {
  return leased<std::intptr_t>(stream, [&](Sparse &lib, cusparseHandle handle) {
    std::size_t bytes = 0;
    lib.check(lib.cusparseSpMV_bufferSize(handle, mode, factor(type, true), static_cast<cusparseSpMat>(a),
                                          static_cast<cusparseDnVec>(x), factor(type, true),
                                          static_cast<cusparseDnVec>(y), type, 0, &bytes),
              "cusparseSpMV_bufferSize");
    // Compiled code allocates even zero bytes.
    return static_cast<std::intptr_t>(bytes == 0 ? 1 : bytes);
  });
}

MGPU_EXPORT void mgpuSpMV(std::int32_t mode, void *a, void *x, void *y, std::int32_t type, void *buffer,
                          CUstream stream) {
  leased(stream, [&](Sparse &lib, cusparseHandle handle) {
    lib.check(lib.cusparseSpMV(handle, mode, factor(type, true), static_cast<cusparseSpMat>(a),
                               static_cast<cusparseDnVec>(x), factor(type, true), static_cast<cusparseDnVec>(y), type, 0,
                               buffer),
              "cusparseSpMV");
    return 0;
  });
}

MGPU_EXPORT std::intptr_t mgpuSpMMBufferSize(std::int32_t mode_a, std::int32_t mode_b, void *a, void *b, void *c,
                                             std::int32_t type, CUstream stream) {
  return leased<std::intptr_t>(stream, [&](Sparse &lib, cusparseHandle handle) {
    std::size_t bytes = 0;
    lib.check(lib.cusparseSpMM_bufferSize(handle, mode_a, mode_b, factor(type, true), static_cast<cusparseSpMat>(a),
                                          static_cast<cusparseDnMat>(b), factor(type, true),
                                          static_cast<cusparseDnMat>(c), type, 0, &bytes),
              "cusparseSpMM_bufferSize");
    return static_cast<std::intptr_t>(bytes == 0 ? 1 : bytes);
  });
}

MGPU_EXPORT void mgpuSpMM(std::int32_t mode_a, std::int32_t mode_b, void *a, void *b, void *c, std::int32_t type,
                          void *buffer, CUstream stream) {
  leased(stream, [&](Sparse &lib, cusparseHandle handle) {
    lib.check(lib.cusparseSpMM(handle, mode_a, mode_b, factor(type, true), static_cast<cusparseSpMat>(a),
                               static_cast<cusparseDnMat>(b), factor(type, true), static_cast<cusparseDnMat>(c), type, 0,
                               buffer),
              "cusparseSpMM");
    return 0;
  });
}

MGPU_EXPORT std::intptr_t mgpuSDDMMBufferSize(std::int32_t mode_a, std::int32_t mode_b, void *a, void *b, void *c,
                                              std::int32_t type, CUstream stream) {
  return leased<std::intptr_t>(stream, [&](Sparse &lib, cusparseHandle handle) {
    std::size_t bytes = 0;
    lib.check(lib.cusparseSDDMM_bufferSize(handle, mode_a, mode_b, factor(type, true), static_cast<cusparseDnMat>(a),
                                           static_cast<cusparseDnMat>(b), factor(type, true),
                                           static_cast<cusparseSpMat>(c), type, 0, &bytes),
              "cusparseSDDMM_bufferSize");
    return static_cast<std::intptr_t>(bytes == 0 ? 1 : bytes);
  });
}

MGPU_EXPORT void mgpuSDDMM(std::int32_t mode_a, std::int32_t mode_b, void *a, void *b, void *c, std::int32_t type,
                           void *buffer, CUstream stream) {
  leased(stream, [&](Sparse &lib, cusparseHandle handle) {
    lib.check(lib.cusparseSDDMM(handle, mode_a, mode_b, factor(type, true), static_cast<cusparseDnMat>(a),
                                static_cast<cusparseDnMat>(b), factor(type, true), static_cast<cusparseSpMat>(c), type,
                                0, buffer),
              "cusparseSDDMM");
    return 0;
  });
}

MGPU_EXPORT void *mgpuSpGEMMCreateDescr(CUstream stream) {
  return leased<void *>(stream, [](Sparse &lib, cusparseHandle) {
    cusparseSpGEMM made = nullptr;
    lib.check(lib.cusparseSpGEMM_createDescr(&made), "cusparseSpGEMM_createDescr");
    return made;
  });
}

MGPU_EXPORT void mgpuSpGEMMDestroyDescr(void *work, CUstream stream) {
  leased(stream, [&](Sparse &lib, cusparseHandle) {
    lib.check(lib.cusparseSpGEMM_destroyDescr(static_cast<cusparseSpGEMM>(work)), "cusparseSpGEMM_destroyDescr");
    return 0;
  });
}

// The output of this product has no values before, so nothing is added.

MGPU_EXPORT std::intptr_t mgpuSpGEMMWorkEstimation(void *work, std::int32_t mode_a, std::int32_t mode_b, void *a,
                                                   void *b, void *c, std::int32_t type, std::intptr_t size,
                                                   void *buffer, CUstream stream) {
  return leased<std::intptr_t>(stream, [&](Sparse &lib, cusparseHandle handle) {
    std::size_t bytes = static_cast<std::size_t>(size);
    lib.check(lib.cusparseSpGEMM_workEstimation(handle, mode_a, mode_b, factor(type, true),
                                                static_cast<cusparseSpMat>(a), static_cast<cusparseSpMat>(b),
                                                factor(type, false), static_cast<cusparseSpMat>(c), type, 0,
                                                static_cast<cusparseSpGEMM>(work), &bytes, buffer),
              "cusparseSpGEMM_workEstimation");
    return static_cast<std::intptr_t>(bytes == 0 ? 1 : bytes);
  });
}

MGPU_EXPORT std::intptr_t mgpuSpGEMMCompute(void *work, std::int32_t mode_a, std::int32_t mode_b, void *a, void *b,
                                            void *c, std::int32_t type, std::intptr_t size, void *buffer,
                                            CUstream stream) {
  return leased<std::intptr_t>(stream, [&](Sparse &lib, cusparseHandle handle) {
    std::size_t bytes = static_cast<std::size_t>(size);
    lib.check(lib.cusparseSpGEMM_compute(handle, mode_a, mode_b, factor(type, true), static_cast<cusparseSpMat>(a),
                                         static_cast<cusparseSpMat>(b), factor(type, false),
                                         static_cast<cusparseSpMat>(c), type, 0, static_cast<cusparseSpGEMM>(work),
                                         &bytes, buffer),
              "cusparseSpGEMM_compute");
    return static_cast<std::intptr_t>(bytes == 0 ? 1 : bytes);
  });
}

MGPU_EXPORT void mgpuSpGEMMCopy(void *work, std::int32_t mode_a, std::int32_t mode_b, void *a, void *b, void *c,
                                std::int32_t type, CUstream stream) {
  leased(stream, [&](Sparse &lib, cusparseHandle handle) {
    lib.check(lib.cusparseSpGEMM_copy(handle, mode_a, mode_b, factor(type, true), static_cast<cusparseSpMat>(a),
                                      static_cast<cusparseSpMat>(b), factor(type, false),
                                      static_cast<cusparseSpMat>(c), type, 0, static_cast<cusparseSpGEMM>(work)),
              "cusparseSpGEMM_copy");
    return 0;
  });
}
