// Modules of PTX, loaded once a device, and launches of their kernels.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "driver.hpp"

namespace mlir_sparse::cuda {

class Module {
 public:
  // `label` is its name in messages.
  Module(std::string image, std::string label) : image_(std::move(image)), label_(std::move(label)) {}
  ~Module();
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;

  // The kernel on a device, compiled by the driver at its first use.
  CUfunction function(int device, const std::string &name);
  const std::string &label() const { return label_; }

 private:
  CUmodule loaded(int device);

  std::string image_;
  std::string label_;
  std::mutex mutex_;
  std::map<int, CUmodule> modules_;
};

class Function {
 public:
  Function(std::shared_ptr<Module> module, std::string name) : module_(std::move(module)), name_(std::move(name)) {}

  // A parameter as the kernel reads it: up to 16 bytes, from the first on.
  using Slot = std::array<std::uint64_t, 2>;
  using Extent = std::array<std::int64_t, 3>;

  // Loads the kernel on a device, so that a later launch only launches.
  void load(int device);
  void launch(int device, const Extent &grid, const Extent &block, unsigned shared, CUstream stream,
              std::vector<Slot> &arguments);
  const std::string &name() const { return name_; }

 private:
  std::shared_ptr<Module> module_;
  std::string name_;
  std::mutex mutex_;
  std::map<int, CUfunction> functions_;
};

}  // namespace mlir_sparse::cuda
