// RUN: mlir-sparse emit "y(i) = A(i,j) * x(j)" \
// RUN:   -f "A:#sparse_tensor.encoding<{ map = (row, col) -> (row : compressed(nonunique), col : singleton(soa)), posWidth = 32, crdWidth = 16 }>" | FileCheck %s --check-prefix=ATTRIBUTE
// RUN: mlir-sparse emit "y(i) = A(i,j) * x(j)" -f "A:(i, j) -> (j : compressed, i : compressed)" | FileCheck %s --check-prefix=MAP

// The type in the IR carries the attribute as it was written: formats, properties, order, widths; dimensions get the
// canonical names.

// ATTRIBUTE: #[[ENCODING:.+]] = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : compressed(nonunique), d1 : singleton(soa)), posWidth = 32, crdWidth = 16 }>
// ATTRIBUTE: tensor<?x?xf64, #[[ENCODING]]>

// MAP: #[[ENCODING:.+]] = #sparse_tensor.encoding<{ map = (d0, d1) -> (d1 : compressed, d0 : compressed) }>
// MAP: tensor<?x?xf64, #[[ENCODING]]>
