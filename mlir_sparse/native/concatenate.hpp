// Arrays joined to one, integers wider and counted on where asked. It does not depend on Python.
#pragma once

#include <cstdint>
#include <vector>

namespace mlir_sparse {

// Items one after another, `stride` items apart, of `bytes` each: integers of the widths of positions and coordinates
// (8 and 16 bits are without sign), or anything where all arrays have the same items and no shift.
struct Items {
  char *data = nullptr;
  std::int64_t length = 0;
  std::int64_t stride = 1;
  int bytes = 8;
};

// Runs f with the integer that items of so many bytes are. Those of 8 and 16 bits are without sign.
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

// Writes the items of all parts, each plus its shift, one part after the other to `out`, which is as long as all and
// not narrower than any.
void concatenate(const std::vector<Items> &parts, const std::vector<std::int64_t> &shifts, const Items &out);

}  // namespace mlir_sparse
