// Memory that is reserved for what results may come to. Nothing here knows of Python.
#pragma once

#include <cstddef>

namespace mlir_sparse {

// Much memory is reserved as addresses only: the system gives a page when it is first touched, so that room for more
// than there will be costs nothing. What is let go of stays at hand for the next block, its pages in place, until the
// system needs them or there is too much of it: the first touch of fresh pages is a third of the time of an addition.
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
  // Is not kept for others when it goes.
  void forget() { keeps_ = false; }
  // Gives back what lies outside of some bytes, where that is worth it; returns where those begin now.
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

// How many bytes are kept for blocks to come; and gives them all back, for tests.
std::size_t kept_bytes();
void drop_kept();

}  // namespace mlir_sparse
