// A list of mostly few items, which are in the list itself: memory of the heap would take as long as a small call.

#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>

namespace mlir_sparse {

// Items of a type that is copied by bytes. They stay where they are until more than `kInside` of them are added.
template <typename T, std::size_t kInside>
class Few {
  static_assert(std::is_trivially_copyable_v<T>, "items are copied by bytes");

 public:
  Few() = default;
  explicit Few(std::size_t size, T value = T{}) { resize(size, value); }
  Few(const Few &) = delete;
  Few &operator=(const Few &) = delete;

  std::size_t size() const { return size_; }
  T *data() { return items_; }
  const T *data() const { return items_; }
  T *begin() { return items_; }
  T *end() { return items_ + size_; }
  const T *begin() const { return items_; }
  const T *end() const { return items_ + size_; }
  T &operator[](std::size_t at) { return items_[at]; }
  const T &operator[](std::size_t at) const { return items_[at]; }
  T &back() { return items_[size_ - 1]; }
  const T &back() const { return items_[size_ - 1]; }

  void push_back(T item) {
    if (size_ == capacity_) grow(2 * capacity_);
    items_[size_++] = item;
  }

  void resize(std::size_t size, T value = T{}) {
    if (size > capacity_) grow(std::max(size, 2 * capacity_));
    if (size > size_) std::fill(items_ + size_, items_ + size, value);
    size_ = size;
  }

 private:
  void grow(std::size_t capacity) {
    std::unique_ptr<T[]> larger(new T[capacity]);
    std::copy(items_, items_ + size_, larger.get());
    outside_ = std::move(larger);
    items_ = outside_.get();
    capacity_ = capacity;
  }

  T inside_[kInside];
  std::unique_ptr<T[]> outside_;
  T *items_ = inside_;
  std::size_t size_ = 0, capacity_ = kInside;
};

}  // namespace mlir_sparse
