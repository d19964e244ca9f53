#include "all_values.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>

#include "pack_threads.hpp"
#include "threads.hpp"

namespace mlir_sparse {
namespace {

// Whether holds(begin, length) says so of all pieces of so many bytes, which it is asked of in no order.
template <class Holds>
bool throughout(std::size_t bytes, const Holds &holds) {
  // Processors fetch ahead within pages: from several of them in turn, more is under way at once.
  constexpr std::size_t kStreams = 8, kPiece = 1024;
  const auto within = [&](std::size_t begin, std::size_t end) {
    const std::size_t each = (end - begin) / kStreams / kPiece * kPiece;
    for (std::size_t at = 0; at < each; at += kPiece)
      for (std::size_t stream = 0; stream < kStreams; ++stream)
        if (!holds(begin + stream * each + at, kPiece)) return false;
    const std::size_t rest = begin + kStreams * each;
    return holds(rest, end - rest);
  };
  // A cache line takes about as long as a visited entry of a loop.
  constexpr std::size_t kLine = 64;
  const std::size_t parts = std::min(thread_limit(), bytes / kLine / std::max<std::size_t>(chunk_work(), 1));
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

// The exponent of an infinity and of NaN has all bits set: one more in its last place carries into the sign's.
template <class Word>
bool have_exponents_below(const char *values, std::size_t bytes, Word infinity) {
  const auto *words = reinterpret_cast<const Word *>(values);
  const Word one = infinity & (~infinity + 1);
  const std::size_t count = bytes / sizeof(Word);
  constexpr std::size_t kTogether = 64 / sizeof(Word);  // several vectors, none of which waits for the last
  Word found[kTogether] = {};
  std::size_t at = 0;
  for (; at + kTogether <= count; at += kTogether)
    for (std::size_t lane = 0; lane < kTogether; ++lane) found[lane] |= (words[at + lane] & infinity) + one;
  for (; at < count; ++at) found[0] |= (words[at] & infinity) + one;
  Word any = 0;
  for (const Word one_of : found) any |= one_of;
  return (any & ~(~Word{0} >> 1)) == 0;
}

}  // namespace

bool are_equal(const char *values, std::int64_t count, std::int64_t itemsize) {
  if (count < 2) return true;
  // Each byte is compared with the one a value before it: memcmp does that by vectors, as wide as the processor has.
  const auto item = static_cast<std::size_t>(itemsize);
  return throughout(static_cast<std::size_t>(count - 1) * item, [&](std::size_t begin, std::size_t length) {
    return std::memcmp(values + begin, values + begin + item, length) == 0;
  });
}

bool are_finite(const char *values, std::int64_t count, std::int64_t itemsize) {
  return throughout(static_cast<std::size_t>(count * itemsize), [&](std::size_t begin, std::size_t length) {
    return itemsize == 4 ? have_exponents_below<std::uint32_t>(values + begin, length, 0x7f800000u)
                         : have_exponents_below<std::uint64_t>(values + begin, length, 0x7ff0000000000000u);
  });
}

}  // namespace mlir_sparse
