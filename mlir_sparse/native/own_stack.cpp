#include "own_stack.hpp"

#include <cerrno>
#include <cstdint>
#include <limits>
#include <system_error>
#include <thread>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace mlir_sparse {
namespace {

constexpr std::size_t kUnknown = std::numeric_limits<std::int64_t>::max();

#if defined(__unix__) || defined(__APPLE__)
void *start(void *work) {
  (*static_cast<std::function<void()> *>(work))();
  return nullptr;
}
#endif

}  // namespace

std::size_t stack_left() {
  char here = 0;
  const auto at = reinterpret_cast<std::uintptr_t>(&here);
#ifdef __linux__
  pthread_attr_t about;
  if (pthread_getattr_np(pthread_self(), &about) != 0) return kUnknown;
  void *lowest = nullptr;
  std::size_t size = 0;
  const bool known = pthread_attr_getstack(&about, &lowest, &size) == 0;
  pthread_attr_destroy(&about);
  if (!known) return kUnknown;
  const auto end = reinterpret_cast<std::uintptr_t>(lowest);
#elif defined(__APPLE__)
  const auto top = reinterpret_cast<std::uintptr_t>(pthread_get_stackaddr_np(pthread_self()));
  const auto end = top - pthread_get_stacksize_np(pthread_self());
#else
  const std::uintptr_t end = at + 1;
#endif
  // Coroutines of other libraries have stacks of their own, of which the system knows nothing.
  return end < at ? at - end : kUnknown;
}

int run_on_stack(std::size_t bytes, std::function<void()> work) {
#if defined(__unix__) || defined(__APPLE__)
  pthread_attr_t wanted;
  if (const int error = pthread_attr_init(&wanted)) return error;
  pthread_t thread;
  int error = pthread_attr_setstacksize(&wanted, bytes);
  if (error == 0) error = pthread_create(&thread, &wanted, start, &work);
  pthread_attr_destroy(&wanted);
  return error == 0 ? pthread_join(thread, nullptr) : error;
#else
  static_cast<void>(bytes);
  try {
    std::thread(std::move(work)).join();
  } catch (const std::system_error &) {
    return EAGAIN;
  }
  return 0;
#endif
}

}  // namespace mlir_sparse
