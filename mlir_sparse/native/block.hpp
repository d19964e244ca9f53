// Memory reserved for the greatest size of a result. It does not depend on Python.
#pragma once

#include <cstddef>

namespace mlir_sparse {

// Large blocks are reserved as addresses only: the system gives a page at its first touch, so unused capacity costs
// nothing. A released block is kept with its pages for the next one, until the system needs them or too many are kept:
// touching fresh pages takes a third of the time of a matrix addition.
class Block {
 public:
  // Large pages are quick to get; of small ones no more are taken than are touched.
  enum Pages { kLarge, kSmall };

  Block() = default;
  Block(std::size_t wanted, bool zeroed, Pages pages = kLarge);  // throws std::bad_alloc
  Block(Block &&other) noexcept { swap(other); }
  Block &operator=(Block &&other) noexcept {
    swap(other);
    return *this;
  }
  ~Block();

  char *data() const { return static_cast<char *>(data_); }
  // The block is not kept when it is released.
  void forget() { keeps_ = false; }
  // Frees the memory outside of a range, if that is worthwhile; returns the range's new begin.
  std::size_t shrink(std::size_t begin, std::size_t end);

 private:
  void swap(Block &other) noexcept;
  std::size_t shrink_mapped(std::size_t begin, std::size_t end);

  void *data_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t begin_ = 0, end_ = 0;  // what has pages, at most
  bool mapped_ = false, keeps_ = false;  // keeps_: blocks to come may have it
  Pages pages_ = kLarge;
};

// The number of kept bytes; and a function that frees them, for tests.
std::size_t kept_bytes();
void drop_kept();

}  // namespace mlir_sparse
