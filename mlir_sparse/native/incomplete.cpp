#include "incomplete.hpp"

#include <cmath>
#include <complex>
#include <vector>

namespace mlir_sparse {
namespace {

float conjugate(float value) { return value; }
double conjugate(double value) { return value; }
template <class T>
std::complex<T> conjugate(std::complex<T> value) {
  return std::conj(value);
}

template <class Index, class Value>
std::int64_t ilu0(const Index *positions, const Index *coordinates, std::int64_t rows, Value *values) {
  std::vector<Index> place(static_cast<std::size_t>(rows), Index{-1}), pivot(static_cast<std::size_t>(rows));
  for (std::int64_t i = 0; i < rows; ++i) {
    const Index begin = positions[i], end = positions[i + 1];
    for (Index p = begin; p < end; ++p) place[static_cast<std::size_t>(coordinates[p])] = p;
    Index p = begin;
    for (; p < end && coordinates[p] < static_cast<Index>(i); ++p) {
      const auto k = static_cast<std::size_t>(coordinates[p]);
      values[p] /= values[pivot[k]];
      const Value factor = values[p];
      for (Index q = pivot[k] + 1; q < positions[k + 1]; ++q) {
        const Index at = place[static_cast<std::size_t>(coordinates[q])];
        if (at >= 0) values[at] -= factor * values[q];
      }
    }
    if (p == end || coordinates[p] != static_cast<Index>(i) || values[p] == Value{}) return i;
    pivot[static_cast<std::size_t>(i)] = p;
    for (Index q = begin; q < end; ++q) place[static_cast<std::size_t>(coordinates[q])] = -1;
  }
  return -1;
}

template <class Index, class Value>
std::int64_t ic0(const Index *positions, const Index *coordinates, std::int64_t rows, Value *values) {
  std::vector<Value> row(static_cast<std::size_t>(rows));
  for (std::int64_t i = 0; i < rows; ++i) {
    const Index begin = positions[i], last = positions[i + 1] - 1;
    if (last < begin || coordinates[last] != static_cast<Index>(i)) return i;
    auto rest = std::real(values[last]);
    for (Index p = begin; p < last; ++p) {
      const auto k = static_cast<std::size_t>(coordinates[p]);
      const Index diagonal = positions[k + 1] - 1;
      Value sum = values[p];
      for (Index q = positions[k]; q < diagonal; ++q)
        sum -= row[static_cast<std::size_t>(coordinates[q])] * conjugate(values[q]);
      sum /= values[diagonal];  // real
      values[p] = row[k] = sum;
      rest -= std::real(sum * conjugate(sum));
    }
    for (Index p = begin; p < last; ++p) row[static_cast<std::size_t>(coordinates[p])] = Value{};
    if (!(rest > 0)) return i;
    values[last] = std::sqrt(rest);
  }
  return -1;
}

template <class Factor>
std::int64_t with_types(int width, TriangleValue type, const Factor &factor) {
  return with_wide(width, [&](auto index) {
    switch (type) {
      case TriangleValue::F32:
        return factor(index, float{});
      case TriangleValue::F64:
        return factor(index, double{});
      case TriangleValue::C64:
        return factor(index, std::complex<float>{});
      default:
        return factor(index, std::complex<double>{});
    }
  });
}

}  // namespace

std::int64_t factor_ilu0(const IntBuffer &positions, const IntBuffer &coordinates, TriangleValue type, void *values) {
  return with_types(positions.width, type, [&](auto index, auto value) {
    using Index = decltype(index);
    return ilu0(reinterpret_cast<const Index *>(positions.data), reinterpret_cast<const Index *>(coordinates.data),
                positions.length - 1, static_cast<decltype(value) *>(values));
  });
}

std::vector<std::int64_t> lower_places(const IntBuffer &positions, const IntBuffer &coordinates, std::int64_t *begins) {
  std::vector<std::int64_t> places;
  with_wide(positions.width, [&](auto index) {
    using Index = decltype(index);
    const auto *pos = reinterpret_cast<const Index *>(positions.data), *crd = reinterpret_cast<const Index *>(coordinates.data);
    begins[0] = 0;
    for (std::int64_t i = 0; i + 1 < positions.length; ++i) {
      for (Index p = pos[i]; p < pos[i + 1] && crd[p] <= static_cast<Index>(i); ++p) places.push_back(p);
      begins[i + 1] = static_cast<std::int64_t>(places.size());
    }
  });
  return places;
}

std::int64_t factor_ic0(const IntBuffer &positions, const IntBuffer &coordinates, TriangleValue type, void *values) {
  return with_types(positions.width, type, [&](auto index, auto value) {
    using Index = decltype(index);
    return ic0(reinterpret_cast<const Index *>(positions.data), reinterpret_cast<const Index *>(coordinates.data),
               positions.length - 1, static_cast<decltype(value) *>(values));
  });
}

}  // namespace mlir_sparse
