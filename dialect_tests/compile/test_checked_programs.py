"""What a user's program does wrong with memory and integers is an error with its place, not the end of the process."""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse import _native

PROGRAMS = """
func.func @load(%a: memref<?xf64>, %i: index) -> f64 {
  %0 = memref.load %a[%i] : memref<?xf64>
  return %0 : f64
}
func.func @affine_load(%a: memref<?xf64>, %i: index) -> f64 {
  %0 = affine.load %a[symbol(%i)] : memref<?xf64>
  return %0 : f64
}
func.func @affine_sum(%a: memref<?xf64>, %n: index) -> f64 {
  %z = arith.constant 0.0 : f64
  %0 = affine.for %i = 0 to %n iter_args(%s = %z) -> f64 {
    %v = affine.load %a[%i] : memref<?xf64>
    %t = arith.addf %s, %v : f64
    affine.yield %t : f64
  }
  return %0 : f64
}
func.func @vector_load(%a: memref<?xf64>, %i: index) -> f64 {
  %0 = vector.load %a[%i] : memref<?xf64>, vector<4xf64>
  %1 = vector.extract %0[0] : f64 from vector<4xf64>
  return %1 : f64
}
func.func @vector_store(%a: memref<?xf64>, %i: index) {
  %0 = arith.constant dense<7.0> : vector<4xf64>
  vector.store %0, %a[%i] : memref<?xf64>, vector<4xf64>
  return
}
func.func @rows(%a: memref<?x4xf64>, %i: index) -> f64 {
  %c1 = arith.constant 1 : index
  %0 = vector.load %a[%i, %c1] : memref<?x4xf64>, vector<2xf64>
  %1 = vector.extract %0[0] : f64 from vector<2xf64>
  return %1 : f64
}
func.func @whole_read(%a: memref<?xf64>, %i: index) -> f64 {
  %z = arith.constant 0.0 : f64
  %0 = vector.transfer_read %a[%i], %z {in_bounds = [true]} : memref<?xf64>, vector<4xf64>
  %1 = vector.extract %0[0] : f64 from vector<4xf64>
  return %1 : f64
}
func.func @padded_read(%a: memref<?xf64>, %i: index) -> f64 {
  %z = arith.constant -1.0 : f64
  %0 = vector.transfer_read %a[%i], %z : memref<?xf64>, vector<4xf64>
  %1 = vector.extract %0[3] : f64 from vector<4xf64>
  return %1 : f64
}
func.func @whole_write(%a: memref<?xf64>, %i: index) {
  %0 = arith.constant dense<7.0> : vector<4xf64>
  vector.transfer_write %0, %a[%i] {in_bounds = [true]} : vector<4xf64>, memref<?xf64>
  return
}
func.func @masked(%a: memref<?xf64>, %i: index) -> f64 {
  %z = arith.constant dense<0.0> : vector<4xf64>
  %m = arith.constant dense<[true, true, false, false]> : vector<4xi1>
  %0 = vector.maskedload %a[%i], %m, %z : memref<?xf64>, vector<4xi1>, vector<4xf64> into vector<4xf64>
  %1 = vector.extract %0[0] : f64 from vector<4xf64>
  return %1 : f64
}
func.func @expanded(%a: memref<?xf64>, %i: index) -> f64 {
  %z = arith.constant dense<0.0> : vector<4xf64>
  %m = arith.constant dense<[true, false, true, false]> : vector<4xi1>
  %0 = vector.expandload %a[%i], %m, %z : memref<?xf64>, vector<4xi1>, vector<4xf64> into vector<4xf64>
  %1 = vector.extract %0[0] : f64 from vector<4xf64>
  return %1 : f64
}
func.func @gathered(%a: memref<?xf64>, %i: index) -> f64 {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : vector<2xf64>
  %m = arith.constant dense<true> : vector<2xi1>
  %n = arith.index_cast %i : index to i32
  %v = vector.broadcast %n : i32 to vector<2xi32>
  %0 = vector.gather %a[%c0][%v], %m, %z : memref<?xf64>, vector<2xi32>, vector<2xi1>, vector<2xf64> into vector<2xf64>
  %1 = vector.extract %0[1] : f64 from vector<2xf64>
  return %1 : f64
}
func.func @inserted(%a: tensor<?xf64>, %b: tensor<?xf64>, %i: index, %n: index) -> tensor<?xf64> {
  %0 = tensor.insert_slice %b into %a[%i] [%n] [1] : tensor<?xf64> into tensor<?xf64>
  return %0 : tensor<?xf64>
}
func.func @inserted_row(%a: tensor<?x4xf64>, %b: tensor<4xf64>, %i: index) -> tensor<?x4xf64> {
  %0 = tensor.insert_slice %b into %a[%i, 0] [1, 4] [1, 1] : tensor<4xf64> into tensor<?x4xf64>
  return %0 : tensor<?x4xf64>
}
func.func @reshaped(%a: tensor<?xf64>, %n: index) -> f64 {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %0 = tensor.expand_shape %a [[0, 1]] output_shape [%n, 2] : tensor<?xf64> into tensor<?x2xf64>
  %1 = tensor.extract %0[%c0, %c1] : tensor<?x2xf64>
  return %1 : f64
}
func.func @bytes(%a: memref<?xi8>, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %0 = memref.view %a[%c0][%n] : memref<?xi8> to memref<?xf64>
  %1 = memref.load %0[%c0] : memref<?xf64>
  return %1 : f64
}
func.func @reinterpreted(%a: memref<?xf64>, %o: index, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %0 = memref.reinterpret_cast %a to offset: [%o], sizes: [%n], strides: [2]
    : memref<?xf64> to memref<?xf64, strided<[2], offset: ?>>
  %1 = memref.load %0[%c0] : memref<?xf64, strided<[2], offset: ?>>
  return %1 : f64
}
func.func @rebuilt(%a: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %b, %o, %n, %s = memref.extract_strided_metadata %a : memref<?xf64> -> memref<f64>, index, index, index
  %0 = memref.reinterpret_cast %b to offset: [%o], sizes: [%n], strides: [1]
    : memref<f64> to memref<?xf64, strided<[1], offset: ?>>
  %1 = memref.load %0[%c0] : memref<?xf64, strided<[1], offset: ?>>
  return %1 : f64
}
func.func @allocated(%n: index) -> index {
  %c0 = arith.constant 0 : index
  %a = memref.alloc(%n) : memref<?xf64>
  %d = memref.dim %a, %c0 : memref<?xf64>
  memref.dealloc %a : memref<?xf64>
  return %d : index
}
func.func @stepped(%n: index, %s: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.for %i = %c0 to %n step %s iter_args(%k = %c0) -> index {
    %1 = arith.addi %k, %c1 : index
    scf.yield %1 : index
  }
  return %0 : index
}
func.func @tiles(%n: index, %t: index) -> index {
  %0 = affine.apply affine_map<(d0)[s0] -> (d0 ceildiv s0)>(%n)[%t]
  return %0 : index
}
func.func @power(%n: i64, %e: i64) -> i64 {
  %0 = math.ipowi %n, %e : i64
  return %0 : i64
}
"""
X = np.arange(1.0, 7.0)
RIGHT_AND_WRONG = [
    ("load", (X, 5), 6.0, (X, 6), "out-of-bounds access in memref.load"),
    ("load", (X, 0), 1.0, (X, -1), "out-of-bounds access in memref.load"),
    ("affine_load", (X, 5), 6.0, (X, 6), "out-of-bounds access"),
    ("affine_sum", (X, 6), 21.0, (X, 7), "out-of-bounds access"),
    ("vector_load", (X, 2), 3.0, (X, 3), "expected indices inside of its operand in vector.load"),
    ("vector_load", (X, 0), 1.0, (X[:3], 0), "indices inside of its operand in vector.load"),
    ("vector_store", (X.copy(), 2), None, (X.copy(), -1), "indices inside of its operand in vector.store"),
    ("rows", (X[:4].reshape(1, 4), 0), 2.0, (X[:4].reshape(1, 4), 1), "indices inside of its operand in vector.load"),
    ("whole_read", (X, 2), 3.0, (X, 3), "in vector.transfer_read"),
    ("padded_read", (X, 4), -1.0, (X, -1), "in vector.transfer_read"),
    ("padded_read", (X, 1 << 40), -1.0, (X, -(1 << 40)), "in vector.transfer_read"),
    ("whole_write", (X.copy(), 0), None, (X.copy(), 3), "in vector.transfer_write"),
    ("masked", (X, 4), 5.0, (X, 5), "in vector.maskedload"),
    ("expanded", (X, 4), 5.0, (X, 5), "in vector.expandload"),
    ("gathered", (X, 5), 6.0, (X, 6), "in vector.gather"),
    ("gathered", (X, 0), 1.0, (X, -1), "in vector.gather"),
    ("inserted", (X, X[:2], 4, 2), [1, 2, 3, 4, 1, 2], (X, X[:2], 5, 2), "a slice inside of its destination"),
    ("inserted", (X, X[:0], 0, 0), X, (X, X[:1], 0, 2), "expected a source of the size of its slice"),
    ("inserted_row", (np.zeros((1, 4)), X[:4], 0), [X[:4]], (np.zeros((1, 4)), X[:4], 1), "a slice inside of its"),
    ("reshaped", (X, 3), 2.0, (X, 4), "expected as many elements as before in tensor.expand_shape"),
    ("bytes", (X.view(np.int8), 6), 1.0, (X.view(np.int8), 7), "as many bytes as it looks at in memref.view"),
    ("reinterpreted", (X, 1, 3), 2.0, (X, 2, 3), "expected elements of its source in memref.reinterpret_cast"),
    ("reinterpreted", (X, 5, 1), 6.0, (X, -1, 1), "expected elements of its source in memref.reinterpret_cast"),
    ("allocated", (0,), 0, (-1,), "expected sizes of 0 or more in memref.alloc"),
    ("stepped", (7, 3), 3, (7, 0), "expected steps above 0 in scf.for"),
    ("tiles", (7, 2), 4, (7, 0), "expected a divisor that is not 0, but got 0"),
    ("power", (-2, 3), -8, (0, -1), "expected no negative power of 0, but got one"),
]


@pytest.fixture(scope="module")
def programs() -> ms.UserModule:
    return ms.module(PROGRAMS)


@pytest.mark.parametrize(("name", "right", "result", "wrong", "said"), RIGHT_AND_WRONG)
def test_what_lies_outside_of_operands_is_an_error(
    programs: ms.UserModule, name: str, right: tuple[object, ...], result: object, wrong: tuple[object, ...], said: str
) -> None:
    returned = programs[name](*right)
    if result is None:
        assert returned is None
    else:
        np.testing.assert_array_equal(returned, result)
    with pytest.raises(ms.ProgramError) as caught:
        programs[name](*wrong)
    assert said in caught.value.message
    # The place is in the function that went wrong.
    line = caught.value.line
    assert line is not None
    above = [text for text in PROGRAMS.splitlines()[:line] if text.startswith("func.func")]
    assert above[-1].startswith(f"func.func @{name}(")


def test_memory_behind_a_base_buffer_is_not_known(programs: ms.UserModule) -> None:
    assert programs.rebuilt(X) == 1.0


@pytest.mark.parametrize("kind", ["i8", "i64", "index"])
@pytest.mark.parametrize("name", ["divsi", "floordivsi", "ceildivsi", "remsi", "divui", "ceildivui", "remui"])
def test_divisions_of_vectors_of_any_rank_are_checked(name: str, kind: str) -> None:
    """Rank 0, 2 and 3 in one module each; the process would end with SIGFPE."""
    shapes = {"r0": (), "r2": (2, 2), "r3": (1, 2, 3)}
    text = []
    for function, shape in shapes.items():
        extents = "".join(f"{extent}x" for extent in shape)
        memref, vector, at = f"memref<{extents}{kind}>", f"vector<{extents}{kind}>", ", ".join(["%c"] * len(shape))
        text.append(f"""
        func.func @{function}(%n: {memref}, %m: {memref}) {{
          %c = arith.constant 0 : index
          %z = arith.constant 0 : {kind}
          %a = vector.transfer_read %n[{at}], %z : {memref}, {vector}
          %b = vector.transfer_read %m[{at}], %z : {memref}, {vector}
          %q = arith.{name} %a, %b : {vector}
          vector.transfer_write %q, %n[{at}] : {vector}, {memref}
          return
        }}""")
    made = ms.module("".join(text))
    dtype = np.dtype(np.int8 if kind == "i8" else np.int64)
    for function, shape in shapes.items():
        n, m = np.full(shape, 7, dtype), np.full(shape, 2, dtype)
        made[function](n, m)
        np.testing.assert_array_equal(n, np.full(shape, {"rem": 1, "cei": 4}.get(name[:3], 3)))
        m.reshape(-1)[-1] = 0
        with pytest.raises(ms.ProgramError, match="expected a divisor that is not 0"):
            made[function](n, m)
        if name.endswith("si"):
            m[...], n[...] = -1, np.iinfo(dtype).min
            with pytest.raises(ms.ProgramError, match="the least integer divided by -1"):
                made[function](n, m)


@pytest.mark.parametrize(
    ("operation", "quotient", "signed"),
    [
        ("index.divs", 3, True),
        ("index.divu", 3, False),
        ("index.rems", 1, True),
        ("index.remu", 1, False),
        ("index.ceildivs", 4, True),
        ("index.ceildivu", 4, False),
        ("index.floordivs", 3, True),
        ("llvm.sdiv", 3, True),
        ("llvm.udiv", 3, False),
        ("llvm.srem", 1, True),
        ("llvm.urem", 1, False),
    ],
)
def test_divisions_of_other_dialects_are_checked(operation: str, quotient: int, signed: bool) -> None:
    kind, of_kind = ("i64", " : i64") if operation.startswith("llvm") else ("index", "")
    body = f"%0 = {operation} %n, %m{of_kind} return %0 : {kind}"
    divide = ms.module(f"func.func @f(%n: {kind}, %m: {kind}) -> {kind} {{ {body} }}").f
    assert divide(7, 2) == quotient
    with pytest.raises(ms.ProgramError, match="expected a divisor that is not 0"):
        divide(7, 0)
    if signed:
        with pytest.raises(ms.ProgramError, match="the least integer divided by -1"):
            divide(-(1 << 63), -1)


def test_the_place_is_that_of_the_file(tmp_path: Path) -> None:
    """Lines as MLIR counts them: a form feed or a separator of Unicode's in a comment ends none."""
    path = tmp_path / "wild é.mlir"
    path.write_text(
        "// a\x0cb \u2028 c\r\nfunc.func @f(%a: memref<?xf64>, %i: index) -> f64 {\r\n"
        "  %0 = memref.load %a[%i] : memref<?xf64> // é\r\n  return %0 : f64\r\n}\r\n",
        encoding="utf-8",
        newline="",
    )
    with pytest.raises(ms.ProgramError) as caught:
        ms.module(path).f(X, 99)
    assert str(caught.value).startswith(
        f"{path}:3:8: expected its assertions to hold, but got one that failed: out-of-"
    )
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    with pytest.raises(ms.ProgramError, match=r"wild é.mlir:3:8: "):
        ms.module(path).f.in_child(X, 99)


def test_the_place_of_other_texts_is_named() -> None:
    text = """func.func @f(%a: memref<?xf64>, %i: index) -> f64 {
      %0 = memref.load %a[%i] : memref<?xf64> loc("model.py":12:3)
      return %0 : f64
    }"""
    with pytest.raises(ms.ProgramError, match=r"^model\.py:12:3: expected its assertions to hold"):
        ms.module(text).f(X, 99)


def test_an_assertion_of_the_user_has_its_place() -> None:
    text = """
    func.func @f(%t: i1) {
      cf.assert %t, "too\\nmany \\"rows\\""
      return
    }"""
    m = ms.module(text)
    m.f(True)
    with pytest.raises(ms.ProgramError, match="one that failed: too\nmany") as caught:
        m.f(False)
    assert caught.value.line == 3


WILD = """
func.func @read(%n: i64) -> f64 {
  %0 = llvm.inttoptr %n : i64 to !llvm.ptr
  %1 = llvm.load volatile %0 : !llvm.ptr -> f64
  return %1 : f64
}
func.func @call(%n: i64) {
  %0 = llvm.inttoptr %n : i64 to !llvm.ptr
  llvm.call %0() : !llvm.ptr, () -> ()
  return
}
func.func @copy(%n: i64, %bytes: i64) {
  %0 = llvm.inttoptr %n : i64 to !llvm.ptr
  "llvm.intr.memcpy"(%0, %0, %bytes) <{isVolatile = true}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
  return
}
func.func private @printMemrefInd(memref<*xindex>)
func.func @deep(%n: index) {
  %c1 = arith.constant 1 : index
  %a = memref.alloca() : memref<100xindex>
  %u = memref.cast %a : memref<100xindex> to memref<*xindex>
  memref.store %n, %a[%c1] : memref<100xindex>
  func.call @deep(%n) : (index) -> ()
  call @printMemrefInd(%u) : (memref<*xindex>) -> ()
  return
}
func.func @trap() {
  "llvm.intr.trap"() : () -> ()
  return
}
func.func private @malloc(i64) -> !llvm.ptr
func.func @allocate(%n: i64) -> i64 {
  %0 = call @malloc(%n) : (i64) -> !llvm.ptr
  %1 = llvm.ptrtoint %0 : !llvm.ptr to i64
  return %1 : i64
}
"""
guarded = pytest.mark.skipif(
    not _native.guards_programs, reason="expected Linux, and no sanitizer: those hear signals themselves"
)


@pytest.fixture(scope="module")
def wild() -> ms.UserModule:
    return ms.module(WILD)


@guarded
@pytest.mark.parametrize(
    ("name", "operands", "said"),
    [
        ("read", (0,), r"went to the address 0x0 \(SIGSEGV\)"),
        ("read", (1 << 62,), r"went to no address \(SIGSEGV\)"),
        ("call", (16,), r"went to the address 0x10 \(SIGSEGV\)"),
        ("copy", (16, 100), r"went to the address 0x1. \(SIGSEGV\)"),
        ("copy", (16, 1 << 20), r"went to the address 0x\w+ \(SIGSEGV\)"),
        ("deep", (1,), r"calls and arrays fit on the stack, but it overflowed \(SIGSEGV\)"),
        ("trap", (), r"one that it refused \(SIGILL\)"),
        ("allocate", (1 << 62,), "but got none of 4611686018427387904 bytes"),
    ],
)
def test_a_signal_ends_the_call_alone(wild: ms.UserModule, name: str, operands: tuple[int, ...], said: str) -> None:
    before = signal.getsignal(signal.SIGSEGV)
    for _ in range(3):  # the next one is heard too
        with pytest.raises(ms.ProgramError, match=said):
            wild[name](*operands)
    assert signal.getsignal(signal.SIGSEGV) == before


@guarded
def test_a_signal_in_a_thread_ends_its_call(wild: ms.UserModule) -> None:
    ends: list[str] = []

    def work() -> None:
        for name in ("read", "deep") * 20:
            try:
                wild[name](0)
            except ms.ProgramError as error:
                ends.append(error.message.rpartition(", but")[2])

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ends) == 6 * 40
    assert len(set(ends)) == 2


@guarded
@pytest.mark.parametrize("faults", ["", "faulthandler.enable()"])
def test_a_signal_of_others_is_theirs(faults: str) -> None:
    """Before, beside and after programs: a thread that is in none dies as ever, and with its handler."""
    script = f"""
import ctypes, faulthandler, sys, threading
import mlir_sparse as ms
{faults}
m = ms.module({WILD!r})
try:
    m.read(0)
except ms.ProgramError:
    print("ended", flush=True)
ctypes.string_at(0)
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=100, check=False)
    assert (ran.returncode, ran.stdout) == (-signal.SIGSEGV, "ended\n")
    assert ("Fatal Python error: Segmentation fault" in ran.stderr) == bool(faults)
