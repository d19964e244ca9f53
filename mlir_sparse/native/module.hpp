// The parts of mlir_sparse._native. Each source file of this folder adds its own functions and classes to the module
// through one of these.
#pragma once

#include <pybind11/pybind11.h>

namespace mlir_sparse {

void register_pack(pybind11::module_ &module);      // coordinates to level storage
void register_blas(pybind11::module_ &module);      // products by the BLAS that NumPy has
void register_validate(pybind11::module_ &module);  // level buffers against their encoding
void register_share_rows(pybind11::module_ &module);  // compressed rows of other libraries
void register_convert(pybind11::module_ &module);   // level storage to coordinates
void register_convert_matrix(pybind11::module_ &module);  // matrices to other storage
void register_degrees(pybind11::module_ &module);   // how entries spread over coordinates
void register_machine(pybind11::module_ &module);    // what steps take on this processor
void register_symmetry(pybind11::module_ &module);  // whether matrices are their own transposes
void register_launch(pybind11::module_ &module);    // calls of compiled kernels, and the threads that run them
void register_partition(pybind11::module_ &module);  // how calls are cut in chunks
void register_threads(pybind11::module_ &module);    // how many threads there are
void register_memory(pybind11::module_ &module);    // ownership of memory that compiled code allocated
void register_object(pybind11::module_ &module);    // machine code from object files
void register_triangle(pybind11::module_ &module);  // triangular systems, incomplete factors, solvers' steps
void register_filter(pybind11::module_ &module);    // entries that a mask keeps, places in other shapes
void register_take(pybind11::module_ &module);      // rows and segments at places
void register_concatenate(pybind11::module_ &module);  // arrays joined to one
void register_level_arrays(pybind11::module_ &module);  // buffers as arrays by level
void register_combine_places(pybind11::module_ &module);  // values that share places in an array
void register_text(pybind11::module_ &module);      // entries in text files
void register_source_files(pybind11::module_ &module);  // what a package was loaded from
void register_stack(pybind11::module_ &module);      // stacks of threads
void register_program(pybind11::module_ &module);   // calls of users' programs, and memory that they allocated

}  // namespace mlir_sparse
