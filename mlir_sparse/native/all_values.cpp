#include "all_values.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>

#include "pack_threads.hpp"
#include "threads.hpp"

// Into functions for processors with wider vectors, as a part of which it is compiled for them.
#if defined(__GNUC__)
#define MLIR_SPARSE_INLINE inline __attribute__((always_inline))
#else
#define MLIR_SPARSE_INLINE inline
#endif

namespace mlir_sparse {
namespace {

// Whether holds(begin, length) says so of all pieces of so many bytes, which it is asked of in no order.
template <class Holds>
bool throughout(std::size_t bytes, const Holds &holds) {
  // Processors fetch ahead within pages: from several of them in turn, more is under way at once.
  constexpr std::size_t kStreams = 8, kPiece = 2048;
  const auto within = [&](std::size_t begin, std::size_t end) {
    const std::size_t each = (end - begin) / kStreams / kPiece * kPiece;
    for (std::size_t at = 0; at < each; at += kPiece)
      for (std::size_t stream = 0; stream < kStreams; ++stream)
        if (!holds(begin + stream * each + at, kPiece)) return false;
    const std::size_t rest = begin + kStreams * each;
    return holds(rest, end - rest);
  };
  // Where memory is far, a few values take as long as a visited entry of a loop.
  constexpr std::size_t kEntry = 24;
  const std::size_t parts = std::min(thread_limit(), bytes / kEntry / std::max<std::size_t>(chunk_work(), 1));
  if (parts < 2) return within(0, bytes);
  constexpr std::size_t kBlock = std::size_t{1} << 18;  // after so many bytes a thread asks whether others found one
  const auto begins = even_parts(bytes / kPiece, parts);
  std::atomic<bool> all{true};
  in_parallel(parts, [&](std::size_t part) {
    const std::size_t end = part + 1 < parts ? begins[part + 1] * kPiece : bytes;
    for (std::size_t at = begins[part] * kPiece; at < end && all.load(std::memory_order_relaxed); at += kBlock)
      if (!within(at, std::min(at + kBlock, end))) all.store(false, std::memory_order_relaxed);
  });
  return all.load();
}

// How many words loops go over at once: several vectors, none of which waits for the last.
constexpr std::size_t kTogether = 32;
// The bytes of one value over and over that words are compared with.
constexpr std::size_t kPattern = 64;

// Whether all words are those of a pattern, over and over. memcmp of neighbours would read all values twice.
struct Repeat {
  MLIR_SPARSE_INLINE bool operator()(const char *values, std::size_t bytes, const char *pattern) const {
    std::uint64_t each[kPattern / 8], found[kTogether] = {};
    std::memcpy(each, pattern, kPattern);
    std::size_t at = 0;
    for (; at + 8 * kTogether <= bytes; at += 8 * kTogether)
      for (std::size_t lane = 0; lane < kTogether; ++lane) {
        std::uint64_t word;
        std::memcpy(&word, values + at + 8 * lane, 8);
        found[lane] |= word ^ each[lane % (kPattern / 8)];
      }
    std::uint64_t any = 0;
    for (const std::uint64_t one : found) any |= one;
    for (; at < bytes; at += kPattern) any |= std::memcmp(values + at, pattern, std::min(kPattern, bytes - at)) != 0;
    return any == 0;
  }
};

// The exponent of an infinity and of NaN has all bits set: one more in its last place carries into the sign's.
template <class Word, Word kInfinity>
struct ExponentsBelow {
  MLIR_SPARSE_INLINE bool operator()(const char *values, std::size_t bytes, const char *) const {
    const auto *words = reinterpret_cast<const Word *>(values);
    constexpr Word kOne = kInfinity & (~kInfinity + 1);
    const std::size_t count = bytes / sizeof(Word);
    Word found[kTogether] = {};
    std::size_t at = 0;
    for (; at + kTogether <= count; at += kTogether)
      for (std::size_t lane = 0; lane < kTogether; ++lane) found[lane] |= (words[at + lane] & kInfinity) + kOne;
    for (; at < count; ++at) found[0] |= (words[at] & kInfinity) + kOne;
    Word any = 0;
    for (const Word one : found) any |= one;
    return (any & ~(~Word{0} >> 1)) == 0;
  }
};

// Whether all words but for bits that a mask, over and over, leaves out are 0.
struct ZeroBut {
  MLIR_SPARSE_INLINE bool operator()(const char *values, std::size_t bytes, const char *mask) const {
    std::uint64_t each, found[kTogether] = {};
    std::memcpy(&each, mask, 8);
    std::size_t at = 0;
    for (; at + 8 * kTogether <= bytes; at += 8 * kTogether)
      for (std::size_t lane = 0; lane < kTogether; ++lane) {
        std::uint64_t word;
        std::memcpy(&word, values + at + 8 * lane, 8);
        found[lane] |= word;
      }
    std::uint64_t any = 0, word = 0;
    for (const std::uint64_t one : found) any |= one;
    for (; at + 8 <= bytes; at += 8) {
      std::memcpy(&word, values + at, 8);
      any |= word;
    }
    word = 0;
    if (at < bytes) std::memcpy(&word, values + at, bytes - at);
    return ((any | word) & each) == 0;
  }
};

using Loop = bool (*)(const char *values, std::size_t bytes, const char *pattern);

template <class Body>
bool by_plain_vectors(const char *values, std::size_t bytes, const char *pattern) {
  return Body{}(values, bytes, pattern);
}

#if defined(__GNUC__) && defined(__x86_64__)
template <class Body>
__attribute__((target("avx2"))) bool by_avx2(const char *values, std::size_t bytes, const char *pattern) {
  return Body{}(values, bytes, pattern);
}

template <class Body>
__attribute__((target("avx512f"))) bool by_avx512(const char *values, std::size_t bytes, const char *pattern) {
  return Body{}(values, bytes, pattern);
}
#endif

// A loop by the widest vectors that this processor has: what all processors have takes twice as long in caches.
template <class Body>
Loop by_vectors() {
#if defined(__GNUC__) && defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return by_avx512<Body>;
  if (__builtin_cpu_supports("avx2")) return by_avx2<Body>;
#endif
  return by_plain_vectors<Body>;
}

}  // namespace

bool are_equal(const char *values, std::int64_t count, std::int64_t itemsize) {
  if (count < 2 || itemsize == 0) return true;
  const auto item = static_cast<std::size_t>(itemsize), bytes = static_cast<std::size_t>(count) * item;
  if (kPattern % item != 0)  // each byte is compared with the one a value before it
    return throughout(bytes - item, [&](std::size_t begin, std::size_t length) {
      return std::memcmp(values + begin, values + begin + item, length) == 0;
    });
  char pattern[kPattern];
  for (std::size_t at = 0; at < kPattern; at += item) std::memcpy(pattern + at, values, item);
  static const Loop repeats = by_vectors<Repeat>();
  return throughout(bytes, [&](std::size_t begin, std::size_t length) {
    return repeats(values + begin, length, pattern);
  });
}

bool are_finite(const char *values, std::int64_t count, std::int64_t itemsize) {
  static const Loop narrow = by_vectors<ExponentsBelow<std::uint32_t, 0x7f800000u>>();
  static const Loop wide = by_vectors<ExponentsBelow<std::uint64_t, 0x7ff0000000000000u>>();
  const Loop loop = itemsize == 4 ? narrow : wide;
  return throughout(static_cast<std::size_t>(count * itemsize), [&](std::size_t begin, std::size_t length) {
    return loop(values + begin, length, nullptr);
  });
}

namespace {

template <class Word>
bool add_places(const char *values, std::int64_t count, Word mask, std::size_t limit, std::vector<std::int64_t> &found) {
  static const Loop are_zero = by_vectors<ZeroBut>();
  constexpr std::int64_t kBlock = 1024;
  char every[8];
  for (std::size_t at = 0; at < sizeof(every); at += sizeof(Word)) std::memcpy(every + at, &mask, sizeof(Word));
  const auto *words = reinterpret_cast<const Word *>(values);
  for (std::int64_t from = 0; from < count; from += kBlock) {
    const std::int64_t to = std::min(from + kBlock, count);
    if (are_zero(values + from * sizeof(Word), static_cast<std::size_t>(to - from) * sizeof(Word), every)) continue;
    for (std::int64_t k = from; k < to; ++k)
      if ((words[k] & mask) != 0) found.push_back(k);
    if (found.size() > limit) return false;
  }
  return true;
}

}  // namespace

bool nonzero_places(const char *values, std::int64_t count, std::int64_t itemsize, bool floating, std::size_t limit,
                    std::vector<std::int64_t> &found) {
  const auto of = [&](auto word) {
    using Word = decltype(word);
    const auto all = static_cast<Word>(~Word{0});
    return add_places<Word>(values, count, floating ? static_cast<Word>(all >> 1) : all, limit, found);
  };
  switch (itemsize) {
    case 1:
      return of(std::uint8_t{});
    case 2:
      return of(std::uint16_t{});
    case 4:
      return of(std::uint32_t{});
    default:
      return of(std::uint64_t{});
  }
}

}  // namespace mlir_sparse
