// The parts of mlir_sparse._cuda; each adds its own functions and classes through one of these.
#pragma once

#include <cstdint>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "driver.hpp"

namespace mlir_sparse::cuda {

void register_dlpack(pybind11::module_ &module);    // arrays to and from other libraries
void register_products(pybind11::module_ &module);  // cuSPARSE and cuSPARSELt

// Python knows a stream by its handle, 0 being the device's default one.
inline CUstream stream_of(std::uintptr_t handle) { return reinterpret_cast<CUstream>(handle); }

}  // namespace mlir_sparse::cuda
