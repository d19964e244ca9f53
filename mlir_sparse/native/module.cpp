// mlir_sparse._native: work that would be too slow or unsafe in Python.
#include <chrono>

#include "module.hpp"

PYBIND11_MODULE(_native, module) {
  module.doc() = "Packing, validation, conversion and kernel launch in native code.";
  module.attr("__version__") = MLIR_SPARSE_VERSION;
  // In nanoseconds since 1970: the package imports this module first, and its sources after it.
  using namespace std::chrono;
  module.attr("loaded_at") = duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
  mlir_sparse::register_pack(module);
  mlir_sparse::register_validate(module);
  mlir_sparse::register_share_rows(module);
  mlir_sparse::register_convert(module);
  mlir_sparse::register_convert_matrix(module);
  mlir_sparse::register_degrees(module);
  mlir_sparse::register_machine(module);
  mlir_sparse::register_symmetry(module);
  mlir_sparse::register_blas(module);
  mlir_sparse::register_launch(module);
  mlir_sparse::register_memory(module);
  mlir_sparse::register_object(module);
  mlir_sparse::register_triangle(module);
  mlir_sparse::register_filter(module);
  mlir_sparse::register_take(module);
  mlir_sparse::register_concatenate(module);
  mlir_sparse::register_level_arrays(module);
  mlir_sparse::register_combine_places(module);
  mlir_sparse::register_text(module);
  mlir_sparse::register_source_files(module);
  mlir_sparse::register_stack(module);
  mlir_sparse::register_program(module);
}
