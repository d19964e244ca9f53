#include "blas.hpp"

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <pybind11/pybind11.h>

#include "module.hpp"
#include "pack_threads.hpp"
#include "threads.hpp"

namespace py = pybind11;

namespace mlir_sparse {
namespace {

// Of CBLAS.
constexpr int kByRows = 101, kAsIs = 111, kTransposed = 112, kUpper = 121;

constexpr int turned(bool turns) { return turns ? kTransposed : kAsIs; }

// A number as CBLAS takes it: real ones by value, complex ones by address.
template <typename T>
struct Number {
  using Type = T;
  static Type of(const T &value) { return value; }
};
template <typename T>
struct Number<std::complex<T>> {
  using Type = const void *;
  static Type of(const std::complex<T> &value) { return &value; }
};

template <typename Int, typename T>
class Product {
 public:
  using Factor = typename Number<T>::Type;
  using Gemm = void (*)(int, int, int, Int, Int, Int, Factor, const T *, Int, const T *, Int, Factor, T *, Int);
  using Gemv = void (*)(int, int, Int, Int, Factor, const T *, Int, const T *, Int, Factor, T *, Int);
  using Syrk = void (*)(int, int, int, Int, Int, Factor, const T *, Int, Factor, T *, Int);

  Product(const BlasFunctions &functions, const BlasProduct::Sizes &sizes)
      : functions_(functions),
        rows_(static_cast<Int>(sizes.rows)),
        summed_(static_cast<Int>(sizes.summed)),
        columns_(static_cast<Int>(sizes.columns)),
        left_row_(static_cast<Int>(sizes.left_row)),
        turns_left_(sizes.turns_left),
        turns_right_(sizes.turns_right) {}

  void run(const T *left, const T *right, T *result) const {
    const T one = 1, zero = 0;
    const Factor times = Number<T>::of(one), before = Number<T>::of(zero);
    const Int own_row = turns_left_ ? rows_ : summed_, left_row = left_row_ ? left_row_ : own_row;
    const Int right_row = turns_right_ ? summed_ : columns_;
    if (!columns_) {
      const Int down = turns_left_ ? summed_ : rows_;
      reinterpret_cast<Gemv>(functions_.gemv)(kByRows, turned(turns_left_), down, own_row, times, left, left_row, right,
                                              1, before, result, 1);
    } else if (left == right && rows_ == columns_ && turns_left_ != turns_right_) {
      // A matrix and its transpose: half of the product, as NumPy makes it.
      reinterpret_cast<Syrk>(functions_.syrk)(kByRows, kUpper, turned(turns_left_), rows_, summed_, times, left,
                                              left_row, before, result, columns_);
      const auto size = static_cast<std::size_t>(rows_);
      for (std::size_t i = 0; i < size; ++i)
        for (std::size_t j = 0; j < i; ++j) result[i * size + j] = result[j * size + i];
    } else {
      reinterpret_cast<Gemm>(functions_.gemm)(kByRows, turned(turns_left_), turned(turns_right_), rows_, columns_,
                                              summed_, times, left, left_row, right, right_row, before, result,
                                              columns_);
    }
  }

 private:
  const BlasFunctions &functions_;
  Int rows_, summed_, columns_, left_row_;
  bool turns_left_, turns_right_;
};

template <typename T>
void multiply(const BlasFunctions &functions, const BlasProduct::Sizes &sizes, const void *left, const void *right,
              void *result) {
  const auto *one = static_cast<const T *>(left), *other = static_cast<const T *>(right);
  if (functions.wide)
    Product<std::int64_t, T>(functions, sizes).run(one, other, static_cast<T *>(result));
  else
    Product<std::int32_t, T>(functions, sizes).run(one, other, static_cast<T *>(result));
}

BlasProduct::Element element_of(const std::string &kind) {
  if (kind == "f") return BlasProduct::Element::kF32;
  if (kind == "d") return BlasProduct::Element::kF64;
  if (kind == "F") return BlasProduct::Element::kC64;
  if (kind == "D") return BlasProduct::Element::kC128;
  throw std::invalid_argument("expected an element type of BLAS: f, d, F or D");
}

}  // namespace

BlasThreads::BlasThreads(std::uintptr_t get, std::uintptr_t set)
    : get_(reinterpret_cast<int (*)()>(get)), set_(reinterpret_cast<void (*)(int)>(set)) {}

int BlasThreads::get() const { return get_(); }

void BlasThreads::set(int threads) const { set_(threads); }

void BlasThreads::begin(int threads) {
  if (wanted_.empty()) before_ = get_();
  wanted_.push_back(threads);
  set_(*std::min_element(wanted_.begin(), wanted_.end()));
}

void BlasThreads::end(int threads) {
  const auto place = std::find(wanted_.begin(), wanted_.end(), threads);
  if (place == wanted_.end()) return;  // in a child that was forked meanwhile, which `forget` has restored
  wanted_.erase(place);
  set_(wanted_.empty() ? before_ : *std::min_element(wanted_.begin(), wanted_.end()));
}

bool BlasThreads::is_one() const { return wanted_.empty() && get_() == 1; }

void BlasThreads::forget() {
  if (wanted_.empty()) return;
  wanted_.clear();
  set_(before_);
}

void OnOneThread::begin(BlasThreads &threads) {
  if (asked_) return;
  asked_ = true;
  if (threads.is_one()) return;
  threads.begin(1);
  threads_ = &threads;
}

void OnOneThread::end() {
  if (threads_) threads_->end(1);
  threads_ = nullptr;
  asked_ = false;
}

BlasProduct::BlasProduct(std::shared_ptr<BlasThreads> threads, BlasFunctions functions, Element element, Sizes sizes)
    : threads_(std::move(threads)), functions_(functions), element_(element), sizes_(sizes) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const std::int64_t across = columns();
  if (sizes_.rows < 1 || sizes_.summed < 1 || across < 1 || sizes_.rows > most || sizes_.summed > most || across > most)
    throw std::invalid_argument("expected extents of 1 or more that have 32 bits");
  if (!sizes_.columns && sizes_.turns_right) throw std::invalid_argument("expected a vector as it is");
}

std::int64_t BlasProduct::item() const {
  switch (element_) {
    case Element::kF32: return sizeof(float);
    case Element::kF64: return sizeof(double);
    case Element::kC64: return 2 * sizeof(float);
    case Element::kC128: return 2 * sizeof(double);
  }
  return 0;
}

void BlasProduct::run(const void *left, const void *right, void *result) const {
  constexpr std::int64_t kTogether = 8;  // elements of a result that BLAS and caches take together
  const auto groups = static_cast<std::size_t>(sizes_.rows / kTogether);
  const auto bytes = static_cast<std::size_t>(sizes_.rows * sizes_.summed * item());
  std::size_t parts = 1;
  if (!sizes_.columns && !limits().deterministic) parts = std::min({groups, streamed_chunks(bytes), thread_limit()});
  if (parts < 2) return run_part(0, sizes_.rows, left, right, result);
  const auto begins = even_parts(groups, parts);
  in_parallel(parts, [&](std::size_t part) {
    const auto begin = static_cast<std::int64_t>(begins[part]) * kTogether;
    const auto end = part + 1 < parts ? static_cast<std::int64_t>(begins[part + 1]) * kTogether : sizes_.rows;
    run_part(begin, end, left, right, result);
  });
}

// Writes some elements of the product of a matrix and a vector, or all of one.
void BlasProduct::run_part(std::int64_t begin, std::int64_t end, const void *left, const void *right,
                           void *result) const {
  Sizes sizes = sizes_;
  sizes.rows = end - begin;
  sizes.left_row = sizes_.turns_left ? sizes_.rows : sizes_.summed;
  const void *from = static_cast<const char *>(left) + begin * (sizes_.turns_left ? 1 : sizes_.summed) * item();
  void *into = static_cast<char *>(result) + begin * item();
  switch (element_) {
    case Element::kF32: return multiply<float>(functions_, sizes, from, right, into);
    case Element::kF64: return multiply<double>(functions_, sizes, from, right, into);
    case Element::kC64: return multiply<std::complex<float>>(functions_, sizes, from, right, into);
    case Element::kC128: return multiply<std::complex<double>>(functions_, sizes, from, right, into);
  }
}

void register_blas(py::module_ &module) {
  py::class_<BlasThreads, std::shared_ptr<BlasThreads>>(module, "BlasThreads", "The number of threads of a BLAS.")
      .def(py::init<std::uintptr_t, std::uintptr_t>(), py::arg("get"), py::arg("set"))
      .def("get", &BlasThreads::get)
      .def("set", &BlasThreads::set, py::arg("threads"))
      .def("begin", &BlasThreads::begin, py::arg("threads"))
      .def("end", &BlasThreads::end, py::arg("threads"))
      .def("is_one", &BlasThreads::is_one)
      .def("forget", &BlasThreads::forget);
  py::class_<BlasFunctions>(module, "BlasFunctions", "The functions of a BLAS for one element type.")
      .def(py::init([](std::uintptr_t gemm, std::uintptr_t gemv, std::uintptr_t syrk, bool wide) {
             return BlasFunctions{gemm, gemv, syrk, wide};
           }),
           py::arg("gemm"), py::arg("gemv"), py::arg("syrk"), py::arg("wide"));
  py::class_<BlasProduct, std::shared_ptr<BlasProduct>>(module, "BlasProduct", "A product of arrays on one thread.")
      .def(py::init([](std::shared_ptr<BlasThreads> threads, const BlasFunctions &functions, const std::string &kind,
                       std::int64_t rows, std::int64_t summed, std::int64_t columns, bool turns_left,
                       bool turns_right) {
             return BlasProduct(std::move(threads), functions, element_of(kind),
                                {rows, summed, columns, turns_left, turns_right, 0});
           }),
           py::arg("threads"), py::arg("functions"), py::arg("kind"), py::arg("rows"), py::arg("summed"),
           py::arg("columns"), py::arg("turns_left"), py::arg("turns_right"));
}

}  // namespace mlir_sparse
