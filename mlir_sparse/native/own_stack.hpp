// How much stack a thread has left, and threads with a stack of a stated size. It does not depend on Python.

#pragma once

#include <cstddef>
#include <functional>

namespace mlir_sparse {

// The bytes that calls of this thread may still take of its stack; the greatest number where the system does not say.
std::size_t stack_left();

// Runs work, which must not throw, on a thread with a stack of so many bytes, and waits for its end. Returns the
// system's error; 0 where it ran.
int run_on_stack(std::size_t bytes, std::function<void()> work);

}  // namespace mlir_sparse
