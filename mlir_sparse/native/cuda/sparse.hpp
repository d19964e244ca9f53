// cuSPARSE's generic interface: products of sparse matrices on a device.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "driver.hpp"
#include "memory.hpp"

namespace mlir_sparse::cuda {

using cusparseStatus = int;
using cusparseHandle = struct cusparseContext *;
using cusparseSpMat = struct cusparseSpMatDescr *;
using cusparseDnMat = struct cusparseDnMatDescr *;
using cusparseDnVec = struct cusparseDnVecDescr *;
using cusparseSpGEMM = struct cusparseSpGEMMDescr *;

constexpr cusparseStatus kSparseAllocFailed = 2;
constexpr cusparseStatus kSparseNotSupported = 10;
constexpr cusparseStatus kSparseNoResources = 11;
constexpr int kIndex32 = 2, kIndex64 = 3;
constexpr int kZeroBased = 0;
constexpr int kColumnOrder = 1, kRowOrder = 2;
constexpr int kReal32 = 0, kReal64 = 1, kReal16 = 2, kComplex32 = 4, kComplex64 = 5, kBrain16 = 14;

// One or zero in the type that products are computed in, read from host memory.
const void *factor(int type, bool one);

#define MLIR_SPARSE_CUSPARSE(ENTRY)                                                                                    \
  ENTRY(cusparseCreate, (cusparseHandle *))                                                                            \
  ENTRY(cusparseDestroy, (cusparseHandle))                                                                             \
  ENTRY(cusparseGetVersion, (cusparseHandle, int *))                                                                   \
  ENTRY(cusparseSetStream, (cusparseHandle, CUstream))                                                                 \
  ENTRY(cusparseCreateCsr,                                                                                             \
        (cusparseSpMat *, std::int64_t, std::int64_t, std::int64_t, void *, void *, void *, int, int, int, int))       \
  ENTRY(cusparseCreateCsc,                                                                                             \
        (cusparseSpMat *, std::int64_t, std::int64_t, std::int64_t, void *, void *, void *, int, int, int, int))       \
  ENTRY(cusparseCreateCoo,                                                                                             \
        (cusparseSpMat *, std::int64_t, std::int64_t, std::int64_t, void *, void *, void *, int, int, int))            \
  ENTRY(cusparseDestroySpMat, (cusparseSpMat))                                                                         \
  ENTRY(cusparseSpMatGetSize, (cusparseSpMat, std::int64_t *, std::int64_t *, std::int64_t *))                         \
  ENTRY(cusparseCsrSetPointers, (cusparseSpMat, void *, void *, void *))                                               \
  ENTRY(cusparseCreateDnVec, (cusparseDnVec *, std::int64_t, void *, int))                                             \
  ENTRY(cusparseDestroyDnVec, (cusparseDnVec))                                                                         \
  ENTRY(cusparseCreateDnMat, (cusparseDnMat *, std::int64_t, std::int64_t, std::int64_t, void *, int, int))            \
  ENTRY(cusparseDestroyDnMat, (cusparseDnMat))                                                                         \
  ENTRY(cusparseSpMV_bufferSize, (cusparseHandle, int, const void *, cusparseSpMat, cusparseDnVec, const void *,       \
                                  cusparseDnVec, int, int, std::size_t *))                                             \
  ENTRY(cusparseSpMV, (cusparseHandle, int, const void *, cusparseSpMat, cusparseDnVec, const void *, cusparseDnVec,   \
                       int, int, void *))                                                                              \
  ENTRY(cusparseSpMM_bufferSize, (cusparseHandle, int, int, const void *, cusparseSpMat, cusparseDnMat, const void *,  \
                                  cusparseDnMat, int, int, std::size_t *))                                             \
  ENTRY(cusparseSpMM, (cusparseHandle, int, int, const void *, cusparseSpMat, cusparseDnMat, const void *,             \
                       cusparseDnMat, int, int, void *))                                                               \
  ENTRY(cusparseSDDMM_bufferSize, (cusparseHandle, int, int, const void *, cusparseDnMat, cusparseDnMat, const void *, \
                                   cusparseSpMat, int, int, std::size_t *))                                            \
  ENTRY(cusparseSDDMM, (cusparseHandle, int, int, const void *, cusparseDnMat, cusparseDnMat, const void *,            \
                        cusparseSpMat, int, int, void *))                                                              \
  ENTRY(cusparseSpGEMM_createDescr, (cusparseSpGEMM *))                                                                \
  ENTRY(cusparseSpGEMM_destroyDescr, (cusparseSpGEMM))                                                                 \
  ENTRY(cusparseSpGEMM_workEstimation, (cusparseHandle, int, int, const void *, cusparseSpMat, cusparseSpMat,          \
                                        const void *, cusparseSpMat, int, int, cusparseSpGEMM, std::size_t *, void *)) \
  ENTRY(cusparseSpGEMM_compute, (cusparseHandle, int, int, const void *, cusparseSpMat, cusparseSpMat, const void *,   \
                                 cusparseSpMat, int, int, cusparseSpGEMM, std::size_t *, void *))                      \
  ENTRY(cusparseSpGEMM_copy, (cusparseHandle, int, int, const void *, cusparseSpMat, cusparseSpMat, const void *,      \
                              cusparseSpMat, int, int, cusparseSpGEMM))

class Sparse {
 public:
#define ENTRY(name, arguments) cusparseStatus(*name) arguments = nullptr;
  MLIR_SPARSE_CUSPARSE(ENTRY)
#undef ENTRY
  const char *(*cusparseGetErrorName)(cusparseStatus) = nullptr;
  // Newer than the rest: null in older libraries.
  cusparseStatus (*cusparseCreateBsr)(cusparseSpMat *, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                                      std::int64_t, void *, void *, void *, int, int, int, int, int) = nullptr;

  explicit Sparse(const std::vector<std::string> &candidates);

  const std::string &path() const { return library_.path(); }
  int version(int device);
  void check(cusparseStatus code, const char *name) const {
    if (code != 0) fail(code, name);
  }
  std::string describe(cusparseStatus code, const char *name) const;

 private:
  [[noreturn]] void fail(cusparseStatus code, const char *name) const;
  friend class Lease;

  Library library_;
  std::mutex mutex_;
  // Idle handles. A handle stays with its stream: work on the stream may still read its device memory after a call.
  std::map<std::pair<int, CUstream>, std::vector<cusparseHandle>> idle_;
};

// Exclusive use of a handle during its lifetime, with the context of the device current.
class Lease {
 public:
  Lease(Sparse &library, int device, CUstream stream);
  ~Lease();
  Lease(const Lease &) = delete;
  Lease &operator=(const Lease &) = delete;
  cusparseHandle get() const { return handle_; }

 private:
  Sparse &library_;
  std::pair<int, CUstream> key_;
  cusparseHandle handle_ = nullptr;
};

Sparse &sparse();
void load_sparse(const std::vector<std::string> &candidates);
bool has_sparse();
void forget_sparse();

enum class Format { csr, csc, coo, bsr };

// A matrix over level buffers; `entries` counts blocks where it has any.
struct Matrix {
  Format format;
  std::int64_t rows, columns, entries;
  CUdeviceptr first, second, values;  // positions and coordinates, or the coordinates of both dimensions
  int first_type, second_type, value_type;
  std::int64_t block_rows = 1, block_columns = 1;
};

struct Dense {
  std::int64_t rows, columns;  // a vector has one column
  CUdeviceptr values;
  int type;
  int order = kRowOrder;
};

// y = A x, C = A B, and C = A B at the entries of C: each overwrites its output.
void spmv(int device, CUstream stream, const Matrix &a, const Dense &x, const Dense &y);
void spmm(int device, CUstream stream, const Matrix &a, const Dense &b, const Dense &c);
void sddmm(int device, CUstream stream, const Dense &a, const Dense &b, const Matrix &c);

// The buffers of C = A B as CSR, of the index types of A.
struct Product {
  std::int64_t entries;
  std::unique_ptr<Memory> positions, coordinates, values;
};
Product spgemm(int device, CUstream stream, const Matrix &a, const Matrix &b);

}  // namespace mlir_sparse::cuda
