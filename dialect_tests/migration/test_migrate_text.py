"""Files in older spellings: what becomes of them, what stays, and that the rest is untouched."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mlir_sparse as ms
from mlir_sparse.migration import migrated

SV = "#SV = #sparse_tensor.encoding<{ map = (d0) -> (d0 : compressed) }>\n"
CSR = "#CSR = #sparse_tensor.encoding<{ map = (i, j) -> (i : dense, j : compressed) }>\n"

OLD = """\
// RUN: mlir-opt %s --sparse-compiler="vl=4" | mlir-cpu-runner -e main \\
// RUN:   -shared-libs=%mlir_lib_dir/libmlir_c_runner_utils%shlibext | FileCheck %s
// CHECK: dimLevelType = [ "dense" ]
#CSC = #sparse_tensor.encoding<{
  dimLevelType = [ "dense", "compressed" ], // columns
  dimOrdering = affine_map<(i,j) -> (j,i)>,
  pointerBitWidth = 32
}>
#trait = { indexing_maps = [ affine_map<(i,j) -> (i,j)> ], doc = "sparse_tensor.pointers dimLevelType = []" }
func.func @f(%A: tensor<?x?xf64, #CSC>,
             %b: tensor<8xf64, #sparse_tensor.encoding<{dimLevelType = ["compressed"]}>>) -> memref<?xi32> {
  // sparse_tensor.pointers %A
  %p = sparse_tensor.pointers %A { dimension = 1 : index } : tensor<?x?xf64, #CSC> to memref<?xi32>
  return %p : memref<?xi32>
}
"""
TODAY = """\
// RUN: mlir-opt %s --sparsifier="vl=4" | mlir-runner -e main \\
// RUN:   -shared-libs=%mlir_c_runner_utils | FileCheck %s
// CHECK: dimLevelType = [ "dense" ]
#CSC = #sparse_tensor.encoding<{
  map = (i, j) -> (j : dense, i : compressed), // columns
  posWidth = 32
}>
#trait = { indexing_maps = [ affine_map<(i,j) -> (i,j)> ], doc = "sparse_tensor.pointers dimLevelType = []" }
func.func @f(%A: tensor<?x?xf64, #CSC>,
             %b: tensor<8xf64, #sparse_tensor.encoding<{map = (d0) -> (d0 : compressed)}>>) -> memref<?xi32> {
  // sparse_tensor.pointers %A
  %p = sparse_tensor.positions %A { level = 1 : index } : tensor<?x?xf64, #CSC> to memref<?xi32>
  return %p : memref<?xi32>
}
"""


def test_a_file_of_llvm_16() -> None:
    found = migrated(OLD, "old.mlir")
    assert found.text == TODAY
    assert not found.left
    assert [str(change) for change in found.changes] == [
        "1: `--sparse-compiler` -> `--sparsifier`",
        "1: `mlir-cpu-runner` -> `mlir-runner`",
        "2: `%mlir_lib_dir/libmlir_c_runner_utils%shlibext` -> `%mlir_c_runner_utils`",
        '5: `dimLevelType = [ "dense", "compressed" ]` -> `map = (i, j) -> (j : dense, i : compressed)`',
        "6: `dimOrdering = affine_map<(i,j) -> (j,i)>` -> nothing",
        "7: `pointerBitWidth` -> `posWidth`",
        '11: `dimLevelType = ["compressed"]` -> `map = (d0) -> (d0 : compressed)`',
        "13: `sparse_tensor.pointers` -> `sparse_tensor.positions`",
        "13: `dimension` -> `level`",
    ]
    ms.opt(found.text, [])


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_ends_of_lines_stay(end: str) -> None:
    assert migrated(OLD.replace("\n", end)).text == TODAY.replace("\n", end)


def test_what_is_of_today_comes_back_byte_for_byte() -> None:
    again = migrated(TODAY)
    assert (again.text, again.changes, again.left) == (TODAY, (), ())


# A function of old and of today; `ms.opt` parses what comes out.
SYNTAX = {
    "constant operand of a level": (
        (
            "func.func @f(%t: tensor<?xf64, #SV>) -> memref<?xindex> {\n"
            "  %c0 = arith.constant 0 : index\n"
            "  %p = sparse_tensor.indices %t, %c0 : tensor<?xf64, #SV> to memref<?xindex>\n"
            "  return %p : memref<?xindex>\n}\n"
        ),
        "sparse_tensor.coordinates %t { level = 0 : index } : tensor<?xf64, #SV>",
    ),
    "init": (
        (
            "func.func @f(%n: index, %c4: index) -> tensor<4x?xf64, #CSR> {\n"
            "  %0 = sparse_tensor.init [%c4, %n] : tensor<4x?xf64, #CSR>\n"
            "  return %0 : tensor<4x?xf64, #CSR>\n}\n"
        ),
        "tensor.empty(%n) : tensor<4x?xf64, #CSR>",
    ),
    "init_tensor": (
        (
            "func.func @f(%n: index) -> tensor<?x4xf32> {\n"
            "  %0 = linalg.init_tensor [%n, 4] : tensor<?x4xf32>\n"
            "  %1 = arith.constant 0.0 : f32\n"
            "  %2 = linalg.fill(%1, %0) : f32, tensor<?x4xf32> -> tensor<?x4xf32>\n"
            "  return %2 : tensor<?x4xf32>\n}\n"
        ),
        "linalg.fill ins(%1 : f32) outs(%0 : tensor<?x4xf32>) -> tensor<?x4xf32>",
    ),
    "insert": (
        (
            "func.func @f(%t: tensor<?xf64, #SV>, %v: f64, %i: index) -> tensor<?xf64, #SV> {\n"
            "  %0 = sparse_tensor.insert %v into %t[%i] : tensor<?xf64, #SV>\n"
            "  %1 = sparse_tensor.load %0 hasInserts : tensor<?xf64, #SV>\n"
            "  return %1 : tensor<?xf64, #SV>\n}\n"
        ),
        "tensor.insert %v into %t[%i]",
    ),
    "release": (
        "func.func @f(%t: tensor<?xf64, #SV>) {\n  sparse_tensor.release %t : tensor<?xf64, #SV>\n  return\n}\n",
        "bufferization.dealloc_tensor %t : tensor<?xf64, #SV>",
    ),
    "sort": (
        (
            "func.func @f(%n: index, %x: memref<?xi32>, %y: memref<?xf64>) {\n"
            "  sparse_tensor.sort stable %n, %x jointly %y : memref<?xi32> jointly memref<?xf64>\n"
            "  sparse_tensor.sort %n, %x : memref<?xi32>\n  return\n}\n"
        ),
        "sparse_tensor.sort hybrid_quick_sort %n, %x {perm_map = affine_map<(d0) -> (d0)>} : memref<?xi32>",
    ),
    "sort_coo": (
        (
            "func.func @f(%n: index, %x: memref<?xi32>, %y: memref<?xf64>) {\n"
            "  sparse_tensor.sort_coo %n, %x jointly %y {nx = 2 : index, ny = 0 : index} "
            ": memref<?xi32> jointly memref<?xf64>\n  return\n}\n"
        ),
        "{perm_map = affine_map<(d0, d1) -> (d0, d1)>, ny = 0 : index}",
    ),
    "pack": (
        (
            "func.func @f(%v: tensor<3xf64>, %p: tensor<2xindex>, %c: tensor<3xindex>) -> tensor<9xf64, #SV> {\n"
            "  %0 = sparse_tensor.pack %v, %p, %c\n"
            "    : tensor<3xf64>, tensor<2xindex>, tensor<3xindex> to tensor<9xf64, #SV>\n"
            "  return %0 : tensor<9xf64, #SV>\n}\n"
        ),
        "sparse_tensor.assemble (%p, %c), %v : (tensor<2xindex>, tensor<3xindex>), tensor<3xf64> to tensor<9xf64, #SV>",
    ),
    "unpack": (
        (
            "func.func @f(%t: tensor<9xf64, #SV>,\n"
            "             %v: tensor<3xf64>, %p: tensor<2xindex>, %c: tensor<3xindex>) -> index {\n"
            "  %rv, %rp, %rc, %lv, %lp, %lc = sparse_tensor.unpack %t : tensor<9xf64, #SV>\n"
            "     outs(%v, %p, %c : tensor<3xf64>, tensor<2xindex>, tensor<3xindex>)\n"
            "     -> tensor<3xf64>, (tensor<2xindex>, tensor<3xindex>), index, (index, index)\n"
            "  return %lv : index\n}\n"
        ),
        "%rp, %rc, %rv, %lp, %lc, %lv = sparse_tensor.disassemble %t",
    ),
    "specifier": (
        (
            "func.func @f(%s: !sparse_tensor.storage_specifier<#SV>) -> index {\n"
            "  %0 = sparse_tensor.storage_specifier.get %s ptr_mem_sz at 0\n"
            "    : !sparse_tensor.storage_specifier<#SV> to index\n"
            "  return %0 : index\n}\n"
        ),
        "pos_mem_sz at 0\n    : !sparse_tensor.storage_specifier<#SV>\n",
    ),
    "generic form": (
        (
            "func.func @f(%t: tensor<?xf64, #SV>) -> memref<?xindex> {\n"
            '  %p = "sparse_tensor.pointers"(%t) {dimension = 0 : index} : (tensor<?xf64, #SV>) -> memref<?xindex>\n'
            "  return %p : memref<?xindex>\n}\n"
        ),
        '"sparse_tensor.positions"(%t) {level = 0 : index}',
    ),
    "to_memref": (
        (
            "func.func @f(%t: tensor<4x?xf64>) -> tensor<4x?xf64> {\n"
            "  %m = bufferization.to_memref %t : memref<4x?xf64, strided<[?, ?], offset: ?>>\n"
            "  %0 = bufferization.to_tensor %m restrict writable : memref<4x?xf64, strided<[?, ?], offset: ?>>\n"
            "  return %0 : tensor<4x?xf64>\n}\n"
        ),
        "to_buffer %t : tensor<4x?xf64> to memref<4x?xf64, strided<[?, ?], offset: ?>>",
    ),
    "expand_shape": (
        (
            "func.func @f(%t: tensor<?x4xf64>) -> tensor<?x2x2x2xf64> {\n"
            "  %0 = tensor.expand_shape %t [[0, 1], [2, 3]] : tensor<?x4xf64> into tensor<?x2x2x2xf64>\n"
            "  return %0 : tensor<?x2x2x2xf64>\n}\n"
        ),
        "tensor.expand_shape %t [[0, 1], [2, 3]] output_shape [%part0, 2, 2, 2] : tensor<?x4xf64>",
    ),
    "vectors": (
        (
            "func.func @f(%v: vector<4xf32>, %m: vector<2x4xf32>, %i: index, %x: f32) -> f32 {\n"
            "  %0 = vector.extractelement %v[%i : index] : vector<4xf32>\n"
            "  %1 = vector.insertelement %x, %v[%i : index] : vector<4xf32>\n"
            "  %2 = vector.splat %x : vector<4xf32>\n"
            "  %3 = vector.extract %m[0] : vector<2x4xf32>\n"
            "  %4 = vector.reduction <maxf>, %v : vector<4xf32> into f32\n"
            "  %5 = arith.maxf %x, %0 : f32\n"
            "  return %5 : f32\n}\n"
        ),
        "%3 = vector.extract %m[0] : vector<4xf32> from vector<2x4xf32>",
    ),
    "typed pointers": (
        (
            "func.func @f(%p: !llvm.ptr<struct<(f32, ptr<i8>)>>, %q: !llvm.ptr<f32>) -> f32 {\n"
            "  %0 = llvm.load %q : !llvm.ptr<f32>\n  llvm.store %0, %q : !llvm.ptr<f32>\n"
            "  return %0 : f32\n}\n"
        ),
        "llvm.store %0, %q : f32, !llvm.ptr\n",
    ),
    "standard dialect": (
        (
            "func @f(%x: f64, %b: i1) -> f64 {\n"
            "  %c = constant 1.0 : f64\n  %0 = addf %x, %c : f64\n  %1 = select %b, %0, %x : f64\n"
            "  br ^bb1(%1 : f64)\n^bb1(%y: f64):\n  return %y : f64\n}\n"
        ),
        "cf.br ^bb1(%1 : f64)",
    ),
    "strides": (
        (
            "func.func @f(%x: memref<?xi32>, %i: index) -> memref<?xi32, strided<[4], offset: ?>> {\n"
            "  %c4 = arith.constant 4 : index\n"
            "  %0 = memref.subview %x[%i][%i][%c4] : memref<?xi32> to memref<?xi32, strided<[4], offset: ?>>\n"
            "  return %0 : memref<?xi32, strided<[4], offset: ?>>\n}\n"
        ),
        "memref.subview %x[%i][%i][4] :",
    ),
    "names in use": (
        (
            "func.func @f(%axis0: tensor<?xf64>, %extent0: index) -> tensor<?x2xf64> {\n"
            "  %0 = tensor.expand_shape %axis0 [[0, 1]] : tensor<?xf64> into tensor<?x2xf64>\n"
            "  return %0 : tensor<?x2xf64>\n}\n"
        ),
        "%extent0_1 = tensor.dim %axis0, %axis0_1 : tensor<?xf64>",
    ),
}


@pytest.mark.parametrize("old", SYNTAX.values(), ids=SYNTAX)
def test_operations_parse_in_their_syntax_of_today(old: tuple[str, str]) -> None:
    text, expected = old
    found = migrated(SV + CSR + text)
    assert not found.left
    assert expected in found.text
    ms.opt(found.text, [])
    assert not migrated(found.text).changes


LEFT = {
    "symmetric file": ("%0 = sparse_tensor.new expand_symmetry %p : !llvm.ptr to tensor<?x?xf64>", "the triangle"),
    "several keys": (
        "sparse_tensor.sort %n, %x, %y : memref<?xi32>, memref<?xi32>",
        "the keys of an entry stand beside each other in one array",
    ),
    "computed level": ("%p = sparse_tensor.pointers %t, %n : tensor<?xf64> to memref<?xindex>", "%n to be an"),
    "lex_insert": ("sparse_tensor.lex_insert %t, %i, %v : tensor<?xf64>, memref<?xindex>, f64", "tensor.insert"),
    "sizes in memory": (
        "%b = sparse_tensor.push_back %s, %x, %v {idx = 0 : index} : memref<?xindex>, memref<?xf64>, f64",
        "%b1, %n1 = push_back %n, %b, %v",
    ),
    "two unknown extents": (
        "%0 = tensor.expand_shape %t [[0, 1]] : tensor<?xf64> into tensor<?x?xf64>",
        "expected one dynamic extent in each group",
    ),
    "pack without positions": (
        "%0 = sparse_tensor.pack %v, %c : tensor<3xf64>, tensor<3x1xindex> to tensor<9xf64>",
        "assemble (%pos, %crd), %values",
    ),
    "an encoding": ('"x"() {a = #sparse_tensor.encoding<{ dimLevelType = ["csr"] }>} : () -> ()', 'level type: "csr"'),
}  # fmt: skip


@pytest.mark.parametrize("old", LEFT.values(), ids=LEFT)
def test_what_has_no_other_spelling_stays_and_is_named(old: tuple[str, str]) -> None:
    text, reason = old
    found = migrated(f"\n{text}\n")
    assert (found.text, found.changes) == (f"\n{text}\n", ())
    assert [left.line for left in found.left] == [2]
    assert reason in found.left[0].reason


def test_names_are_those_of_their_part() -> None:
    encoding = '#sparse_tensor.encoding<{{ dimLevelType = ["dense", "compressed"], dimOrdering = #m }}>'
    part = f"#m = affine_map<(i, j) -> {{}}>\n#A = {encoding}\n"
    text = part.format("(j, i)") + "// -----\n" + part.format("(i, j)")
    found = migrated(text)
    assert re.findall(r"map = \S+ \S+ -> (.*) }>", found.text) == [
        "(j : dense, i : compressed)",
        "(i : dense, j : compressed)",
    ]
    assert [change.line for change in found.changes] == [2, 2, 5, 5]


@pytest.mark.parametrize(
    "text", ["", "\n", "\ufeff", "é ∀ // ü\n", '"', "#sparse_tensor.encoding<", "%", "}" * 50, "<" * 50, "\0"]
)
def test_texts_that_are_no_modules_come_back(text: str) -> None:
    assert migrated(text).text == text


_PIECES = sorted(
    {*re.findall(r"\S+", OLD), *(word for text, _ in SYNTAX.values() for word in re.findall(r"\S+|\n", text))}
)


@given(st.lists(st.sampled_from(_PIECES), max_size=40))
@settings(max_examples=150, deadline=None)
def test_no_text_is_too_broken(pieces: list[str]) -> None:
    text = " ".join(pieces)
    found = migrated(text)
    if not found.changes:
        assert found.text == text
