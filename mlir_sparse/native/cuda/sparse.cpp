#include "sparse.hpp"

#include <algorithm>
#include <complex>

namespace mlir_sparse::cuda {
namespace {

std::unique_ptr<Sparse> loaded;

void *address(CUdeviceptr pointer) { return reinterpret_cast<void *>(static_cast<std::uintptr_t>(pointer)); }

// One and zero in the type that the library computes in, read from host memory.
struct Factors {
  float f32[2] = {1, 0};
  double f64[2] = {1, 0};
  std::complex<float> c32[2] = {{1, 0}, {0, 0}};
  std::complex<double> c64[2] = {{1, 0}, {0, 0}};

  const void *at(int type, int which) const {
    switch (type) {
      case kReal64:
        return &f64[which];
      case kComplex32:
        return &c32[which];
      case kComplex64:
        return &c64[which];
      default:
        return &f32[which];
    }
  }
  const void *one(int type) const { return at(type, 0); }
  const void *zero(int type) const { return at(type, 1); }
};
const Factors factors;

// Half precision is multiplied and added in single precision.
int compute_type(int type) { return type == kReal16 || type == kBrain16 ? kReal32 : type; }

std::size_t bytes_of(int type) {
  switch (type) {
    case kReal16:
    case kBrain16:
      return 2;
    case kReal32:
      return 4;
    case kComplex64:
      return 16;
    default:
      return 8;
  }
}

// A descriptor with an owner.
template <typename Handle>
class Descriptor {
 public:
  Descriptor(cusparseStatus (*destroy)(Handle), const char *name) : destroy_(destroy), name_(name) {}
  ~Descriptor() {
    if (handle_ == nullptr) return;
    const cusparseStatus code = destroy_(handle_);
    if (code != 0) note(sparse().describe(code, name_));
  }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  Handle *out() { return &handle_; }
  Handle get() const { return handle_; }

 private:
  cusparseStatus (*destroy_)(Handle);
  const char *name_;
  Handle handle_ = nullptr;
};

void create(const Matrix &m, cusparseSpMat *made) {
  Sparse &lib = sparse();
  void *first = address(m.first), *second = address(m.second), *values = address(m.values);
  switch (m.format) {
    case Format::csr:
      return lib.check(lib.cusparseCreateCsr(made, m.rows, m.columns, m.entries, first, second, values, m.first_type,
                                             m.second_type, kZeroBased, m.value_type),
                       "cusparseCreateCsr");
    case Format::csc:
      return lib.check(lib.cusparseCreateCsc(made, m.rows, m.columns, m.entries, first, second, values, m.first_type,
                                             m.second_type, kZeroBased, m.value_type),
                       "cusparseCreateCsc");
    case Format::coo:
      return lib.check(lib.cusparseCreateCoo(made, m.rows, m.columns, m.entries, first, second, values, m.first_type,
                                             kZeroBased, m.value_type),
                       "cusparseCreateCoo");
    case Format::bsr:
      if (lib.cusparseCreateBsr == nullptr)
        throw Failure(Kind::unsupported, "expected a cuSPARSE with blocks (12.1 or newer), but got " + lib.path() +
                                             " without cusparseCreateBsr: use via=\"codegen\"");
      return lib.check(
          lib.cusparseCreateBsr(made, m.rows / m.block_rows, m.columns / m.block_columns, m.entries, m.block_rows,
                                m.block_columns, first, second, values, m.first_type, m.second_type, kZeroBased,
                                m.value_type, kRowOrder),
          "cusparseCreateBsr");
  }
}

struct SparseMatrix : Descriptor<cusparseSpMat> {
  explicit SparseMatrix(const Matrix &m) : Descriptor(sparse().cusparseDestroySpMat, "cusparseDestroySpMat") {
    create(m, out());
  }
};

struct DenseVector : Descriptor<cusparseDnVec> {
  explicit DenseVector(const Dense &v) : Descriptor(sparse().cusparseDestroyDnVec, "cusparseDestroyDnVec") {
    sparse().check(sparse().cusparseCreateDnVec(out(), v.rows, address(v.values), v.type), "cusparseCreateDnVec");
  }
};

struct DenseMatrix : Descriptor<cusparseDnMat> {
  explicit DenseMatrix(const Dense &m) : Descriptor(sparse().cusparseDestroyDnMat, "cusparseDestroyDnMat") {
    const std::int64_t leading = m.order == kRowOrder ? m.columns : m.rows;
    sparse().check(
        sparse().cusparseCreateDnMat(out(), m.rows, m.columns, leading, address(m.values), m.type, m.order),
        "cusparseCreateDnMat");
  }
};

}  // namespace

Sparse::Sparse(const std::vector<std::string> &candidates)
    : library_("cuSPARSE (libcusparse.so.12)", candidates) {
#define ENTRY(name, arguments) name = reinterpret_cast<cusparseStatus(*) arguments>(library_.symbol(#name));
  MLIR_SPARSE_CUSPARSE(ENTRY)
#undef ENTRY
  cusparseGetErrorName = reinterpret_cast<const char *(*)(cusparseStatus)>(library_.symbol("cusparseGetErrorName"));
  cusparseCreateBsr = reinterpret_cast<decltype(cusparseCreateBsr)>(library_.optional("cusparseCreateBsr"));
}

Lease::Lease(Sparse &library, int device, CUstream stream) : library_(library), key_(device, stream) {
  {
    std::lock_guard<std::mutex> hold(library_.mutex_);
    std::vector<cusparseHandle> &idle = library_.idle_[key_];
    if (!idle.empty()) {
      handle_ = idle.back();
      idle.pop_back();
      return;
    }
  }
  library_.check(library_.cusparseCreate(&handle_), "cusparseCreate");
  const cusparseStatus code = library_.cusparseSetStream(handle_, stream);
  if (code == 0) return;
  const cusparseStatus kept = library_.cusparseDestroy(handle_);
  if (kept != 0) note("cusparseDestroy failed: status " + std::to_string(kept));
  library_.check(code, "cusparseSetStream");
}

Lease::~Lease() {
  std::lock_guard<std::mutex> hold(library_.mutex_);
  library_.idle_[key_].push_back(handle_);
}

int Sparse::version(int device) {
  Current current(device);
  const Lease lease(*this, device, nullptr);
  int number = 0;
  check(cusparseGetVersion(lease.get(), &number), "cusparseGetVersion");
  return number;
}

std::string Sparse::describe(cusparseStatus code, const char *name) const {
  const char *text = cusparseGetErrorName(code);
  return std::string(name) + " failed: " + (text != nullptr ? text : "status") + " (" + std::to_string(code) + ")";
}

void Sparse::fail(cusparseStatus code, const char *name) const {
  if (code == kSparseNotSupported)
    throw Failure(Kind::unsupported, "expected a product that cuSPARSE has, but got: " + describe(code, name) + " in " +
                                         path() + "; use via=\"codegen\"");
  const bool memory = code == kSparseAllocFailed || code == kSparseNoResources;
  throw Failure(memory ? Kind::memory : Kind::device, describe(code, name));
}

Sparse &sparse() {
  if (!loaded) throw Failure(Kind::device, "no cuSPARSE (libcusparse.so.12) found");
  return *loaded;
}

void load_sparse(const std::vector<std::string> &candidates) {
  if (!loaded) loaded = std::make_unique<Sparse>(candidates);
}

bool has_sparse() { return loaded != nullptr; }

void forget_sparse() { loaded.reset(); }

void spmv(int device, CUstream stream, const Matrix &a, const Dense &x, const Dense &y) {
  Current current(device);
  Sparse &lib = sparse();
  const Lease lease(lib, device, stream);
  cusparseHandle handle = lease.get();
  const SparseMatrix matrix(a);
  const DenseVector in(x), out(y);
  const int type = compute_type(y.type);
  const void *one = factors.one(type), *zero = factors.zero(type);
  std::size_t bytes = 0;
  lib.check(lib.cusparseSpMV_bufferSize(handle, 0, one, matrix.get(), in.get(), zero, out.get(), type, 0, &bytes),
            "cusparseSpMV_bufferSize");
  const Memory work(device, bytes, stream);
  lib.check(lib.cusparseSpMV(handle, 0, one, matrix.get(), in.get(), zero, out.get(), type, 0, address(work.pointer())),
            "cusparseSpMV");
}

void spmm(int device, CUstream stream, const Matrix &a, const Dense &b, const Dense &c) {
  Current current(device);
  Sparse &lib = sparse();
  const Lease lease(lib, device, stream);
  cusparseHandle handle = lease.get();
  const SparseMatrix matrix(a);
  const DenseMatrix in(b), out(c);
  const int type = compute_type(c.type);
  const void *one = factors.one(type), *zero = factors.zero(type);
  std::size_t bytes = 0;
  lib.check(lib.cusparseSpMM_bufferSize(handle, 0, 0, one, matrix.get(), in.get(), zero, out.get(), type, 0, &bytes),
            "cusparseSpMM_bufferSize");
  const Memory work(device, bytes, stream);
  lib.check(
      lib.cusparseSpMM(handle, 0, 0, one, matrix.get(), in.get(), zero, out.get(), type, 0, address(work.pointer())),
      "cusparseSpMM");
}

void sddmm(int device, CUstream stream, const Dense &a, const Dense &b, const Matrix &c) {
  Current current(device);
  Sparse &lib = sparse();
  const Lease lease(lib, device, stream);
  cusparseHandle handle = lease.get();
  const SparseMatrix matrix(c);
  const DenseMatrix left(a), right(b);
  const int type = compute_type(c.value_type);
  const void *one = factors.one(type), *zero = factors.zero(type);
  std::size_t bytes = 0;
  lib.check(
      lib.cusparseSDDMM_bufferSize(handle, 0, 0, one, left.get(), right.get(), zero, matrix.get(), type, 0, &bytes),
      "cusparseSDDMM_bufferSize");
  const Memory work(device, bytes, stream);
  lib.check(lib.cusparseSDDMM(handle, 0, 0, one, left.get(), right.get(), zero, matrix.get(), type, 0,
                              address(work.pointer())),
            "cusparseSDDMM");
}

Product spgemm(int device, CUstream stream, const Matrix &a, const Matrix &b) {
  Current current(device);
  Sparse &lib = sparse();
  const Lease lease(lib, device, stream);
  cusparseHandle handle = lease.get();
  const std::size_t position = a.first_type == kIndex64 ? 8 : 4, coordinate = a.second_type == kIndex64 ? 8 : 4;
  const int type = compute_type(a.value_type);
  const void *one = factors.one(type), *zero = factors.zero(type);
  Product product{0, nullptr, nullptr, nullptr};
  product.positions =
      std::make_unique<Memory>(device, static_cast<std::size_t>(a.rows + 1) * position, stream);
  const Matrix empty{Format::csr, a.rows,        b.columns, 0, product.positions->pointer(), 0, 0,
                     a.first_type, a.second_type, a.value_type};
  const SparseMatrix left(a), right(b), result(empty);
  Descriptor<cusparseSpGEMM> work(lib.cusparseSpGEMM_destroyDescr, "cusparseSpGEMM_destroyDescr");
  lib.check(lib.cusparseSpGEMM_createDescr(work.out()), "cusparseSpGEMM_createDescr");

  // Each stage is called twice: for its number of bytes, then with the buffer; all buffers live until the product is
  // copied.
  const auto estimate = [&](std::size_t *bytes, void *buffer) {
    lib.check(lib.cusparseSpGEMM_workEstimation(handle, 0, 0, one, left.get(), right.get(), zero, result.get(), type, 0,
                                                work.get(), bytes, buffer),
              "cusparseSpGEMM_workEstimation");
  };
  const auto compute = [&](std::size_t *bytes, void *buffer) {
    lib.check(lib.cusparseSpGEMM_compute(handle, 0, 0, one, left.get(), right.get(), zero, result.get(), type, 0,
                                         work.get(), bytes, buffer),
              "cusparseSpGEMM_compute");
  };
  std::size_t first = 0, second = 0;
  estimate(&first, nullptr);
  const Memory estimation(device, first, stream);
  estimate(&first, address(estimation.pointer()));
  compute(&second, nullptr);
  const Memory computation(device, second, stream);
  compute(&second, address(computation.pointer()));

  std::int64_t rows = 0, columns = 0;
  lib.check(lib.cusparseSpMatGetSize(result.get(), &rows, &columns, &product.entries), "cusparseSpMatGetSize");
  const std::size_t entries = static_cast<std::size_t>(product.entries);
  // Allocate for at least one entry: the library refuses null.
  const std::size_t room = std::max<std::size_t>(entries, 1);
  product.coordinates = std::make_unique<Memory>(device, room * coordinate, stream);
  product.values = std::make_unique<Memory>(device, room * bytes_of(a.value_type), stream);
  lib.check(lib.cusparseCsrSetPointers(result.get(), address(product.positions->pointer()),
                                       address(product.coordinates->pointer()), address(product.values->pointer())),
            "cusparseCsrSetPointers");
  lib.check(lib.cusparseSpGEMM_copy(handle, 0, 0, one, left.get(), right.get(), zero, result.get(), type, 0, work.get()),
            "cusparseSpGEMM_copy");
  return product;
}

}  // namespace mlir_sparse::cuda
