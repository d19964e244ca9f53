// RUN: mlir-sparse emit "S(i,j) = B(i,j) * C(i,k) * D(k,j)" -f B:CSR -f S:CSR | FileCheck %s

// The sampled product is computed only where B has entries: one generic, k innermost, and no dense product C * D.

// CHECK-DAG: #[[SAMPLE:.+]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #[[ROWS:.+]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[COLUMNS:.+]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: #[[CSR:.+]] = #sparse_tensor.encoding<
// CHECK-LABEL: func.func @kernel(
// CHECK-SAME: %[[B:[a-z0-9_]+]]: tensor<?x?xf64, #[[CSR]]>,
// CHECK-SAME: -> tensor<?x?xf64, #[[CSR]]> attributes {facts = ["NestFacts", unit, ["()"], true], llvm.emit_c_interface}
// CHECK: %[[EMPTY:[a-z0-9_]+]] = tensor.empty({{.*}}) : tensor<?x?xf64, #[[CSR]]>
// CHECK: linalg.generic
// CHECK-SAME: indexing_maps = [#[[SAMPLE]], #[[ROWS]], #[[COLUMNS]], #[[SAMPLE]]]
// CHECK-SAME: iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME: ins(%[[B]],
// CHECK-SAME: outs(%[[EMPTY]] :
// CHECK-COUNT-2: arith.mulf
// CHECK: arith.addf
// CHECK-NOT: linalg.generic
