#include "convert_lines.hpp"

#include <algorithm>
#include <cstring>

#include "pack_plain.hpp"
#include "pack_threads.hpp"
#include "pack_values.hpp"
#include "prefetch_distances.hpp"

namespace mlir_sparse {
namespace {

// Divides rows, or rows of blocks, among threads, and counts the entries of each share.
template <class Count>
RowShares share_rows(int64_t things, int64_t places, const Count &count) {
  const size_t parts = thread_count(static_cast<size_t>(places));
  RowShares shares;
  for (const size_t begin : even_parts(static_cast<size_t>(things), parts))
    shares.rows.push_back(static_cast<int64_t>(begin));
  std::vector<int64_t> found(parts);
  in_parallel(parts, [&](size_t part) { found[part] = count(shares.rows[part], shares.rows[part + 1]); });
  shares.entries.push_back(0);
  for (const int64_t entries : found)
    shares.entries.push_back(shares.entries.back() + entries);
  return shares;
}

// Appends the entries of a row to those of a share.
template <class T, class V>
struct Appender {
  T *crd;
  V *values;
  int64_t at;
  int64_t end;

  // Runs row(put), which calls put(coordinate, value, stored) at most `most` times. If the capacity suffices for all,
  // every call writes, and only stored entries advance the end: there is no branch to mispredict.
  template <class Row>
  void append(int64_t most, const Row &row) {
    // Local copies, which stores through pointers cannot alias.
    T *const c = crd;
    V *const v = values;
    int64_t k = at;
    if (end - at >= most)
      row([&k, c, v](int64_t coordinate, V value, bool stored) {
        c[k] = static_cast<T>(coordinate);
        v[k] = value;
        k += stored;
      });
    else
      row([&k, c, v](int64_t coordinate, V value, bool stored) {
        if (!stored) return;
        c[k] = static_cast<T>(coordinate);
        v[k++] = value;
      });
    at = k;
  }
};

// Calls rows(begin, end, positions, appender) for each share; positions are those of the ends of rows.
template <class T, class V, class Rows>
void fill_shares(const RowShares &shares, const RowOutput &out, const Rows &rows) {
  auto *pos = static_cast<T *>(out.pos);
  pos[0] = 0;
  in_parallel(shares.rows.size() - 1, [&](size_t part) {
    Appender<T, V> to{static_cast<T *>(out.crd), static_cast<V *>(out.values), shares.entries[part],
                      shares.entries[part + 1]};
    rows(shares.rows[part], shares.rows[part + 1], pos + 1, to);
  });
}

// Padding is all zero bits: -0 is an entry.
template <class V>
bool is_value(V value) {
  return value != 0;
}
bool is_value(const Wide &value) {
  return (value.words[0] | value.words[1]) != 0;
}

// Count zeros: vectors compare for equality only, and a negation would take a tenth of the conversion.
template <class V>
int64_t count_values(const V *values, int64_t count) {
  int64_t zeros = 0;
  for (int64_t k = 0; k < count; ++k)
    zeros += !is_value(values[k]);
  return count - zeros;
}

int64_t itemsize_of(const std::string &dtype) {
  return with_dtype(dtype, [](auto v) { return static_cast<int64_t>(sizeof v); });
}

// The rows that a diagonal crosses, of some rows.
struct Crossing {
  int64_t begin;
  int64_t end;

  Crossing(const DiagonalMatrix &from, int64_t line, int64_t first, int64_t last)
      : begin(std::max(first, -from.offsets[line])),
        end(std::max(begin, std::min(last, from.columns - from.offsets[line]))) {}
};

// Rows are read across all lines at once, too many streams for the hardware prefetcher: prefetch every few rows, as many as rows are asked for ahead.
bool announces(int64_t row, int64_t ahead) { return ahead > 0 && (row & (ahead - 1)) == 0; }

template <class T>
void announce_lines(const T *values, int64_t step, int64_t lines, int64_t ahead) {
  for (int64_t line = 0; line < lines; ++line)
    prefetch_to_read(values + line * step + 16 * ahead);
}

template <class T, class V>
void fill_from_slots(const SlotMatrix &from, const RowShares &shares, const RowOutput &out) {
  fill_shares<T, V>(shares, out, [&](int64_t begin, int64_t end, T *ends, Appender<T, V> &to) {
    const int64_t lines = from.lines, row_step = from.by_row ? lines : 1, step = from.by_row ? 1 : from.rows;
    const int64_t ahead = row_distance();
    for (int64_t r = begin; r < end; ++r) {
      const auto *crd = static_cast<const T *>(from.crd) + r * row_step;
      const auto *values = static_cast<const V *>(from.values) + r * row_step;
      if (!from.by_row && announces(r, ahead)) {
        announce_lines(crd, step, lines, ahead);
        announce_lines(values, step, lines, ahead);
      }
      to.append(lines, [=](const auto &put) {
        for (int64_t n = 0; n < lines; ++n)
          put(crd[n * step], values[n * step], crd[n * step] >= 0);
      });
      ends[r] = static_cast<T>(to.at);
    }
  });
}

template <class T, class V>
void fill_from_diagonals(const DiagonalMatrix &from, const RowShares &shares, const RowOutput &out) {
  fill_shares<T, V>(shares, out, [&](int64_t begin, int64_t end, T *ends, Appender<T, V> &to) {
    const int64_t *offsets = from.offsets;
    const int64_t rows = from.rows, columns = from.columns, ahead = row_distance();
    int64_t first = from.lines, last = from.lines; // the diagonals that cross the row: both go down with each row
    for (int64_t r = begin; r < end; ++r) {
      while (first > 0 && offsets[first - 1] >= -r)
        --first;
      while (last > 0 && offsets[last - 1] >= columns - r)
        --last;
      const auto *values = static_cast<const V *>(from.values) + r;
      if (announces(r, ahead)) announce_lines(values + first * rows, rows, last - first, ahead);
      to.append(last - first, [=](const auto &put) {
        for (int64_t d = first; d < last; ++d)
          put(r + offsets[d], values[d * rows], is_value(values[d * rows]));
      });
      ends[r] = static_cast<T>(to.at);
    }
  });
}

template <class P, class C, class V>
class Blocks {
public:
  using Value = V;

  explicit Blocks(const BlockMatrix &from)
      : from_(from), pos_(static_cast<const P *>(from.pos)), crd_(static_cast<const C *>(from.crd)),
        values_(static_cast<const V *>(from.values)) {}

  // The entries of some rows of blocks.
  int64_t count(int64_t begin, int64_t end) const {
    const int64_t size = values_in_block();
    if (from_.rows % from_.height == 0 && from_.columns % from_.width == 0)
      return count_values(values_ + pos_[begin] * size, (pos_[end] - pos_[begin]) * size);
    int64_t found = 0;
    for_rows(begin, end, [&](int64_t, int64_t, const auto &row) {
      row([&found](int64_t, V, bool stored) { found += stored; });
    });
    return found;
  }

  template <class T>
  void fill(int64_t begin, int64_t end, T *ends, Appender<T, V> &to) const {
    for_rows(begin, end, [&to, ends](int64_t r, int64_t most, const auto &row) {
      to.append(most, row);
      ends[r] = static_cast<T>(to.at);
    });
  }

private:
  // There are no blocks if the number of their values does not fit in 64 bits.
  int64_t values_in_block() const {
    int64_t size = 0;
    return __builtin_mul_overflow(from_.height, from_.width, &size) ? 0 : size;
  }

  // Calls f(r, most, row) for each row of some rows of blocks; row(put) then goes through what is in it.
  template <class F>
  void for_rows(int64_t begin, int64_t end, const F &f) const {
    const int64_t height = from_.height, width = from_.width, columns = from_.columns, size = values_in_block();
    for (int64_t b = begin; b < end; ++b) {
      const int64_t blocks = pos_[b + 1] - pos_[b];
      const C *crd = crd_ + pos_[b];
      const int64_t top = b * height, bottom = top + std::min(height, from_.rows - top);
      for (int64_t r = top; r < bottom; ++r) {
        const V *values = values_ + pos_[b] * size + (blocks > 0 ? (r - top) * width : 0);
        f(r, blocks * width, [=](const auto &put) {
          for (int64_t k = 0; k < blocks; ++k) {
            const int64_t first = crd[k] * width, stop = std::min(width, columns - first);
            for (int64_t c = 0; c < stop; ++c)
              put(first + c, values[k * size + c], is_value(values[k * size + c]));
          }
        });
      }
    }
  }

  const BlockMatrix &from_;
  const P *pos_;
  const C *crd_;
  const V *values_;
};

// Runs f with Blocks of the widths and the size that they have.
template <class F>
auto with_blocks(const BlockMatrix &from, const F &f) {
  return with_wide(from.pos_width, [&](auto p) {
    return with_wide(from.crd_width, [&](auto c) {
      return with_itemsize(itemsize_of(from.dtype),
                           [&](auto v) { return f(Blocks<decltype(p), decltype(c), decltype(v)>(from)); });
    });
  });
}

} // namespace

RowShares count_entries(const SlotMatrix &from) {
  return with_wide(from.crd_width, [&](auto t) {
    const auto *crd = static_cast<const decltype(t) *>(from.crd);
    return share_rows(from.rows, from.rows * from.lines, [&](int64_t begin, int64_t end) {
      const int64_t runs = from.by_row ? 1 : from.lines, length = (end - begin) * (from.by_row ? from.lines : 1);
      int64_t found = 0;
      for (int64_t run = 0; run < runs; ++run) {
        const auto *first = crd + (from.by_row ? begin * from.lines : run * from.rows + begin);
        found += std::count_if(first, first + length, [](auto c) { return c >= 0; });
      }
      return found;
    });
  });
}

RowShares count_entries(const DiagonalMatrix &from) {
  return with_itemsize(itemsize_of(from.dtype), [&](auto v) {
    using V = decltype(v);
    return share_rows(from.rows, from.rows * from.lines, [&](int64_t begin, int64_t end) {
      int64_t found = 0;
      for (int64_t line = 0; line < from.lines; ++line) {
        const Crossing rows(from, line, begin, end);
        const V *values = static_cast<const V *>(from.values) + line * from.rows;
        found += count_values(values + rows.begin, rows.end - rows.begin);
      }
      return found;
    });
  });
}

RowShares count_entries(const BlockMatrix &from) {
  return with_blocks(from, [&](const auto &blocks) {
    const int64_t rows = from.rows / from.height + (from.rows % from.height != 0);
    return share_rows(rows, from.rows, [&](int64_t begin, int64_t end) { return blocks.count(begin, end); });
  });
}

void fill_rows(const SlotMatrix &from, const RowShares &shares, const RowOutput &out) {
  with_wide(out.width, [&](auto t) {
    with_itemsize(from.itemsize, [&](auto v) { fill_from_slots<decltype(t), decltype(v)>(from, shares, out); });
  });
}

void fill_rows(const DiagonalMatrix &from, const RowShares &shares, const RowOutput &out) {
  with_wide(out.width, [&](auto t) {
    with_itemsize(itemsize_of(from.dtype),
                  [&](auto v) { fill_from_diagonals<decltype(t), decltype(v)>(from, shares, out); });
  });
}

void fill_rows(const BlockMatrix &from, const RowShares &shares, const RowOutput &out) {
  with_wide(out.width, [&](auto t) {
    using T = decltype(t);
    with_blocks(from, [&](const auto &blocks) {
      using V = typename std::decay_t<decltype(blocks)>::Value;
      fill_shares<T, V>(shares, out, [&](int64_t begin, int64_t end, T *ends, Appender<T, V> &to) {
        blocks.fill(begin, end, ends, to);
      });
    });
  });
}

} // namespace mlir_sparse
