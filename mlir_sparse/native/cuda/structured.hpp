// cuSPARSELt: products of 2:4 matrices on the units for them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "driver.hpp"
#include "memory.hpp"
#include "sparse.hpp"

namespace mlir_sparse::cuda {

// The library's data in memory of its caller: as large as in any version.
struct alignas(16) Opaque {
  std::uint8_t bytes[11024] = {};
};

#define MLIR_SPARSE_CUSPARSELT(ENTRY)                                                                               \
  ENTRY(cusparseLtInit, (Opaque *))                                                                                 \
  ENTRY(cusparseLtGetVersion, (const Opaque *, int *))                                                              \
  ENTRY(cusparseLtStructuredDescriptorInit,                                                                         \
        (const Opaque *, Opaque *, std::int64_t, std::int64_t, std::int64_t, std::uint32_t, int, int, int))         \
  ENTRY(cusparseLtDenseDescriptorInit,                                                                              \
        (const Opaque *, Opaque *, std::int64_t, std::int64_t, std::int64_t, std::uint32_t, int, int))              \
  ENTRY(cusparseLtMatDescriptorDestroy, (const Opaque *))                                                           \
  ENTRY(cusparseLtMatmulDescriptorInit, (const Opaque *, Opaque *, int, int, const Opaque *, const Opaque *,        \
                                         const Opaque *, const Opaque *, int))                                      \
  ENTRY(cusparseLtMatmulAlgSelectionInit, (const Opaque *, Opaque *, const Opaque *, int))                          \
  ENTRY(cusparseLtMatmulPlanInit, (const Opaque *, Opaque *, const Opaque *, const Opaque *))                       \
  ENTRY(cusparseLtMatmulPlanDestroy, (const Opaque *))                                                              \
  ENTRY(cusparseLtMatmulGetWorkspace, (const Opaque *, const Opaque *, std::size_t *))                              \
  ENTRY(cusparseLtMatmul, (const Opaque *, const Opaque *, const void *, const void *, const void *, const void *,  \
                           const void *, void *, void *, CUstream *, std::int32_t))                                 \
  ENTRY(cusparseLtMatmulSearch, (const Opaque *, Opaque *, const void *, const void *, const void *, const void *,  \
                                 const void *, void *, void *, CUstream *, std::int32_t))                           \
  ENTRY(cusparseLtSpMMACompressedSize2, (const Opaque *, const Opaque *, std::size_t *, std::size_t *))             \
  ENTRY(cusparseLtSpMMACompress2, (const Opaque *, const Opaque *, int, int, const void *, void *, void *, CUstream))

class Structured {
 public:
#define ENTRY(name, arguments) cusparseStatus(*name) arguments = nullptr;
  MLIR_SPARSE_CUSPARSELT(ENTRY)
#undef ENTRY
  // Newer than the rest, and optional.
  cusparseStatus (*cusparseLtMatmulAlgSelectionDestroy)(const Opaque *) = nullptr;

  explicit Structured(const std::vector<std::string> &candidates);

  const std::string &path() const { return library_.path(); }
  // The handle of a device, whose context is current.
  const Opaque *handle(int device);
  int version(int device);
  void check(cusparseStatus code, const char *name) const;

 private:
  Library library_;
  std::mutex mutex_;
  std::map<int, std::unique_ptr<Opaque>> handles_;
};

Structured &structured();
void load_structured(const std::vector<std::string> &candidates);
bool has_structured();
void forget_structured();

// A matrix in the library's storage, with the plans of its products.
class Compressed {
 public:
  // Compresses a dense row-major matrix with at most 2 nonzeros in every 4 elements of a row.
  Compressed(int device, CUstream stream, const Dense &matrix);
  ~Compressed();
  Compressed(const Compressed &) = delete;
  Compressed &operator=(const Compressed &) = delete;

  // c = a b, both in row order.
  void multiply(CUstream stream, const Dense &b, const Dense &c);

 private:
  struct Plan;
  Plan &plan(std::int64_t columns);
  void search(Plan &planned, CUstream stream, const Dense &b, const Dense &c);

  int device_;
  std::int64_t rows_, columns_;
  int type_;
  std::unique_ptr<Opaque> descriptor_;
  std::unique_ptr<Memory> memory_;
  std::mutex mutex_;
  std::map<std::int64_t, std::unique_ptr<Plan>> plans_;
};

}  // namespace mlir_sparse::cuda
