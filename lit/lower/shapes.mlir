// RUN: mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:CSR -s A=1000x? | FileCheck %s
// RUN: mlir-sparse emit "C(i,j) = A(i,k) * B(k,j)" -f A:CSR -f B:CSR -f C:CSR -s A=8x? -s B=?x16 | FileCheck %s --check-prefix=SPARSE

// Given extents are static, in operands and inferred types; `?` stays dynamic.

// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: tensor<1000x?xf64, #{{.+}}>, %{{.+}}: tensor<?xf64>, %{{.+}}: tensor<1000xf64>) -> tensor<1000xf64>

// SPARSE-LABEL: func.func @kernel(
// SPARSE-SAME: tensor<8x?xf64, #{{.+}}>, %{{.+}}: tensor<?x16xf64, #{{.+}}>) -> tensor<8x16xf64, #{{.+}}>
