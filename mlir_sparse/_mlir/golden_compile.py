"""A small SpMV on CSR that is compiled, looked at and run before bindings are trusted with others."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

from mlir_sparse._mlir import ir
from mlir_sparse._mlir.execution_engine import execution_engine, object_code
from mlir_sparse._mlir.mlir_context import mlir_context, parse_module
from mlir_sparse._mlir.older_passes import pass_manager

__all__ = ["compile_golden", "loops_of"]

_PROGRAM = """
#CSR = #sparse_tensor.encoding<{ map = (i, j) -> (i : dense, j : compressed) }>
#product = {
  indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>],
  iterator_types = ["parallel", "reduction"]
}
func.func @spmv(%A: tensor<?x?xf64, #CSR>, %x: tensor<?xf64>, %y: tensor<?xf64>) -> tensor<?xf64> {
  %sum = linalg.generic #product ins(%A, %x : tensor<?x?xf64, #CSR>, tensor<?xf64>) outs(%y : tensor<?xf64>) {
  ^bb0(%a: f64, %b: f64, %c: f64):
    %ab = arith.mulf %a, %b : f64
    %d = arith.addf %c, %ab : f64
    linalg.yield %d : f64
  } -> tensor<?xf64>
  return %sum : tensor<?xf64>
}
func.func @golden(%row: index) -> f64 attributes {llvm.emit_c_interface} {
  %positions = arith.constant dense<[0, 2, 2, 3]> : tensor<4xindex>
  %coordinates = arith.constant dense<[0, 2, 1]> : tensor<3xindex>
  %values = arith.constant dense<[2.0, 3.0, 5.0]> : tensor<3xf64>
  %stored = sparse_tensor.assemble (%positions, %coordinates), %values
    : (tensor<4xindex>, tensor<3xindex>), tensor<3xf64> to tensor<3x3xf64, #CSR>
  %A = tensor.cast %stored : tensor<3x3xf64, #CSR> to tensor<?x?xf64, #CSR>
  %x3 = arith.constant dense<[7.0, 11.0, 13.0]> : tensor<3xf64>
  %y3 = arith.constant dense<1.0> : tensor<3xf64>
  %x = tensor.cast %x3 : tensor<3xf64> to tensor<?xf64>
  %y = tensor.cast %y3 : tensor<3xf64> to tensor<?xf64>
  %z = call @spmv(%A, %x, %y) : (tensor<?x?xf64, #CSR>, tensor<?xf64>, tensor<?xf64>) -> tensor<?xf64>
  %found = tensor.extract %z[%row] : tensor<?xf64>
  return %found : f64
}
"""
_RESULT = [1.0 + 2.0 * 7.0 + 3.0 * 13.0, 1.0, 1.0 + 5.0 * 11.0]
_TO_LOOPS = (
    "builtin.module(sparsification-and-bufferization{enable-gpu-libgen=false enable-simd-index32=true "
    "parallelization-strategy=none sparse-emit-strategy=functional},"
    "sparse-storage-specifier-to-llvm,func.func(canonicalize),func.func(cse))"
)
_TO_LLVM = (
    "builtin.module(func.func(convert-linalg-to-loops),func.func(convert-scf-to-cf),expand-strided-metadata,"
    "lower-affine,convert-to-llvm,reconcile-unrealized-casts)"
)
# Rows, with two positions each; entries, with a coordinate, a value and an element of x; one store a row.
_LOOPS = "for(load load load for(load load load mulf addf) store)"
_SEEN = {
    "memref.load": "load",
    "memref.store": "store",
    "arith.mulf": "mulf",
    "arith.addf": "addf",
    "scf.for": "for",
    "scf.while": "while",
    "scf.if": "if",
    "scf.parallel": "parallel",
}


def loops_of(function: ir.Operation) -> str:
    """Returns the loops of a function, with what they read, write and compute: no names, no arithmetic of indices.

    Order within a loop is kept where it can matter: what is read may be read in any order.
    """
    return " ".join(_loops(function))


def _loops(operation: ir.Operation) -> Iterator[str]:
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                seen = _SEEN.get(inner.operation.name)
                if seen is not None:
                    within = " ".join(_loops(inner.operation))
                    yield f"{seen}({within})" if within else seen


def compile_golden() -> None:
    """Compiles SpMV on CSR, and runs it.

    Raises:
        ValueError: for other loops or another result than those expected, with both.
        MLIRError, RuntimeError: as the bindings raise them.
    """
    with mlir_context():
        module = parse_module(_PROGRAM)
        pass_manager(_TO_LOOPS).run(module.operation)
        function = next(one for one in module.body.operations if str(one.name) == '"spmv"')
        found = loops_of(function.operation)
        if found != _LOOPS:
            raise ValueError(f"expected the loops {_LOOPS} of y(i) = A(i,j) * x(j), but got {found or 'none'}")
        pass_manager(_TO_LLVM).run(module.operation)
        engine, addresses = execution_engine(module, ["golden"])
        result = [_called(addresses["golden"], row) for row in range(len(_RESULT))]
        if result != _RESULT:
            raise ValueError(f"expected y = {_RESULT} of A(i,j) * x(j), but got {result}")
        if not object_code(engine):
            raise ValueError("expected the machine code of A(i,j) * x(j) as an object file, but got nothing")


def _called(address: int, row: int) -> float:
    """Calls a function as MLIR's engine wraps it: with an array of the addresses of arguments and of the result."""
    argument, result = ctypes.c_int64(row), ctypes.c_double()
    addresses = (ctypes.c_void_p * 2)(ctypes.addressof(argument), ctypes.addressof(result))
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)(addresses)
    return result.value
