#include "concatenate.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "pack_threads.hpp"

namespace mlir_sparse {
namespace {

template <class F>
void with_item(int bytes, F &&f) {
  switch (bytes) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::int32_t{});
    default:
      return f(std::int64_t{});
  }
}

template <class From, class To>
void add_to(const From *from, std::int64_t step, std::int64_t length, std::int64_t shift, To *to, std::int64_t stride) {
  const To more = static_cast<To>(shift);
  if (step == 1 && stride == 1) {
    for (std::int64_t k = 0; k < length; ++k) to[k] = static_cast<To>(static_cast<To>(from[k]) + more);
    return;
  }
  for (std::int64_t k = 0; k < length; ++k) to[k * stride] = static_cast<To>(static_cast<To>(from[k * step]) + more);
}

// Writes the items of a part from `begin` to `end`, at place `at` of the result.
void write_items(const Items &part, std::int64_t shift, std::int64_t begin, std::int64_t end, const Items &out,
                 std::int64_t at) {
  const std::int64_t length = end - begin;
  const char *from = part.data + begin * part.stride * part.bytes;
  char *to = out.data + at * out.stride * out.bytes;
  if (part.bytes == out.bytes && shift == 0 && part.stride == 1 && out.stride == 1) {
    std::memcpy(to, from, static_cast<size_t>(length * out.bytes));
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
  const auto begins = even_parts(static_cast<size_t>(out.length), thread_count(words));
  in_parallel(begins.size() - 1, [&](size_t chunk) {
    const auto first = static_cast<std::int64_t>(begins[chunk]), last = static_cast<std::int64_t>(begins[chunk + 1]);
    const auto above = std::upper_bound(starts.begin(), starts.end(), first);
    for (auto p = static_cast<size_t>(above - starts.begin()) - 1; p < parts.size() && starts[p] < last; ++p) {
      const std::int64_t begin = std::max(first, starts[p]), end = std::min(last, starts[p + 1]);
      if (begin < end) write_items(parts[p], shifts[p], begin - starts[p], end - starts[p], out, begin);
    }
  });
}

}  // namespace mlir_sparse
