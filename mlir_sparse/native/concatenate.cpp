#include "concatenate.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "fill.hpp"
#include "pack_threads.hpp"

namespace mlir_sparse {
namespace {

template <class From, class To>
void add_to(const From *from, std::int64_t step, std::int64_t length, std::int64_t shift, To *to, std::int64_t stride) {
  const To more = static_cast<To>(shift);
  if (step == 1 && stride == 1) {
    for (std::int64_t k = 0; k < length; ++k) to[k] = static_cast<To>(static_cast<To>(from[k]) + more);
    return;
  }
  for (std::int64_t k = 0; k < length; ++k) to[k * stride] = static_cast<To>(static_cast<To>(from[k * step]) + more);
}

// Copies bytes to memory that caches do not hold: its lines are written without being read first.
void copy_past_caches(char *to, const char *from, std::size_t bytes) {
#if defined(__SSE2__)
  constexpr std::size_t kVector = sizeof(__m128i), kLine = 4 * kVector;
  const std::size_t before = (kVector - reinterpret_cast<std::uintptr_t>(to) % kVector) % kVector;
  if (bytes >= before + kLine) {
    std::memcpy(to, from, before);
    to += before;
    from += before;
    bytes -= before;
    for (; bytes >= kLine; to += kLine, from += kLine, bytes -= kLine) {
      const auto *source = reinterpret_cast<const __m128i *>(from);
      auto *target = reinterpret_cast<__m128i *>(to);
      const __m128i first = _mm_loadu_si128(source), second = _mm_loadu_si128(source + 1),
                    third = _mm_loadu_si128(source + 2), fourth = _mm_loadu_si128(source + 3);
      _mm_stream_si128(target, first);
      _mm_stream_si128(target + 1, second);
      _mm_stream_si128(target + 2, third);
      _mm_stream_si128(target + 3, fourth);
    }
    _mm_sfence();
  }
#endif
  std::memcpy(to, from, bytes);
}

// Writes the items of a part from `begin` to `end`, at place `at` of the result.
void write_items(const Items &part, std::int64_t shift, std::int64_t begin, std::int64_t end, const Items &out,
                 std::int64_t at, bool past_caches) {
  const std::int64_t length = end - begin;
  const char *from = part.data + begin * part.stride * part.bytes;
  char *to = out.data + at * out.stride * out.bytes;
  if (part.bytes == out.bytes && shift == 0 && part.stride == 1 && out.stride == 1) {
    const auto bytes = static_cast<size_t>(length * out.bytes);
    if (past_caches)
      copy_past_caches(to, from, bytes);
    else
      std::memcpy(to, from, bytes);
    return;
  }
  with_item(part.bytes, [&](auto narrow) {
    with_item(out.bytes, [&](auto wide) {
      using From = decltype(narrow);
      using To = decltype(wide);
      add_to(reinterpret_cast<const From *>(from), part.stride, length, shift, reinterpret_cast<To *>(to), out.stride);
    });
  });
}

}  // namespace

void concatenate(const std::vector<Items> &parts, const std::vector<std::int64_t> &shifts, const Items &out) {
  std::vector<std::int64_t> starts{0};
  for (const Items &part : parts) starts.push_back(starts.back() + part.length);
  const auto words = static_cast<size_t>((out.length * out.bytes + 7) / 8);
  // What is read takes as much of them as what is written.
  const bool past_caches = exceeds_caches(static_cast<size_t>(2 * out.length * out.bytes));
  const auto begins = even_parts(static_cast<size_t>(out.length), thread_count(words));
  in_parallel(begins.size() - 1, [&](size_t chunk) {
    const auto first = static_cast<std::int64_t>(begins[chunk]), last = static_cast<std::int64_t>(begins[chunk + 1]);
    const auto above = std::upper_bound(starts.begin(), starts.end(), first);
    for (auto p = static_cast<size_t>(above - starts.begin()) - 1; p < parts.size() && starts[p] < last; ++p) {
      const std::int64_t begin = std::max(first, starts[p]), end = std::min(last, starts[p + 1]);
      if (begin < end) write_items(parts[p], shifts[p], begin - starts[p], end - starts[p], out, begin, past_caches);
    }
  });
}

}  // namespace mlir_sparse
