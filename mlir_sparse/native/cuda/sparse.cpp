#include "sparse.hpp"

#include <algorithm>
#include <complex>
#include <iterator>

namespace mlir_sparse::cuda {
namespace {

std::unique_ptr<Sparse> loaded;

// An element type that the library computes with: its number, that of the type of its products, the size of an element,
// and zero and one, read from host memory.
struct ElementType {
  int number, computed;
  std::size_t bytes;
  const void *factors[2];
};

template <class Element>
ElementType element_type(int number, int computed) {
  static const Element factors[] = {Element(0), Element(1)};
  return {number, computed, sizeof(Element), {&factors[0], &factors[1]}};
}

const ElementType &type_of(int number) {
  static const ElementType types[] = {
      element_type<double>(kReal64, kReal64),
      element_type<std::uint16_t>(kReal16, kReal32),
      element_type<std::uint16_t>(kBrain16, kReal32),
      element_type<std::complex<float>>(kComplex32, kComplex32),
      element_type<std::complex<double>>(kComplex64, kComplex64),
      element_type<float>(kReal32, kReal32),
  };
  return *std::find_if(types, std::end(types) - 1, [&](const ElementType &type) { return type.number == number; });
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
      return CHECKED(lib, cusparseCreateCsr, made, m.rows, m.columns, m.entries, first, second, values, m.first_type,
                     m.second_type, kZeroBased, m.value_type);
    case Format::csc:
      return CHECKED(lib, cusparseCreateCsc, made, m.rows, m.columns, m.entries, first, second, values, m.first_type,
                     m.second_type, kZeroBased, m.value_type);
    case Format::coo:
      return CHECKED(lib, cusparseCreateCoo, made, m.rows, m.columns, m.entries, first, second, values, m.first_type,
                     kZeroBased, m.value_type);
    case Format::bsr:
      if (lib.cusparseCreateBsr == nullptr)
        throw Failure(Kind::unsupported, "expected a cuSPARSE with blocks (12.1 or newer), but got " + lib.path() +
                                             " without cusparseCreateBsr: use via=\"codegen\"");
      return CHECKED(lib, cusparseCreateBsr, made, m.rows / m.block_rows, m.columns / m.block_columns, m.entries,
                     m.block_rows, m.block_columns, first, second, values, m.first_type, m.second_type, kZeroBased,
                     m.value_type, kRowOrder);
  }
}

// What a product on a device takes: its context, a handle, and the type that it is computed in, with one and zero.
struct Computation {
  Computation(int device, CUstream stream, int value_type)
      : current(device), lease(sparse(), device, stream), handle(lease.get()), type(type_of(value_type).computed),
        one(factor(type, true)), zero(factor(type, false)) {}
  const Current current;
  const Lease lease;
  const cusparseHandle handle;
  const int type;
  const void *const one, *const zero;
};

struct SparseMatrix : Descriptor<cusparseSpMat> {
  explicit SparseMatrix(const Matrix &m) : Descriptor(sparse().cusparseDestroySpMat, "cusparseDestroySpMat") {
    create(m, out());
  }
};

struct DenseVector : Descriptor<cusparseDnVec> {
  explicit DenseVector(const Dense &v) : Descriptor(sparse().cusparseDestroyDnVec, "cusparseDestroyDnVec") {
    CHECKED(sparse(), cusparseCreateDnVec, out(), v.rows, address(v.values), v.type);
  }
};

struct DenseMatrix : Descriptor<cusparseDnMat> {
  explicit DenseMatrix(const Dense &m) : Descriptor(sparse().cusparseDestroyDnMat, "cusparseDestroyDnMat") {
    const std::int64_t leading = m.order == kRowOrder ? m.columns : m.rows;
    CHECKED(sparse(), cusparseCreateDnMat, out(), m.rows, m.columns, leading, address(m.values), m.type, m.order);
  }
};

}  // namespace

const void *factor(int type, bool one) { return type_of(type_of(type).computed).factors[one]; }

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
  CHECKED(library_, cusparseCreate, &handle_);
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
  Sparse &lib = sparse();
  const Computation on(device, stream, y.type);
  const SparseMatrix matrix(a);
  const DenseVector in(x), out(y);
  std::size_t bytes = 0;
  CHECKED(lib, cusparseSpMV_bufferSize, on.handle, 0, on.one, matrix.get(), in.get(), on.zero, out.get(), on.type, 0,
          &bytes);
  const Memory work(device, bytes, stream);
  CHECKED(lib, cusparseSpMV, on.handle, 0, on.one, matrix.get(), in.get(), on.zero, out.get(), on.type, 0,
          address(work.pointer()));
}

void spmm(int device, CUstream stream, const Matrix &a, const Dense &b, const Dense &c) {
  Sparse &lib = sparse();
  const Computation on(device, stream, c.type);
  const SparseMatrix matrix(a);
  const DenseMatrix in(b), out(c);
  std::size_t bytes = 0;
  CHECKED(lib, cusparseSpMM_bufferSize, on.handle, 0, 0, on.one, matrix.get(), in.get(), on.zero, out.get(), on.type, 0,
          &bytes);
  const Memory work(device, bytes, stream);
  CHECKED(lib, cusparseSpMM, on.handle, 0, 0, on.one, matrix.get(), in.get(), on.zero, out.get(), on.type, 0,
          address(work.pointer()));
}

void sddmm(int device, CUstream stream, const Dense &a, const Dense &b, const Matrix &c) {
  Sparse &lib = sparse();
  const Computation on(device, stream, c.value_type);
  const SparseMatrix matrix(c);
  const DenseMatrix left(a), right(b);
  std::size_t bytes = 0;
  CHECKED(lib, cusparseSDDMM_bufferSize, on.handle, 0, 0, on.one, left.get(), right.get(), on.zero, matrix.get(),
          on.type, 0, &bytes);
  const Memory work(device, bytes, stream);
  CHECKED(lib, cusparseSDDMM, on.handle, 0, 0, on.one, left.get(), right.get(), on.zero, matrix.get(), on.type, 0,
          address(work.pointer()));
}

Product spgemm(int device, CUstream stream, const Matrix &a, const Matrix &b) {
  Sparse &lib = sparse();
  const Computation on(device, stream, a.value_type);
  const std::size_t position = a.first_type == kIndex64 ? 8 : 4, coordinate = a.second_type == kIndex64 ? 8 : 4;
  Product product{0, nullptr, nullptr, nullptr};
  product.positions =
      std::make_unique<Memory>(device, static_cast<std::size_t>(a.rows + 1) * position, stream);
  const Matrix empty{Format::csr, a.rows,        b.columns, 0, product.positions->pointer(), 0, 0,
                     a.first_type, a.second_type, a.value_type};
  const SparseMatrix left(a), right(b), result(empty);
  Descriptor<cusparseSpGEMM> work(lib.cusparseSpGEMM_destroyDescr, "cusparseSpGEMM_destroyDescr");
  CHECKED(lib, cusparseSpGEMM_createDescr, work.out());

  // Each stage is called twice: for its number of bytes, then with the buffer; all buffers live until the product is
  // copied.
  const auto estimate = [&](std::size_t *bytes, void *buffer) {
    CHECKED(lib, cusparseSpGEMM_workEstimation, on.handle, 0, 0, on.one, left.get(), right.get(), on.zero, result.get(),
            on.type, 0, work.get(), bytes, buffer);
  };
  const auto compute = [&](std::size_t *bytes, void *buffer) {
    CHECKED(lib, cusparseSpGEMM_compute, on.handle, 0, 0, on.one, left.get(), right.get(), on.zero, result.get(),
            on.type, 0, work.get(), bytes, buffer);
  };
  std::size_t first = 0, second = 0;
  estimate(&first, nullptr);
  const Memory estimation(device, first, stream);
  estimate(&first, address(estimation.pointer()));
  compute(&second, nullptr);
  const Memory computation(device, second, stream);
  compute(&second, address(computation.pointer()));

  std::int64_t rows = 0, columns = 0;
  CHECKED(lib, cusparseSpMatGetSize, result.get(), &rows, &columns, &product.entries);
  const std::size_t entries = static_cast<std::size_t>(product.entries);
  // Allocate for at least one entry: the library refuses null.
  const std::size_t room = std::max<std::size_t>(entries, 1);
  product.coordinates = std::make_unique<Memory>(device, room * coordinate, stream);
  product.values = std::make_unique<Memory>(device, room * type_of(a.value_type).bytes, stream);
  CHECKED(lib, cusparseCsrSetPointers, result.get(), address(product.positions->pointer()),
          address(product.coordinates->pointer()), address(product.values->pointer()));
  CHECKED(lib, cusparseSpGEMM_copy, on.handle, 0, 0, on.one, left.get(), right.get(), on.zero, result.get(), on.type, 0,
          work.get());
  return product;
}

}  // namespace mlir_sparse::cuda
