// Stacks of threads, to Python.

#include <pybind11/pybind11.h>

#include <exception>

#include "module.hpp"
#include "own_stack.hpp"

namespace py = pybind11;

namespace mlir_sparse {

void register_stack(py::module_ &module) {
  module.def("stack_left", &stack_left, "Returns the bytes that calls of this thread may still take of its stack.");
  module.def(
      "run_on_stack",
      [](const py::function &function, std::size_t bytes) {
        std::exception_ptr failure;
        py::gil_scoped_release release;
        const int error = run_on_stack(bytes, [&] {
          py::gil_scoped_acquire held;
          try {
            function();
          } catch (...) {
            failure = std::current_exception();
          }
        });
        if (failure) std::rethrow_exception(failure);
        return error;
      },
      py::arg("function"), py::arg("bytes"),
      "Calls a function on a thread with a stack of so many bytes; returns the system's error, 0 where it ran.");
}

}  // namespace mlir_sparse
