#include "partition.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace mlir_sparse {
namespace {

std::int64_t read_unsigned(const void *data, std::int64_t item, std::int64_t place) {
  switch (item) {
    case 1:
      return static_cast<const std::uint8_t *>(data)[place];
    case 2:
      return static_cast<const std::uint16_t *>(data)[place];
    case 4:
      return static_cast<std::int64_t>(static_cast<const std::uint32_t *>(data)[place]);
    default:
      return static_cast<const std::int64_t *>(data)[place];
  }
}

}  // namespace

std::int64_t before(const StoredPart &part, const Storage &storage, std::int64_t position, std::int64_t total,
                    int steps) {
  for (int s = 0; s < steps; ++s) {
    const Step &step = part.steps[static_cast<std::size_t>(s)];
    const int buffer = static_cast<int>(step.value);
    switch (step.kind) {
      case Step::kLevel:
      case Step::kTimes: {
        const std::int64_t times =
            step.kind == Step::kTimes ? step.value : (*storage.specifier)[static_cast<std::size_t>(step.value)];
        position *= times;
        total *= times;
        break;
      }
      case Step::kPositions:
        position = storage.at(buffer, position);
        total = storage.at(buffer, total);
        break;
      case Step::kSegments: {
        const std::int64_t end = total > 0 ? storage.at(buffer, 2 * total - 1) : 0;
        position = position < total ? storage.at(buffer, 2 * position) : end;
        total = end;
        break;
      }
    }
  }
  return position;
}

void write_unsigned(void *data, std::int64_t item, std::int64_t place, std::int64_t value) {
  switch (item) {
    case 1:
      static_cast<std::uint8_t *>(data)[place] = static_cast<std::uint8_t>(value);
      break;
    case 2:
      static_cast<std::uint16_t *>(data)[place] = static_cast<std::uint16_t>(value);
      break;
    case 4:
      static_cast<std::uint32_t *>(data)[place] = static_cast<std::uint32_t>(value);
      break;
    default:
      static_cast<std::int64_t *>(data)[place] = value;
  }
}

std::int64_t Storage::at(int buffer, std::int64_t place) const {
  const auto n = static_cast<std::size_t>(buffer);
  return read_unsigned((*buffers)[n].aligned, (*items)[n], place);
}

std::int64_t Array::size() const {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) product *= extent;
  return product;
}

void Packed::add_returned(std::size_t rank) {
  returns_ = true;
  words_.emplace_back(3 + 2 * rank);
}

void Packed::add(const Storage &storage) {
  order_.emplace_back(kStorage, descriptors_.size());
  descriptors_.push_back(*storage.buffers);
  specifiers_.push_back(*storage.specifier);
}

void Packed::add(const Array &array) {
  std::vector<std::int64_t> words;
  words.reserve(3 + 2 * array.shape.size());
  const auto address = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(array.data));
  words.insert(words.end(), {address, address, 0});
  words.insert(words.end(), array.shape.begin(), array.shape.end());
  words.insert(words.end(), array.strides.begin(), array.strides.end());
  order_.emplace_back(kWords, words_.size());
  words_.push_back(std::move(words));
}

void Packed::add_buffer(void *data, std::int64_t size) {
  add(Array{static_cast<char *>(data), 1, {size}, {1}});
}

void **Packed::arguments() {
  std::size_t count = 2;
  for (const std::vector<Descriptor1> &buffers : descriptors_) count += buffers.size();
  pointers_.reserve(count + words_.size());  // addresses of its items are taken
  packed_.clear();
  const auto add_pointer = [&](void *descriptor) {
    pointers_.push_back(descriptor);
    packed_.push_back(&pointers_.back());
  };
  if (returns_) add_pointer(words_.front().data());
  for (const auto &[kind, n] : order_) {
    if (kind == kWords) {
      add_pointer(words_[n].data());
      continue;
    }
    for (Descriptor1 &descriptor : descriptors_[n]) add_pointer(&descriptor);
    packed_.push_back(specifiers_[n].data());
  }
  return packed_.data();
}

Chunk::Chunk(const Partition &partition, const std::vector<Argument> &arguments, const Cuts &cuts, std::size_t number)
    : partition_(partition),
      arguments_(arguments),
      cuts_(cuts),
      number_(number),
      begin_(cuts.coordinates[number]),
      end_(cuts.coordinates[number + 1]),
      roots_(2 * partition.stored.size()) {}

bool Partition::is_cut_along_sum(std::size_t parameter) const {
  return !compressed && std::any_of(axes.begin(), axes.end(), [&](const Axis &axis) {
    return static_cast<std::size_t>(axis.parameter) == parameter && !axis.plain;
  });
}

Array Chunk::cut(Array array, std::size_t parameter) const {
  if (partition_.compressed) return array;
  for (const Axis &axis : partition_.axes) {
    if (static_cast<std::size_t>(axis.parameter) != parameter) continue;
    const auto dim = static_cast<std::size_t>(axis.dim);
    array.data += begin_ * axis.coefficient * array.strides[dim] * array.item;
    if (axis.plain) array.shape[dim] = end_ - begin_;
  }
  return array;
}

void Chunk::add_storage(Packed &packed, std::size_t parameter, std::size_t number) {
  const Storage &storage = arguments_[parameter].storage;
  packed.add(storage);
  for (std::size_t n = 0; n < partition_.stored.size(); ++n) {
    const StoredPart &part = partition_.stored[n];
    if (static_cast<std::size_t>(part.parameter) != parameter) continue;
    std::vector<Descriptor1> &buffers = packed.buffers(number);
    const auto replace = [&](std::size_t buffer, void *data) {
      buffers[buffer].allocated = buffers[buffer].aligned = data;
    };
    if (part.compressed) {
      void *root = &roots_[2 * n];
      write_unsigned(root, (*storage.items)[0], 0, cuts_.positions[n][number_]);
      write_unsigned(root, (*storage.items)[0], 1, cuts_.positions[n][number_ + 1]);
      replace(0, root);
      continue;
    }
    const std::int64_t first = begin_ / part.block, last = rows_of(part, end_);
    for (const Shift &shift : part.shifts) {
      const auto buffer = static_cast<std::size_t>(shift.buffer);
      const std::int64_t places = before(part, storage, first, last, shift.steps) * shift.times;
      replace(buffer, static_cast<char *>(buffers[buffer].aligned) + places * (*storage.items)[buffer]);
    }
    if (part.level == 0) packed.specifier(number)[0] = last - first;
  }
}

}  // namespace mlir_sparse
