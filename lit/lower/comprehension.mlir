// RUN: mlir-sparse emit "def fcrelu(float(B,I) in, float(O,I) weight, float(O) bias) -> (out) { out(i,j) = bias(j) where i in 0:B  out(i,j) += in(i,k) * weight(j,k)  out(i,j) = fmaxf(out(i,j), 0) }" -f weight:CSR -s in=4x? | FileCheck %s

// Each statement of a comprehension is a separate kernel with its own plan; `// -----` separates them.

// CHECK: // out(i,j) = bias(j) where i in 0:B
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "parallel"]
// CHECK: // -----
// CHECK-NEXT: // out(i,j) += in(i,k) * weight(j,k)
// CHECK: #[[CSR:.+]] = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>
// CHECK: linalg.generic
// CHECK: linalg.generic
// CHECK-SAME: tensor<?x?xf32, #[[CSR]]>
// CHECK: // -----
// CHECK-NEXT: // out(i,j) = fmax(out(i,j), 0)
// CHECK: linalg.generic
// CHECK: arith.maxnumf
