#include "library.hpp"

#include <dlfcn.h>

#include <mutex>

#include "failure.hpp"

namespace mlir_sparse::cuda {

namespace {
std::mutex noted_mutex;
std::string noted;
}  // namespace

void note(const std::string &message) noexcept {
  try {
    std::lock_guard<std::mutex> hold(noted_mutex);
    if (noted.empty()) noted = message;
  } catch (...) {
    // No memory is left for the message: the call that ran out of it reports so itself.
  }
}

void raise_noted() {
  std::string message;
  {
    std::lock_guard<std::mutex> hold(noted_mutex);
    message.swap(noted);
  }
  if (!message.empty()) throw Failure(Kind::device, message);
}

Library::Library(const char *name, const std::vector<std::string> &candidates) : name_(name) {
  std::string reasons;
  for (const std::string &candidate : candidates) {
    handle_ = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) {
      path_ = candidate;
      return;
    }
    const char *reason = dlerror();
    // Report files that cannot be loaded, but not missing ones.
    if (reason != nullptr && std::string(reason).find("No such file") == std::string::npos) reasons += std::string("; ") + reason;
  }
  throw Failure(Kind::device, std::string("no ") + name + " found" + reasons);
}

void *Library::symbol(const char *name) const {
  if (void *found = optional(name)) return found;
  throw Failure(Kind::device, std::string("expected a newer ") + name_ + ", but got " + path_ + " without " + name);
}

void *Library::optional(const char *name) const noexcept { return dlsym(handle_, name); }

}  // namespace mlir_sparse::cuda
