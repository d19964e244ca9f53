#include "filled_places.hpp"

#include "pack_threads.hpp"

#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>
#endif

namespace mlir_sparse {
namespace {

using Loop = std::int64_t (*)(const char *places, std::int64_t count, std::int64_t next, std::int64_t *found);

template <class At>
std::int64_t gather_places(const At &at, std::int64_t begin, std::int64_t end, std::int64_t *found) {
  std::int64_t used = 0;
  for (std::int64_t k = begin; k < end; ++k) {  // no branch: which are empty cannot be predicted
    const std::int64_t c = at(k);
    found[used] = c;
    used += c >= 0;
  }
  return used;
}

#if defined(__GNUC__) && defined(__x86_64__)
// Eight places at once.
template <class T>
__attribute__((target("avx512f"))) std::int64_t by_avx512(const char *places, std::int64_t count, std::int64_t next,
                                                          std::int64_t *found) {
  const T *numbers = reinterpret_cast<const T *>(places);
  std::int64_t used = 0, k = 0;
  for (; k + 8 <= count; k += 8) {
    prefetch_to_read(places + next + k * static_cast<std::int64_t>(sizeof(T)));
    __m512i read;
    if constexpr (sizeof(T) == 8)
      read = _mm512_loadu_si512(numbers + k);
    else
      read = _mm512_maskz_cvtepi32_epi64(0xff, _mm256_loadu_si256(reinterpret_cast<const __m256i *>(numbers + k)));
    const __mmask8 filled = _mm512_cmpge_epi64_mask(read, _mm512_setzero_si512());
    _mm512_storeu_si512(found + used, _mm512_maskz_compress_epi64(filled, read));
    used += __builtin_popcount(filled);
  }
  return used + gather_places([=](std::int64_t n) { return static_cast<std::int64_t>(numbers[n]); }, k, count,
                              found + used);
}
#endif

// The loop for places of a width that lie next to each other; none where this processor has no wide vectors.
Loop by_vectors([[maybe_unused]] int width) {
#if defined(__GNUC__) && defined(__x86_64__)
  __builtin_cpu_init();
  static const bool wide = __builtin_cpu_supports("avx512f");
  if (wide && width == 64) return by_avx512<std::int64_t>;
  if (wide && width == 32) return by_avx512<std::int32_t>;
#endif
  return nullptr;
}

}  // namespace

std::int64_t gather_filled(const IntBuffer &coordinates, std::int64_t next, std::int64_t *found) {
  const Loop loop = coordinates.contiguous() ? by_vectors(coordinates.width) : nullptr;
  if (loop != nullptr) return loop(coordinates.data, coordinates.length, next, found);
  return coordinates.visit([&](auto at) { return gather_places(at, 0, coordinates.length, found); });
}

}  // namespace mlir_sparse
