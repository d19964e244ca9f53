#include "krylov_steps.hpp"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "pack_threads.hpp"

namespace mlir_sparse {
namespace {

// Each sum is over so many elements in the same order, whatever thread takes them; sums are then added in order. Four
// vectors of that length are in a second-level cache.
constexpr std::int64_t kChunk = std::int64_t{1} << 12;
// Sums that do not wait for one another.
constexpr int kLanes = 8;

template <class T>
struct Lanes {
  double real[kLanes] = {}, imaginary[kLanes] = {};

  std::complex<double> sum() const {
    std::complex<double> found = 0;
    for (int lane = 0; lane < kLanes; ++lane) found += std::complex<double>(real[lane], imaginary[lane]);
    return found;
  }
  void add(int lane, T a, T b) { real[lane] += static_cast<double>(a) * static_cast<double>(b); }
};

template <class T>
struct Lanes<std::complex<T>> : Lanes<T> {
  void add(int lane, std::complex<T> a, std::complex<T> b) {
    const double ar = a.real(), ai = a.imag(), br = b.real(), bi = b.imag();
    this->real[lane] += ar * br + ai * bi;
    this->imaginary[lane] += ar * bi - ai * br;
  }
};

template <class T>
T multiplied(T a, T b) {
  return a * b;
}

// As NumPy multiplies: the operator of std::complex looks for infinities first.
template <class T>
std::complex<T> multiplied(std::complex<T> a, std::complex<T> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

template <class T>
T scalar_as(std::complex<double> value, const T *) {
  return static_cast<T>(value.real());
}

template <class T>
std::complex<T> scalar_as(std::complex<double> value, const std::complex<T> *) {
  return std::complex<T>(value);
}

// Calls work(begin, end), which returns a sum, for all chunks, and returns the sum of the sums.
template <class Work>
std::complex<double> over_chunks(std::int64_t size, const Work &work) {
  const auto chunks = static_cast<std::size_t>((size + kChunk - 1) / kChunk);
  std::vector<std::complex<double>> sums(chunks);
  const auto begins = even_parts(chunks, std::max<std::size_t>(1, thread_count(static_cast<std::size_t>(size))));
  in_parallel(begins.size() - 1, [&](std::size_t part) {
    for (std::size_t chunk = begins[part]; chunk < begins[part + 1]; ++chunk) {
      const std::int64_t begin = static_cast<std::int64_t>(chunk) * kChunk;
      sums[chunk] = work(begin, std::min(size, begin + kChunk));
    }
  });
  std::complex<double> found = 0;
  for (const std::complex<double> &sum : sums) found += sum;
  return found;
}

// Calls at(i, lane) for all elements from begin to end.
template <class At>
void in_lanes(std::int64_t begin, std::int64_t end, const At &at) {
  std::int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes)
    for (int lane = 0; lane < kLanes; ++lane) at(i + lane, lane);
  for (; i < end; ++i) at(i, static_cast<int>(i % kLanes));
}

template <class T>
std::complex<double> inner_as(const T *a, const T *b, std::int64_t size) {
  return over_chunks(size, [=](std::int64_t begin, std::int64_t end) {
    Lanes<T> lanes;
    in_lanes(begin, end, [&](std::int64_t i, int lane) { lanes.add(lane, a[i], b[i]); });
    return lanes.sum();
  });
}

template <class T>
double advance_as(T *x, T *r, const T *p, const T *q, T step, std::int64_t size) {
  return over_chunks(size, [=](std::int64_t begin, std::int64_t end) {
           for (std::int64_t i = begin; i < end; ++i) x[i] += multiplied(step, p[i]);
           Lanes<T> lanes;
           in_lanes(begin, end, [&](std::int64_t i, int lane) {
             r[i] -= multiplied(step, q[i]);
             lanes.add(lane, r[i], r[i]);
           });
           return lanes.sum();
         })
      .real();
}

template <class T>
void turn_as(T *p, const T *z, T factor, std::int64_t size) {
  over_chunks(size, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) p[i] = z[i] + multiplied(factor, p[i]);
    return 0.0;
  });
}

// Calls `with` with a null pointer to the type of the elements.
template <class With>
auto typed(TriangleValue type, const With &with) {
  switch (type) {
    case TriangleValue::F32: return with(static_cast<float *>(nullptr));
    case TriangleValue::F64: return with(static_cast<double *>(nullptr));
    case TriangleValue::C64: return with(static_cast<std::complex<float> *>(nullptr));
    case TriangleValue::C128: break;
  }
  return with(static_cast<std::complex<double> *>(nullptr));
}

}  // namespace

std::complex<double> inner_product(TriangleValue type, const void *a, const void *b, std::int64_t size) {
  return typed(type, [&](auto *null) {
    using Given = const std::remove_pointer_t<decltype(null)> *;
    return inner_as(static_cast<Given>(a), static_cast<Given>(b), size);
  });
}

double advance(TriangleValue type, void *x, void *r, const void *p, const void *q, std::complex<double> step,
               std::int64_t size) {
  return typed(type, [&](auto *null) {
    using Changed = decltype(null);
    using Given = const std::remove_pointer_t<Changed> *;
    return advance_as(static_cast<Changed>(x), static_cast<Changed>(r), static_cast<Given>(p), static_cast<Given>(q),
                      scalar_as(step, null), size);
  });
}

void turn_direction(TriangleValue type, void *p, const void *z, std::complex<double> factor, std::int64_t size) {
  typed(type, [&](auto *null) {
    using Changed = decltype(null);
    using Given = const std::remove_pointer_t<Changed> *;
    turn_as(static_cast<Changed>(p), static_cast<Given>(z), scalar_as(factor, null), size);
  });
}

}  // namespace mlir_sparse
