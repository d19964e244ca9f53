#include "row_sample.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace mlir_sparse {
namespace {

// How many entries are looked at, and for how many it is looked up whether they are mirrored.
constexpr std::size_t kSample = 512, kMirrors = 128;

// Multiples of the golden ratio are spread evenly, and in step with no pattern of entries.
std::array<double, kSample> even_places() {
  const double step = (std::sqrt(5.0) - 1) / 2;
  std::array<double, kSample> found;
  for (std::size_t k = 0; k < kSample; ++k) found[k] = std::fmod(static_cast<double>(k) * step, 1.0);
  return found;
}

// The first place from `begin` on whose number is not before: below(number) holds for those before it. No branch
// depends on numbers, so that one search need not wait for another.
template <class At, class Below>
std::int64_t first_place(const At &at, std::int64_t begin, std::int64_t end, const Below &below) {
  std::int64_t length = end - begin;
  while (length > 0) {
    const std::int64_t half = (length + 1) / 2;
    begin += below(at(begin + half - 1)) ? half : 0;
    length -= half;
  }
  return begin;
}

// The bits of an offset, with its sign.
int bits_between(std::int64_t row, std::int64_t column) {
  const auto from = static_cast<std::uint64_t>(row), to = static_cast<std::uint64_t>(column);
  int bits = 0;
  for (std::uint64_t rest = column < row ? from - to : to - from; rest != 0; rest >>= 1) ++bits;
  return column < row ? -bits : bits;
}

template <class Begin, class Column>
class Sampler {
public:
  Sampler(std::int64_t rows, std::int64_t entries, const Begin &begin, const Column &column)
      : rows_(rows), entries_(entries), begin_(begin), column_(column) {}

  RowSample run(const char *values, std::int64_t itemsize) const {
    static const auto places = even_places();
    RowSample found;
    std::int64_t mirrored = 0;
    std::array<std::int64_t, 2 * RowSample::kMost + 1> counts{};
    for (std::size_t k = 0; k < kSample; ++k) {
      const auto entry = static_cast<std::int64_t>(places[k] * static_cast<double>(entries_));
      const std::int64_t column = column_(entry), row = row_of(entry);
      if (k < kMirrors) mirrored += has_entry(column, row);
      ++counts[static_cast<std::size_t>(RowSample::kMost + bits_between(row, column))];
      const auto size = static_cast<std::size_t>(itemsize);
      found.alike = found.alike && std::memcmp(values, values + entry * itemsize, size) == 0;
    }
    found.mirrored = static_cast<double>(mirrored) / kMirrors;
    std::transform(counts.begin(), counts.end(), found.shares.begin(),
                   [](std::int64_t count) { return static_cast<double>(count) / kSample; });
    return found;
  }

private:
  std::int64_t row_of(std::int64_t entry) const {
    return first_place(begin_, 1, rows_, [entry](std::int64_t begin) { return begin <= entry; }) - 1;
  }

  bool has_entry(std::int64_t row, std::int64_t column) const {
    if (row < 0 || row >= rows_) return false;
    const std::int64_t first = std::clamp<std::int64_t>(begin_(row), 0, entries_);
    const std::int64_t last = std::clamp<std::int64_t>(begin_(row + 1), first, entries_);
    const std::int64_t at = first_place(column_, first, last, [column](std::int64_t c) { return c < column; });
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
