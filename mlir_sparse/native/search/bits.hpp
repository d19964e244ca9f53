// Sets of variables and of factors as bits. None depends on Python.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace mlir_sparse::search {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

inline int count_of(std::uint64_t word) {
#if defined(__GNUC__)
  return __builtin_popcountll(word);
#else
  int found = 0;
  for (; word; word &= word - 1) ++found;
  return found;
#endif
}

inline int lowest_of(std::uint64_t word) {
#if defined(__GNUC__)
  return __builtin_ctzll(word);
#else
  int found = 0;
  for (; !(word & 1); word >>= 1) ++found;
  return found;
#endif
}

// A set of numbers below 256.
class Bits {
 public:
  static constexpr int kMost = 256;

  constexpr Bits() : words_{} {}
  static Bits one(int number) {
    Bits found;
    found.words_[number / 64] = std::uint64_t{1} << (number % 64);
    return found;
  }
  static Bits first(int count) {
    Bits found;
    for (int number = 0; number < count; ++number) found.words_[number / 64] |= std::uint64_t{1} << (number % 64);
    return found;
  }

  std::uint64_t word(int place) const { return words_[place]; }
  void set_word(int place, std::uint64_t value) { words_[place] = value; }

  explicit operator bool() const { return (words_[0] | words_[1] | words_[2] | words_[3]) != 0; }
  bool operator==(const Bits &other) const { return words_ == other.words_; }
  bool operator!=(const Bits &other) const { return words_ != other.words_; }
  Bits operator|(const Bits &other) const { return Bits(*this) |= other; }
  Bits operator&(const Bits &other) const { return Bits(*this) &= other; }
  Bits operator^(const Bits &other) const {
    Bits found(*this);
    for (int place = 0; place < 4; ++place) found.words_[place] ^= other.words_[place];
    return found;
  }
  // The set without the numbers of another.
  Bits operator-(const Bits &other) const {
    Bits found(*this);
    for (int place = 0; place < 4; ++place) found.words_[place] &= ~other.words_[place];
    return found;
  }
  Bits &operator|=(const Bits &other) {
    for (int place = 0; place < 4; ++place) words_[place] |= other.words_[place];
    return *this;
  }
  Bits &operator&=(const Bits &other) {
    for (int place = 0; place < 4; ++place) words_[place] &= other.words_[place];
    return *this;
  }
  Bits &operator-=(const Bits &other) { return *this = *this - other; }

  bool has(int number) const { return words_[number / 64] >> (number % 64) & 1; }
  bool meets(const Bits &other) const { return bool(*this & other); }
  bool within(const Bits &other) const { return !(*this - other); }
  int count() const {
    return count_of(words_[0]) + count_of(words_[1]) + count_of(words_[2]) + count_of(words_[3]);
  }
  bool several() const { return count() > 1; }
  // The smallest number; the set is not empty.
  int lowest() const {
    int place = 0;
    while (!words_[place]) ++place;
    return 64 * place + lowest_of(words_[place]);
  }
  std::size_t hash() const {
    std::uint64_t found = words_[0];
    for (int place = 1; place < 4; ++place) found = found * 0x9e3779b97f4a7c15u + words_[place];
    return static_cast<std::size_t>(found * 0x9e3779b97f4a7c15u >> 7);
  }

  // The numbers of a set, smallest first.
  class Iterator {
   public:
    explicit Iterator(const std::array<std::uint64_t, 4> &left) : left_(left) { settle(); }
    int operator*() const { return 64 * place_ + lowest_of(left_[place_]); }
    Iterator &operator++() {
      left_[place_] &= left_[place_] - 1;
      settle();
      return *this;
    }
    bool operator!=(const Iterator &) const { return place_ < 4; }

   private:
    void settle() {
      while (place_ < 4 && !left_[place_]) ++place_;
    }
    std::array<std::uint64_t, 4> left_;
    int place_ = 0;
  };
  Iterator begin() const { return Iterator(words_); }
  Iterator end() const { return Iterator({}); }

 private:
  std::array<std::uint64_t, 4> words_;
};

// A set of factors, and the variables that it keeps although nothing else has them: they are summed later, by what
// reads the part.
struct Members {
  Bits factors;
  Bits late;

  bool operator==(const Members &other) const { return factors == other.factors && late == other.late; }
  bool operator!=(const Members &other) const { return !(*this == other); }
  int count() const { return factors.count() + late.count(); }
};

struct BitsHash {
  std::size_t operator()(const Bits &bits) const { return bits.hash(); }
  std::size_t operator()(const Members &members) const {
    return members.factors.hash() ^ members.late.hash() * 0x9e3779b97f4a7c15u;
  }
};

// What names a nest: sets and the numbers of operands, one after the other.
using Key = std::vector<std::uint64_t>;

inline void append(Key &key, const Bits &bits) {
  for (int place = 0; place < 4; ++place) key.push_back(bits.word(place));
}

struct KeyHash {
  std::size_t operator()(const Key &key) const {
    std::uint64_t found = key.size();
    for (std::uint64_t word : key) found = (found ^ word) * 0x9e3779b97f4a7c15u ^ found >> 29;
    return static_cast<std::size_t>(found);
  }
};

}  // namespace mlir_sparse::search
