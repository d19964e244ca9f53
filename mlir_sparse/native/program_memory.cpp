// _native.call_program and what its arguments and results need: memory that a program allocated, as arrays.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "module.hpp"
#include "program_call.hpp"
#include "program_signals.hpp"

namespace py = pybind11;

namespace mlir_sparse {
namespace {

// Runs a function; returns why it ended early, or nothing. Messages quote files, which may hold any bytes.
py::str call(std::uintptr_t function, std::uintptr_t arguments) {
  std::string message;
  {
    py::gil_scoped_release release;
    const bool returned = call_program(reinterpret_cast<void (*)(void **)>(function),
                                       reinterpret_cast<void **>(arguments), message);
    if (returned) message.clear();
    else if (message.empty()) message = "expected the program to return";
  }
  PyObject *text = PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()), "replace");
  if (!text) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(text);
}

// An owner of memory that a program allocated by malloc: arrays at addresses in it keep it.
py::capsule owner_of(std::uintptr_t allocated) {
  return py::capsule(reinterpret_cast<void *>(allocated), "mlir_sparse.malloc", [](PyObject *capsule) {
    std::free(PyCapsule_GetPointer(capsule, "mlir_sparse.malloc"));
  });
}

py::array array_at(const py::object &owner, std::uintptr_t address, const std::vector<py::ssize_t> &shape,
                   const std::vector<py::ssize_t> &strides, const py::dtype &dtype) {
  return py::array(dtype, shape, strides, reinterpret_cast<void *>(address), owner);
}

// The address of a copy from malloc, for a program that may free what it is given.
std::uintptr_t malloc_copy(const py::array &array) {
  const auto bytes = static_cast<std::size_t>(array.nbytes());
  void *copy = std::malloc(bytes ? bytes : 1);
  if (!copy) throw std::bad_alloc();
  if (bytes) std::memcpy(copy, array.data(), bytes);
  return reinterpret_cast<std::uintptr_t>(copy);
}

}  // namespace

void register_program(py::module_ &module) {
  module.attr("guards_programs") = bool{MLIR_SPARSE_GUARDS_PROGRAMS};
  module.def("call_program", &call, py::arg("function"), py::arg("arguments"),
             "Runs a function of MLIR's packed convention; returns why a runtime function ended it, or nothing.");
  module.def("program_function", [](const std::string &name) { return program_function(name) != nullptr; },
             py::arg("name"), "Returns whether programs can call a function by this name, beside those of C.");
  module.def("malloc_copy", &malloc_copy, py::arg("array"),
             "Returns the address of a copy of a contiguous array, which is the caller's to free.");
  module.def("owner_of", &owner_of, py::arg("allocated"), "Returns an object that frees memory from malloc.");
  module.def("array_at", &array_at, py::arg("owner"), py::arg("address"), py::arg("shape"), py::arg("strides"),
             py::arg("dtype"), "Returns an array at an address; strides are in bytes. It keeps the owner.");
}

}  // namespace mlir_sparse
