// mlir_sparse._native: what is too slow or too unsafe in Python.
#include "module.hpp"

PYBIND11_MODULE(_native, module) {
  module.doc() = "Packing, validation, conversion and kernel launch in native code.";
  module.attr("__version__") = MLIR_SPARSE_VERSION;
  mlir_sparse::register_pack(module);
  mlir_sparse::register_validate(module);
  mlir_sparse::register_convert(module);
  mlir_sparse::register_convert_matrix(module);
  mlir_sparse::register_launch(module);
  mlir_sparse::register_memory(module);
  mlir_sparse::register_object(module);
}
