#include "level_degrees.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <utility>

#include "count_gapped.hpp"
#include "sums_of_degrees.hpp"

namespace mlir_sparse {
namespace {

// Begins of the values below the positions of a level, and the end of the last: a level's own positions, or computed.
class Begins {
public:
  explicit Begins(const IntBuffer &buffer) : buffer_(buffer) {}

  explicit Begins(KeptNumbers begins) : owned_(std::move(begins)), buffer_(owned_.buffer()) {}

  template <class At>
  Begins(std::int64_t length, const At &at) : Begins(KeptNumbers(length)) {
    std::int64_t *numbers = owned_.data();
    for (std::int64_t k = 0; k < length; ++k) numbers[k] = at(k);
  }

  const IntBuffer &buffer() const { return buffer_; }

  // The begins at other places, one position further out.
  Begins at(const IntBuffer &places) const {
    return visit(places, [&](auto from, auto place) {
      return Begins(places.length, [&](std::int64_t k) {
        const std::int64_t p = place(k);
        if (p < 0 || p >= buffer_.length) throw std::out_of_range("expected positions up to the number of entries");
        return from(p);
      });
    });
  }

  // The begins of each so many positions together.
  Begins each(std::int64_t size) const {
    return buffer_.visit([&](auto from) {
      return Begins((buffer_.length - 1) / size + 1, [&](std::int64_t k) { return from(k * size); });
    });
  }

  // Counting reads begins of 32 or 64 bits.
  Begins wide() const {
    if (buffer_.width >= 32) return Begins(buffer_);
    return buffer_.visit([&](auto from) { return Begins(buffer_.length, from); });
  }

  // The degrees of each of `size` coordinates, which are all below each position further out. Some of them are added up
  // at a time, whose sums stay near.
  Degrees repeated(std::int64_t size) const {
    constexpr std::int64_t kSome = 1024;
    Lanes lanes;
    buffer_.visit([&](auto from) {
      std::array<std::int64_t, kSome> below;
      for (std::int64_t begin = 0; begin < size; begin += kSome) {
        const std::int64_t some = std::min(kSome, size - begin);
        std::fill_n(below.begin(), some, 0);
        for (std::int64_t first = begin; first + some < buffer_.length; first += size)
          for (std::int64_t k = 0; k < some; ++k)
            below[static_cast<std::size_t>(k)] += from(first + k + 1) - from(first + k);
        add_all(lanes, 0, some, [&](std::int64_t k) { return below[static_cast<std::size_t>(k)]; });
      }
    });
    return lanes.total();
  }

private:
  template <class F>
  Begins visit(const IntBuffer &places, const F &f) const {
    return buffer_.visit([&](auto from) { return places.visit([&](auto place) { return f(from, place); }); });
  }

  KeptNumbers owned_;
  IntBuffer buffer_;
};

Degrees times(Degrees found, std::int64_t factor) {
  const auto each = static_cast<double>(factor);
  found.largest *= each;
  found.squares *= each * each;
  found.last *= each;
  return found;
}

Degrees alike(std::int64_t coordinates, std::int64_t degree) {
  const auto count = static_cast<double>(coordinates);
  return times({count, 1, count, 1}, degree);
}

bool has_gaps(const CountedLevel &one) { return one.has_empty || one.level.kind == LevelKind::LooseCompressed; }

// The number of parents of the innermost level, which has gaps.
std::int64_t parents_of_gaps(const std::vector<CountedLevel> &levels) {
  if (!levels.back().has_empty) return levels.back().positions.length / 2;
  std::int64_t parents = 1;
  for (std::size_t number = 0; number + 1 < levels.size(); ++number) parents *= levels[number].level.size;
  return parents;
}

// A walk from the innermost level out: position p of a level has `each * (begins[p + 1] - begins[p])` values below it,
// or `each` without begins.
class Walk {
public:
  Walk(const std::vector<CountedLevel> &levels, std::int64_t values) : levels_(levels), count_(values) {}

  std::vector<Degrees> run() {
    std::vector<Degrees> found(levels_.size());
    if (levels_.back().has_empty) return of_table();
    if (has_gaps(levels_.back())) {
      found.back() = leave_gaps();
      leave(levels_.size() - 1, levels_.size(), found);
      return found;
    }
    const std::size_t region = innermost_region();
    count_region(region, found);
    leave(levels_.size(), region, found);
    return found;
  }

private:
  // Finds the degrees of the first levels, but of those of the innermost region.
  void leave(std::size_t count, std::size_t region, std::vector<Degrees> &found) {
    for (std::size_t number = count; number-- > 0;) {
      const CountedLevel &one = levels_[number];
      if (number < region) found[number] = times(of_level(number), each_);
      if (!one.level.has_positions()) {
        if (one.level.kind == LevelKind::Dense) leave_dense(one.level.size);
        continue;
      }
      if (number == 1 && begins_ && are_alone()) {  // without begins of the outermost level, which none needs
        found[0] = times(degrees_of_segments(begins_->buffer(), one.positions), each_);
        break;
      }
      begins_ = begins_ ? begins_->at(one.positions) : Begins(one.positions);
      count_ = one.positions.length - 1;
    }
  }

  // Counts the coordinates of the innermost level.
  Degrees leave_gaps() {
    const CountedLevel &one = levels_.back();
    count_ = parents_of_gaps(levels_);
    LooseDegrees counted = count_loose({one.positions, one.coordinates, count_, one.level.size});
    begins_.emplace(std::move(counted.begins));
    return counted.degrees;
  }

  std::vector<Degrees> of_table() const {
    std::vector<std::int64_t> sizes;
    for (std::size_t number = 0; number + 1 < levels_.size(); ++number) sizes.push_back(levels_[number].level.size);
    return count_table({levels_.back().coordinates, levels_.back().level.size, std::move(sizes)});
  }

  // The begin of the levels that have a coordinate for each value, the number of levels where that is one alone.
  std::size_t innermost_region() const {
    const std::size_t count = levels_.size();
    std::size_t first = count;
    while (first > 0 && levels_[first - 1].level.kind != LevelKind::Dense)
      if (levels_[--first].level.has_positions()) break;
    return first + 1 < count ? first : count;
  }

  // Counts the coordinates of these levels, all at once.
  void count_region(std::size_t region, std::vector<Degrees> &found) const {
    const bool alone = region == 0 && are_alone();
    if (alone) found[0] = alike(count_, 1);
    const std::size_t first = region + (alone ? 1 : 0);
    std::vector<Column> columns;
    for (std::size_t number = first; number < levels_.size(); ++number) {
      const auto &[level, has_empty, positions, coordinates] = levels_[number];
      columns.push_back({coordinates, level.size, number == 0 && level.ordered});
    }
    const std::vector<Degrees> counted = count_columns(columns);
    for (std::size_t k = 0; k < counted.size(); ++k) found[first + k] = counted[k];
  }

  // Whether each position of the outermost level has a coordinate of its own.
  bool are_alone() const { return levels_[0].level.kind == LevelKind::Dense || levels_[0].level.unique; }

  Degrees of_level(std::size_t number) const {
    const auto &[level, has_empty, positions, coordinates] = levels_[number];
    if (level.kind == LevelKind::Dense && number > 0)
      return begins_ ? begins_->repeated(level.size)
                     : alike(level.size, count_ / level.size);
    if (number == 0 && are_alone()) return begins_ ? degrees_of_segments(begins_->buffer()) : alike(count_, 1);
    if (begins_) return count_degrees(coordinates, level.size, begins_->wide().buffer());
    return number == 0 && level.ordered ? degrees_of_runs(coordinates) : count_degrees(coordinates, level.size);
  }

  void leave_dense(std::int64_t size) {
    count_ /= size;
    if (begins_)
      begins_ = begins_->each(size);
    else
      each_ *= size;
  }

  const std::vector<CountedLevel> &levels_;
  std::optional<Begins> begins_;
  std::int64_t each_ = 1, count_;
};

void check_gaps(const std::vector<CountedLevel> &levels) {
  const std::int64_t places = levels.back().coordinates.length;
  if (!levels.back().has_empty) {
    if (levels.back().positions.length % 2 != 0) throw std::out_of_range("expected two positions for each parent");
    return;
  }
  std::int64_t left = places;
  for (std::size_t number = 0; number + 1 < levels.size(); ++number) {
    const Level &level = levels[number].level;
    if (level.kind != LevelKind::Dense || level.size < 1 || left % level.size != 0)
      throw std::out_of_range("expected as many places for each position of dense levels");
    left /= level.size;
  }
}

void check(const std::vector<CountedLevel> &levels, std::int64_t values) {
  std::int64_t count = values;  // of the positions of a level
  for (std::size_t number = levels.size(); number-- > 0;) {
    const auto &[level, has_empty, positions, coordinates] = levels[number];
    const bool dense = level.kind == LevelKind::Dense;
    if (has_gaps(levels[number])) {
      if (number + 1 < levels.size() || coordinates.length != count)
        throw std::out_of_range("expected gaps in the innermost level, with a coordinate for each position");
      check_gaps(levels);
      count = parents_of_gaps(levels);
      continue;
    }
    if (dense ? level.size < 1 || count % level.size != 0 : coordinates.length != count)
      throw std::out_of_range("expected a coordinate for each position of a level");
    if (level.has_positions() && (positions.length < 1 || !positions.contiguous()))
      throw std::out_of_range("expected contiguous positions, one or more");
    if (level.has_positions()) count = positions.length - 1;
    if (dense) count /= level.size;
  }
}

}  // namespace

std::vector<Degrees> degrees_of_levels(const std::vector<CountedLevel> &levels, std::int64_t values) {
  check(levels, values);
  return Walk(levels, values).run();
}

}  // namespace mlir_sparse
