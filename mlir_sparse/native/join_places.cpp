#include "join_places.hpp"

#include <algorithm>
#include <cstring>

#include "threads.hpp"

namespace mlir_sparse {
namespace {

// The number of positions that a thread shifts at a time.
constexpr std::int64_t kStretch = std::int64_t{1} << 16;

template <class T>
void copy_raised(void *to, const void *from, std::int64_t count, std::int64_t by, std::int64_t stride) {
  auto *target = static_cast<T *>(to);
  const auto *source = static_cast<const T *>(from);
  for (std::int64_t n = 0; n < count; ++n) target[n * stride] = static_cast<T>(source[n * stride] + static_cast<T>(by));
}

// Copies every stride-th number plus a constant, which may be negative.
void copy_raised(void *to, const void *from, std::int64_t item, std::int64_t count, std::int64_t by,
                 std::int64_t stride = 1) {
  switch (item) {
    case 1:
      return copy_raised<std::uint8_t>(to, from, count, by, stride);
    case 2:
      return copy_raised<std::uint16_t>(to, from, count, by, stride);
    case 4:
      return copy_raised<std::uint32_t>(to, from, count, by, stride);
    default:
      return copy_raised<std::uint64_t>(to, from, count, by, stride);
  }
}

}  // namespace

char *Places::at(std::size_t buffer, std::int64_t place) const {
  return static_cast<char *>(call_.buffers[buffer]) + place * levels_.items[buffer];
}

char *Places::values_at(std::int64_t place) const {
  return at(static_cast<std::size_t>(levels_.values()), before(static_cast<std::size_t>(levels_.rank()) - 1) + place);
}

char *Places::coordinates_at(std::size_t level, std::int64_t place) const {
  return at(static_cast<std::size_t>(levels_.coordinates[level]),
            (before(level) + place) * levels_.interleaved(level));
}

// Rows of a dense level have one position each, for entries in either direction.
char *Places::positions_at(std::size_t level, std::int64_t place) const {
  const bool rows = static_cast<int>(level) <= levels_.depth;
  return at(static_cast<std::size_t>(levels_.positions[level]), rows ? place : before(level - 1) + place);
}

// Whether coordinates of rows start at the chunk's first row, as those of dense levels do.
bool Places::renumbered(std::int64_t begin) const {
  return levels_.depth == 0 && !call_.partition.compressed && begin > 0;
}

bool Places::is_within(const std::vector<std::int64_t> &first) const {
  for (auto l = static_cast<std::size_t>(levels_.depth); l < first.size(); ++l)
    if (before(l) + first[l] < 0) return false;
  return true;
}

std::vector<char *> Places::buffers(std::int64_t begin, const std::vector<std::int64_t> &first, void *root) const {
  std::vector<char *> found(static_cast<std::size_t>(levels_.values()) + 1);
  for (auto l = static_cast<std::size_t>(levels_.depth); l < call_.capacities.size(); ++l) {
    if (levels_.positions[l] >= 0) {
      const bool rows = static_cast<int>(l) == levels_.depth;
      const std::int64_t row = call_.partition.compressed ? 0 : begin * inner_;
      const std::int64_t place = rows ? row : l > 0 ? first[l - 1] : 0;
      found[static_cast<std::size_t>(levels_.positions[l])] =
          l == 0 ? static_cast<char *>(root) : positions_at(l, place);
    }
    found[static_cast<std::size_t>(levels_.coordinates[l])] = coordinates_at(l, first[l]);
  }
  found.back() = values_at(first.back());
  return found;
}

void Places::renumber(std::int64_t place, std::int64_t count, std::int64_t begin) const {
  if (!renumbered(begin) || place + count > call_.capacities[0]) return;
  char *first = coordinates_at(0, place);
  const auto b = static_cast<std::size_t>(levels_.coordinates[0]);
  copy_raised(first, first, levels_.items[b], count, begin, levels_.interleaved(0));
}

void Places::copy(const Placed &chunk) const {
  for (int level = levels_.depth; level < levels_.rank(); ++level) {
    const auto l = static_cast<std::size_t>(level);
    if (level > 0 && levels_.positions[l] >= 0) {
      const bool rows = level == levels_.depth;
      const std::int64_t first = rows ? chunk.begin * inner_ : chunk.offsets[l - 1];
      const std::int64_t count = rows ? (chunk.end - chunk.begin) * inner_ : chunk.counts[l - 1];
      copy_positions(chunk.space, l, first, count, chunk.offsets[l]);
    }
    if (!levels_.compressed || level == 0) copy_coordinates(chunk, l);
  }
  if (levels_.compressed && levels_.interleaved(0) == 1)
    for (std::size_t l = 1; l < levels_.coordinates.size(); ++l) copy_coordinates(chunk, l);
  const auto values = static_cast<std::size_t>(levels_.values());
  std::memmove(values_at(chunk.offsets.back()), chunk.space.buffers[values],
               static_cast<std::size_t>(chunk.counts.back() * levels_.items[values]));
}

void Places::copy_positions(const ChunkBuffers &space, std::size_t level, std::int64_t first, std::int64_t count,
                            std::int64_t by) const {
  const auto b = static_cast<std::size_t>(levels_.positions[level]);
  const std::int64_t item = levels_.items[b];
  char *to = positions_at(level, first + 1);
  const char *from = space.buffers[b] + item;
  if (from < to && to < from + count * item) from = static_cast<char *>(std::memmove(to, from, count * item));
  copy_raised(to, from, item, count, by);
}

void Places::copy_coordinates(const Placed &chunk, std::size_t level) const {
  const auto b = static_cast<std::size_t>(levels_.coordinates[level]);
  const std::int64_t each = levels_.interleaved(level), item = levels_.items[b], count = chunk.counts[level];
  char *to = coordinates_at(level, chunk.offsets[level]);
  std::memmove(to, chunk.space.buffers[b], static_cast<std::size_t>(count * each * item));
  if (level == 0 && renumbered(chunk.begin)) copy_raised(to, to, item, count, chunk.begin, each);
}

void Places::settle(const std::vector<std::int64_t> &counts, const std::vector<std::int64_t> &downwards) const {
  if (levels_.depth == 0) {
    const auto buffer = static_cast<std::size_t>(levels_.positions[0]);
    write_unsigned(call_.buffers[buffer], levels_.items[buffer], 1, counts[0]);
  }
  for (std::size_t l = 1; l < counts.size(); ++l) {
    if (levels_.positions[l] < 0) continue;
    const auto buffer = static_cast<std::size_t>(levels_.positions[l]);
    const bool rows = static_cast<int>(l) == levels_.depth;
    const std::int64_t item = levels_.items[buffer], by = downwards[l];
    const std::int64_t first = rows ? 0 : -downwards[l - 1];
    const std::int64_t count = rows ? call_.sizes[0] * inner_ : counts[l - 1];
    if (!rows) write_unsigned(positions_at(l, 0), item, 0, 0);  // chunks in place begin to count there
    const std::size_t stretches = by ? static_cast<std::size_t>((count + kStretch) / kStretch) : 0;
    run_chunks(stretches, thread_limit(), [&](std::size_t stretch) {
      const std::int64_t begin = static_cast<std::int64_t>(stretch) * kStretch;
      char *some = positions_at(l, first + begin);
      copy_raised(some, some, item, std::min(kStretch, count + 1 - begin), by);
    });
    write_unsigned(positions_at(l, first), item, 0, 0);
  }
}

}  // namespace mlir_sparse
