#include "launch.hpp"

#include <cstring>

namespace mlir_sparse::cuda {
namespace {

constexpr int kInfoLog = 3, kInfoLogBytes = 4, kErrorLog = 5, kErrorLogBytes = 6;
constexpr std::size_t kLogBytes = 8192;

std::string chip(int device) {
  const Driver &cuda = driver();
  return "sm_" + std::to_string(cuda.attribute(device, kComputeMajor)) +
         std::to_string(cuda.attribute(device, kComputeMinor));
}

bool refuses_chip(CUresult code) { return code == kNoBinaryForGpu || code == kUnsupportedPtxVersion; }

std::string figures(const Function::Extent &extent) {
  return "(" + std::to_string(extent[0]) + ", " + std::to_string(extent[1]) + ", " + std::to_string(extent[2]) + ")";
}

}  // namespace

Module::~Module() {
  for (const auto &[device, module] : modules_) {
    try {
      Current current(device);
      const CUresult code = driver().cuModuleUnload(module);
      if (code != kSuccess && code != kDeinitialized) note(driver().describe(code, "cuModuleUnload"));
    } catch (const Failure &) {
      // The driver is gone, and its modules with it.
    }
  }
}

CUmodule Module::loaded(int device) {
  const auto found = modules_.find(device);
  if (found != modules_.end()) return found->second;
  Driver &cuda = driver();
  std::vector<char> errors(kLogBytes, '\0'), infos(kLogBytes, '\0');
  int options[] = {kErrorLog, kErrorLogBytes, kInfoLog, kInfoLogBytes};
  // Sizes are passed as pointer values, and return the bytes written.
  void *values[] = {errors.data(), reinterpret_cast<void *>(kLogBytes - 1), infos.data(),
                    reinterpret_cast<void *>(kLogBytes - 1)};
  CUmodule module = nullptr;
  const CUresult code = cuda.cuModuleLoadDataEx(&module, image_.c_str(), 4, options, values);
  if (refuses_chip(code))
    throw Failure(Kind::unsupported, "expected PTX that " + chip(device) + " and CUDA " +
                                         std::to_string(cuda.version() / 1000) + "." +
                                         std::to_string(cuda.version() % 1000 / 10) + " take for " + label_ +
                                         ", but got: " + cuda.describe(code, "cuModuleLoadDataEx") + "; " +
                                         errors.data());
  if (code != kSuccess)
    throw Failure(code == kOutOfMemory ? Kind::memory : Kind::device,
                  cuda.describe(code, "cuModuleLoadDataEx", "of " + label_) +
                      (errors[0] != '\0' ? std::string("\n") + errors.data() : std::string()));
  modules_.emplace(device, module);
  return module;
}

CUfunction Module::function(int device, const std::string &name) {
  std::lock_guard<std::mutex> hold(mutex_);
  Current current(device);
  CUfunction found = nullptr;
  CUmodule module = loaded(device);
  driver().check(driver().cuModuleGetFunction(&found, module, name.c_str()), "cuModuleGetFunction", "of " + name);
  return found;
}

void Function::load(int device) {
  std::lock_guard<std::mutex> hold(mutex_);
  if (functions_.count(device) == 0) functions_.emplace(device, module_->function(device, name_));
}

void Function::launch(int device, const Extent &grid, const Extent &block, unsigned shared, CUstream stream,
                      std::vector<Slot> &arguments) {
  raise_noted();
  if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0) return;  // nothing to do, which the driver takes for a mistake
  for (int d = 0; d < 3; ++d) {
    if (grid[d] < 0 || grid[d] > INT32_MAX || block[d] < 1 || block[d] > INT32_MAX)
      throw Failure(Kind::unsupported, "expected at most 2^31 - 1 blocks on an axis for " + name_ + ", but got a grid " +
                                           figures(grid) + " of blocks " + figures(block));
  }
  load(device);
  CUfunction function = nullptr;
  {
    std::lock_guard<std::mutex> hold(mutex_);
    function = functions_.at(device);
  }
  std::vector<void *> pointers(arguments.size());
  for (std::size_t at = 0; at < arguments.size(); ++at) pointers[at] = arguments[at].data();
  Current current(device);
  Driver &cuda = driver();
  const auto u = [](std::int64_t value) { return static_cast<unsigned>(value); };
  const CUresult code = cuda.cuLaunchKernel(function, u(grid[0]), u(grid[1]), u(grid[2]), u(block[0]), u(block[1]),
                                            u(block[2]), shared, stream, pointers.data(), nullptr);
  if (code != kSuccess)
    cuda.check(code, "cuLaunchKernel", "of " + name_ + " on a grid " + figures(grid) + " of blocks " + figures(block));
}

}  // namespace mlir_sparse::cuda
