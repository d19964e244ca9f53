#include "filled_places.hpp"

#include "pack_threads.hpp"

#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>
#endif

namespace mlir_sparse {
namespace {

using Loop = std::int64_t (*)(const char *places, std::int64_t count, std::int64_t each, std::int64_t next,
                              std::int64_t *found, std::int64_t *counts);

// Vectors have so many places.
constexpr std::int64_t kVector = 8;

template <class At>
std::int64_t gather_places(const At &at, std::int64_t count, std::int64_t *found) {
  std::int64_t used = 0;
  for (std::int64_t k = 0; k < count; ++k) {  // no branch: which are empty cannot be predicted
    const std::int64_t c = at(k);
    found[used] = c;
    used += c >= 0;
  }
  return used;
}

// Loops over it take vectors that all processors have.
std::int64_t is_filled(std::int64_t c) {
  return static_cast<std::int64_t>(~static_cast<std::uint64_t>(c) >> 63);
}

template <class At>
void count_places(const At &at, std::int64_t count, std::int64_t each, std::int64_t *counts) {
  if (each == 1) {
    for (std::int64_t k = 0; k < count; ++k) counts[k] += is_filled(at(k));
    return;
  }
  for (std::int64_t k = 0, group = 0; k < count; k += each, ++group)
    for (std::int64_t q = 0; q < each; ++q) counts[group] += is_filled(at(k + q));
}

#if defined(__GNUC__) && defined(__x86_64__)
template <class T>
__attribute__((target("avx512f,avx512vl"))) std::int64_t by_avx512(const char *places, std::int64_t count,
                                                                   std::int64_t each, std::int64_t next,
                                                                   std::int64_t *found, std::int64_t *counts) {
  const T *numbers = reinterpret_cast<const T *>(places);
  std::int64_t used = 0;
  for (std::int64_t from = 0, group = 0; from < count; from += each, ++group) {
    const std::int64_t before = used;
    for (std::int64_t k = 0; k < each; k += kVector) {
      const T *at = numbers + from + k;
      const auto some = static_cast<__mmask8>(each - k < kVector ? (1 << (each - k)) - 1 : 0xff);
      prefetch_to_read(reinterpret_cast<const char *>(at) + next);
      __m512i read;
      if constexpr (sizeof(T) == 8)
        read = _mm512_maskz_loadu_epi64(some, at);
      else
        read = _mm512_maskz_cvtepi32_epi64(some, _mm256_maskz_loadu_epi32(some, at));
      const __mmask8 filled = _mm512_mask_cmpge_epi64_mask(some, read, _mm512_setzero_si512());
      _mm512_storeu_si512(found + used, _mm512_maskz_compress_epi64(filled, read));
      used += __builtin_popcount(filled);
    }
    counts[group] += used - before;
  }
  return used;
}
#endif

// The loop for places of a width that lie next to each other; none where this processor has no wide vectors.
Loop by_vectors([[maybe_unused]] int width) {
#if defined(__GNUC__) && defined(__x86_64__)
  __builtin_cpu_init();
  static const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl");
  if (wide && width == 64) return by_avx512<std::int64_t>;
  if (wide && width == 32) return by_avx512<std::int32_t>;
#endif
  return nullptr;
}

}  // namespace

std::int64_t gather_filled(const IntBuffer &coordinates, std::int64_t each, std::int64_t next, std::int64_t *found,
                           std::int64_t *counts) {
  const std::int64_t count = coordinates.length;
  const Loop loop = coordinates.contiguous() ? by_vectors(coordinates.width) : nullptr;
  if (loop != nullptr && each >= kVector) return loop(coordinates.data, count, each, next, found, counts);
  // -1 marks what is empty in numbers of any width; the narrow ones are read without a sign elsewhere.
  const int above = 64 - coordinates.width;
  return coordinates.visit([&](auto at) {
    const auto marked = [=](std::int64_t k) {
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(at(k)) << above) >> above;
    };
    count_places(marked, count, each, counts);
    std::int64_t all = 0;
    return loop ? loop(coordinates.data, count, count, next, found, &all) : gather_places(marked, count, found);
  });
}

}  // namespace mlir_sparse
