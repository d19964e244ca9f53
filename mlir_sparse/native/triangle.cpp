#include "triangle.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <complex>
#include <limits>
#include <map>
#include <numeric>
#include <thread>
#include <type_traits>
#include <vector>

#include "pack_threads.hpp"
#include "threads.hpp"

namespace mlir_sparse {
namespace {

// In visited entries, times right sides: sets of less work are not worth meeting other threads for.
constexpr std::int64_t kSetWork = std::int64_t{1} << 12;
// How often one thread alone and several are tried each, before the faster of both is kept.
constexpr int kTrials = 3;
// A thread takes so many right sides at least, one cache line of f64; and at most, for them to stay in a cache.
constexpr std::int64_t kFewSides = 8, kMostSides = 64;

template <class T>
T minus_product(T sum, T a, T b) {
  return sum - a * b;
}

template <class T>
T times(T a, T b) {
  return a * b;
}

// As NumPy multiplies: the operator of std::complex looks for infinities first.
template <class T>
std::complex<T> minus_product(std::complex<T> sum, std::complex<T> a, std::complex<T> b) {
  return {sum.real() - (a.real() * b.real() - a.imag() * b.imag()),
          sum.imag() - (a.real() * b.imag() + a.imag() * b.real())};
}

template <class T>
std::complex<T> times(std::complex<T> a, std::complex<T> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

template <class T>
bool is_finite(T value) {
  return std::isfinite(std::real(value)) && std::isfinite(std::imag(value));
}

// A number divided by a diagonal element, through its reciprocal as in SciPy: that of a row is ready before the sum is.
template <class T>
T divided(T sum, T by) {
  const T reciprocal = T{1} / by;
  return is_finite(reciprocal) ? times(sum, reciprocal) : sum / by;
}

// What divides a row: the diagonal element, and its reciprocal, which is ready before the sum of the row is.
template <class T>
struct Divisor {
  T by, reciprocal;
  bool finite;

  explicit Divisor(T element) : by(element), reciprocal(T{1} / element), finite(is_finite(reciprocal)) {}

  T of(T sum) const { return finite ? times(sum, reciprocal) : sum / by; }

  T of(T sum, T near, T other) const {
    T found;
    return at_once(reciprocal, sum, near, other, found) ? found : of(minus_product(sum, near, other));
  }

  // (sum - near * other) * reciprocal: what is computed last, `other`, is waited for by one product and one difference
  // alone. Returns false where digits would be lost, numbers overflow, or the divisor is zero.
  static bool at_once(T reciprocal, T sum, T near, T other, T &found) {
    if constexpr (std::is_floating_point_v<T>) {
      const T scaled = near * reciprocal;
      found = sum * reciprocal - scaled * other;
      return std::abs(scaled) >= std::numeric_limits<T>::min() && std::abs(found) <= std::numeric_limits<T>::max();
    }
    return at_once(reciprocal, minus_product(sum, near, other), found);
  }
  static bool at_once(T reciprocal, T sum, T &found) {
    found = times(sum, reciprocal);
    return is_finite(reciprocal);
  }
};

// The first row found to be singular, for any number of threads.
class FirstRow {
 public:
  void note(std::int64_t row) {
    std::int64_t known = row_.load(std::memory_order_relaxed);
    while (row < known && !row_.compare_exchange_weak(known, row, std::memory_order_relaxed)) {}
  }
  std::int64_t found() const {
    const std::int64_t row = row_.load();
    return row == kNone ? -1 : row;
  }

 private:
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  std::atomic<std::int64_t> row_{kNone};
};

// Compressed rows, or columns, of one triangle.
template <class Index>
struct Segments {
  const Index *positions, *coordinates;
  bool ahead;  // whether the entries of the triangle come before the diagonal in a segment

  // Where the diagonal element of a segment is, or would be. Of a triangle alone it is the last or the first entry.
  Index diagonal(std::int64_t i) const {
    const Index first = positions[i], last = positions[i + 1];
    const auto place = static_cast<Index>(i);
    if (first < last && coordinates[ahead ? last - 1 : first] == place) return ahead ? last - 1 : first;
    return static_cast<Index>(std::lower_bound(coordinates + first, coordinates + last, place) - coordinates);
  }

  bool has_diagonal(std::int64_t i, Index at) const {
    return at < positions[i + 1] && coordinates[at] == static_cast<Index>(i);
  }
  // The entries of the triangle beside the diagonal.
  Index begin(std::int64_t i, Index at) const { return ahead ? positions[i] : static_cast<Index>(at + has_diagonal(i, at)); }
  Index end(std::int64_t i, Index at) const { return ahead ? at : positions[i + 1]; }
};

template <class Value>
struct Sides {
  Value *data;
  std::int64_t stride, begin, end;  // of each row of `stride` elements, those from `begin` to `end`
};

// What one step does to the right sides: `Row` takes from row i the products with rows before it, `Column` the products
// of row i from rows after it, and both divide row i by the diagonal element.
template <class Index, class Value>
struct Scalars {
  Segments<Index> segments;
  const Index *source;  // where the value of an entry is; null for its own place
  const Value *values;
  Sides<Value> sides;
  bool unit;
  FirstRow &singular;
  std::int64_t rows;

  Value value(Index p) const { return values[source == nullptr ? p : source[p]]; }

  // The element that divides row i: 1 where there is none.
  Value divisor(std::int64_t i, Index at) const {
    if (unit) return Value{1};
    if (segments.has_diagonal(i, at)) {
      const Value found = value(at);
      if (found != Value{}) return found;
    }
    singular.note(i);
    return Value{1};
  }

  // Subtracts a multiple of the right sides of one row from those of another.
  void take(std::int64_t to, Value factor, std::int64_t from) const {
    Value *into = sides.data + to * sides.stride;
    const Value *other = sides.data + from * sides.stride;
    for (std::int64_t c = sides.begin; c < sides.end; ++c) into[c] = minus_product(into[c], factor, other[c]);
  }

  void row(std::int64_t i) const {
    const Index at = segments.diagonal(i), begin = segments.begin(i, at), end = segments.end(i, at);
    const Divisor<Value> divisor_of_row(divisor(i, at));
    std::int64_t c = sides.begin;
    for (; c + 8 <= sides.end; c += 8) several<8>(i, begin, end, divisor_of_row, c);
    for (; c + 4 <= sides.end; c += 4) several<4>(i, begin, end, divisor_of_row, c);
    for (; c < sides.end; ++c) several<1>(i, begin, end, divisor_of_row, c);
  }

  // Row i of kSides right sides, in registers.
  template <int kSides>
  void several(std::int64_t i, Index begin, Index end, const Divisor<Value> &by, std::int64_t c) const {
    Value sums[kSides], *const row = sides.data + i * sides.stride + c;
    for (int k = 0; k < kSides; ++k) sums[k] = row[k];
    const auto other = [&](Index p) { return sides.data + segments.coordinates[p] * sides.stride + c; };
    const auto take_entry = [&](Index p) {
      const Value factor = value(p), *const from = other(p);
      for (int k = 0; k < kSides; ++k) sums[k] = minus_product(sums[k], factor, from[k]);
    };
    // Away from the diagonal comes first: what is nearest to it was computed last. Of columns only a neighbour is apart.
    const Index near = segments.ahead ? end - 1 : begin;
    const bool adjoins = begin < end && segments.coordinates[near] == static_cast<Index>(segments.ahead ? i - 1 : i + 1);
    const bool apart = source == nullptr ? begin < end : adjoins;
    if (segments.ahead)
      for (Index p = begin; p < end - apart; ++p) take_entry(p);
    else
      for (Index p = end; p-- > begin + apart;) take_entry(p);
    if (apart) {
      const Value factor = value(near), *const from = other(near);
      for (int k = 0; k < kSides; ++k) row[k] = by.of(sums[k], factor, from[k]);
    } else {
      for (int k = 0; k < kSides; ++k) row[k] = by.of(sums[k]);
    }
  }

  // Whether column j has an element in the row that the next step of a sweep over columns divides.
  bool adjoins(std::int64_t j, Index begin, Index end) const {
    return begin < end && segments.coordinates[segments.ahead ? end - 1 : begin] == static_cast<Index>(segments.ahead ? j - 1 : j + 1);
  }

  // Row i divided: its sum, without the product that was left to it if there is one.
  [[gnu::noinline]] Value divided_row(std::int64_t i, Index at, Value sum, bool is_left, Value factor, Value other) const {
    const Divisor<Value> by(divisor(i, at));
    return is_left ? by.of(sum, factor, other) : by.of(sum);
  }

  void column(std::int64_t j) const {
    const Index at = segments.diagonal(j), begin = segments.begin(j, at), end = segments.end(j, at);
    const Divisor<Value> by(divisor(j, at));
    Value *row = sides.data + j * sides.stride;
    if (const Index waited = neighbour(j); waited < 0) {
      for (std::int64_t c = sides.begin; c < sides.end; ++c) row[c] = by.of(row[c]);
    } else {
      const Value factor = value(waited), *const other = row + (segments.ahead ? sides.stride : -sides.stride);
      for (std::int64_t c = sides.begin; c < sides.end; ++c) row[c] = by.of(row[c], factor, other[c]);
    }
    const bool left = adjoins(j, begin, end);  // to the next column
    const Index first = begin + (left && !segments.ahead), last = end - (left && segments.ahead);
    for (Index p = first; p < last; ++p) take(segments.coordinates[p], value(p), j);
  }

  // The entry of the column before, in a sweep, that was left to column j; -1 for none.
  Index neighbour(std::int64_t j) const {
    const std::int64_t other = segments.ahead ? j + 1 : j - 1;
    if (other < 0 || other >= rows) return -1;
    const Index at = segments.diagonal(other), begin = segments.begin(other, at), end = segments.end(other, at);
    return !adjoins(other, begin, end) ? Index{-1} : segments.ahead ? end - 1 : begin;
  }
};

// The same for rows of square blocks; the last ones may reach beyond the matrix.
template <class Index, class Value>
struct Blocks {
  Segments<Index> segments;
  const Value *values;
  Sides<Value> sides;
  bool unit;
  FirstRow &singular;
  std::int64_t extent, size;

  Value *side(std::int64_t row) const { return sides.data + row * sides.stride; }

  void take(std::int64_t to, Value factor, std::int64_t from) const {
    Value *into = side(to);
    const Value *other = side(from);
    for (std::int64_t c = sides.begin; c < sides.end; ++c) into[c] = minus_product(into[c], factor, other[c]);
  }

  void block(std::int64_t i, Index p) const {
    const std::int64_t top = i * extent, left = static_cast<std::int64_t>(segments.coordinates[p]) * extent;
    const std::int64_t rows = std::min(extent, size - top), columns = std::min(extent, size - left);
    const Value *stored = values + static_cast<std::int64_t>(p) * extent * extent;
    for (std::int64_t r = 0; r < rows; ++r) {
      // The nearest to the diagonal last, as above.
      if (segments.ahead)
        for (std::int64_t c = 0; c < columns; ++c) take(top + r, stored[r * extent + c], left + c);
      else
        for (std::int64_t c = columns; c-- > 0;) take(top + r, stored[r * extent + c], left + c);
    }
  }

  void within(std::int64_t top, std::int64_t rows, std::int64_t r, const Value *stored) const {
    const Value *line = stored + r * extent;
    if (segments.ahead)
      for (std::int64_t c = 0; c < r; ++c) take(top + r, line[c], top + c);
    else
      for (std::int64_t c = rows; c-- > r + 1;) take(top + r, line[c], top + c);
    if (unit) return;
    Value by = line[r];
    if (by == Value{}) {
      singular.note(top + r);
      by = Value{1};
    }
    for (std::int64_t c = sides.begin; c < sides.end; ++c) side(top + r)[c] = divided(side(top + r)[c], by);
  }

  void row(std::int64_t i) const {
    const Index at = segments.diagonal(i), begin = segments.begin(i, at), end = segments.end(i, at);
    if (segments.ahead)
      for (Index p = begin; p < end; ++p) block(i, p);
    else
      for (Index p = end; p-- > begin;) block(i, p);
    const std::int64_t top = i * extent, rows = std::min(extent, size - top);
    if (!segments.has_diagonal(i, at)) {
      if (!unit) singular.note(top);
      return;
    }
    const Value *stored = values + static_cast<std::int64_t>(at) * extent * extent;
    if (segments.ahead)
      for (std::int64_t r = 0; r < rows; ++r) within(top, rows, r, stored);
    else
      for (std::int64_t r = rows; r-- > 0;) within(top, rows, r, stored);
  }
};

// Asks for what is a page ahead in the order of a sweep, where the hardware's own foresight ends.
template <bool kAscending, class T>
void foresee(const T *at) {
  constexpr std::ptrdiff_t kPage = 4096 / sizeof(T);
  prefetch_to_read(kAscending ? at + kPage : at - kPage);
}

// All rows one after the other for one right side: the most frequent case, in a loop of its own without calls.
template <bool kAhead, bool kUnit, class Index, class Value>
[[gnu::noinline]] void sweep_rows(const Scalars<Index, Value> &scalars, const Value *given, std::int64_t rows) {
  const Segments<Index> segments = scalars.segments;
  const Index *const positions = segments.positions, *const coordinates = segments.coordinates;
  const Value *const values = scalars.values;
  Value *const x = scalars.sides.data;
  Value before{};
  Index met = positions[kAhead ? 0 : rows];  // where the row before ended, in the order of the sweep
  for (std::int64_t k = 0; k < rows; ++k) {
    const std::int64_t i = kAhead ? k : rows - 1 - k;
    const Index first = kAhead ? met : positions[i], last = kAhead ? positions[i + 1] : met, at = kAhead ? last - 1 : first;
    met = kAhead ? last : first;
    foresee<kAhead>(values + met);
    foresee<kAhead>(coordinates + met);
    if (first == last || coordinates[at] != static_cast<Index>(i)) {  // not a triangle alone, or without a diagonal
      x[i] = given[i];
      scalars.row(i);
      before = x[i];
      continue;
    }
    const Value element = kUnit ? Value{1} : values[at];
    const auto by = [&] { return Divisor<Value>(element == Value{} ? scalars.divisor(i, at) : element); };
    Value sum = given[i];
    // The nearest entry, which comes last, is often of the row before, whose result is still in a register: each row
    // waits for it, and would for its way through memory too.
    const Index near = kAhead ? at - 1 : at + 1;
    if (first + 1 == last) {
      sum = by().of(sum);
    } else {
      if constexpr (kAhead)
        for (Index p = first; p < near; ++p) sum = minus_product(sum, values[p], x[coordinates[p]]);
      else
        for (Index p = last; --p > near;) sum = minus_product(sum, values[p], x[coordinates[p]]);
      const bool adjoins = k > 0 && coordinates[near] == static_cast<Index>(kAhead ? i - 1 : i + 1);
      const Value factor = values[near], other = adjoins ? before : x[coordinates[near]];
      if (Value found; Divisor<Value>::at_once(Value{1} / element, sum, factor, other, found))
        sum = found;
      else
        sum = by().of(sum, factor, other);
    }
    before = x[i] = sum;
  }
}

// Copies right sides to where the solution will be, as far as a sweep has come: what it reads next is in a cache then.
template <bool kAscending, class Value>
class FilledSides {
 public:
  FilledSides(const Value *given, Value *x, std::int64_t size) : given_(given), x_(x), size_(size), next_(kAscending ? 0 : size) {}

  // Copies up to an element and including it.
  void reach(std::int64_t at) {
    if (kAscending ? at >= next_ : at < next_) copy(at);
  }

 private:
  [[gnu::noinline]] void copy(std::int64_t at) {  // seldom: the sweep keeps its registers
    constexpr std::int64_t kMore = 32;  // few: the processor goes on with the sweep while their lines come
    const std::int64_t stop = kAscending ? std::min(size_, at + kMore) : std::max<std::int64_t>(0, at - kMore + 1);
    const std::int64_t begin = std::min(next_, stop), end = std::max(next_, stop);
    if (given_ != x_) std::copy(given_ + begin, given_ + end, x_ + begin);
    next_ = stop;
  }

  const Value *const given_;
  Value *const x_;
  const std::int64_t size_;
  std::int64_t next_;
};

// Of so many columns, a power of two, what is ahead is asked for together: they share lines where they have few entries.
template <class Index>
std::int64_t columns_together(const Index *positions, std::int64_t columns) {
  constexpr std::int64_t kLine = 8;
  return positions[columns] < kLine * columns ? 4 : 1;
}

// Likewise for columns. The product that the next column waits for stays in registers.
template <bool kLower, bool kUnit, class Index, class Value>
[[gnu::noinline]] void sweep_columns(const Scalars<Index, Value> &scalars, const Value *given, std::int64_t columns) {
  const Segments<Index> segments = scalars.segments;
  const Index *const positions = segments.positions, *const coordinates = segments.coordinates;
  const Value *const values = scalars.values;
  Value *const x = scalars.sides.data;
  const std::int64_t sharing = columns_together(positions, columns) - 1;
  FilledSides<kLower, Value> filled(given, x, columns);
  Value before{}, factor{};
  bool follows = false;  // whether `factor` times `before` is to be taken from this column's element
  Index met = positions[kLower ? 0 : columns];  // where the column before ended, in the order of the sweep
  for (std::int64_t k = 0; k < columns; ++k) {
    const std::int64_t j = kLower ? k : columns - 1 - k;
    const Index first = kLower ? met : positions[j], last = kLower ? positions[j + 1] : met;
    met = kLower ? last : first;
    if ((k & sharing) == 0) {
      foresee<kLower>(values + met);
      foresee<kLower>(coordinates + met);
    }
    if (first < last) filled.reach(coordinates[kLower ? last - 1 : first]);
    Index at = kLower ? first : last - 1;
    Index begin = kLower ? at + 1 : first, end = kLower ? last : at;
    Value element{1};
    // Not a triangle alone, or without a diagonal.
    if (__builtin_expect(first == last || coordinates[at] != static_cast<Index>(j), 0)) {
      filled.reach(j);
      at = segments.diagonal(j);
      begin = segments.begin(j, at), end = segments.end(j, at);
      if (!kUnit) element = segments.has_diagonal(j, at) ? values[at] : Value{};
    } else if (!kUnit) {
      element = values[at];
    }
    const Value reciprocal = Value{1} / element;
    Value found;
    const bool at_once = follows ? Divisor<Value>::at_once(reciprocal, x[j], factor, before, found)
                                 : Divisor<Value>::at_once(reciprocal, x[j], found);
    if (__builtin_expect(!at_once, 0)) found = scalars.divided_row(j, at, x[j], follows, factor, before);
    before = x[j] = found;
    follows = begin < end && coordinates[kLower ? begin : end - 1] == static_cast<Index>(kLower ? j + 1 : j - 1);
    if (follows) factor = values[kLower ? begin++ : --end];
    for (Index p = begin; p < end; ++p) {
      Value &into = x[coordinates[p]];
      into = minus_product(into, values[p], found);
    }
  }
}

template <bool kUnit, class Index, class Value>
void sweep_once(const Scalars<Index, Value> &scalars, const TriangleStructure &structure, const Value *given) {
  const std::int64_t rows = scalars.rows;
  if (structure.by_columns)
    structure.lower ? sweep_columns<true, kUnit>(scalars, given, rows) : sweep_columns<false, kUnit>(scalars, given, rows);
  else
    structure.lower ? sweep_rows<true, kUnit>(scalars, given, rows) : sweep_rows<false, kUnit>(scalars, given, rows);
}

void wait_for(const std::atomic<std::int64_t> &done, std::int64_t count) {
  for (int turn = 0; done.load(std::memory_order_acquire) < count; ++turn)
    if (turn > 2000) std::this_thread::yield();  // the other thread may have to have this processor
}

}  // namespace

// Rows in sets, each of which depends on sets before it alone, in chunks for threads.
template <class Index>
class Triangle::Order {
 public:
  Order(const TriangleStructure &structure, const Segments<Index> &segments, std::int64_t rows)
      : rows_(rows), entries_(segments.positions[rows]), area_(structure.block * structure.block),
        level_(static_cast<std::size_t>(rows)) {
    if (structure.by_columns)
      find_by_columns(segments, structure.lower);
    else
      find_by_rows(segments, structure.lower);
    levels_ = rows == 0 ? 0 : static_cast<std::int64_t>(*std::max_element(level_.begin(), level_.end())) + 1;
  }

  std::int64_t levels() const { return levels_; }

  // Whether threads have enough to do in each set, on average.
  bool pays(std::int64_t sides) const { return entries_ * area_ * sides / std::max<std::int64_t>(levels_, 1) >= 2 * kSetWork; }

  // Sorts the rows by sets, for `run`; not again the next time.
  void settle(const TriangleStructure &structure, const Segments<Index> &segments) {
    if (!begins_.empty()) return;
    sort_rows();
    if (structure.by_columns) transpose(segments);
    count_entries(structure.by_columns ? turned(structure) : segments);
  }

  // The rows of a matrix of columns, with the places of their values.
  Segments<Index> turned(const TriangleStructure &structure) const {
    return {positions_.data(), coordinates_.data(), structure.lower};
  }
  const Index *source() const { return source_.empty() ? nullptr : source_.data(); }

  template <class Step>
  void run(const Step &step, std::int64_t sides, std::size_t threads) const {
    const std::vector<Chunk> chunks = chunks_for(sides, static_cast<std::int64_t>(threads));
    std::atomic<std::int64_t> done{0};
    run_chunks(chunks.size(), threads, [&](std::size_t number) {
      const Chunk &chunk = chunks[number];
      wait_for(done, chunk.after);
      for (std::int64_t at = chunk.begin; at < chunk.end; ++at) step(order_[static_cast<std::size_t>(at)]);
      done.fetch_add(1, std::memory_order_acq_rel);
    });
  }

 private:
  struct Chunk {
    std::int64_t begin, end;  // of `order_`
    std::int64_t after;       // it begins when so many chunks are done, which are those before its set
  };

  template <class Visit>
  void in_order(bool ascending, const Visit &visit) {
    for (std::int64_t k = 0; k < rows_; ++k) visit(ascending ? k : rows_ - 1 - k);
  }

  void find_by_rows(const Segments<Index> &segments, bool lower) {
    in_order(lower, [&](std::int64_t i) {
      const Index at = segments.diagonal(i), end = segments.end(i, at);
      Index level = 0;
      for (Index p = segments.begin(i, at); p < end; ++p)
        level = std::max<Index>(level, static_cast<Index>(level_[static_cast<std::size_t>(segments.coordinates[p])] + 1));
      level_[static_cast<std::size_t>(i)] = level;
    });
  }

  void find_by_columns(const Segments<Index> &segments, bool lower) {
    in_order(lower, [&](std::int64_t j) {
      const Index at = segments.diagonal(j), end = segments.end(j, at), next = static_cast<Index>(level_[static_cast<std::size_t>(j)] + 1);
      for (Index p = segments.begin(j, at); p < end; ++p) {
        Index &level = level_[static_cast<std::size_t>(segments.coordinates[p])];
        level = std::max(level, next);
      }
    });
  }

  void sort_rows() {
    begins_.assign(static_cast<std::size_t>(levels_) + 1, 0);
    for (const Index level : level_) ++begins_[static_cast<std::size_t>(level) + 1];
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
    std::vector<std::int64_t> next(begins_.begin(), begins_.end() - 1);
    order_.resize(static_cast<std::size_t>(rows_));
    for (std::int64_t i = 0; i < rows_; ++i)
      order_[static_cast<std::size_t>(next[static_cast<std::size_t>(level_[static_cast<std::size_t>(i)])]++)] = static_cast<Index>(i);
    level_ = {};
  }

  void transpose(const Segments<Index> &segments) {
    const Index entries = segments.positions[rows_];
    positions_.assign(static_cast<std::size_t>(rows_) + 1, 0);
    coordinates_.resize(static_cast<std::size_t>(entries));
    source_.resize(static_cast<std::size_t>(entries));
    for (Index p = 0; p < entries; ++p) ++positions_[static_cast<std::size_t>(segments.coordinates[p]) + 1];
    std::partial_sum(positions_.begin(), positions_.end(), positions_.begin());
    std::vector<Index> next(positions_.begin(), positions_.end() - 1);
    for (std::int64_t j = 0; j < rows_; ++j)
      for (Index p = segments.positions[j]; p < segments.positions[j + 1]; ++p) {
        const auto place = static_cast<std::size_t>(next[static_cast<std::size_t>(segments.coordinates[p])]++);
        coordinates_[place] = static_cast<Index>(j);
        source_[place] = p;
      }
  }

  // The entries of the triangle up to each row of the order.
  void count_entries(const Segments<Index> &segments) {
    before_.resize(order_.size() + 1);
    for (std::size_t k = 0; k < order_.size(); ++k) {
      const std::int64_t i = order_[k];
      const Index at = segments.diagonal(i);
      before_[k + 1] = before_[k] + static_cast<std::int64_t>(segments.end(i, at) - segments.begin(i, at)) + 1;
    }
  }

  std::vector<Chunk> chunks_for(std::int64_t sides, std::int64_t threads) const {
    std::vector<Chunk> chunks;
    for (std::size_t level = 0; level + 1 < begins_.size(); ++level) {
      const std::int64_t begin = begins_[level], end = begins_[level + 1];
      const std::int64_t from = before_[static_cast<std::size_t>(begin)], work = before_[static_cast<std::size_t>(end)] - from;
      const std::int64_t parts = std::min(threads, std::max<std::int64_t>(1, work * area_ * sides / kSetWork));
      const auto after = static_cast<std::int64_t>(chunks.size());
      const bool joins = parts == 1 && !chunks.empty() && chunks.back().after == after - 1;
      if (joins) {  // the set before has one chunk as well: one thread does both
        chunks.back().end = end;
        continue;
      }
      std::int64_t at = begin;
      for (std::int64_t part = 1; part <= parts; ++part) {
        const auto *first = before_.data() + at, *last = before_.data() + end;
        const std::int64_t stop = part == parts ? end : std::lower_bound(first, last, from + work * part / parts) - before_.data();
        chunks.push_back({at, stop, after});
        at = stop;
      }
    }
    return chunks;
  }

  std::int64_t rows_, entries_, area_, levels_ = 0;
  std::vector<Index> level_, order_;
  std::vector<std::int64_t> begins_, before_;
  std::vector<Index> positions_, coordinates_, source_;
};

struct Triangle::Orders {
  std::unique_ptr<Order<std::int32_t>> narrow;
  std::unique_ptr<Order<std::int64_t>> wide;

  template <class Index>
  std::unique_ptr<Order<Index>> &of() {
    if constexpr (sizeof(Index) == 4)
      return narrow;
    else
      return wide;
  }
};

// What solves took with one thread and with several, by the number of right sides, in powers of two, and of threads.
struct Triangle::Trials {
  struct Best {
    double alone = std::numeric_limits<double>::infinity(), shared = std::numeric_limits<double>::infinity();
    int turns = 0;

    // Whether threads share the next solve: each other one at first, then if that took less.
    bool next() {
      const int turn = turns;
      if (turn < 2 * kTrials) ++turns;
      return turn < 2 * kTrials ? turn % 2 == 1 : shared < alone;
    }
    void note(bool by_threads, double seconds) {
      double &best = by_threads ? shared : alone;
      best = std::min(best, seconds);
    }
  };
  std::map<std::pair<int, std::size_t>, Best> best;

  Best &of(std::int64_t sides, std::size_t threads) {
    return best[{std::ilogb(static_cast<double>(sides)), threads}];
  }
};

namespace {

using Clock = std::chrono::steady_clock;

template <class Index>
Segments<Index> segments_of(const TriangleStructure &structure) {
  // A column of the lower triangle comes after its diagonal element, as a row of the upper does.
  return {reinterpret_cast<const Index *>(structure.positions.data),
          reinterpret_cast<const Index *>(structure.coordinates.data), structure.lower != structure.by_columns};
}

// Rows of a block are one row of the structure.
std::int64_t rows_of(const TriangleStructure &structure) { return structure.positions.length - 1; }

template <class Step>
void sweep(std::int64_t rows, bool ascending, const Step &step) {
  if (ascending)
    for (std::int64_t i = 0; i < rows; ++i) step(i);
  else
    for (std::int64_t i = rows; i-- > 0;) step(i);
}

}  // namespace

Triangle::Triangle(const TriangleStructure &structure) : structure_(structure), orders_(std::make_unique<Orders>()), trials_(std::make_unique<Trials>()) {}

Triangle::~Triangle() = default;

template <class Index, class Value>
std::int64_t Triangle::solve_as(const Value *values, const Value *given, Value *sides, std::int64_t count, bool unit) {
  const Segments<Index> segments = segments_of<Index>(structure_);
  const std::int64_t rows = rows_of(structure_), entries = segments.positions[rows] * structure_.block * structure_.block;
  const std::size_t threads = thread_count(static_cast<std::size_t>(entries * count));
  FirstRow singular;
  const auto with_step = [&](const Sides<Value> &part, const auto &run) {
    if (structure_.block > 1) {
      const Blocks<Index, Value> blocks{segments, values, part, unit, singular, structure_.block, structure_.size};
      run([&](std::int64_t i) { blocks.row(i); });
    } else {
      const Scalars<Index, Value> scalars{segments, nullptr, values, part, unit, singular, rows};
      if (structure_.by_columns)
        run([&](std::int64_t j) { scalars.column(j); });
      else
        run([&](std::int64_t i) { scalars.row(i); });
    }
  };
  const auto fill_sides = [&] {
    if (given != sides) std::copy(given, given + structure_.size * count, sides);
  };
  // Threads that each take some right sides need not wait for one another.
  const std::int64_t parts = std::max(static_cast<std::int64_t>(threads) > 1 ? std::min(count / kFewSides, static_cast<std::int64_t>(threads)) : 1,
                                      (count + kMostSides - 1) / kMostSides);
  if (parts > 1) {
    fill_sides();
    const auto begins = even_parts(static_cast<std::size_t>(count), static_cast<std::size_t>(parts));
    run_chunks(static_cast<std::size_t>(parts), threads, [&](std::size_t part) {
      const Sides<Value> own{sides, count, static_cast<std::int64_t>(begins[part]), static_cast<std::int64_t>(begins[part + 1])};
      with_step(own, [&](const auto &step) { sweep(rows, structure_.lower, step); });
    });
    return singular.found();
  }
  const Sides<Value> all{sides, count, 0, count};
  const Order<Index> *order = nullptr;
  Trials::Best *trials = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    // To order the rows takes as long as to solve for a right side: the first does without.
    if (++solves_ > 1 && threads > 1) {
      std::unique_ptr<Order<Index>> &known = orders_->of<Index>();
      if (!known) known = std::make_unique<Order<Index>>(structure_, segments, rows);
      if (known->pays(count)) {
        trials = &trials_->of(count, threads);
        if (trials->next()) {
          known->settle(structure_, segments);
          order = known.get();
        }
      }
    }
  }
  const Clock::time_point begun = Clock::now();
  const bool in_one_sweep = order == nullptr && count == 1 && structure_.block == 1;
  if (!in_one_sweep) fill_sides();
  if (in_one_sweep) {
    const Scalars<Index, Value> scalars{segments, nullptr, values, all, unit, singular, rows};
    unit ? sweep_once<true>(scalars, structure_, given) : sweep_once<false>(scalars, structure_, given);
  } else if (order == nullptr) {
    with_step(all, [&](const auto &step) { sweep(rows, structure_.lower, step); });
  } else if (structure_.by_columns) {
    const Scalars<Index, Value> scalars{order->turned(structure_), order->source(), values, all, unit, singular, rows};
    order->run([&](std::int64_t i) { scalars.row(i); }, count, threads);
  } else {
    with_step(all, [&](const auto &step) { order->run(step, count, threads); });
  }
  if (trials != nullptr) {
    const std::chrono::duration<double> taken = Clock::now() - begun;
    std::lock_guard<std::mutex> lock(mutex_);
    trials->note(order != nullptr, taken.count());
  }
  return singular.found();
}

std::int64_t Triangle::solve(TriangleValue type, const void *values, const void *given, void *sides, std::int64_t count,
                             bool unit) {
  const auto with_values = [&](auto value) {
    using Value = decltype(value);
    const auto *from = static_cast<const Value *>(values);
    const auto *of = static_cast<const Value *>(given);
    auto *to = static_cast<Value *>(sides);
    return with_wide(structure_.positions.width, [&](auto index) { return solve_as<decltype(index)>(from, of, to, count, unit); });
  };
  switch (type) {
    case TriangleValue::F32:
      return with_values(float{});
    case TriangleValue::F64:
      return with_values(double{});
    case TriangleValue::C64:
      return with_values(std::complex<float>{});
    default:
      return with_values(std::complex<double>{});
  }
}

std::int64_t Triangle::levels() {
  std::lock_guard<std::mutex> lock(mutex_);
  return with_wide(structure_.positions.width, [&](auto index) {
    using Index = decltype(index);
    std::unique_ptr<Order<Index>> &known = orders_->of<Index>();
    if (!known) known = std::make_unique<Order<Index>>(structure_, segments_of<Index>(structure_), rows_of(structure_));
    return known->levels();
  });
}

}  // namespace mlir_sparse
