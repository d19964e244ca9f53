"""Modules that users write: their functions are called with tensors, and what is wrong is named with its place."""

from __future__ import annotations

import inspect
import mmap
import os
import pickle
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

import mlir_sparse as ms
from mlir_sparse import _native
from mlir_sparse._mlir import ir, mlir_context
from mlir_sparse.text.parameter_names import parameter_names

CSR = "#CSR = #sparse_tensor.encoding<{ map = (i, j) -> (i : dense, j : compressed) }>\n"
SPMV = (
    CSR
    + """
func.func @spmv(%A: tensor<?x?xf64, #CSR>, %x: tensor<?xf64>, %y: tensor<?xf64>) -> tensor<?xf64> {
  %0 = linalg.matvec ins(%A, %x : tensor<?x?xf64, #CSR>, tensor<?xf64>) outs(%y : tensor<?xf64>) -> tensor<?xf64>
  return %0 : tensor<?xf64>
}
"""
)
# Two sparse operands, a sparse result.
ADD = """
#S = #sparse_tensor.encoding<{{ map = {map}, posWidth = {width}, crdWidth = {width} }}>
#add = {{ indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
         iterator_types = ["parallel", "parallel"] }}
func.func @add(%A: tensor<?x?x{type}, #S>, %B: tensor<?x?x{type}, #S>) -> tensor<?x?x{type}, #S> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %A, %c0 : tensor<?x?x{type}, #S>
  %n = tensor.dim %A, %c1 : tensor<?x?x{type}, #S>
  %e = tensor.empty(%m, %n) : tensor<?x?x{type}, #S>
  %0 = linalg.generic #add ins(%A, %B : tensor<?x?x{type}, #S>, tensor<?x?x{type}, #S>)
                           outs(%e : tensor<?x?x{type}, #S>) {{
  ^bb0(%a: {type}, %b: {type}, %c: {type}):
    %s = arith.{add} %a, %b : {type}
    linalg.yield %s : {type}
  }} -> tensor<?x?x{type}, #S>
  return %0 : tensor<?x?x{type}, #S>
}}
"""


def drawn(rows: int, columns: int, *, density: float = 0.4, seed: int = 0) -> scipy.sparse.csr_array:
    rng = np.random.default_rng(seed)
    return scipy.sparse.random_array((rows, columns), density=density, rng=rng, format="csr")


@pytest.fixture(scope="module")
def spmv() -> ms.UserModule:
    return ms.module(SPMV)


def wide(source: object) -> ms.SparseTensor:
    """Returns a tensor in CSR of 64 bits, as a type without widths means."""
    return ms.tensor(source, ms.encoding("CSR").with_widths(64, 64))


def test_a_function_is_called_with_tensors_and_arrays(spmv: ms.UserModule) -> None:
    A, x, y = drawn(7, 5), np.arange(5.0), np.ones(7)
    found = spmv.spmv(wide(A), x, y)
    np.testing.assert_allclose(found, A @ x + 1)
    np.testing.assert_array_equal(y, np.ones(7))  # tensors are values


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (1, 1), (1, 9)])
def test_extents_may_be_0_and_1(spmv: ms.UserModule, shape: tuple[int, int]) -> None:
    A = drawn(*shape, density=1)
    np.testing.assert_allclose(spmv.spmv(wide(A), np.ones(shape[1]), np.zeros(shape[0])), A @ np.ones(shape[1]))


def test_operands_may_be_named(spmv: ms.UserModule) -> None:
    A = drawn(3, 4)
    found = spmv.spmv(y=np.zeros(3), x=np.ones(4), A=wide(A))
    np.testing.assert_allclose(found, A @ np.ones(4))


def test_out_is_computed_in_place(spmv: ms.UserModule) -> None:
    A, x = drawn(6, 4), np.arange(4.0)
    y = np.full(6, 2.0)
    assert spmv.spmv(wide(A), x, out=y) is y  # in the place of the operand, with its values
    np.testing.assert_allclose(y, A @ x + 2)
    other = np.empty(6)
    assert spmv.spmv(wide(A), x, np.zeros(6), out=other) is other
    np.testing.assert_allclose(other, A @ x)
    strided = np.zeros(12)[::2]
    assert spmv.spmv(wide(A), x, np.zeros(6), out=strided) is strided
    np.testing.assert_allclose(strided, A @ x)


def test_out_may_be_an_operand(spmv: ms.UserModule) -> None:
    A, x = drawn(5, 5), np.arange(5.0)
    wanted = A @ x
    np.testing.assert_allclose(spmv.spmv(wide(A), x, np.zeros(5), out=x), wanted)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda f, A, x: f(A, x), ms.OperandError, "but got none for y"),
        (lambda f, A, x: f(A, x, x, x), ms.OperandError, r"expected 3 operands for spmv\(A: "),
        (lambda f, A, x: f(A, x, x, z=x), ms.OperandError, "but got z"),
        (lambda f, A, x: f(A, x, x, x=x), ms.OperandError, "but got x twice"),
        (lambda f, A, x: f(A.convert("CSC"), x, x), ms.OperandError, r"pass A\.convert"),
        (lambda f, A, x: f(A.convert("CSR", pos_width=32, crd_width=32), x, x), ms.OperandError, r"pass A\.convert"),
        (lambda f, A, x: f(A, A, x), ms.RankError, "expected x of 1 dimensions"),
        (
            lambda f, A, x: f(A, x.astype(np.float32), x),
            ms.DTypeError,
            "expected f64 for x, but got f32: .* call with convert=True",
        ),
        (lambda f, A, x: f(A.to_numpy(), x, x), ms.OperandError, "but got a dense array"),
        (lambda f, A, x: f(A, x, x, out=np.zeros(4)), ms.OperandError, r"expected out of shape \(5,\)"),
        (lambda f, A, x: f(A, x, x, out=[0.0] * 5), ms.OperandError, "expected a NumPy array for out"),
    ],
)
def test_operands_that_do_not_fit_are_refused(
    spmv: ms.UserModule, call: object, error: type[Exception], text: str
) -> None:
    A, x = wide(drawn(5, 5)), np.ones(5)
    with pytest.raises(error, match=text):
        call(spmv.spmv, A, x)  # type: ignore[operator]


@pytest.mark.parametrize(("columns", "rows"), [(3, 7), (6, 7), (0, 7), (5, 3), (5, 0), (5, 8)])
def test_extents_that_differ_end_the_call(
    spmv: ms.UserModule, columns: int, rows: int, capfd: pytest.CaptureFixture[str]
) -> None:
    """The loops would read and write beyond the arrays, as MLIR takes equal extents for granted."""
    with pytest.raises(ms.ProgramError, match="assertions"):
        spmv.spmv(wide(drawn(7, 5)), np.ones(columns), np.ones(rows))
    assert "incompatible with inferred dimension size" in capfd.readouterr().out


@pytest.mark.parametrize("shape", [(3, 4), (3, 6), (5, 4), (9, 9), (0, 4)])
def test_extents_of_sparse_operands_that_differ_end_the_call(shape: tuple[int, int]) -> None:
    text = ADD.format(map="(i, j) -> (i : dense, j : compressed)", width=32, type="f64", add="addf")
    one, other = ms.tensor(drawn(3, 4), "CSR"), ms.tensor(drawn(*shape), "CSR")
    program = ms.module(text)
    if shape == (3, 4):
        np.testing.assert_allclose(program.add(one, other).to_numpy(), one.to_numpy() + other.to_numpy())
        return
    with pytest.raises(ms.ProgramError, match="assertions"):
        program.add(one, other)


def test_operands_are_converted_when_asked(spmv: ms.UserModule) -> None:
    A = drawn(5, 5)
    x = np.arange(5)
    for source in (ms.tensor(A, "CSC"), A, A.toarray(), A.astype(np.float32)):
        np.testing.assert_allclose(spmv.spmv(source, x, [0] * 5, convert=True), A @ x, rtol=1e-6)


@pytest.mark.parametrize("width", [8, 16, 32, 64])
@pytest.mark.parametrize(
    "map_text",
    [
        "(i, j) -> (i : dense, j : compressed)",
        "(i, j) -> (j : dense, i : compressed)",
        "(i, j) -> (i : compressed, j : compressed)",
        "(i, j) -> (i : compressed(nonunique), j : singleton)",
        "(i, j) -> (i : compressed(nonunique), j : singleton(soa))",
    ],
)
def test_sparse_results_are_owned_tensors(map_text: str, width: int) -> None:
    m = ms.module(ADD.format(map=map_text, width=width, type="f64", add="addf"))
    storage = ms.encoding(map_text).with_widths(width, width)
    A, B = drawn(6, 9, seed=1), drawn(6, 9, seed=2)
    C = m.add(ms.tensor(A, storage), ms.tensor(B, storage))
    del m
    assert isinstance(C, ms.SparseTensor)
    assert C.encoding == storage
    assert C.shape == (6, 9)
    np.testing.assert_allclose(C.to_numpy(), (A + B).toarray())


@pytest.mark.parametrize(
    ("mlir", "add"),
    [("i8", "addi"), ("i16", "addi"), ("i32", "addi"), ("i64", "addi"), ("f16", "addf"), ("f32", "addf")],
)
def test_element_types(mlir: str, add: str) -> None:
    m = ms.module(ADD.format(map="(i, j) -> (i : dense, j : compressed)", width=32, type=mlir, add=add))
    dtype = ms.DType.of(mlir).numpy
    A, B = ((drawn(5, 5, seed=seed).toarray() * 20).round().astype(dtype) for seed in (3, 4))
    storage = ms.encoding("CSR").with_widths(32, 32)
    C = m.add(ms.tensor(A, storage), ms.tensor(B, storage))
    assert C.dtype == dtype
    np.testing.assert_array_equal(C.to_numpy(), A + B)


def test_results_are_numbers_tuples_or_nothing() -> None:
    m = ms.module("""
    func.func @several(%n: index, %t: i1, %a: i8, %b: f32, %z: complex<f64>, %v: tensor<3xf32>)
        -> (i1, i8, f32, complex<f64>, tensor<3xf32>, index) {
      return %t, %a, %b, %z, %v, %n : i1, i8, f32, complex<f64>, tensor<3xf32>, index
    }
    func.func @half(%x: f64) -> f64 {
      %c = arith.constant 0.5 : f64
      %0 = arith.mulf %x, %c : f64
      return %0 : f64
    }
    func.func @turned(%z: complex<f32>) -> complex<f32> {
      %0 = complex.conj %z : complex<f32>
      return %0 : complex<f32>
    }
    func.func @nothing() { return }
    """)
    v = np.array([np.nan, -0.0, np.inf], np.float32)
    t, a, b, z, w, n = m.several(1 << 40, True, -7, 0.25, 1 - 2j, v)
    assert (bool(t), int(a), float(b), complex(z), int(n)) == (True, -7, 0.25, 1 - 2j, 1 << 40)
    np.testing.assert_array_equal(np.signbit(w), np.signbit(v))
    assert w is not v
    assert m.half(3) == 1.5
    assert m.turned(1 + 2j) == 1 - 2j
    assert m.nothing() is None


def test_memrefs_are_the_callers() -> None:
    m = ms.module("""
    func.func @fill(%m: memref<?x3xi32>, %n: index, %v: i32) {
      %c0 = arith.constant 0 : index
      memref.store %v, %m[%n, %c0] : memref<?x3xi32>
      return
    }""")
    array = np.zeros((4, 3), np.int32)
    m.fill(array, 2, 7)
    assert array[2].tolist() == [7, 0, 0]
    with pytest.raises(ms.OperandError, match="in C's order"):
        m.fill(np.zeros((3, 4), np.int32).T, 2, 7)
    frozen = np.zeros((4, 3), np.int32)
    frozen.flags.writeable = False
    with pytest.raises(ms.OperandError, match="writeable"):
        m.fill(frozen, 2, 7)
    with pytest.raises(ms.ExtentError, match="expected m of 3 along axis 1"):
        m.fill(np.zeros((4, 4), np.int32), 2, 7)


def test_a_constant_of_the_program_is_copied() -> None:
    m = ms.module("""
    func.func @constant() -> tensor<2x2xf64> {
      %0 = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf64>
      return %0 : tensor<2x2xf64>
    }""")
    first = m.constant()
    first[:] = 0
    assert m.constant().tolist() == [[1, 2], [3, 4]]


def test_what_is_only_read_is_not_copied(spmv: ms.UserModule) -> None:
    declared = spmv.spmv.declared
    assert declared.effects[:5] == (0, 0, 0, 0, 0)  # positions, coordinates, values, sizes, x
    assert declared.effects[5] == 1


def test_results_are_freed() -> None:
    m = ms.module("""
    func.func @zeros(%n: index) -> tensor<?xf64> {
      %c = arith.constant 0.0 : f64
      %e = tensor.empty(%n) : tensor<?xf64>
      %0 = linalg.fill ins(%c : f64) outs(%e : tensor<?xf64>) -> tensor<?xf64>
      return %0 : tensor<?xf64>
    }""")

    def used() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1])

    m.zeros(1 << 20)
    before = used()
    for _ in range(60):
        assert m.zeros(1 << 20)[-1] == 0
    assert (used() - before) * mmap.PAGESIZE < 20 * (8 << 20)


def test_help_and_signature_come_from_the_types(spmv: ms.UserModule) -> None:
    assert list(inspect.signature(spmv.spmv).parameters) == ["A", "x", "y", "out", "convert"]
    assert "spmv(A: tensor<?x?xf64, #sparse_tensor" in (inspect.getdoc(spmv.spmv) or "")
    assert "spmv" in dir(spmv)
    assert "<module module>\n  <function spmv(A: " in repr(spmv)


def test_a_function_that_is_not_there_is_answered_with_those_that_are(spmv: ms.UserModule) -> None:
    with pytest.raises(ms.ModuleError, match="which has spmv, but got 'spvm'"):
        spmv["spvm"]
    with pytest.raises(ms.ModuleError, match="which has spmv, but got 'spvm'"):
        _ = spmv.spvm
    assert not hasattr(spmv, "spvm")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("func.func @f() {\n  return %x : f64\n}", r"module:2:10: .*use of undeclared SSA value name\n    return %x"),
        ("func.func @f() -> f64 { return }", "has 0 operands, but enclosing function"),
        ("not mlir", "module:1:1"),
        (
            "func.func private @f(tensor<4x4xf64, #sparse_tensor.encoding<{ map = (i, j) -> (j - i : dense) }>>)",
            "failed to infer lvlToDim",
        ),
    ],
)
def test_a_module_that_is_none_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(ms.ModuleError, match=said) as caught:
        ms.module(text)
    assert "^" in str(caught.value)


def test_functions_that_are_missing_are_named() -> None:
    with pytest.raises(ms.ModuleError, match="of the name not_there_at_all"):
        ms.module("""
        func.func private @not_there_at_all(f64)
        func.func @f(%x: f64) {
          call @not_there_at_all(%x) : (f64) -> ()
          return
        }""")


def test_a_pass_that_fails_is_a_named_error() -> None:
    with pytest.raises(ms.CompileError, match="expected MLIR to lower module"):
        ms.module("""
        func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
          %0 = "tosa.exp"(%x) : (tensor<4xf64>) -> tensor<4xf64>
          return %0 : tensor<4xf64>
        }""")


def test_a_type_that_python_has_no_value_of_is_named() -> None:
    m = ms.module("func.func @f(%v: vector<4xf32>) -> vector<4xf32> { return %v : vector<4xf32> }")
    with pytest.raises(ms.UnsupportedError, match="but got vector<4xf32> in f"):
        m.f(1)


@pytest.mark.parametrize("kind", ["i4", "i2", "i7", "tensor<?xi4>", "memref<?xi2>"])
def test_integers_of_other_widths_are_no_numpy_codes(kind: str) -> None:
    """`i4` has four bits; NumPy's `i4` has four bytes."""
    with pytest.raises(ms.UnsupportedError, match=f"but got {re.escape(kind)} in f"):
        ms.module(f"func.func @f(%x: {kind}) {{ return }}").f(np.ones(3, np.int32))


@pytest.mark.parametrize("timeout", [0, -1.0, float("nan"), "soon"])
def test_a_timeout_is_a_number_of_seconds(timeout: object) -> None:
    f = ms.module("func.func @f(%x: f64) -> f64 { return %x : f64 }").f
    with pytest.raises(ms.OperandError, match="expected timeout as a number of seconds above 0, but got"):
        f.in_child(1.0, timeout=timeout)  # type: ignore[arg-type]


def test_passes_are_text_or_a_list() -> None:
    with pytest.raises(ms.OperandError, match="expected a pipeline as text, or a list of passes, but got 3"):
        ms.opt("func.func @f() { return }", 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("lanes", [-1, 1 << 40])
def test_a_number_of_lanes_has_bounds(lanes: int) -> None:
    with pytest.raises(ms.OperandError, match=f"expected 0 to 1024 lanes, but got {lanes}"):
        ms.module(SPMV, lanes=lanes)


def test_words_of_pythons_are_no_parameters() -> None:
    add = ms.module("func.func @f(%def: f64, %is: f64) -> f64 { %0 = arith.subf %def, %is : f64 return %0 : f64 }").f
    assert add(3.0, 1.0) == add(is_=1.0, def_=3.0) == 2


def test_a_failed_assertion_ends_the_call_alone(capfd: pytest.CaptureFixture[str]) -> None:
    m = ms.module("""
    func.func @positive(%x: i32) -> i32 {
      %c0 = arith.constant 0 : i32
      %t = arith.cmpi sgt, %x, %c0 : i32
      cf.assert %t, "x must be positive"
      return %x : i32
    }""")
    assert m.positive(3) == 3
    with pytest.raises(ms.ProgramError, match="to hold, but got one that failed: x must be positive"):
        m.positive(-3)
    assert "x must be positive" in capfd.readouterr().out
    assert m.positive(4) == 4


WILD = """
func.func @wild() {
  %nowhere = llvm.mlir.zero : !llvm.ptr
  %0 = llvm.load volatile %nowhere : !llvm.ptr -> i64
  vector.print %0 : i64
  return
}
func.func private @raise(i32) -> i32
func.func @killed() {
  %kill = arith.constant 9 : i32
  func.call @raise(%kill) : (i32) -> i32
  return
}
func.func private @rtclock() -> f64
func.func @endless() {
  %t = arith.constant true
  scf.while : () -> () {
    %0 = func.call @rtclock() : () -> f64
    scf.condition(%t)
  } do {
    scf.yield
  }
  return
}
"""


def test_a_program_may_die_or_never_end_in_a_child(spmv: ms.UserModule) -> None:
    m = ms.module(WILD)
    with pytest.raises(ms.ProgramError, match=r"expected a program that keeps to its memory, but it went to .*SIGSEGV"):
        m.wild.in_child()
    with pytest.raises(ms.ProgramError, match="expected killed to return, but its process was killed by SIGKILL"):
        m.killed.in_child()
    with pytest.raises(ms.ProgramError, match=r"expected endless to end within 0\.2 s"):
        m.endless.in_child(timeout=0.2)
    A, x = drawn(300, 400), np.ones(400)
    np.testing.assert_allclose(spmv.spmv.in_child(wide(A), x, np.zeros(300), timeout=60), A @ x)
    with pytest.raises(ms.RankError, match="expected x of 1 dimensions"):
        spmv.spmv.in_child(wide(A), x.reshape(1, -1), np.zeros(300))
    add = ms.module(ADD.format(map="(i, j) -> (i : compressed, j : compressed)", width=32, type="f64", add="addf"))
    D = ms.tensor(A, ms.encoding("DCSR").with_widths(32, 32))
    assert (add.add.in_child(D, D).to_scipy() != A * 2).nnz == 0


def test_an_endless_program_is_interrupted() -> None:
    script = f"""
import os, signal, threading, mlir_sparse as ms
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs have it ignored
m = ms.module({WILD!r})
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    m.endless.in_child()
except KeyboardInterrupt:
    print("interrupted")
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=100)
    assert ran.stdout == "interrupted\n"


READ = """
#S = #sparse_tensor.encoding<{ map = (i, j) -> (i : compressed, j : compressed) }>
func.func private @getTensorFilename(index) -> (!llvm.ptr)
func.func @read() -> tensor<?x?xf64, #S> {
  %c0 = arith.constant 0 : index
  %name = call @getTensorFilename(%c0) : (index) -> (!llvm.ptr)
  %A = sparse_tensor.new %name : !llvm.ptr to tensor<?x?xf64, #S>
  return %A : tensor<?x?xf64, #S>
}
"""


def test_a_file_of_bytes_is_refused_with_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.mtx"
    path.write_bytes(b"\xae\xff\0\x01" * 9)
    monkeypatch.setenv("TENSOR0", str(path))
    with pytest.raises(ms.ProgramError, match=r"a\.mtx"):
        ms.module(READ).read()


def _entries(path: Path, head: str, lines: str) -> Path:
    path.write_text(f"{head}{lines}")
    return path


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.mtx", "%%MatrixMarket matrix coordinate real general\n% c\n3 4 3\n3 1 2.5\n1 4 -1\n1 2 7\n", ""),
        ("a.tns", "# extended FROSTT format\n2 3\n3 4\n3 1 2.5\n1 4 -1\n1 2 7\n", ""),
        (
            "a.mtx",
            "%%MatrixMarket matrix coordinate real general\n3 4 3\n3 5 2.5\n1 4 -1\n1 2 7\n",
            "a.mtx:3: .* '5' in",
        ),
        (
            "a.mtx",
            "%%MatrixMarket matrix coordinate real general\n3 4 4\n3 1 2.5\n1 4 -1\n1 2 7\n",
            "expected 4 entries",
        ),
        ("a.mtx", "%%MatrixMarket matrix coordinate real general\n3 4 1\n3 1 x\n", "a.mtx:3: expected a number"),
        ("a.mtx", "%%MatrixMarket matrix array real general\n3 4\n", "expected a matrix in coordinates"),
        ("a.mtx", "%%MatrixMarket matrix coordinate complex general\n3 4 1\n1 1 2 3\n", "but got complex ones"),
        ("a.tns", "3 3\n3 4 5\n1 1 1 2\n1 1 2 2\n1 1 3 3\n", "expected a tensor of 2 dimensions"),
        ("a.tns", "", "expected FROSTT's extended head"),
    ],
)
def test_programs_read_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, said: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    monkeypatch.setenv("TENSOR0", str(path))
    m = ms.module(READ)
    if said:
        with pytest.raises(ms.ProgramError, match=said):
            m.read()
        return
    wanted = np.zeros((3, 4))
    wanted[[2, 0, 0], [0, 3, 1]] = [2.5, -1, 7]
    np.testing.assert_array_equal(m.read().to_numpy(), wanted)


@pytest.mark.parametrize(
    "map_text",
    [
        "(i, j) -> (i : dense, j : compressed)",
        "(i, j) -> (j : dense, i : compressed)",
        "(i, j) -> (i : compressed(nonunique), j : singleton)",
        "(i, j) -> (i floordiv 2 : dense, j floordiv 2 : compressed, i mod 2 : dense, j mod 2 : dense)",
    ],
)
@pytest.mark.parametrize(("width", "mlir"), [(64, "f64"), (32, "f32"), (16, "i16"), (8, "complex<f32>")])
def test_files_are_read_into_any_storage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, map_text: str, width: int, mlir: str
) -> None:
    path = tmp_path / "a.mtx"
    path.write_text("%%MatrixMarket matrix coordinate integer general\n6 4 5\n6 1 2\n1 4 -1\n1 2 7\n4 4 3\n3 3 9\n")
    monkeypatch.setenv("TENSOR0", str(path))
    storage = f"map = {map_text}, posWidth = {width}, crdWidth = {width}"
    text = READ.replace("map = (i, j) -> (i : compressed, j : compressed)", storage).replace("xf64", f"x{mlir}")
    found = ms.module(text).read()
    wanted = np.zeros((6, 4))
    wanted[[5, 0, 0, 3, 2], [0, 3, 1, 3, 2]] = [2, -1, 7, 3, 9]
    np.testing.assert_array_equal(found.to_numpy(), wanted)
    assert found.encoding == ms.encoding(map_text).with_widths(width, width)


INSERT = """
#D = #sparse_tensor.encoding<{ map = (i, j) -> (i : compressed, j : compressed), posWidth = 32, crdWidth = 32 }>
func.func @inserted(%A: tensor<?x?xf64, #D>, %i: index, %j: index, %v: f64) -> tensor<?x?xf64, #D> {
  %0 = tensor.insert %v into %A[%i, %j] : tensor<?x?xf64, #D>
  %1 = sparse_tensor.load %0 hasInserts : tensor<?x?xf64, #D>
  return %1 : tensor<?x?xf64, #D>
}
func.func @twice(%A: tensor<?x?xf64, #D>) -> (tensor<?x?xf64, #D>, tensor<?x?xf64, #D>) {
  return %A, %A : tensor<?x?xf64, #D>, tensor<?x?xf64, #D>
}
func.func @assembled(%v: tensor<2xf64>, %p: tensor<2xi32>, %c: tensor<2xi32>, %q: tensor<3xi32>, %d: tensor<2xi32>)
    -> tensor<3x3xf64, #D> {
  %0 = sparse_tensor.assemble (%p, %c, %q, %d), %v
     : (tensor<2xi32>, tensor<2xi32>, tensor<3xi32>, tensor<2xi32>), tensor<2xf64> to tensor<3x3xf64, #D>
  return %0 : tensor<3x3xf64, #D>
}
"""


def test_a_program_may_grow_and_free_the_buffers_of_an_operand() -> None:
    m = ms.module(INSERT)
    A = ms.tensor(np.diag([1.0, 0, 0]), ms.encoding("DCSR").with_widths(32, 32))
    for _ in range(20):
        B = m.inserted(A, 1, 2, 5.0)
        assert B.to_numpy().tolist() == [[1, 0, 0], [0, 0, 5], [0, 0, 0]]
        assert A.to_numpy().tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 0]]


def test_results_share_no_memory_with_operands() -> None:
    A = ms.tensor(np.diag([1.0, 2, 3]), ms.encoding("DCSR").with_widths(32, 32))
    B, C = ms.module(INSERT).twice(A)
    np.testing.assert_array_equal(B.to_numpy(), A.to_numpy())
    assert not np.shares_memory(B.storage.values, A.storage.values)
    assert not np.shares_memory(B.storage.values, C.storage.values)


@pytest.mark.parametrize(
    ("rows", "positions", "coordinates", "error"),
    [
        ([0, 2], [0, 1, 2], [0, 1], None),
        ([0, 2], [0, 1, 2], [0, 7], ms.ProgramError),
        ([0, 2], [0, 9, 2], [0, 1], ms.ProgramError),
        ([0, 2], [0, 1, 1 << 30], [0, 1], ms.ProgramError),
        ([2, 0], [0, 1, 2], [0, 1], ms.CoordinatesError),  # of the order the result tells
    ],
)
def test_results_on_buffers_that_lie_are_seen(
    rows: list[int], positions: list[int], coordinates: list[int], error: type[Exception] | None
) -> None:
    m = ms.module(INSERT)
    arrays = [np.array(given, np.int32) for given in ([0, 2], rows, positions, coordinates)]
    if error is None:
        assert m.assembled(np.array([1.0, 2.0]), *arrays).to_numpy().tolist() == [[1, 0, 0], [0, 0, 0], [0, 2, 0]]
        return
    with pytest.raises(error):
        m.assembled(np.array([1.0, 2.0]), *arrays)


def test_a_crash_of_the_compiler_is_an_exception() -> None:
    """The sparsifier dies on blocks of rows alone."""
    text = SPMV.replace("(i : dense, j : compressed)", "(i floordiv 4 : dense, j : compressed, i mod 4 : dense)")
    with pytest.raises(ms.CompilerCrash, match="expected MLIR to lower module, but the compiler was killed") as caught:
        ms.module(text)
    assert caught.value.reproducer is not None
    assert "linalg.matvec" in Path(caught.value.reproducer).read_text()


def test_files_that_are_not_there_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    m = ms.module(READ)
    monkeypatch.delenv("TENSOR0", raising=False)
    with pytest.raises(ms.ProgramError, match="TENSOR0, but it is not set"):
        m.read()
    monkeypatch.setenv("TENSOR0", str(tmp_path / "none.mtx"))
    with pytest.raises(ms.ProgramError, match=r"none\.mtx: No such file"):
        m.read()


def test_paths_bytecode_and_modules_of_the_bindings(tmp_path: Path) -> None:
    path = tmp_path / "spmv.mlir"
    path.write_text(SPMV)
    with mlir_context():
        built = ms.module(ir.Module.parse(SPMV))
    A, x = drawn(3, 3), np.ones(3)
    for m in (ms.module(str(path)), ms.module(path), built):
        np.testing.assert_allclose(m.spmv(wide(A), x, np.zeros(3)), A @ x)
    assert built.spmv.parameters == ("arg0", "arg1", "arg2")
    with pytest.raises(FileNotFoundError):
        ms.module(str(tmp_path / "absent.mlir"))
    with pytest.raises(ms.OperandError, match="expected the text of a module"):
        ms.module(3)


def test_many_threads_call_one_function(spmv: ms.UserModule) -> None:
    matrices = [drawn(40, 30, seed=seed) for seed in range(4)]
    failures: list[str] = []

    def work(A: scipy.sparse.csr_array) -> None:
        T = wide(A)
        for number in range(200):
            x = np.full(30, float(number))
            if not np.allclose(spmv.spmv(T, x, np.zeros(40)), A @ x):
                failures.append(f"{number}")

    threads = [threading.Thread(target=work, args=(A,)) for A in matrices]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_lanes_change_no_numbers() -> None:
    A, x = drawn(50, 70), np.random.default_rng(5).random(70)
    for lanes in (0, 2, 8):
        np.testing.assert_allclose(ms.module(SPMV, lanes=lanes).spmv(wide(A), x, np.zeros(50)), A @ x)


def test_stages_are_shown(spmv: ms.UserModule) -> None:
    assert "linalg.matvec" in spmv.ir("source")
    assert "memref.load" in spmv.ir()
    assert "llvm.func" in spmv.ir("llvm")
    assert [step.name for step in spmv.passes()][:7] == [
        "input",
        "linalg-generalize-named-ops",
        "copy-slices",
        "lower-affine",
        "check-assembled-tensors",
        "check-accesses",
        "generate-runtime-verification",
    ]
    with pytest.raises(ms.UnsupportedError, match="expected a stage of source, buffers"):
        spmv.ir("none")


@pytest.mark.parametrize("as_module", [False, True])
def test_machine_code_is_kept_for_later_processes(tmp_path: Path, as_module: bool) -> None:
    script = f"""
import sys, numpy as np, mlir_sparse as ms
ms._native.loads_objects = ms._native.loads_objects and not {as_module}
m = ms.module({SPMV!r})
print(m.spmv(ms.tensor(np.eye(3), ms.encoding("CSR").with_widths(64, 64)), np.arange(3.0), np.zeros(3)))
process = sys.modules.get("mlir_sparse.pipeline.compiler_process")
print(bool({{"torch_mlir", "mlir"}} & set(sys.modules)), process is None or process._worker is None)
"""
    environment = os.environ | {"MLIR_SPARSE_CACHE": str(tmp_path / "cache")}
    runs = [
        subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    assert runs[0].splitlines()[0] == runs[1].splitlines()[0] == "[0. 1. 2.]"
    loads = _native.loads_objects and not as_module
    assert runs[1].splitlines()[1] == f"{not loads} True"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("func.func @f(%a: f64, %b: tensor<?xf64, #sparse_tensor.encoding<{ map = (i) -> (i : dense) }>>)", ("a", "b")),
        (
            "func.func public @f(\n  %a: f64, // %no\n  %b: memref<?xf32, affine_map<(d0) -> (d0)>> {x.y = 1})",
            ("a", "b"),
        ),
        ("func.func @f(%0: f64, %1: f64)", ("arg0", "arg1")),
        ("func.func @f(%def: f64, %lambda: f64)", ("def_", "lambda_")),
        ("func.func @g(%a: f64, %b: f64)", ("arg0", "arg1")),
    ],
)
def test_names_of_parameters(text: str, names: tuple[str, ...]) -> None:
    assert parameter_names(text, "f", 2) == names


STRIDED = """
func.func @add(%A: memref<?x?xf64, {a}>, %B: memref<?x?xf64, {b}>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %A, %c0 : memref<?x?xf64, {a}>
  %n = memref.dim %A, %c1 : memref<?x?xf64, {a}>
  scf.for %i = %c0 to %m step %c1 {{
    scf.for %j = %c0 to %n step %c1 {{
      %x = memref.load %A[%i, %j] : memref<?x?xf64, {a}>
      %y = memref.load %B[%i, %j] : memref<?x?xf64, {b}>
      %s = arith.addf %x, %y : f64
      memref.store %s, %B[%i, %j] : memref<?x?xf64, {b}>
    }}
  }}
  return
}}
"""
ANY = "strided<[?, ?], offset: ?>"


def test_strided_memrefs_are_parts_of_the_callers_arrays() -> None:
    add = ms.module(STRIDED.format(a=ANY, b=ANY)).add
    source, target = np.arange(48.0).reshape(6, 8), np.zeros((8, 12))
    for part in (source[1:4, ::2], source[::-2, 7:3:-1], source[:4, :3].T, np.broadcast_to(source[0, :4], (3, 4))):
        where = target[1 : 1 + part.shape[0], 2 : 2 + 2 * part.shape[1] : 2]
        before = where.copy()
        expected = target.copy()
        expected[1 : 1 + part.shape[0], 2 : 2 + 2 * part.shape[1] : 2] += part
        assert add(part, where) is None
        np.testing.assert_array_equal(where, before + part)
        np.testing.assert_array_equal(target, expected)


def test_strides_and_offsets_that_a_type_names_are_checked() -> None:
    add = ms.module(STRIDED.format(a="strided<[8, 1], offset: 3>", b="strided<[?, 2]>")).add
    source, target = np.arange(48.0).reshape(6, 8), np.zeros((3, 8))
    add(source[:3, 3:7], target[:, ::2])
    np.testing.assert_array_equal(target[:, ::2], source[:3, 3:7])
    assert not target[:, 1::2].any()
    with pytest.raises(ms.OperandError, match=r"expected A with strides \[8, 1\] in elements, but got \(1, 8\)"):
        add(source.T, target)
    with pytest.raises(ms.OperandError, match=r"expected an array of .* for A, but got list"):
        add([[1.0]], target)
    with pytest.raises(ms.DTypeError, match="expected f64 for B, but got float32"):
        add(source, target.astype(np.float32))
    with pytest.raises(ms.RankError, match="expected A of 2 dimensions, but got 1"):
        add(source[0], target)
    packed = np.zeros(6, np.dtype([("a", "u1"), ("b", "f8")]))["b"].reshape(2, 3)
    with pytest.raises(ms.OperandError, match="whole elements of this machine's byte order"):
        add(packed, target)
    read_only = target[:, ::2]
    read_only.flags.writeable = False
    with pytest.raises(ms.OperandError, match="expected a writeable array"):
        add(source[:3, 3:7], read_only)


def test_an_older_spelling_names_the_way_out() -> None:
    old = '#V = #sparse_tensor.encoding<{ dimLevelType = ["compressed"] }>\nfunc.func private @f(tensor<8xf64, #V>)'
    with pytest.raises(ms.ModuleError, match=r"a spelling of older releases of LLVM, which `mlir-sparse migrate FILE`"):
        ms.module(old)
    with pytest.raises(ms.ModuleError) as caught:
        ms.module("func.func @f() { retur }")
    assert "older" not in str(caught.value)


ASSEMBLED = """
#S = #sparse_tensor.encoding<{{ map = {map}, posWidth = {width}, crdWidth = {width} }}>
func.func @f({parameters}, %v: tensor<?xf64>, %x: tensor<{n}xf64>, %y: tensor<{m}xf64>) -> tensor<{m}xf64> {{
  %0 = sparse_tensor.assemble ({names}), %v : ({types}), tensor<?xf64> to tensor<{m}x{n}xf64, #S>
  %1 = linalg.matvec ins(%0, %x : tensor<{m}x{n}xf64, #S>, tensor<{n}xf64>) outs(%y : tensor<{m}xf64>)
    -> tensor<{m}xf64>
  return %1 : tensor<{m}xf64>
}}
"""
HUGE = 1 << 40


def _assembled(maps: str, m: int, n: int, width: int, *buffers: str) -> ms.ModuleFunction:
    names = [f"%b{number}" for number in range(len(buffers))]
    parameters = ", ".join(f"{name}: {kind}" for name, kind in zip(names, buffers, strict=True))
    return ms.module(
        ASSEMBLED.format(
            map=maps, m=m, n=n, width=width, parameters=parameters, names=", ".join(names), types=", ".join(buffers)
        )
    ).f


@pytest.mark.parametrize("width", [0, 32])
def test_buffers_that_lie_are_refused_before_a_loop_reads_them(width: int) -> None:
    kind = f"i{width}" if width else "index"
    flat, pairs = f"tensor<?x{kind}>", f"tensor<?x2x{kind}>"
    dtype, huge = (np.int32, 1 << 30) if width else (np.int64, HUGE)
    cases = {
        "(i, j) -> (i : dense, j : compressed)": ((flat, flat), [[0, 1, 3], [1, 0, 2]]),
        "(i, j) -> (i : compressed, j : compressed)": ((flat,) * 4, [[0, 2], [0, 1], [0, 1, 3], [1, 0, 2]]),
        "(i, j) -> (i : compressed(nonunique), j : singleton)": ((flat, pairs), [[0, 3], [[0, 1], [1, 0], [1, 2]]]),
        "(i, j) -> (i : dense, j : loose_compressed)": ((flat, flat), [[0, 1, 1, 3], [1, 0, 2]]),
        "(i, j) -> (i : loose_compressed(nonunique), j : singleton)": (
            (flat, pairs),
            [[0, 3], [[0, 1], [1, 0], [1, 2]]],
        ),
        "(i, j) -> (j : dense, i : compressed)": ((flat, flat), [[0, 1, 2, 3], [1, 0, 1]]),
    }
    for maps, (types, buffers) in cases.items():
        f = _assembled(maps, 2, 3, width, *types)
        arrays = [np.array(one, dtype) for one in buffers]
        values, x, y = np.array([1.0, 2.0, 4.0]), np.array([1.0, 10.0, 100.0]), np.zeros(2)
        # Each format stores its own matrix; all of its entries are summed.
        assert f(*arrays, values, np.ones(3), y).sum() == 7.0, maps
        for place, buffer in enumerate(arrays):
            for at in np.ndindex(buffer.shape):
                lying = buffer.copy()
                lying[at] = huge
                with pytest.raises(ms.ProgramError, match=r"expected .* in sparse_tensor\.assemble"):
                    f(*arrays[:place], lying, *arrays[place + 1 :], values, x, y)
                lying[at] = -1  # read without a sign
                with pytest.raises(ms.ProgramError, match=r"expected .* in sparse_tensor\.assemble"):
                    f(*arrays[:place], lying, *arrays[place + 1 :], values, x, y)
            with pytest.raises(ms.ProgramError, match=r"as many .* as the levels say"):
                f(*arrays[:place], buffer[:-1], *arrays[place + 1 :], values, x, y)
        with pytest.raises(ms.ProgramError, match="as many values as the levels say"):
            f(*arrays, values[:-1], x, y)


def test_what_stands_in_gaps_of_segments_may_be_anything() -> None:
    """As in upstream's sparse_pack.mlir, whose last coordinates are out of range."""
    flat, pairs = "tensor<?xindex>", "tensor<?x2xindex>"
    f = _assembled("(i, j) -> (i : dense, j : loose_compressed)", 2, 3, 0, flat, flat)
    given = np.array([0, 1, 2, 3]), np.array([1, 99, 2, 77]), np.array([1.0, 50.0, 2.0])
    np.testing.assert_array_equal(f(*given, np.array([1.0, 10.0, 100.0]), np.zeros(2)), [10.0, 200.0])
    f = _assembled("(i, j) -> (i : loose_compressed(nonunique), j : singleton)", 2, 3, 0, flat, pairs)
    given = np.array([1, 3]), np.array([[9, 9], [0, 1], [1, 2], [9, 9]]), np.array([5.0, 1.0, 2.0])
    np.testing.assert_array_equal(f(*given, np.array([1.0, 10.0, 100.0]), np.zeros(2)), [10.0, 200.0])


# -- what would end the process ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["i8", "i32", "i64", "index"])
@pytest.mark.parametrize("name", ["divsi", "divui", "remsi", "remui", "ceildivsi", "ceildivui", "floordivsi"])
def test_divisions_that_end_processes_are_errors(name: str, kind: str) -> None:
    p = ms.module(
        f"func.func @p(%n: {kind}, %m: {kind}) -> {kind} {{ %q = arith.{name} %n, %m : {kind} return %q : {kind} }}"
    ).p
    wanted = {"div": 3, "rem": 1, "cei": 4, "flo": 3}[name[:3]]
    assert p(7, 2) == wanted
    with pytest.raises(ms.ProgramError, match="expected a divisor that is not 0, but got 0"):
        p(5, 0)
    least = -1 << ({"index": 64}.get(kind) or int(kind[1:])) - 1
    if name.endswith("si"):
        with pytest.raises(ms.ProgramError, match="the least integer divided by -1"):
            p(least, -1)
    assert p(-7, -7) == {"rem": 0}.get(name[:3], 1)


def test_divisions_of_arrays_are_checked() -> None:
    divided = ms.module("""
    func.func @x(%n: tensor<?xi64>, %m: tensor<?xi64>, %o: tensor<?xi64>) -> tensor<?xi64> {
      %q = linalg.div ins(%n, %m : tensor<?xi64>, tensor<?xi64>) outs(%o : tensor<?xi64>) -> tensor<?xi64>
      return %q : tensor<?xi64>
    }""").x
    n, o = np.array([6, -6, 7]), np.zeros(3, np.int64)
    np.testing.assert_array_equal(divided(n, np.array([1, 2, -3]), o), [6, -3, -2])
    with pytest.raises(ms.ProgramError, match="a divisor that is not 0"):
        divided(n, np.array([1, 2, 0]), o)
    empty = np.zeros(0, np.int64)
    assert divided(empty, empty, empty).shape == (0,)


def test_divisions_of_vectors_are_checked() -> None:
    read = "arith.constant 0 : i64 %{0} = vector.transfer_read %{1}[%z], %p{0} : tensor<4xi64>, vector<4xi64>"
    f = ms.module(f"""
    func.func @f(%n: tensor<4xi64>, %m: tensor<4xi64>) -> i64 {{
      %z = arith.constant 0 : index
      %pa = {read.format("a", "n")}
      %pb = {read.format("b", "m")}
      %q = arith.divsi %a, %b : vector<4xi64>
      %s = vector.reduction <add>, %q : vector<4xi64> into i64
      return %s : i64
    }}""").f
    n = np.array([8, -(2**63), 4, 2])
    assert f(n // 2, np.array([2, 2**62, 1, 1])) == 2 - 1 + 2 + 1
    with pytest.raises(ms.ProgramError, match="a divisor that is not 0"):
        f(n, np.array([1, 1, 0, 1]))
    with pytest.raises(ms.ProgramError, match="the least integer divided by -1"):
        f(n, np.array([1, -1, 1, 1]))


def test_constant_divisors_need_no_check() -> None:
    text = "func.func @f(%n: i64) -> i64 { %c = arith.constant 3 : i64 %q = arith.divsi %n, %c : i64 return %q : i64 }"
    made = ms.module(text)
    assert "a divisor that is not" not in made.ir("llvm")
    assert made.f(-7) == -2
    with pytest.raises(ms.ProgramError, match="the least integer divided by -1"):
        ms.module(text.replace("constant 3", "constant -1")).f(-1 << 63)


@pytest.mark.parametrize("status", [0, 3])
def test_a_program_that_ends_its_process_is_an_error(status: int) -> None:
    ends = ms.module("llvm.func @exit(i32) func.func @f(%c: i32) { llvm.call @exit(%c) : (i32) -> () return }").f
    with pytest.raises(ms.ProgramError, match=f"expected f to return, but its process ended with {status}"):
        ends.in_child(status)


def test_a_module_is_pickled_and_its_functions_are_not(spmv: ms.UserModule) -> None:
    A, x = drawn(5, 7), np.arange(7.0)
    loaded = pickle.loads(pickle.dumps(spmv))
    np.testing.assert_allclose(loaded.spmv(wide(A), x, np.zeros(5)), A @ x)
    with pytest.raises(ms.UnsupportedError, match="pickle the module, and take spmv of what is loaded"):
        pickle.dumps(spmv.spmv)
