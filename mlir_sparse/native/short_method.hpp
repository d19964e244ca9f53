// Methods for calls that take a fraction of a microsecond: pybind11's own way to them takes as long.

#pragma once

#include <pybind11/pybind11.h>

namespace mlir_sparse {

// Calls a method of a tuple and an optional object, None if absent; both are given by position.
template <typename Class, pybind11::object (Class::*method)(const pybind11::tuple &, pybind11::object)>
PyObject *call_short(PyObject *self, PyObject *const *given, Py_ssize_t count) {
  namespace py = pybind11;
  if (count < 1 || count > 2 || !PyTuple_Check(given[0])) {
    PyErr_SetString(PyExc_TypeError, "expected a tuple of arguments, and at most an array for the result");
    return nullptr;
  }
  auto *instance = reinterpret_cast<py::detail::instance *>(self);
  auto *value = static_cast<Class *>(instance->get_value_and_holder().value_ptr());
  if (!value) {
    PyErr_SetString(PyExc_TypeError, "expected an object that was initialised");
    return nullptr;
  }
  try {
    const auto arguments = py::reinterpret_borrow<py::tuple>(given[0]);
    auto other = py::reinterpret_borrow<py::object>(count == 2 ? given[1] : Py_None);
    return (value->*method)(arguments, std::move(other)).release().ptr();
  } catch (py::error_already_set &error) {
    error.restore();
  } catch (...) {
    py::detail::try_translate_exceptions();
  }
  return nullptr;
}

// Gives a class such a method.
template <typename Class, pybind11::object (Class::*method)(const pybind11::tuple &, pybind11::object)>
void define_short(pybind11::class_<Class> &of, const char *name) {
  using Function = PyObject *(*)(PyObject *, PyObject *const *, Py_ssize_t);
  const Function function = &call_short<Class, method>;
  // The interpreter keeps it as long as the class.
  auto *definition = new PyMethodDef{name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)),
                                     METH_FASTCALL, nullptr};
  auto *type = reinterpret_cast<PyTypeObject *>(of.ptr());
  of.attr(name) = pybind11::reinterpret_steal<pybind11::object>(PyDescr_NewMethod(type, definition));
}

}  // namespace mlir_sparse
