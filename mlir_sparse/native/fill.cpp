#include "fill.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace mlir_sparse {
namespace {

// Until the machine's profile says how many bytes: as the caches of most machines have.
constexpr std::size_t kCaches = std::size_t{32} << 20;
std::atomic<std::size_t> filled{kCaches};

template <class Word>
void fill_words(void *result, const std::string &element, std::size_t begin, std::size_t end) {
  Word word;
  std::memcpy(&word, element.data(), sizeof word);
  std::fill(static_cast<Word *>(result) + begin, static_cast<Word *>(result) + end, word);
}

void fill_in_caches(void *result, const std::string &element, std::size_t begin, std::size_t end) {
  const std::size_t item = element.size();
  if (std::all_of(element.begin(), element.end(), [](char byte) { return byte == 0; })) {
    std::memset(static_cast<char *>(result) + begin * item, 0, (end - begin) * item);
    return;
  }
  switch (item) {
    case 1:
      return fill_words<std::uint8_t>(result, element, begin, end);
    case 2:
      return fill_words<std::uint16_t>(result, element, begin, end);
    case 4:
      return fill_words<std::uint32_t>(result, element, begin, end);
    case 8:
      return fill_words<std::uint64_t>(result, element, begin, end);
    default:
      for (std::size_t e = begin; e < end; ++e)
        std::memcpy(static_cast<char *>(result) + e * item, element.data(), item);
  }
}

}  // namespace

bool exceeds_caches(std::size_t bytes) {
  return bytes > filled.load(std::memory_order_relaxed);
}

void set_machine_fill(std::size_t bytes) { filled.store(bytes); }

void fill_with(void *result, const std::string &element, std::size_t begin, std::size_t end, bool past_caches) {
#if defined(__SSE2__)
  constexpr std::size_t kVector = sizeof(__m128i);
  const std::size_t item = element.size(), count = end - begin;
  // Elements of a vector, and whole vectors between the first aligned address and the last.
  if (past_caches && item > 0 && kVector % item == 0 && count * item >= 4 * kVector) {
    char *const base = static_cast<char *>(result) + begin * item;
    const std::size_t off = reinterpret_cast<std::uintptr_t>(base) % kVector;
    const std::size_t head = off == 0 ? 0 : kVector - off;
    if (head % item == 0) {
      char pattern[kVector];
      for (std::size_t at = 0; at < kVector; at += item) std::memcpy(pattern + at, element.data(), item);
      const __m128i vector = _mm_loadu_si128(reinterpret_cast<const __m128i *>(pattern));
      const std::size_t vectors = (count * item - head) / kVector, first = head / item;
      const std::size_t last = first + vectors * kVector / item;
      auto *to = reinterpret_cast<__m128i *>(base + head);
      for (std::size_t v = 0; v < vectors; ++v) _mm_stream_si128(to + v, vector);
      fill_in_caches(result, element, begin, begin + first);
      return fill_in_caches(result, element, begin + last, end);
    }
  }
#else
  (void)past_caches;
#endif
  fill_in_caches(result, element, begin, end);
}

}  // namespace mlir_sparse
