// mlir_sparse._native: what is too slow or too unsafe in Python.
#include "module.hpp"

PYBIND11_MODULE(_native, module) {
  module.doc() = "Packing, validation, conversion and kernel launch in native code.";
  module.attr("__version__") = MLIR_SPARSE_VERSION;
#ifdef HAVE_PACK
  mlir_sparse::register_pack(module);
#endif
#ifdef HAVE_VALIDATE
  mlir_sparse::register_validate(module);
#endif
#ifdef HAVE_CONVERT
  mlir_sparse::register_convert(module);
#endif
#ifdef HAVE_LAUNCH
  mlir_sparse::register_launch(module);
#endif
#ifdef HAVE_MEMORY
  mlir_sparse::register_memory(module);
#endif
}
