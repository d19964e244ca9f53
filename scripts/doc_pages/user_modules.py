"""Modules of MLIR that users write: called from Python, run and transformed from a shell, tested by upstream's tools.

All commands and all code of the page are run for it, in a folder of their own, and what they print is on it.
"""

from __future__ import annotations

from typing import Any

from doc_pages import markup
from doc_pages.running import command, folder_of, session
from mlir_sparse._mlir.provider import bindings_name

__all__ = ["page"]

SPMV = """\
#CSR = #sparse_tensor.encoding<{ map = (i, j) -> (i : dense, j : compressed) }>

func.func @spmv(%A: tensor<?x?xf64, #CSR>, %x: tensor<?xf64>, %y: tensor<?xf64>) -> tensor<?xf64> {
  %0 = linalg.matvec ins(%A, %x : tensor<?x?xf64, #CSR>, tensor<?xf64>) outs(%y : tensor<?xf64>) -> tensor<?xf64>
  return %0 : tensor<?xf64>
}
"""
MATRIX = """\
%%MatrixMarket matrix coordinate real general
3 4 4
1 2 2.5
2 1 -1
3 3 4
3 4 0.5
"""
HELLO = """\
#CSR = #sparse_tensor.encoding<{ map = (i, j) -> (i : dense, j : compressed) }>
func.func private @getTensorFilename(index) -> (!llvm.ptr)

func.func @main() {
  %c0 = arith.constant 0 : index
  %name = call @getTensorFilename(%c0) : (index) -> (!llvm.ptr)
  %A = sparse_tensor.new %name : !llvm.ptr to tensor<?x?xf64, #CSR>
  sparse_tensor.print %A : tensor<?x?xf64, #CSR>
  bufferization.dealloc_tensor %A : tensor<?x?xf64, #CSR>
  return
}
"""
WRONG = """\
// expected-error@+1 {{failed to infer lvlToDim from dimToLvl}}
func.func private @f(tensor<4x4xf64, #sparse_tensor.encoding<{ map = (i, j) -> (j - i : dense, i : compressed) }>>)
"""

LEAD = """A program in the dialect needs no build of LLVM to run: `ms.module` takes a file, a text or an `ir.Module` of
the bindings, verifies it, compiles it, and its functions are called with tensors. The compiler runs in a process of its
own, so that a crash of the sparsifier is an error with a file that reproduces it, and machine code is kept on disk."""

CALL = """
import numpy as np
import mlir_sparse as ms

m = ms.module("spmv.mlir")
print(m)
A = ms.read("A.mtx", "#sparse_tensor.encoding<{ map = (i, j) -> (i : dense, j : compressed), "
                     "posWidth = 64, crdWidth = 64 }>")
print(m.spmv(A, np.ones(4), np.zeros(3)))
"""

VALUES = """Tensors are values, as in MLIR: what a function writes in place is a copy. `out=` is the array to compute
in, in the place of the operand that the function writes. A memref is the caller's own array. An encoding that names no
widths has positions and coordinates of 64 bits; batches are taken as they are stored, of a slice the program gets a
copy; `convert=True` converts what does not fit, and without it each operand
that does not fit is refused by name:"""

OUT = """
y = np.ones(3)
print(m.spmv(A, np.ones(4), out=y) is y, y)
try:
    m.spmv(ms.read("A.mtx"), np.ones(4), y)
except ms.OperandError as error:
    print(error)
print(m.spmv(ms.read("A.mtx"), [1, 1, 1, 1], [0, 0, 0], convert=True))
"""

WRONGDOING = """What a program does wrong ends its call with a `ProgramError` and the line: operands whose extents
differ, indices, slices and vectors out of bounds, an integer divided by zero, an assertion of the program's own. On
Linux a signal, as that of a wild pointer, ends the call too; `m.spmv.in_child(...)` has a process of its own:"""

TOO_SHORT = """
try:
    m.spmv(A, np.ones(3), np.zeros(3))
except ms.ProgramError as error:
    print(error)
"""

STAGES = """`m.ir("buffers")` is the module after sparsification and bufferization, `m.ir("llvm")`, `m.ir("llvmir")` and
`m.ir("asm")` what becomes of it, and `m.passes()` the module after each pass:"""

PASSES = """
print(m.passes())
"""

RUN = """The same from a shell: operands come from files (`-i`) or are made (`-g`), `--verify` says in index notation
what the function computes, which NumPy then checks, and `-o` writes a result. The program has a process of its own:
`--timeout` ends an endless one, and so does Ctrl-C."""

PROGRAM = """What upstream's integration programs call is there: `vector.print`, `printMemref*`, `sparse_tensor.print`,
`sparse_tensor.new` and `sparse_tensor.out` with files of Matrix Market and FROSTT's extended form, `getTensorFilename`
with its names in the environment, and random numbers. A function that nothing defines is named before anything runs,
and an assertion stands before each `sparse_tensor.assemble`: buffers that lie end the program, not the process."""

OPT = """`mlir-sparse opt` stands for `mlir-opt`: each pass is a flag, in the order they run, with options as
`--pass="option=value"`; `--pass-pipeline`, `--split-input-file`, `--verify-diagnostics`, `--mlir-print-ir-after-all`
and the like, and `--mlir-timing` are those of `mlir-opt`. The passes of this package stand beside MLIR's
(`--list-passes`); `--cpu` is the pipeline of its kernels, `--user-module` that of `ms.module`."""

RUNNER = """`mlir-sparse runner` stands for `mlir-runner`, so that RUN lines of upstream's tests run with `mlir-opt` and
`mlir-runner` substituted. Its `-shared-libs` may name LLVM's runner libraries: what they have is there without them."""

DIAGNOSTICS = """Diagnostics have their place in the file, and comments may expect them:"""


BINDINGS = """Modules may be built with MLIR's bindings: those that this package runs on (`torch_mlir`, or `mlir` of a
build of LLVM). `Encoding.to_mlir()` and `TensorType.to_mlir()` are attributes and types in the Context that the caller
is in, `from_mlir` reads them, and `kernel.module(stage)` is a kernel of this package as an `ir.Module` there. A kernel
by hand, SDDMM, which OpDSL turns into a `linalg.generic` on a sparse operand:"""

BY_HAND = """
from torch_mlir import ir
from torch_mlir.dialects import arith, func, linalg
from torch_mlir.dialects.linalg.opdsl.lang import D, S, ScalarDef, TensorDef, T, linalg_structured_op

@linalg_structured_op
def sampled(
    A=TensorDef(T, S.M, S.N), B=TensorDef(T, S.M, S.K), C=TensorDef(T, S.K, S.N), Y=TensorDef(T, S.M, S.N, output=True)
):
    Y[D.m, D.n] += A[D.m, D.n] * B[D.m, D.k] * C[D.k, D.n]

csr = ms.encoding("CSR").with_widths(32, 32)
with ir.Context(), ir.Location.unknown():
    module = ir.Module.create()
    sparse = ms.TensorType.parse("f64[?,?] CSR").to_mlir()
    sparse = ir.RankedTensorType.get(sparse.shape, sparse.element_type, csr.to_mlir())
    dense = ms.TensorType.parse("f64[?,?]").to_mlir()
    with ir.InsertionPoint(module.body):

        @func.FuncOp.from_py_func(sparse, dense, dense, dense)
        def sddmm(A, B, C, Y):
            return sampled(A, B, C, outs=[Y])

    print(module)
    print(ms.Encoding.from_mlir(sparse.encoding) == csr)
    kernel = ms.module(module)

A = ms.read("A.mtx", csr)
B, C = np.arange(6.0).reshape(3, 2), np.ones((2, 4))
print(kernel.sddmm(A, B, C, np.zeros((3, 4))))
"""

BACK = """The other way: what this package makes of a statement, with a sum in the place of its product:"""

CHANGED = """
spmv = ms.compile("y(i) = A(i,j) * x(j)", A=ms.TensorType(ms.DType("f64"), (None, None), csr), x="f64[?]")
with ir.Context(), ir.Location.unknown():
    module = spmv.module("linalg")
    generic = next(op for op in module.body.operations[0].regions[0].blocks[0] if op.name == "linalg.generic")
    mul = next(op for op in generic.regions[0].blocks[0] if op.name == "arith.mulf")
    with ir.InsertionPoint(mul):
        mul.result.replace_all_uses_with(arith.AddFOp(*mul.operands).result)
    mul.operation.erase()
    added = ms.module(module)
print(added.kernel(A, np.ones(4), np.zeros(3)))
"""

OLD = """\
#CSR = #sparse_tensor.encoding<{
  dimLevelType = [ "dense", "compressed" ], // rows
  dimOrdering = affine_map<(i,j) -> (i,j)>,
  pointerBitWidth = 32
}>

// The sizes of rows are differences of sparse_tensor.pointers.
func.func @ends(%A: tensor<?x?xf64, #CSR>) -> memref<?xi32> {
  %0 = sparse_tensor.pointers %A { dimension = 1 : index } : tensor<?x?xf64, #CSR> to memref<?xi32>
  return %0 : memref<?xi32>
}
"""

GPU = """`--gpu=sm_90` lowers a module to PTX for a GPU of that architecture; none is needed for it. Each outer loop
whose iterations are proven to write to elements of their own becomes a kernel, with copies of what it reads and writes
around its launch. Every other loop stays on the host, with the reason: threads that race would give wrong numbers.
`gpu.func` that a module has are lowered as they are. `gpu.mlir`, whose second function adds all entries to one sum:"""

ON_GPU = """\
#CSR = #sparse_tensor.encoding<{ map = (i, j) -> (i : dense, j : compressed), posWidth = 32, crdWidth = 32 }>
#total = {
  indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>],
  iterator_types = ["reduction", "reduction"]
}

func.func @spmv(%A: tensor<?x?xf32, #CSR>, %x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %0 = linalg.matvec ins(%A, %x : tensor<?x?xf32, #CSR>, tensor<?xf32>) outs(%y : tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
func.func @total(%A: tensor<?x?xf32, #CSR>, %s: tensor<f32>) -> tensor<f32> {
  %0 = linalg.generic #total ins(%A : tensor<?x?xf32, #CSR>) outs(%s : tensor<f32>) {
  ^bb0(%a: f32, %sum: f32):
    %1 = arith.addf %sum, %a : f32
    linalg.yield %1 : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}
"""

PTX = """The kernel's PTX is the `assembly` of the `gpu.binary`, which LLVM's runtime loads, and `ptxas` takes:"""

MIGRATE = """Files that older releases of LLVM read, back to 13, are rewritten by `mlir-sparse migrate` to what the
bindings of today read: encodings, operations and types that were renamed or have another syntax, and the commands of
RUN lines. Each change is listed; comments, strings, the layout and the names of everything stay. `--in-place` and `-o`
write, `--check` exits with 1 where something would change, and a folder is migrated file by file. `ms.encoding` and
`-f` read the older encodings too. `old.mlir`, of LLVM 16:"""

LEFT = """What nothing today says the same way stays as it is and is named, so that no program means something else
afterwards: of the 68 integration programs of LLVM 16, 59 pass their own FileCheck lines once migrated
(`scripts/upstream migrated`)."""

TESTS = """`mlir-sparse lit-init` makes a folder a suite of lit with these commands, and `mlir-sparse update-checks`
writes the CHECK lines of a test for what its RUN lines print: values are captured by names of what they mean, and
encodings by those of the file. It runs the test afterwards; lines that were written by hand are replaced with `--force`
alone. `tests/rows.mlir` before and after:"""

ROWS = """\
// RUN: mlir-sparse opt %s --sparsification | FileCheck %s

#CSR = #sparse_tensor.encoding<{ map = (i, j) -> (i : dense, j : compressed) }>
#sums = {
  indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
  iterator_types = ["parallel", "reduction"]
}

func.func @row_sums(%A: tensor<?x?xf64, #CSR>, %y: tensor<?xf64>) -> tensor<?xf64> {
  %0 = linalg.generic #sums ins(%A : tensor<?x?xf64, #CSR>) outs(%y : tensor<?xf64>) {
  ^bb0(%a: f64, %sum: f64):
    %1 = arith.addf %sum, %a : f64
    linalg.yield %1 : f64
  } -> tensor<?xf64>
  return %0 : tensor<?xf64>
}
"""

PLUGIN = """pytest collects such files beside tests in Python, with `pytest -p mlir_sparse.testing.pytest_mlir` or
`pytest_plugins = ["mlir_sparse.testing.pytest_mlir"]` in a `conftest.py`."""


def page() -> str:
    """Returns the page."""
    with folder_of(
        {
            "spmv.mlir": SPMV,
            "A.mtx": MATRIX,
            "print.mlir": HELLO,
            "wrong.mlir": WRONG,
            "old.mlir": OLD,
            "rows.mlir": ROWS,
            "gpu.mlir": ON_GPU,
        }
    ):
        return markup.document("user_modules.html", _parts())


def _parts() -> list[str]:
    names: dict[str, Any] = {}
    check = 'mlir-sparse run spmv.mlir --entry spmv -i A=A.mtx -g x=random --verify "y(i) = A(i,j) * x(j)" -o y=y.ttx'
    return [
        markup.paragraph(LEAD),
        markup.paragraph("`spmv.mlir`:"),
        markup.pre(SPMV.strip()),
        markup.anchor("From Python"),
        session(CALL, names),
        markup.paragraph(VALUES),
        session(OUT, names),
        markup.paragraph(WRONGDOING),
        session(TOO_SHORT, names),
        markup.paragraph(STAGES),
        session(PASSES, names),
        markup.anchor("From a shell"),
        markup.paragraph(RUN),
        command(check),
        markup.paragraph(PROGRAM),
        markup.pre(HELLO.strip()),
        command("TENSOR0=A.mtx mlir-sparse run print.mlir --entry main"),
        markup.anchor("Passes"),
        markup.paragraph(OPT),
        command("mlir-sparse opt spmv.mlir --linalg-generalize-named-ops --sparse-reinterpret-map --sparsification"),
        markup.paragraph(RUNNER),
        command(
            'mlir-sparse opt print.mlir --sparsifier="enable-runtime-library=false" |\n'
            "  TENSOR0=A.mtx mlir-sparse runner -e main -entry-point-result=void"
        ),
        markup.paragraph(DIAGNOSTICS),
        markup.pre(WRONG.strip()),
        command("mlir-sparse opt wrong.mlir"),
        command("mlir-sparse opt wrong.mlir --verify-diagnostics && echo as expected"),
        markup.anchor("On a GPU"),
        markup.paragraph(GPU),
        markup.pre(ON_GPU.strip()),
        command(
            "mlir-sparse opt gpu.mlir --gpu=sm_90 -o lowered.mlir\n"
            "grep -oE '(func.func @\\w+|gpu.memcpy.*|gpu.launch_func.* args|kept_on_host.*)' lowered.mlir"
        ),
        markup.paragraph(PTX),
        command(
            "grep -o 'assembly = \"[^\"]*' lowered.mlir | sed 's/\\\\0A/\\n/g; s/\\\\09/\\t/g' >spmv.ptx\n"
            "grep -E 'target|entry|tid|setp|bra|global|fma|mul.rn|add.rn' spmv.ptx | head -24 | expand"
        ),
        markup.anchor("Tests"),
        markup.paragraph(TESTS),
        markup.pre(ROWS.strip()),
        command(
            "mlir-sparse lit-init tests; mv rows.mlir tests\n"
            "mlir-sparse update-checks tests/rows.mlir; cat tests/rows.mlir; lit -q tests && echo passed"
        ),
        markup.paragraph(PLUGIN),
        markup.anchor("Objects of the bindings"),
        markup.paragraph(BINDINGS),
        session(BY_HAND.replace("torch_mlir", bindings_name()), names),
        markup.paragraph(BACK),
        session(CHANGED, names),
        markup.anchor("Files of older releases"),
        markup.paragraph(MIGRATE),
        markup.pre(OLD.strip()),
        command("mlir-sparse migrate old.mlir -o new.mlir; cat new.mlir"),
        markup.paragraph(LEFT),
    ]
