#include "convert_rows.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "pack_sorted.hpp"
#include "pack_threads.hpp"

namespace mlir_sparse {
namespace {

template <class P, class F>
void each_entry(const P *pos, int64_t begin, int64_t end, const F &f) {
  for (int64_t r = begin; r < end; ++r)
    for (int64_t k = pos[r], stop = pos[r + 1]; k < stop; ++k)
      f(r, k);
}

// Each part of the rows counts its columns, then puts its entries after those of earlier parts.
template <class P, class C, class V, class Column>
void transpose_as(const RowMatrix &from, const Column &column_of, P *pos_out, C *crd_out, V *values_out) {
  const auto *pos = static_cast<const P *>(from.pos);
  const auto *values = static_cast<const V *>(from.values);
  const size_t parts = counting_threads(static_cast<size_t>(from.count), from.columns);
  const auto begins = row_parts(pos, from.rows, parts);
  const auto announce = [=](P place) {
    prefetch_to_write(crd_out + place);
    prefetch_to_write(values_out + place);
  };
  const auto put = [=](int64_t r, int64_t k, P place) {
    crd_out[place] = static_cast<C>(r);
    values_out[place] = values[k];
  };
  KeyPlaces<P> places(parts, from.columns, pos_out);
  in_parallel(parts, [&](size_t part) {
    places.clear(part);
    P *const counts = places.of(part);
    const auto column = column_of;
    for (int64_t k = pos[begins[part]], end = pos[begins[part + 1]]; k < end; ++k)
      ++counts[column(k)];
  });
  places.settle();
  in_parallel(parts, [&, column = column_of, put](size_t part) {
    P *const next = places.of(part);
    const int64_t begin = pos[begins[part]], end = pos[begins[part + 1]];
    if (!are_scattered(begin, end, column)) {
      each_entry(pos, begins[part], begins[part + 1], [=](int64_t r, int64_t k) { put(r, k, next[column(k)]++); });
      return;
    }
    PlacesAhead<P, Column, decltype(announce)> ahead(begin, end, next, column, announce);
    each_entry(pos, begins[part], begins[part + 1], [&](int64_t r, int64_t k) { put(r, k, ahead.take(k)); });
  });
}

template <class P, class C>
void list_rows(const P *pos, int64_t begin, int64_t end, C *out) {
  for (int64_t r = begin; r < end; ++r)
    std::fill(out + pos[r], out + pos[r + 1], static_cast<C>(r));
}

template <class P, class C>
void list_pairs(const P *pos, const C *crd, int64_t begin, int64_t end, C *out) {
  for (int64_t r = begin; r < end; ++r)
    for (P k = pos[r]; k < pos[r + 1]; ++k) {
      out[2 * k] = static_cast<C>(r);
      out[2 * k + 1] = crd[k];
    }
}

// Goes through the blocks of one row of blocks in order, all its rows abreast.
template <class P, class C>
class BlockWalk {
public:
  BlockWalk(const RowMatrix &from, int64_t height, int64_t width)
      : from_(from), height_(height), width_(width), divisor_(divisor(width)), shift_(shift_of(divisor_)),
        at_(static_cast<size_t>(std::min(height, from.rows))), end_(at_.size()), head_(at_.size()) {}

  // Calls block(b) for each block of the row of blocks, and entry(row in it, column in it, k) for each entry of it.
  template <class Block, class Entry>
  void run(int64_t block_row, const Block &block, const Entry &entry) {
    const auto *crd = static_cast<const C *>(from_.crd);
    const size_t rows = start(block_row);
    for (int64_t next = first(rows); next < kNone; next = first(rows)) {
      const auto column = static_cast<Unsigned>(next);
      const auto number = static_cast<int64_t>(shift_ >= 0 ? column >> shift_ : column / divisor_);
      const int64_t begin = number * width_, stop = begin + (width_ < kNone - begin ? width_ : kNone - begin);
      block(number);
      for (size_t r = 0; r < rows; ++r) {
        if (head_[r] >= stop) continue;
        P k = at_[r];
        for (; k < end_[r] && crd[k] < stop; ++k)
          entry(static_cast<int64_t>(r), crd[k] - begin, k);
        at_[r] = k;
        head_[r] = k < end_[r] ? static_cast<int64_t>(crd[k]) : kNone;
      }
    }
  }

private:
  using Unsigned = std::make_unsigned_t<C>;
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

  // The shift for a division by a power of two: a division would take longer than the rest of a block's work.
  static int shift_of(Unsigned divisor) {
    for (int shift = 0; shift < std::numeric_limits<Unsigned>::digits; ++shift)
      if (divisor == Unsigned{1} << shift) return shift;
    return -1;
  }

  // Division in the coordinates' own type is faster; if the width exceeds the type, all are in block 0.
  static Unsigned divisor(int64_t width) {
    constexpr auto most = std::numeric_limits<Unsigned>::max();
    return static_cast<uint64_t>(width) < most ? static_cast<Unsigned>(width) : most;
  }

  size_t start(int64_t block_row) {
    const auto *pos = static_cast<const P *>(from_.pos);
    const auto *crd = static_cast<const C *>(from_.crd);
    const int64_t first_row = block_row * height_;
    const auto rows = static_cast<size_t>(std::min(height_, from_.rows - first_row));
    for (size_t r = 0; r < rows; ++r) {
      at_[r] = pos[first_row + static_cast<int64_t>(r)];
      end_[r] = pos[first_row + static_cast<int64_t>(r) + 1];
      head_[r] = at_[r] < end_[r] ? static_cast<int64_t>(crd[at_[r]]) : kNone;
    }
    return rows;
  }

  int64_t first(size_t rows) const {
    int64_t least = kNone;
    for (size_t r = 0; r < rows; ++r)
      least = std::min(least, head_[r]);
    return least;
  }

  const RowMatrix &from_;
  int64_t height_;
  int64_t width_;
  Unsigned divisor_;
  int shift_;
  std::vector<P> at_;
  std::vector<P> end_;
  std::vector<int64_t> head_; // the column that each row has got to
};

int64_t block_rows(const RowMatrix &from, int64_t height) { return from.rows / height + (from.rows % height != 0); }

// Row ranges of about as many entries each that begin with rows of blocks, counted in these.
template <class P>
std::vector<int64_t> block_parts(const RowMatrix &from, int64_t height, size_t parts) {
  auto begins = row_parts(static_cast<const P *>(from.pos), from.rows, parts);
  for (int64_t &begin : begins)
    begin /= height;
  begins.back() = block_rows(from, height);
  return begins;
}

template <class P, class C>
int64_t count_as(const RowMatrix &from, int64_t height, int64_t width, P *pos) {
  const size_t parts = thread_count(static_cast<size_t>(from.count));
  const auto begins = block_parts<P>(from, height, parts);
  pos[0] = 0;
  in_parallel(parts, [&](size_t part) {
    BlockWalk<P, C> walk(from, height, width);
    for (int64_t b = begins[part]; b < begins[part + 1]; ++b) {
      P blocks = 0;
      walk.run(b, [&](int64_t) { ++blocks; }, [](int64_t, int64_t, P) {});
      pos[b + 1] = blocks;
    }
  });
  const int64_t rows = block_rows(from, height);
  for (int64_t b = 0; b < rows; ++b)
    pos[b + 1] += pos[b];
  return static_cast<int64_t>(pos[rows]);
}

template <class P, class C, class V>
void fill_as(const RowMatrix &from, int64_t height, int64_t width, const P *pos, C *crd, V *out) {
  const auto *values = static_cast<const V *>(from.values);
  const size_t parts = thread_count(static_cast<size_t>(from.count));
  const auto begins = block_parts<P>(from, height, parts);
  in_parallel(parts, [&](size_t part) {
    BlockWalk<P, C> walk(from, height, width);
    for (int64_t b = begins[part]; b < begins[part + 1]; ++b) {
      int64_t place = static_cast<int64_t>(pos[b]) - 1;
      V *block = nullptr;
      const auto open = [&](int64_t number) {
        crd[++place] = static_cast<C>(number);
        block = out + place * height * width;
      };
      walk.run(b, open, [&](int64_t r, int64_t c, P k) { block[r * width + c] = values[k]; });
    }
  });
}

} // namespace

void transpose(const RowMatrix &from, void *pos, void *crd, void *values) {
  with_matrix(from, [&](auto p, auto c, auto v) {
    const auto *columns = static_cast<const decltype(c) *>(from.crd);
    const auto run = [&](const auto &column_of) {
      transpose_as(from, column_of, static_cast<decltype(p) *>(pos), static_cast<decltype(c) *>(crd),
                   static_cast<decltype(v) *>(values));
    };
    // Specialise the usual stride.
    if (from.crd_stride == 1) return run([columns](int64_t k) { return columns[k]; });
    run([columns, stride = from.crd_stride](int64_t k) { return columns[k * stride]; });
  });
}

void list_to_rows(const RowList &from, void *pos, void *crd, void *values) {
  with_wide(from.width, [&](auto t) {
    using T = decltype(t);
    const SortedEntries<T> entries{static_cast<const T *>(from.row_crd), static_cast<const T *>(from.crd),
                                   static_cast<size_t>(from.stride), static_cast<size_t>(from.count)};
    copy_sorted(entries, from.rows, static_cast<T *>(pos), static_cast<T *>(crd), from.values, values, from.itemsize);
  });
}

void list_entries(const RowMatrix &from, bool rows_only, void *coordinates, void *values) {
  const size_t parts = thread_count(static_cast<size_t>(from.count));
  with_widths(from, [&](auto p, auto c) {
    const auto *pos = static_cast<const decltype(p) *>(from.pos);
    const auto *crd = static_cast<const decltype(c) *>(from.crd);
    auto *out = static_cast<decltype(c) *>(coordinates);
    const auto begins = row_parts(pos, from.rows, parts);
    in_parallel(parts, [&](size_t part) {
      const int64_t begin = begins[part], end = begins[part + 1];
      if (rows_only)
        list_rows(pos, begin, end, out);
      else
        list_pairs(pos, crd, begin, end, out);
      const int64_t first = static_cast<int64_t>(pos[begin]) * from.itemsize;
      const int64_t last = static_cast<int64_t>(pos[end]) * from.itemsize;
      if (values && last > first)
        std::memcpy(static_cast<char *>(values) + first, static_cast<const char *>(from.values) + first,
                    static_cast<size_t>(last - first));
    });
  });
}

int64_t count_blocks(const RowMatrix &from, int64_t height, int64_t width, void *pos) {
  return with_widths(from, [&](auto p, auto c) {
    return count_as<decltype(p), decltype(c)>(from, height, width, static_cast<decltype(p) *>(pos));
  });
}

void fill_blocks(const RowMatrix &from, int64_t height, int64_t width, const void *pos, void *crd, void *values) {
  with_matrix(from, [&](auto p, auto c, auto v) {
    fill_as(from, height, width, static_cast<const decltype(p) *>(pos), static_cast<decltype(c) *>(crd),
            static_cast<decltype(v) *>(values));
  });
}

} // namespace mlir_sparse
