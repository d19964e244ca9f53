"""The pass that keeps rows of dense results in registers: what it computes, and what it leaves alone."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import mlir_sparse as ms
from dialect_tests import oracle
from dialect_tests.strategy_remarks import NARROW, SPMM, SPMV, TRANSPOSED, said_by
from mlir_sparse._mlir import mlir_context, parse_module
from mlir_sparse.loops.operation_index import Seen
from mlir_sparse.pipeline.run_passes import run_here
from mlir_sparse.strategies.register_tile import REGISTER_TILE

ELSEWHERE = "it adds to other places than it runs over: storage in the order of the result is faster"
EXTENTS = (0, 1, 7, 8, 9, 31, 33, 127, 129)
PLAIN = (("bits", 128), ("masks", False), ("fma", False))
COO = "(i, j) -> (i : compressed(nonunique), j : singleton)"
COO3 = "(i, j, k) -> (i : compressed(nonunique), j : singleton(nonunique), k : singleton)"


def matrix(dtype: Any = np.float64) -> Any:
    rng = np.random.default_rng(0)
    return scipy.sparse.random_array((24, 18), density=0.2, rng=rng, format="csr", dtype=dtype)


def dense(rows: int, columns: int, dtype: Any = np.float64) -> Any:
    return np.random.default_rng(1).random((rows, columns)).astype(dtype)


def tensor3(dtype: Any = np.float64) -> Any:
    rng = np.random.default_rng(2)
    values = rng.random((6, 7, 8))
    return np.where(rng.random(values.shape) < 0.2, values, 0).astype(dtype)


def close(found: Any, expected: Any) -> None:
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-4 if found.dtype == np.float32 else 1e-12, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("stored", ["CSR", "CSC", "DCSR", COO, "BSR(2, 3)"])
def test_products_with_dense_matrices_of_all_extents(stored: str, dtype: Any) -> None:
    A = ms.tensor(matrix(dtype)).convert(stored)
    kernel = ms.compile("C(i,j) = A(i,k) * B(k,j)", A=A.type, B=f"{A.type.dtype.name}[?,?]")
    for columns in EXTENTS:
        B = dense(18, columns, dtype)
        close(kernel(A, B), matrix(dtype) @ B)


@pytest.mark.parametrize("schedule", ["tile=8", "tile=24", "tile=64", "lanes=2", "lanes=4 tile=32", "tile=3"])
def test_schedules_change_no_number(schedule: str) -> None:
    A = ms.tensor(matrix())
    kernel = ms.compile("C(i,j) = A(i,k) * B(k,j)", A=A.type, B="f64[?,?]", schedule=schedule)
    for columns in EXTENTS:
        B = dense(18, columns)
        close(kernel(A, B), matrix() @ B)


@pytest.mark.parametrize("schedule", ["tile=8", "tile=16", "tile=40", "lanes=2", "lanes=4 tile=32"])
def test_schedules_change_no_product_of_rows(schedule: str) -> None:
    T = tensor3()
    B = ms.tensor(T, "CSF")
    text = "A(i,j) = B(i,k,l) * C(k,j) * D(l,j)"
    kernel = ms.compile(text, B=B.type, C="f64[?,?]", D="f64[?,?]", schedule=schedule)
    for columns in EXTENTS:
        C, D = dense(7, columns), dense(8, columns)
        close(kernel(B, C, D), np.einsum("ikl,kj,lj->ij", T, C, D))


@pytest.mark.parametrize("options", [NARROW, PLAIN])
def test_processors_without_masks(options: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("mlir_sparse.pipeline.sparsifier_passes"), "vector_options", lambda: options)
    monkeypatch.setenv("MLIR_SPARSE_CACHE", "off")
    A = ms.tensor(matrix())
    product = ms.compile("C(i,j) = A(i,k) * B(k,j)", A=A.type, B="f64[?,?]")
    sampled = ms.compile("C(i,j) = A(i,j) * X(i,k) * Y(j,k)", A=A.type, X="f64[?,?]", Y="f64[?,?]", out="CSR")
    for columns in EXTENTS:
        B, X = dense(18, columns), dense(24, columns)
        close(product(A, B), matrix() @ B)
        close(sampled(A, X, B).to_numpy(), matrix().toarray() * (X @ B.T))


@pytest.mark.parametrize("stored", ["CSF", COO3, "(i, j, k) -> (i : dense, j : compressed, k : compressed)"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_tensor_times_matrices(stored: str, dtype: Any) -> None:
    T = tensor3(dtype)
    B, name = ms.tensor(T, stored), np.dtype(dtype).name.replace("float", "f")
    matrices = {"C": f"{name}[?,?]", "D": f"{name}[?,?]"}
    mttkrp = ms.compile("A(i,j) = B(i,k,l) * C(k,j) * D(l,j)", B=B.type, **matrices)
    ttm = ms.compile("A(i,j,k) = B(i,j,l) * D(l,k)", B=B.type, D=matrices["D"])
    for columns in EXTENTS:
        C, D = dense(7, columns, dtype), dense(8, columns, dtype)
        close(mttkrp(B, C, D), np.einsum("ikl,kj,lj->ij", T, C, D))
        close(ttm(B, D), np.einsum("ijl,lk->ijk", T, D))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("right", ["Y(j,k)", "Y(k,j)"])
def test_sampled_products(right: str, dtype: Any) -> None:
    A, name = ms.tensor(matrix(dtype)), np.dtype(dtype).name.replace("float", "f")
    kernel = ms.compile(f"C(i,j) = A(i,j) * X(i,k) * {right}", A=A.type, X=f"{name}[?,?]", Y=f"{name}[?,?]", out="CSR")
    for columns in EXTENTS:
        X, Y = dense(24, columns, dtype), dense(18, columns, dtype)
        given = Y if right == "Y(j,k)" else np.ascontiguousarray(Y.T)
        close(kernel(A, X, given).to_numpy(), matrix(dtype).toarray() * (X @ Y.T))


def test_sums_do_not_see_what_a_mask_leaves_out() -> None:
    A, X, Y = ms.tensor(matrix()), dense(24, 11), dense(18, 11)
    A.storage.values[...] = np.inf
    found = ms.evaluate("C(i,j) = A(i,j) * X(i,k) * Y(j,k)", A=A, X=X, Y=Y, out="CSR")
    assert np.all(found.storage.values == np.inf)


@pytest.mark.parametrize("columns", [columns for columns in EXTENTS if columns])  # static extents are not zero
def test_static_extents(columns: int) -> None:
    A, B = ms.tensor(matrix()), dense(18, columns)
    close(ms.compile("C(i,j) = A(i,k) * B(k,j)", A=A.type, B=f"f64[?,{columns}]")(A, B), matrix() @ B)


@pytest.mark.parametrize("columns", EXTENTS)
def test_a_result_is_added_to_in_place(columns: int) -> None:
    A, B, C = ms.tensor(matrix()), dense(18, columns), dense(24, columns)
    before = C.copy()
    ms.evaluate("C(i,j) += A(i,k) * B(k,j)", A=A, B=B, C=C, out=C)
    close(C, before + matrix() @ B)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.int8, np.float16, np.complex64])
def test_narrow_rows_of_all_numbers_of_entries(dtype: Any) -> None:
    """Entries are added to four rows by turns, and what is left of four to one."""
    full = np.tril(np.random.default_rng(0).integers(1, 4, (24, 18))).astype(dtype)  # rows of 1 to 18 entries
    A = ms.tensor(full[::-1].copy(), "CSR")
    for columns in (1, 2, 3, 4, 5, 7, 8, 9, 16, 17):
        B = np.random.default_rng(columns).integers(-2, 3, (18, columns)).astype(dtype)
        start = np.full((24, columns), 2, dtype)
        np.testing.assert_array_equal(ms.evaluate(SPMM, A=A, B=B), full[::-1] @ B)
        found = start.copy()
        ms.evaluate("C(i,j) += A(i,k) * B(k,j)", A=A, B=B, C=found, out=found)
        np.testing.assert_array_equal(found, start + full[::-1] @ B)
        found = ms.evaluate("C(i,j) = D(i,j) - A(i,k) * B(k,j)", A=A, B=B, D=start)
        np.testing.assert_array_equal(found, start - full[::-1] @ B)


@pytest.mark.parametrize("entries", [0, 1, 3, 4, 5, 8, 9])
def test_signs_of_zeros_of_narrow_rows(entries: int) -> None:
    values = np.full(entries, -0.0)
    positions, crd = np.array([0, entries], np.int32), np.arange(entries, dtype=np.int32)
    A = ms.SparseTensor.from_levels("CSR", (1, 12), [None, positions], [None, crd], values)
    C = np.array([[-0.0, 0.0, -0.0, 0.0]])
    found = C.copy()
    ms.evaluate("C(i,j) += A(i,k) * B(k,j)", A=A, B=np.ones((12, 4)), C=found, out=found)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(C))


def test_differences_unions_and_other_semirings() -> None:
    A, E, B, D = ms.tensor(matrix()), ms.tensor(matrix().T.tocsr().T.tocsr()), dense(18, 37), dense(24, 37)
    close(ms.evaluate("C(i,j) = D(i,j) - A(i,k) * B(k,j)", A=A, B=B, D=D), D - matrix() @ B)
    close(ms.evaluate("C(i,j) = (A(i,k) + E(i,k)) * B(k,j)", A=A, E=E, B=B), 2 * matrix() @ B)
    close(ms.evaluate("c(j) = A(i,k) * B(k,j)", A=A, B=B), (matrix() @ B).sum(0))
    held = matrix().toarray()
    shortest = np.where(held[:, :, None] != 0, held[:, :, None] + B, np.inf).min(1)
    close(ms.evaluate("C(i,j) = A(i,k) * B(k,j)", A=A, B=B, semiring="min_plus"), shortest)


def whole(rows: int, columns: int, dtype: Any) -> Any:
    """Returns small whole numbers, whose sums and products every type has, but for int8, where they wrap."""
    return np.random.default_rng(3).integers(-5, 6, (rows, columns)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.float16, "bfloat16"])
@pytest.mark.parametrize("stored", ["CSR", COO, "DIA", "BSR(2, 3)"])
def test_integers_and_halves_of_all_extents(stored: str, dtype: Any) -> None:
    numpy = ms.DType.of(dtype).numpy
    held = matrix().toarray() != 0
    dense_a = np.where(held, whole(24, 18, numpy), 0).astype(numpy)
    A = ms.tensor(dense_a, stored)
    kernel = ms.compile("C(i,j) = A(i,k) * B(k,j)", A=A.type, B=f"{A.type.dtype.name}[?,?]")
    for columns in EXTENTS:
        B = whole(18, columns, numpy)
        expected = (dense_a.astype(np.int64) @ B.astype(np.int64)).astype(
            np.float32 if numpy.kind not in "i" else numpy
        )
        np.testing.assert_array_equal(kernel(A, B).astype(expected.dtype), expected)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.float16, "bfloat16"])
@pytest.mark.parametrize("right", ["Y(j,k)", "Y(k,j)"])
def test_sampled_products_of_integers_and_halves(right: str, dtype: Any) -> None:
    numpy = ms.DType.of(dtype).numpy
    dense_a = np.where(matrix().toarray() != 0, whole(24, 18, numpy), 0).astype(numpy)
    A, name = ms.tensor(dense_a, "CSR"), ms.DType.of(dtype).name
    kernel = ms.compile(f"C(i,j) = A(i,j) * X(i,k) * {right}", A=A.type, X=f"{name}[?,?]", Y=f"{name}[?,?]", out="CSR")
    for columns in (1, 7, 8, 33, 65):
        X, Y = whole(24, columns, numpy), whole(18, columns, numpy)
        X, Y = np.sign(X.astype(np.int8)).astype(numpy), np.sign(Y.astype(np.int8)).astype(numpy)
        given = Y if right == "Y(j,k)" else np.ascontiguousarray(Y.T)
        exact = dense_a.astype(np.int64) * (X.astype(np.int64) @ Y.astype(np.int64).T)
        np.testing.assert_array_equal(kernel(A, X, given).to_numpy(), exact.astype(numpy))


def test_truth_values_of_a_semiring() -> None:
    dense_a, B = matrix().toarray() != 0, dense(18, 70) < 0.1
    found = ms.evaluate("C(i,j) = A(i,k) * B(k,j)", A=ms.tensor(dense_a, "CSR"), B=B, semiring="or_and")
    np.testing.assert_array_equal(found, dense_a.astype(int) @ B.astype(int) > 0)


def test_rows_of_integers_divided_by_rows_stay_scalar() -> None:
    B = whole(18, 33, np.int32)
    B[B == 0] = 1
    given = np.where(matrix().toarray() != 0, 60, 0).astype(np.int32)
    found = ms.evaluate("C(i,j) = sum(k : A(i,k) / B(k,j))", A=ms.tensor(given, "CSR"), B=B)
    np.testing.assert_allclose(found, (given[:, :, None] / B[None]).sum(1))


def test_scalar_loops_when_asked_for() -> None:
    asked = {"A": "f64[?,?] CSR", "B": "f64[?,?]"}
    for schedule in ("tile=0", "lanes=0"):
        kernel = ms.compile("C(i,j) = A(i,k) * B(k,j)", schedule=schedule, **asked)
        assert "vector.fma" not in kernel.ir("sparsified")
    tiled = ms.compile("C(i,j) = A(i,k) * B(k,j)", schedule="tile=16 lanes=4", **asked).ir("sparsified")
    assert "vector<16xf64>" in tiled
    assert "vector<32xf64>" not in tiled


# What stands between the loops over entries and over a row, and its address; all but the first stay as they are.
NEST = """
func.func private @other()
func.func @kernel(%pos: memref<?xindex>, %crd: memref<?xindex>, %val: memref<?xf64>, %B: memref<?x?xf64>,
                  %C: memref<?x?xf64>, %n: index, %m: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {{
    %begin = memref.load %pos[%i] : memref<?xindex>
    %next = arith.addi %i, %c1 : index
    %end = memref.load %pos[%next] : memref<?xindex>
    scf.for %p = %begin to %end step %c1 {{
      %k = memref.load %crd[%p] : memref<?xindex>
      %a = memref.load %val[%p] : memref<?xf64>
      {before}
      scf.for %j = %c0 to {upper} step %c1 {{
        %c = memref.load %C[%i, {read}] : memref<?x?xf64>
        %b = memref.load {factor}[%k, %j] : memref<?x?xf64>
        %product = arith.mulf %a, %b : f64
        %sum = arith.addf %c, %product : f64
        memref.store %sum, %C[%i, {write}] : memref<?x?xf64>
      }}
    }}
  }}
  return
}}
"""
TILEABLE = {"before": "", "upper": "%m", "read": "%j", "factor": "%B", "write": "%j"}


def tiled(**changes: str) -> str:
    text = NEST.format(**{**TILEABLE, **changes})
    outcome = run_here(text, "builtin.module(register-tile{bits=512 masks=true fma=true})", as_text=True)
    assert outcome.module is not None, outcome.diagnostics
    return outcome.module.decode()


def test_loops_that_were_tiled_are_not_looked_at_again() -> None:
    """Their operations are gone: asking one for its results ended the compiler of a module with another nest."""
    tensors = {"T": (1, 1, 1), "U": (1, 1, 1), "V": (2, 1, 2, 2, 1, 2, 2), "M": (3, 3), "w": (2,)}
    arrays = {name: np.arange(1.0, np.prod(shape) + 1).reshape(shape) for name, shape in tensors.items()}
    text = (
        "y(a,b,c,d) = T(c,e,a) * U(b,f,b) "
        "+ s * t * (T(g,g,g) * 2) * U(g,h,h) * V(k,l,k,d,l,k,k) * M(m,m) * w(n)"
    )  # fmt: skip
    stored = arrays | {"T": ms.tensor(arrays["T"], "CSF"), "s": np.array(3.0), "t": np.array(5.0)}
    found = ms.evaluate(text, tensors=stored)
    picked = np.array([sum(arrays["V"][k, 0, k, d, 0, k, k] for k in range(2)) for d in range(2)])
    wanted = 1 + 3 * 5 * 2 * picked * np.trace(arrays["M"]) * arrays["w"].sum()
    np.testing.assert_array_equal(
        found.to_numpy() if isinstance(found, ms.SparseTensor) else found, wanted.reshape(1, 1, 1, 2)
    )


@pytest.mark.parametrize("masks", ["true", "false"])
def test_lines_of_a_nest_that_was_tiled_are_left_out(masks: str) -> None:
    """What is read of erased operations is whatever stands in their memory, and most of the time no crash."""
    with mlir_context():
        seen = Seen(parse_module(NEST.format(**TILEABLE)))
        options = {"bits": "512", "masks": masks, "fma": "true", "lanes": "0", "tile": "0"}
        (nest,) = (found for found in seen.nests(options) if found.lines)
        assert len(nest.lines) == 1
        assert REGISTER_TILE.rewrite_all(nest, seen.remarks)
        assert nest.lines == []


@pytest.mark.parametrize(
    "sum", ["S(i,k) - C(k,i) * Q(i,k)", "where(S(i,k), C(k,i), 1) - Q(i,k)", "(2 & S(i,k)) + Q(i,k)"]
)
def test_rows_that_merged_operands_are_added_to(sum: str) -> None:
    """Each of the loops around the row is one that vectors do not hold; the row itself is tiled."""
    rng = np.random.default_rng(5)
    arrays = {name: rng.integers(-2, 3, (9, 9)) * (rng.random((9, 9)) < 0.4) for name in "SCQD"}
    tensors = {name: ms.tensor(array.astype(np.float64), "DCSR") for name, array in arrays.items()}
    text = f"y(i,j) = sum(k : {sum}) + D(i,j)"
    tensors = {name: tensor for name, tensor in tensors.items() if f"{name}(" in text}
    found = ms.evaluate(text, tensors=tensors, out="dense")
    oracle.assert_close(found, oracle.evaluate(text, {name: arrays[name].astype(np.float64) for name in tensors}))


def test_a_nest_without_hindrance_is_tiled() -> None:
    text = tiled()
    assert "vector.fma" in text
    assert "memref.store" not in text


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"factor": "%C"}, id="reads other rows of what it writes"),
        pytest.param({"before": "memref.store %a, %val[%c0] : memref<?xf64>"}, id="writes something else"),
        pytest.param({"before": "memref.store %p, %pos[%c0] : memref<?xindex>"}, id="writes its own positions"),
        pytest.param({"before": "func.call @other() : () -> ()"}, id="calls a function"),
        pytest.param({"before": "%width = memref.load %crd[%p] : memref<?xindex>", "upper": "%width"}, id="width"),
        pytest.param({"read": "%c0"}, id="reads one element again and again"),
        pytest.param({"write": "%c0", "read": "%c0"}, id="adds to one element"),
    ],
)
def test_what_could_go_wrong_stays_as_it_is(changes: dict[str, str]) -> None:
    assert "vector" not in tiled(**changes)


@pytest.mark.parametrize(
    ("stored", "kinds"),
    [
        ("CSR", {}),
        ("COO", {}),
        ("DIA", {}),
        *(("CSR", {"dtype": dtype}) for dtype in ("f32", "f16", "bf16", "i8", "i16", "i32", "i64")),
        ("CSR", {"options": NARROW}),
    ],
)
def test_it_says_which_rows_stay_in_registers(stored: str, kinds: dict[str, Any]) -> None:
    assert said_by("register-tile", SPMM, A=stored, B="", **kinds) == ["applied to j"]


@pytest.mark.parametrize(
    ("dtype", "masked"), [("f64", True), ("f32", True), ("i32", True), ("bf16", False), ("i8", False)]
)
def test_avx2_has_masks_for_elements_of_words(dtype: str, masked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM makes a branch for each lane of others."""
    monkeypatch.setattr(import_module("mlir_sparse.pipeline.sparsifier_passes"), "vector_options", lambda: NARROW)
    text = ms.compile(SPMM, A=f"{dtype}[?,?] CSR", B=f"{dtype}[?,?]").ir("sparsified")
    assert ("vector.maskedload" in text) == masked
    assert "vector.maskedstore" not in text


def test_f16_is_widened_in_vectors() -> None:
    """One alone is loaded into the rest of a register, which is the sum that is waited for."""
    text = ms.compile(SPMM, A="f16[?,?] CSR", B="f16[?,?]").ir("sparsified")
    spread = [line for line in text.splitlines() if "vector.broadcast" in line and "f16" in line]
    assert spread
    assert not any("f32 to" in line for line in spread)
    assert text.count(": f16 to vector<") >= len(spread)


def test_it_says_that_rows_of_diagonals_stay_in_registers() -> None:
    assert said_by("register-tile", SPMV, A="DIA", x="") == ["applied to i"]


@pytest.mark.parametrize(
    ("text", "dtype", "reason"),
    [
        ("C(i,j) = A(i,k) * sin(B(k,j))", "f64", "vectors of rows have no math.sin of f64"),
    ],
)
def test_it_says_why_rows_do_not_stay_in_registers(text: str, dtype: str, reason: str) -> None:
    assert said_by("register-tile", text, dtype=dtype, A="CSR", B="") == [f"j: {reason}"]


def test_it_says_where_elements_lie_apart() -> None:
    said = said_by("register-tile", "C(i,j) = S(i,j) * X(i,k) * Y(k,j)", out="CSR", S="CSR", X="", Y="")
    assert said == ["k: its elements do not lie side by side in memory"]
    assert said_by("register-tile", TRANSPOSED, A="DIA", x="") == [f"i: {ELSEWHERE}"]


def test_it_says_nothing_of_loops_over_entries() -> None:
    assert said_by("register-tile", SPMV, A="CSR", x="") == []
