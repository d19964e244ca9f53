#include "row_sample.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace mlir_sparse {
namespace {

// At most and at least so many entries are looked at, one of kEach: it takes as long as to count some twenty. For one of
// kMirrors of them it is looked up whether they are mirrored.
constexpr std::size_t kMost = 512, kLeast = 128, kEach = 64, kMirrors = 4;

// Multiples of the golden ratio are spread evenly, and in step with no pattern of entries.
std::array<double, kMost> even_places() {
  const double step = (std::sqrt(5.0) - 1) / 2;
  std::array<double, kMost> found;
  for (std::size_t k = 0; k < kMost; ++k) found[k] = std::fmod(static_cast<double>(k) * step, 1.0);
  return found;
}

// Bisection halves a range of places; each of its steps takes as many for all searches of the range. No branch depends
// on numbers, so that no search waits for another.
template <class Step>
void bisect(std::int64_t length, const Step &step) {
  while (length > 0) {
    const std::int64_t half = (length + 1) / 2;
    step(half);
    length -= half;
  }
}

// The bits of an offset, with its sign: the exponent of a float. A loop over bits would take as long as all the rest.
int bits_between(std::int64_t row, std::int64_t column) {
  const double offset = static_cast<double>(column) - static_cast<double>(row);
  int bits = 0;
  std::frexp(offset, &bits);
  return offset < 0 ? -bits : bits;
}

template <class Begin, class Column>
class Sampler {
public:
  Sampler(std::int64_t rows, std::int64_t entries, const Begin &begin, const Column &column)
      : rows_(rows), entries_(entries), begin_(begin), column_(column) {}

  RowSample run(const char *values, std::int64_t itemsize) const {
    static const auto places = even_places();
    const auto sample = std::clamp(static_cast<std::size_t>(entries_) / kEach, kLeast, kMost);
    std::array<std::int64_t, kMost> chosen, rows;
    for (std::size_t k = 0; k < sample; ++k)
      chosen[k] = static_cast<std::int64_t>(places[k] * static_cast<double>(entries_));
    find_rows(chosen.data(), rows.data(), sample);
    RowSample found;
    std::int64_t mirrored = 0;
    std::array<std::int64_t, 2 * RowSample::kBits + 1> counts{};
    const auto size = static_cast<std::size_t>(itemsize);
    for (std::size_t k = 0; k < sample; ++k) {
      const std::int64_t column = column_(chosen[k]);
      if (k < sample / kMirrors) mirrored += has_entry(column, rows[k]);
      ++counts[static_cast<std::size_t>(RowSample::kBits + bits_between(rows[k], column))];
      found.alike = found.alike && std::memcmp(values, values + chosen[k] * itemsize, size) == 0;
    }
    found.mirrored = static_cast<double>(mirrored) / static_cast<double>(sample / kMirrors);
    std::transform(counts.begin(), counts.end(), found.shares.begin(), [&](std::int64_t count) {
      return static_cast<double>(count) / static_cast<double>(sample);
    });
    return found;
  }

private:
  // The last row that begins at each entry or before it.
  void find_rows(const std::int64_t *entries, std::int64_t *rows, std::size_t count) const {
    std::fill(rows, rows + count, 0);
    bisect(rows_ - 1, [&](std::int64_t half) {
      for (std::size_t k = 0; k < count; ++k) rows[k] += begin_(rows[k] + half) <= entries[k] ? half : 0;
    });
  }

  bool has_entry(std::int64_t row, std::int64_t column) const {
    if (row < 0 || row >= rows_) return false;
    const std::int64_t first = std::clamp<std::int64_t>(begin_(row), 0, entries_);
    const std::int64_t last = std::clamp<std::int64_t>(begin_(row + 1), first, entries_);
    std::int64_t at = first;
    bisect(last - first, [&](std::int64_t half) { at += column_(at + half - 1) < column ? half : 0; });
    return at < last && column_(at) == column;
  }

  std::int64_t rows_, entries_;
  Begin begin_;
  Column column_;
};

}  // namespace

RowSample sample_rows(const IntBuffer &positions, const IntBuffer &coordinates, const char *values,
                      std::int64_t itemsize) {
  return positions.visit([&](auto begin) {
    return coordinates.visit([&](auto column) {
      const Sampler<decltype(begin), decltype(column)> sampler(positions.length - 1, coordinates.length, begin, column);
      return sampler.run(values, itemsize);
    });
  });
}

}  // namespace mlir_sparse
