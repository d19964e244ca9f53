// Products by cuSPARSE and cuSPARSELt, as Python calls them.

#include <array>
#include <memory>

#include "module.hpp"
#include "sparse.hpp"
#include "structured.hpp"

namespace py = pybind11;

namespace mlir_sparse::cuda {
namespace {

py::tuple multiply_sparse(int device, std::uintptr_t stream, const Matrix &a, const Matrix &b) {
  Product product{0, nullptr, nullptr, nullptr};
  {
    py::gil_scoped_release release;  // it waits for the device between its stages
    product = spgemm(device, stream_of(stream), a, b);
  }
  return py::make_tuple(product.entries, std::move(product.positions), std::move(product.coordinates),
                        std::move(product.values));
}

}  // namespace

void register_products(py::module_ &module) {
  py::enum_<Format>(module, "Format")
      .value("CSR", Format::csr)
      .value("CSC", Format::csc)
      .value("COO", Format::coo)
      .value("BSR", Format::bsr);
  py::class_<Matrix>(module, "Matrix", "A sparse matrix over buffers of a device.")
      .def(py::init([](Format format, std::array<std::int64_t, 3> sizes, std::array<CUdeviceptr, 3> buffers,
                       std::array<int, 3> types, std::array<std::int64_t, 2> block) {
             return Matrix{format,   sizes[0], sizes[1], sizes[2], buffers[0], buffers[1],
                           buffers[2], types[0], types[1], types[2], block[0],   block[1]};
           }),
           py::arg("format"), py::arg("sizes"), py::arg("buffers"), py::arg("types"),
           py::arg("block") = std::array<std::int64_t, 2>{1, 1});
  py::class_<Dense>(module, "Dense", "A dense matrix, or a vector as one column.")
      .def(py::init([](std::int64_t rows, std::int64_t columns, CUdeviceptr values, int type, bool by_column) {
             return Dense{rows, columns, values, type, by_column ? kColumnOrder : kRowOrder};
           }),
           py::arg("rows"), py::arg("columns"), py::arg("values"), py::arg("type"), py::arg("by_column") = false);
  module.def("spmv", [](int device, std::uintptr_t stream, const Matrix &a, const Dense &x, const Dense &y) {
    spmv(device, stream_of(stream), a, x, y);
  });
  module.def("spmm", [](int device, std::uintptr_t stream, const Matrix &a, const Dense &b, const Dense &c) {
    spmm(device, stream_of(stream), a, b, c);
  });
  module.def("sddmm", [](int device, std::uintptr_t stream, const Dense &a, const Dense &b, const Matrix &c) {
    sddmm(device, stream_of(stream), a, b, c);
  });
  module.def("spgemm", &multiply_sparse);
  py::class_<Compressed>(module, "Compressed", "A matrix of 2 in every 4 entries as cuSPARSELt stores it.")
      .def(py::init([](int device, std::uintptr_t stream, const Dense &matrix) {
             return std::make_unique<Compressed>(device, stream_of(stream), matrix);
           }),
           py::arg("device"), py::arg("stream"), py::arg("matrix"))
      .def(
          "multiply",
          [](Compressed &self, std::uintptr_t stream, const Dense &b, const Dense &c) {
            self.multiply(stream_of(stream), b, c);
          },
          py::arg("stream"), py::arg("right"), py::arg("result"));
}

}  // namespace mlir_sparse::cuda
