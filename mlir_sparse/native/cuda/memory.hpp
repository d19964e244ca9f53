// Memory of a device, freed by its owner.
#pragma once

#include <cstddef>
#include <string>

#include "driver.hpp"

namespace mlir_sparse::cuda {

class Memory {
 public:
  // Allocates bytes for work on a stream. Throws Kind::memory with the figures on failure.
  Memory(int device, std::size_t bytes, CUstream stream);
  ~Memory();
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  CUdeviceptr pointer() const { return pointer_; }
  std::size_t bytes() const { return bytes_; }
  int device() const { return device_; }
  CUstream stream() const { return stream_; }
  // Notes that other libraries or other streams use it: freeing it waits for all of them.
  void share() { shared_ = true; }
  bool shared() const { return shared_; }

 private:
  int device_;
  std::size_t bytes_;
  CUstream stream_;
  CUdeviceptr pointer_ = 0;
  bool pooled_ = false;
  bool shared_ = false;
};

// The number of allocations that are not freed, for tests of leaks.
long long live_allocations();
std::string in_units(std::size_t bytes);

}  // namespace mlir_sparse::cuda
