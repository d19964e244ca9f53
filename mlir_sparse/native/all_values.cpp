#include "all_values.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>

#include "pack_threads.hpp"
#include "prefetch_distances.hpp"
#include "threads.hpp"

// Into functions for processors with wider vectors, as a part of which it is compiled for them.
#if defined(__GNUC__)
#define MLIR_SPARSE_INLINE inline __attribute__((always_inline))
#else
#define MLIR_SPARSE_INLINE inline
#endif

namespace mlir_sparse {
namespace {

// Processors fetch ahead within pages, and so many lines at once: from several streams in turn, more is under way.
constexpr std::size_t kStreams = 8, kLine = 64;
// How far ahead lines are asked for, beyond what processors see coming, in bytes.
constexpr std::size_t kAhead = 1024;

// Whether streams(begin, apart, length) says so of all pieces of so many bytes, of which each call has kStreams that
// are `apart` from one another, and rest(begin, length) of what is left, which is asked first; in no other order.
template <class Streams, class Rest>
bool throughout(std::size_t bytes, const Streams &streams, const Rest &rest) {
  constexpr std::size_t kPiece = 2048;
  const auto within = [&](std::size_t begin, std::size_t end) {
    const std::size_t each = (end - begin) / kStreams / kPiece * kPiece, left = begin + kStreams * each;
    if (!rest(left, end - left)) return false;
    for (std::size_t at = 0; at < each; at += kPiece)
      if (!streams(begin + at, each, kPiece)) return false;
    return true;
  };
  const std::size_t parts = std::min(thread_limit(), streamed_chunks(bytes));
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

// Whether all words are those of a pattern of a line, over and over. memcmp of neighbours would read all values twice.
struct Repeat {
  using Word = std::uint64_t;
  Word each[kLine / sizeof(Word)];

  MLIR_SPARSE_INLINE explicit Repeat(const char *pattern) { std::memcpy(each, pattern, kLine); }
  MLIR_SPARSE_INLINE Word fault(Word word, std::size_t lane) const { return word ^ each[lane]; }
  MLIR_SPARSE_INLINE bool holds(Word faults) const { return faults == 0; }
};

// The exponent of an infinity and of NaN has all bits set: one more in its last place carries into the sign's.
template <class Unsigned, Unsigned kInfinity>
struct ExponentsBelow {
  using Word = Unsigned;

  MLIR_SPARSE_INLINE explicit ExponentsBelow(const char *) {}
  MLIR_SPARSE_INLINE Word fault(Word word, std::size_t) const {
    return (word & kInfinity) + (kInfinity & (~kInfinity + 1));
  }
  MLIR_SPARSE_INLINE bool holds(Word faults) const { return (faults & ~(~Word{0} >> 1)) == 0; }
};

// Whether something holds of all words of streams that are `apart` bytes from one another, and have `bytes` each.
template <class Body, std::size_t kCount>
MLIR_SPARSE_INLINE bool of_streams(const char *values, std::size_t apart, std::size_t bytes, const char *pattern) {
  using Word = typename Body::Word;
  constexpr std::size_t kLanes = kLine / sizeof(Word);
  const Body body(pattern);
  Word found[kCount][kLanes] = {};
  for (std::size_t at = 0; at < bytes; at += kLine)
    for (std::size_t stream = 0; stream < kCount; ++stream) {
      const char *line = values + stream * apart + at;
      if (kCount > 1) prefetch_to_read(line + kAhead);
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        Word word;
        std::memcpy(&word, line + lane * sizeof(Word), sizeof(Word));
        found[stream][lane] |= body.fault(word, lane);
      }
    }
  Word any = 0;
  for (const auto &lanes : found)
    for (const Word one : lanes) any |= one;
  return body.holds(any);
}

template <class Body>
struct Streams {
  MLIR_SPARSE_INLINE bool operator()(const char *values, std::size_t apart, std::size_t bytes,
                                     const char *pattern) const {
    return of_streams<Body, kStreams>(values, apart, bytes, pattern);
  }
};

template <class Body>
struct Rest {
  MLIR_SPARSE_INLINE bool operator()(const char *values, std::size_t, std::size_t bytes, const char *pattern) const {
    using Word = typename Body::Word;
    const std::size_t whole = bytes / kLine * kLine;
    if (!of_streams<Body, 1>(values, 0, whole, pattern)) return false;
    const Body body(pattern);
    Word any = 0;
    std::size_t at = whole;
    for (; at + sizeof(Word) <= bytes; at += sizeof(Word)) {
      Word word;
      std::memcpy(&word, values + at, sizeof(Word));
      any |= body.fault(word, (at - whole) / sizeof(Word));
    }
    // Values narrower than words repeat a pattern, and nothing else is asked of them.
    return body.holds(any) && (at == bytes || std::memcmp(values + at, pattern + (at - whole), bytes - at) == 0);
  }
};

// Whether all words but for bits that a mask, over and over, leaves out are 0.
struct ZeroBut {
  MLIR_SPARSE_INLINE bool operator()(const char *values, std::size_t, std::size_t bytes, const char *mask) const {
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

using Loop = bool (*)(const char *values, std::size_t apart, std::size_t bytes, const char *pattern);

template <class Body>
bool by_plain_vectors(const char *values, std::size_t apart, std::size_t bytes, const char *pattern) {
  return Body{}(values, apart, bytes, pattern);
}

#if defined(__GNUC__) && defined(__x86_64__)
template <class Body>
__attribute__((target("avx2"))) bool by_avx2(const char *values, std::size_t apart, std::size_t bytes,
                                             const char *pattern) {
  return Body{}(values, apart, bytes, pattern);
}

template <class Body>
__attribute__((target("avx512f"))) bool by_avx512(const char *values, std::size_t apart, std::size_t bytes,
                                                  const char *pattern) {
  return Body{}(values, apart, bytes, pattern);
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

namespace {

// Whether something holds of all words, by a loop over several streams and one over what is left.
template <class Body>
bool of_all(const char *values, std::size_t bytes, const char *pattern) {
  static const Loop streams = by_vectors<Streams<Body>>(), rest = by_vectors<Rest<Body>>();
  return throughout(
      bytes,
      [&](std::size_t begin, std::size_t apart, std::size_t length) {
        return streams(values + begin, apart, length, pattern);
      },
      [&](std::size_t begin, std::size_t length) { return rest(values + begin, 0, length, pattern); });
}

}  // namespace

bool are_equal(const char *values, std::int64_t count, std::int64_t itemsize) {
  if (count < 2 || itemsize == 0) return true;
  const auto item = static_cast<std::size_t>(itemsize), bytes = static_cast<std::size_t>(count) * item;
  if (kLine % item != 0) {  // each byte is compared with the one a value before it
    const auto repeat = [&](std::size_t begin, std::size_t length) {
      return std::memcmp(values + begin, values + begin + item, length) == 0;
    };
    return throughout(
        bytes - item,
        [&](std::size_t begin, std::size_t apart, std::size_t length) {
          for (std::size_t stream = 0; stream < kStreams; ++stream)
            if (!repeat(begin + stream * apart, length)) return false;
          return true;
        },
        repeat);
  }
  char pattern[kLine];
  for (std::size_t at = 0; at < kLine; at += item) std::memcpy(pattern + at, values, item);
  return of_all<Repeat>(values, bytes, pattern);
}

bool are_finite(const char *values, std::int64_t count, std::int64_t itemsize) {
  const auto bytes = static_cast<std::size_t>(count * itemsize);
  if (itemsize == 4) return of_all<ExponentsBelow<std::uint32_t, 0x7f800000u>>(values, bytes, nullptr);
  return of_all<ExponentsBelow<std::uint64_t, 0x7ff0000000000000u>>(values, bytes, nullptr);
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
    if (are_zero(values + from * sizeof(Word), 0, static_cast<std::size_t>(to - from) * sizeof(Word), every)) continue;
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
