#include "structured.hpp"

namespace mlir_sparse::cuda {
namespace {

std::unique_ptr<Structured> loaded;

constexpr int kFirstVersion = 600;  // before it the compute types had other numbers
constexpr int kHalf = 0;            // of every 4 entries, 2
constexpr int kComputeInSingle = 2;
constexpr std::uint32_t kAlignment = 16;
constexpr std::int64_t kSearched = std::int64_t{1} << 22;  // products from which on it pays to time algorithms
constexpr std::size_t kPlans = 16;  // kept for one matrix, each for one number of columns

void dispose(cusparseStatus code, const char *name) {
  if (code != 0) note(std::string(name) + " failed: status " + std::to_string(code));
}

}  // namespace

Structured::Structured(const std::vector<std::string> &candidates)
    : library_("cuSPARSELt (libcusparseLt.so.0)", candidates) {
#define ENTRY(name, arguments) name = reinterpret_cast<cusparseStatus(*) arguments>(library_.symbol(#name));
  MLIR_SPARSE_CUSPARSELT(ENTRY)
#undef ENTRY
  cusparseLtMatmulAlgSelectionDestroy = reinterpret_cast<decltype(cusparseLtMatmulAlgSelectionDestroy)>(
      library_.optional("cusparseLtMatmulAlgSelectionDestroy"));
}

void Structured::check(cusparseStatus code, const char *name) const {
  if (code == 0) return;
  const std::string said = std::string(name) + " failed: status " + std::to_string(code);
  if (code == kSparseNotSupported)
    throw Failure(Kind::unsupported,
                  "expected a product that cuSPARSELt has, but got: " + said + " in " + path() + "; use via=\"codegen\"");
  const bool memory = code == kSparseAllocFailed || code == kSparseNoResources;
  throw Failure(memory ? Kind::memory : Kind::device, said);
}

const Opaque *Structured::handle(int device) {
  std::lock_guard<std::mutex> hold(mutex_);
  std::unique_ptr<Opaque> &found = handles_[device];
  if (found != nullptr) return found.get();
  auto made = std::make_unique<Opaque>();
  check(cusparseLtInit(made.get()), "cusparseLtInit");
  int version = 0;
  check(cusparseLtGetVersion(made.get(), &version), "cusparseLtGetVersion");
  if (version < kFirstVersion)
    throw Failure(Kind::unsupported, "expected cuSPARSELt 0.6 or newer, but got version " + std::to_string(version) +
                                         " in " + path() + ": use via=\"codegen\"");
  found = std::move(made);
  return found.get();
}

int Structured::version(int device) {
  Current current(device);
  int number = 0;
  check(cusparseLtGetVersion(handle(device), &number), "cusparseLtGetVersion");
  return number;
}

Structured &structured() {
  if (!loaded) throw Failure(Kind::device, "no cuSPARSELt (libcusparseLt.so.0) found");
  return *loaded;
}

void load_structured(const std::vector<std::string> &candidates) {
  if (!loaded) loaded = std::make_unique<Structured>(candidates);
}

bool has_structured() { return loaded != nullptr; }

void forget_structured() { loaded.reset(); }

// Descriptors and plan of a product with a number of columns; each is destroyed if it exists.
struct Compressed::Plan {
  Opaque right, result, product, selection, plan;
  int made = 0;
  int uses = 0;
  std::size_t workspace = 0;

  ~Plan() {
    Structured &lib = structured();
    if (made > 3) dispose(lib.cusparseLtMatmulPlanDestroy(&plan), "cusparseLtMatmulPlanDestroy");
    if (made > 2 && lib.cusparseLtMatmulAlgSelectionDestroy != nullptr)
      dispose(lib.cusparseLtMatmulAlgSelectionDestroy(&selection), "cusparseLtMatmulAlgSelectionDestroy");
    if (made > 1) dispose(lib.cusparseLtMatDescriptorDestroy(&result), "cusparseLtMatDescriptorDestroy");
    if (made > 0) dispose(lib.cusparseLtMatDescriptorDestroy(&right), "cusparseLtMatDescriptorDestroy");
  }
};

Compressed::Compressed(int device, CUstream stream, const Dense &matrix)
    : device_(device), rows_(matrix.rows), columns_(matrix.columns), type_(matrix.type) {
  Current current(device);
  Structured &lib = structured();
  const Opaque *handle = lib.handle(device);
  auto descriptor = std::make_unique<Opaque>();
  CHECKED(lib, cusparseLtStructuredDescriptorInit, handle, descriptor.get(), rows_, columns_, columns_, kAlignment,
          type_, kRowOrder, kHalf);
  try {
    std::size_t bytes = 0, room = 0;
    CHECKED(lib, cusparseLtSpMMACompressedSize2, handle, descriptor.get(), &bytes, &room);
    memory_ = std::make_unique<Memory>(device, bytes, stream);
    const Memory work(device, room, stream);
    CHECKED(lib, cusparseLtSpMMACompress2, handle, descriptor.get(), 1, 0, address(matrix.values),
            address(memory_->pointer()), address(work.pointer()), stream);
  } catch (...) {
    dispose(lib.cusparseLtMatDescriptorDestroy(descriptor.get()), "cusparseLtMatDescriptorDestroy");
    throw;
  }
  descriptor_ = std::move(descriptor);
}

Compressed::~Compressed() {
  if (!loaded) return;
  plans_.clear();
  dispose(structured().cusparseLtMatDescriptorDestroy(descriptor_.get()), "cusparseLtMatDescriptorDestroy");
}

Compressed::Plan &Compressed::plan(std::int64_t columns) {
  if (plans_.size() >= kPlans && plans_.count(columns) == 0) plans_.clear();
  std::unique_ptr<Plan> &found = plans_[columns];
  if (found != nullptr) return *found;
  Structured &lib = structured();
  const Opaque *handle = lib.handle(device_);
  auto made = std::make_unique<Plan>();
  CHECKED(lib, cusparseLtDenseDescriptorInit, handle, &made->right, columns_, columns, columns, kAlignment, type_,
          kRowOrder);
  made->made = 1;
  CHECKED(lib, cusparseLtDenseDescriptorInit, handle, &made->result, rows_, columns, columns, kAlignment, type_,
          kRowOrder);
  made->made = 2;
  CHECKED(lib, cusparseLtMatmulDescriptorInit, handle, &made->product, 0, 0, descriptor_.get(), &made->right,
          &made->result, &made->result, kComputeInSingle);
  CHECKED(lib, cusparseLtMatmulAlgSelectionInit, handle, &made->selection, &made->product, 0);
  made->made = 3;
  CHECKED(lib, cusparseLtMatmulPlanInit, handle, &made->plan, &made->product, &made->selection);
  made->made = 4;
  CHECKED(lib, cusparseLtMatmulGetWorkspace, handle, &made->plan, &made->workspace);
  found = std::move(made);
  return *found;
}

// Lets the library time its algorithms for a plan, and keep the fastest; the result is overwritten.
void Compressed::search(Plan &planned, CUstream stream, const Dense &b, const Dense &c) {
  Structured &lib = structured();
  const Opaque *handle = lib.handle(device_);
  const Memory work(device_, planned.workspace, stream);
  const float one = 1, zero = 0;
  const cusparseStatus code = lib.cusparseLtMatmulSearch(
      handle, &planned.plan, &one, address(memory_->pointer()), address(b.values), &zero, address(c.values),
      address(c.values), address(work.pointer()), &stream, 1);
  if (code == kSparseNotSupported) return;  // there is one algorithm, which the plan has
  lib.check(code, "cusparseLtMatmulSearch");
  CHECKED(lib, cusparseLtMatmulGetWorkspace, handle, &planned.plan, &planned.workspace);
}

void Compressed::multiply(CUstream stream, const Dense &b, const Dense &c) {
  std::lock_guard<std::mutex> hold(mutex_);
  Current current(device_);
  Structured &lib = structured();
  Plan &planned = plan(b.columns);
  if (stream != memory_->stream()) memory_->share();
  // The search pays for plans that are used again, as those of matrices that others may write to mostly are not.
  const std::int64_t products = rows_ * columns_ * b.columns;
  if (planned.uses < 2 && ++planned.uses == 2 && products >= kSearched) search(planned, stream, b, c);
  const Memory work(device_, planned.workspace, stream);
  const float one = 1, zero = 0;
  CHECKED(lib, cusparseLtMatmul, lib.handle(device_), &planned.plan, &one, address(memory_->pointer()),
          address(b.values), &zero, address(c.values), address(c.values), address(work.pointer()), &stream, 1);
}

}  // namespace mlir_sparse::cuda
