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
template <typename Result = void, typename Call>
Result guarded(Call &&call) noexcept {
  if (recorded.failed) return Result();
  try {
    Current current(default_device);
    return call(driver());
  } catch (const Failure &failure) {
    recorded = {true, failure.kind, failure.what()};
  } catch (const std::exception &failure) {
    recorded = {true, Kind::device, failure.what()};
  }
  return Result();
}

CUdeviceptr pointer_of(const void *address) { return static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(address)); }

// Compiled code allocates even zero bytes.
std::intptr_t to_allocate(std::size_t bytes) { return static_cast<std::intptr_t>(bytes == 0 ? 1 : bytes); }

// Runs a call of cuSPARSE with a handle for the stream.
template <typename Result = void, typename Call>
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
    CHECKED(cuda, cuStreamCreate, &stream, 1);
    return stream;
  });
}

MGPU_EXPORT void mgpuStreamDestroy(CUstream stream) {
  guarded([&](Driver &cuda) { CHECKED(cuda, cuStreamDestroy, stream); });
}

MGPU_EXPORT void mgpuStreamSynchronize(CUstream stream) {
  guarded([&](Driver &cuda) { CHECKED(cuda, cuStreamSynchronize, stream); });
}

MGPU_EXPORT void mgpuStreamWaitEvent(CUstream stream, CUevent event) {
  guarded([&](Driver &cuda) { CHECKED(cuda, cuStreamWaitEvent, stream, event, 0); });
}

MGPU_EXPORT CUevent mgpuEventCreate() {
  return guarded<CUevent>([](Driver &cuda) {
    CUevent event = nullptr;
    CHECKED(cuda, cuEventCreate, &event, 2);  // without times
    return event;
  });
}

MGPU_EXPORT void mgpuEventDestroy(CUevent event) {
  guarded([&](Driver &cuda) { CHECKED(cuda, cuEventDestroy, event); });
}

MGPU_EXPORT void mgpuEventSynchronize(CUevent event) {
  guarded([&](Driver &cuda) { CHECKED(cuda, cuEventSynchronize, event); });
}

MGPU_EXPORT void mgpuEventRecord(CUevent event, CUstream stream) {
  guarded([&](Driver &cuda) { CHECKED(cuda, cuEventRecord, event, stream); });
}

// Memory. It is not stream-ordered: compiled code frees it without naming the stream of the last use.

MGPU_EXPORT void *mgpuMemAlloc(std::uint64_t bytes, CUstream, bool) {
  return guarded<void *>([&](Driver &cuda) -> void * {
    if (bytes == 0) return nullptr;
    CUdeviceptr pointer = 0;
    cuda.check(cuda.cuMemAlloc(&pointer, bytes), "cuMemAlloc", "of " + in_units(bytes));
    return address(pointer);
  });
}

MGPU_EXPORT void mgpuMemFree(void *pointer, CUstream) {
  guarded([&](Driver &cuda) { if (pointer != nullptr) CHECKED(cuda, cuMemFree, pointer_of(pointer)); });
}

MGPU_EXPORT void mgpuMemcpy(void *target, void *source, std::size_t bytes, CUstream stream) {
  guarded([&](Driver &cuda) {
    if (bytes != 0)
      cuda.check(cuda.cuMemcpyAsync(pointer_of(target), pointer_of(source), bytes, stream), "cuMemcpyAsync",
                 "of " + in_units(bytes));
  });
}

MGPU_EXPORT void mgpuMemset32(void *target, unsigned value, std::size_t count, CUstream stream) {
  guarded([&](Driver &cuda) { CHECKED(cuda, cuMemsetD32Async, pointer_of(target), value, count, stream); });
}

MGPU_EXPORT void mgpuMemset16(void *target, unsigned short value, std::size_t count, CUstream stream) {
  guarded([&](Driver &cuda) { CHECKED(cuda, cuMemsetD16Async, pointer_of(target), value, count, stream); });
}

// Modules.

MGPU_EXPORT CUmodule mgpuModuleLoad(void *data, std::size_t) {
  return guarded<CUmodule>([&](Driver &cuda) {
    CUmodule module = nullptr;
    CHECKED(cuda, cuModuleLoadDataEx, &module, data, 0, nullptr, nullptr);
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
  guarded([&](Driver &cuda) { CHECKED(cuda, cuModuleUnload, module); });
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
    if (grid_x == 0 || grid_y == 0 || grid_z == 0) return;
    const auto u = [](std::intptr_t value) { return static_cast<unsigned>(value); };
    CHECKED(cuda, cuLaunchKernel, function, u(grid_x), u(grid_y), u(grid_z), u(block_x), u(block_y), u(block_z),
            u(shared), stream, parameters, extra);
  });
}

// cuSPARSE: descriptors.

MGPU_EXPORT void mgpuCreateSparseEnv() {
  guarded([](Driver &) { sparse(); });
}

MGPU_EXPORT void mgpuDestroySparseEnv() {}  // handles are kept for later calls

MGPU_EXPORT void *mgpuCreateDnVec(std::intptr_t size, void *values, std::int32_t type, CUstream stream) {
  return leased<void *>(stream, [&](Sparse &lib, cusparseHandle) {
    cusparseDnVec made = nullptr;
    CHECKED(lib, cusparseCreateDnVec, &made, size, values, type);
    return made;
  });
}

MGPU_EXPORT void mgpuDestroyDnVec(void *vector, CUstream stream) {
  leased(stream, [&](Sparse &lib, cusparseHandle) {
    CHECKED(lib, cusparseDestroyDnVec, static_cast<cusparseDnVec>(vector));
  });
}

MGPU_EXPORT void *mgpuCreateDnMat(std::intptr_t rows, std::intptr_t columns, void *values, std::int32_t type,
                                  CUstream stream) {
  return leased<void *>(stream, [&](Sparse &lib, cusparseHandle) {
    cusparseDnMat made = nullptr;
    CHECKED(lib, cusparseCreateDnMat, &made, rows, columns, columns, values, type, kRowOrder);
    return made;
  });
}

MGPU_EXPORT void mgpuDestroyDnMat(void *matrix, CUstream stream) {
  leased(stream, [&](Sparse &lib, cusparseHandle) {
    CHECKED(lib, cusparseDestroyDnMat, static_cast<cusparseDnMat>(matrix));
  });
}

MGPU_EXPORT void *mgpuCreateCoo(std::intptr_t rows, std::intptr_t columns, std::intptr_t entries, void *row,
                                void *column, void *values, std::int32_t index, std::int32_t type, CUstream stream) {
  return leased<void *>(stream, [&](Sparse &lib, cusparseHandle) {
    cusparseSpMat made = nullptr;
    CHECKED(lib, cusparseCreateCoo, &made, rows, columns, entries, row, column, values, index, kZeroBased, type);
    return made;
  });
}

MGPU_EXPORT void *mgpuCreateCsr(std::intptr_t rows, std::intptr_t columns, std::intptr_t entries, void *positions,
                                void *coordinates, void *values, std::int32_t position, std::int32_t coordinate,
                                std::int32_t type, CUstream stream) {
  return leased<void *>(stream, [&](Sparse &lib, cusparseHandle) {
    cusparseSpMat made = nullptr;
    CHECKED(lib, cusparseCreateCsr, &made, rows, columns, entries, positions, coordinates, values, position, coordinate,
            kZeroBased, type);
    return made;
  });
}

MGPU_EXPORT void *mgpuCreateCsc(std::intptr_t rows, std::intptr_t columns, std::intptr_t entries, void *positions,
                                void *coordinates, void *values, std::int32_t position, std::int32_t coordinate,
                                std::int32_t type, CUstream stream) {
  return leased<void *>(stream, [&](Sparse &lib, cusparseHandle) {
    cusparseSpMat made = nullptr;
    CHECKED(lib, cusparseCreateCsc, &made, rows, columns, entries, positions, coordinates, values, position, coordinate,
            kZeroBased, type);
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
    CHECKED(lib, cusparseCreateBsr, &made, block_rows, block_columns, blocks, height, width, positions, coordinates,
            values, position, coordinate, kZeroBased, type, kRowOrder);
    return made;
  });
}

MGPU_EXPORT void mgpuDestroySpMat(void *matrix, CUstream stream) {
  leased(stream, [&](Sparse &lib, cusparseHandle) {
    CHECKED(lib, cusparseDestroySpMat, static_cast<cusparseSpMat>(matrix));
  });
}

MGPU_EXPORT void mgpuSpMatGetSize(void *matrix, void *rows, void *columns, void *entries, CUstream stream) {
  leased(stream, [&](Sparse &lib, cusparseHandle) {
    CHECKED(lib, cusparseSpMatGetSize, static_cast<cusparseSpMat>(matrix), static_cast<std::int64_t *>(rows),
            static_cast<std::int64_t *>(columns), static_cast<std::int64_t *>(entries));
  });
}

MGPU_EXPORT void mgpuSetCsrPointers(void *matrix, void *positions, void *coordinates, void *values, CUstream stream) {
  leased(stream, [&](Sparse &lib, cusparseHandle) {
    CHECKED(lib, cusparseCsrSetPointers, static_cast<cusparseSpMat>(matrix), positions, coordinates, values);
  });
}

// cuSPARSE: products, which accumulate into the output.

MGPU_EXPORT std::intptr_t mgpuSpMVBufferSize(std::int32_t mode, void *a, void *x, void *y, std::int32_t type,
                                             CUstream stream) {
  return leased<std::intptr_t>(stream, [&](Sparse &lib, cusparseHandle handle) {
    std::size_t bytes = 0;
    CHECKED(lib, cusparseSpMV_bufferSize, handle, mode, factor(type, true), static_cast<cusparseSpMat>(a),
            static_cast<cusparseDnVec>(x), factor(type, true), static_cast<cusparseDnVec>(y), type, 0, &bytes);
    return to_allocate(bytes);
  });
}

MGPU_EXPORT void mgpuSpMV(std::int32_t mode, void *a, void *x, void *y, std::int32_t type, void *buffer,
                          CUstream stream) {
  leased(stream, [&](Sparse &lib, cusparseHandle handle) {
    CHECKED(lib, cusparseSpMV, handle, mode, factor(type, true), static_cast<cusparseSpMat>(a),
            static_cast<cusparseDnVec>(x), factor(type, true), static_cast<cusparseDnVec>(y), type, 0, buffer);
  });
}

MGPU_EXPORT std::intptr_t mgpuSpMMBufferSize(std::int32_t mode_a, std::int32_t mode_b, void *a, void *b, void *c,
                                             std::int32_t type, CUstream stream) {
  return leased<std::intptr_t>(stream, [&](Sparse &lib, cusparseHandle handle) {
    std::size_t bytes = 0;
    CHECKED(lib, cusparseSpMM_bufferSize, handle, mode_a, mode_b, factor(type, true), static_cast<cusparseSpMat>(a),
            static_cast<cusparseDnMat>(b), factor(type, true), static_cast<cusparseDnMat>(c), type, 0, &bytes);
    return to_allocate(bytes);
  });
}

MGPU_EXPORT void mgpuSpMM(std::int32_t mode_a, std::int32_t mode_b, void *a, void *b, void *c, std::int32_t type,
                          void *buffer, CUstream stream) {
  leased(stream, [&](Sparse &lib, cusparseHandle handle) {
    CHECKED(lib, cusparseSpMM, handle, mode_a, mode_b, factor(type, true), static_cast<cusparseSpMat>(a),
            static_cast<cusparseDnMat>(b), factor(type, true), static_cast<cusparseDnMat>(c), type, 0, buffer);
  });
}

MGPU_EXPORT std::intptr_t mgpuSDDMMBufferSize(std::int32_t mode_a, std::int32_t mode_b, void *a, void *b, void *c,
                                              std::int32_t type, CUstream stream) {
  return leased<std::intptr_t>(stream, [&](Sparse &lib, cusparseHandle handle) {
    std::size_t bytes = 0;
    CHECKED(lib, cusparseSDDMM_bufferSize, handle, mode_a, mode_b, factor(type, true), static_cast<cusparseDnMat>(a),
            static_cast<cusparseDnMat>(b), factor(type, true), static_cast<cusparseSpMat>(c), type, 0, &bytes);
    return to_allocate(bytes);
  });
}

MGPU_EXPORT void mgpuSDDMM(std::int32_t mode_a, std::int32_t mode_b, void *a, void *b, void *c, std::int32_t type,
                           void *buffer, CUstream stream) {
  leased(stream, [&](Sparse &lib, cusparseHandle handle) {
    CHECKED(lib, cusparseSDDMM, handle, mode_a, mode_b, factor(type, true), static_cast<cusparseDnMat>(a),
            static_cast<cusparseDnMat>(b), factor(type, true), static_cast<cusparseSpMat>(c), type, 0, buffer);
  });
}

MGPU_EXPORT void *mgpuSpGEMMCreateDescr(CUstream stream) {
  return leased<void *>(stream, [](Sparse &lib, cusparseHandle) {
    cusparseSpGEMM made = nullptr;
    CHECKED(lib, cusparseSpGEMM_createDescr, &made);
    return made;
  });
}

MGPU_EXPORT void mgpuSpGEMMDestroyDescr(void *work, CUstream stream) {
  leased(stream, [&](Sparse &lib, cusparseHandle) {
    CHECKED(lib, cusparseSpGEMM_destroyDescr, static_cast<cusparseSpGEMM>(work));
  });
}

// The output of this product has no values before, so nothing is added.

MGPU_EXPORT std::intptr_t mgpuSpGEMMWorkEstimation(void *work, std::int32_t mode_a, std::int32_t mode_b, void *a,
                                                   void *b, void *c, std::int32_t type, std::intptr_t size,
                                                   void *buffer, CUstream stream) {
  return leased<std::intptr_t>(stream, [&](Sparse &lib, cusparseHandle handle) {
    std::size_t bytes = static_cast<std::size_t>(size);
    CHECKED(lib, cusparseSpGEMM_workEstimation, handle, mode_a, mode_b, factor(type, true),
            static_cast<cusparseSpMat>(a), static_cast<cusparseSpMat>(b), factor(type, false),
            static_cast<cusparseSpMat>(c), type, 0, static_cast<cusparseSpGEMM>(work), &bytes, buffer);
    return to_allocate(bytes);
  });
}

MGPU_EXPORT std::intptr_t mgpuSpGEMMCompute(void *work, std::int32_t mode_a, std::int32_t mode_b, void *a, void *b,
                                            void *c, std::int32_t type, std::intptr_t size, void *buffer,
                                            CUstream stream) {
  return leased<std::intptr_t>(stream, [&](Sparse &lib, cusparseHandle handle) {
    std::size_t bytes = static_cast<std::size_t>(size);
    CHECKED(lib, cusparseSpGEMM_compute, handle, mode_a, mode_b, factor(type, true), static_cast<cusparseSpMat>(a),
            static_cast<cusparseSpMat>(b), factor(type, false), static_cast<cusparseSpMat>(c), type, 0,
            static_cast<cusparseSpGEMM>(work), &bytes, buffer);
    return to_allocate(bytes);
  });
}

MGPU_EXPORT void mgpuSpGEMMCopy(void *work, std::int32_t mode_a, std::int32_t mode_b, void *a, void *b, void *c,
                                std::int32_t type, CUstream stream) {
  leased(stream, [&](Sparse &lib, cusparseHandle handle) {
    CHECKED(lib, cusparseSpGEMM_copy, handle, mode_a, mode_b, factor(type, true), static_cast<cusparseSpMat>(a),
            static_cast<cusparseSpMat>(b), factor(type, false), static_cast<cusparseSpMat>(c), type, 0,
            static_cast<cusparseSpGEMM>(work));
  });
}
