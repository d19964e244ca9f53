"""Sums over rows by vectors: what they compute, wherever rows end and buffers end."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import mlir_sparse as ms
from dialect_tests.strategy_remarks import MASKED, NARROW, SPMV, TRANSPOSED, said_by
from mlir_sparse import _native

TTV = "C(i,j) = A(i,j,k) * v(k)"


pytestmark = pytest.mark.usefixtures("one_thread_and_two")


def fibres(lengths: list[int], dtype: Any = np.float64, seed: int = 0) -> Any:
    """Returns a tensor with fibres of so many entries, an empty one where that is 0."""
    rng = np.random.default_rng(seed)
    crd = [np.sort(rng.choice(64, length, replace=False)) for length in lengths]
    starts = np.cumsum([0, *lengths])
    roots = np.array([0, len(lengths)], np.int32)
    positions = [np.array([0, 1], np.int32), roots, starts.astype(np.int32)]
    coordinates = [np.array([2]), np.arange(len(lengths)), np.concatenate([np.zeros(0, np.int64), *crd])]
    values = rng.integers(-9, 10, starts[-1]).astype(dtype)
    shape = (5, max(1, len(lengths)), 64)
    return ms.SparseTensor.from_levels("CSF", shape, positions, [c.astype(np.int32) for c in coordinates], values)


def kernel(dtype: str = "f64", text: str = TTV) -> Any:
    vectors = {name: f"{dtype}[?]" for name in "vw" if f"{name}(" in text}
    return ms.compile(text, A=f"{dtype}[?,?,?] CSF", out="DCSR", **vectors)


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64", "i8", "i16", "i32", "i64", "c128"])
@pytest.mark.parametrize(
    "lengths",
    [
        [],
        [1],
        [7],
        [8],
        [9],
        [3, 5],  # exactly a vector
        [1, 2, 4, 1],  # the last ones begin where no vector fits
        [0, 0, 3, 0, 12, 0],
        [64, 1, 30, 8, 16, 17, 2],
        [1] * 100,
        list(range(33)),
    ],
)
def test_fibres_of_all_lengths(lengths: list[int], dtype: str) -> None:
    A = fibres(lengths, ms.DType(dtype).numpy)
    v = np.random.default_rng(1).integers(1, 9, 64).astype(A.dtype)
    found = kernel(dtype)(A, v)
    assert found.nse == len(lengths)
    wide = np.float64 if dtype in ("f16", "bf16") else A.dtype  # halves are added up in more digits, and rounded once
    expected = (A.to_numpy().astype(wide) @ v.astype(wide)).astype(v.dtype)
    np.testing.assert_array_equal(found.to_numpy(), expected)


def test_random_fibres() -> None:
    rng = np.random.default_rng(3)
    compiled = kernel()
    for seed in range(20):
        A = fibres([int(n) for n in rng.geometric(0.3, 200).clip(max=64)], seed=seed)
        v = rng.random(64)
        np.testing.assert_allclose(compiled(A, v).to_numpy(), A.to_numpy() @ v, atol=1e-12)


def test_what_is_not_finite_stays_in_its_fibre() -> None:
    A = fibres([2, 3, 4, 5, 6])
    v = np.ones(64)
    last = A.storage.coordinates[2][-1]
    v[last] = np.nan
    found, dense = kernel()(A, v).to_numpy(), A.to_numpy()
    hit = dense[2, :, last] != 0
    np.testing.assert_array_equal(np.isnan(found[2]), hit)
    np.testing.assert_array_equal(found[2][~hit], dense[2, ~hit].sum(1))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("C(i,j) = -A(i,j,k) * v(k)", lambda A, v, w: -(A @ v)),
        ("C(i,j) = A(i,j,k) * v(k) * w(k)", lambda A, v, w: A @ (v * w)),
        ("C(i,j) = A(i,j,k) * v(k) / 2", lambda A, v, w: A @ v / 2),
        ("C(i,j) = A(i,j,k) * A(i,j,k) * v(k)", lambda A, v, w: (A * A) @ v),
        ("C(i,j) = abs(A(i,j,k)) * v(k)", lambda A, v, w: abs(A) @ v),
        ("C(i,j) = max(A(i,j,k), 0) * v(k)", lambda A, v, w: A.clip(0) @ v),
        ("C(i,j) = where(A(i,j,k) > v(k), A(i,j,k), 2) * A(i,j,k)", lambda A, v, w: (np.where(v < A, A, 2) * A).sum(2)),
        ("C(i,j) = A(i,j,k)", lambda A, v, w: A.sum(2)),
    ],
)
def test_other_summands(text: str, expected: Any) -> None:
    A, rng = fibres(list(range(20))), np.random.default_rng(1)
    v, w = rng.integers(1, 9, (2, 64)).astype(float)
    given = {name: array for name, array in (("v", v), ("w", w)) if f"{name}(" in text}
    np.testing.assert_array_equal(kernel(text=text)(A=A, **given).to_numpy(), expected(A.to_numpy(), v, w))


def test_matrices_as_fibres_of_several_levels() -> None:
    dense = np.where(np.random.default_rng(5).random((4, 5, 6, 7)) < 0.2, 3.0, 0.0)
    A, v = ms.tensor(dense, "CSF"), np.arange(7.0)
    found = ms.evaluate("C(i,j,k) = A(i,j,k,l) * v(l)", A=A, v=v, out="CSF")
    np.testing.assert_array_equal(found.to_numpy(), dense @ v)


def matrix(lengths: list[int], dtype: Any, seed: int = 0) -> Any:
    """Returns a CSR matrix with rows of so many entries."""
    rng = np.random.default_rng(seed)
    columns = max(64, *lengths, 0) if lengths else 64
    dense = np.zeros((len(lengths), columns), dtype)
    for row, length in enumerate(lengths):
        dense[row, rng.choice(columns, length, replace=False)] = rng.integers(1, 10, length)
    return ms.tensor(dense, "CSR"), dense


def same(found: Any, exact: Any) -> None:
    """Says whether an array holds exact numbers as its type has them."""
    np.testing.assert_array_equal(found, exact.astype(found.dtype))


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64", "i8", "i16", "i32", "i64", "c128"])
@pytest.mark.parametrize(
    "lengths",
    [
        *([], [0], [1], [8], [9, 0, 0], [0, 3, 5], [16, 1, 17, 40, 0, 64], [1] * 50),
        *(list(range(33)), list(range(33))[::-1], [100, 3, 0, 75, 33, 31, 12, 11, 90, 32, 13]),
    ],
)
def test_rows_of_all_lengths(lengths: list[int], dtype: str) -> None:
    A, dense = matrix(lengths, ms.DType(dtype).numpy)
    rng = np.random.default_rng(2)
    x, b = (rng.integers(1, 9, n).astype(A.dtype) for n in (dense.shape[1], dense.shape[0]))
    wide = np.complex128 if dtype == "c128" else np.int64  # narrow integers wrap, halves are rounded once
    product = dense.astype(wide) @ x.astype(wide)
    kinds: Any = {"A": f"{dtype}[?,?] CSR", "x": f"{dtype}[?]"}
    same(ms.compile("y(i) = A(i,j) * x(j)", **kinds)(A, x), product)
    residual = ms.compile("y(i) = b(i) - A(i,j) * x(j)", b=f"{dtype}[?]", **kinds)
    same(residual(b, A, x), b.astype(wide) - product)
    multiple = ms.compile("y(i) = alpha * A(i,j) * x(j) + b(i)", alpha=f"{dtype}[]", b=f"{dtype}[?]", **kinds)
    same(multiple(A=A, x=x, b=b, alpha=np.array(3, x.dtype)), b.astype(wide) + 3 * product)
    same(ms.evaluate("y(i) = A(i,j)", A=A), dense.astype(wide).sum(1))


def test_what_is_not_finite_stays_in_its_row() -> None:
    A, dense = matrix([3, 0, 12, 5, 1, 30, 2], np.float64)
    x, b = np.ones(64), np.ones(7)
    x[5], x[9] = np.nan, np.inf
    hit = (dense[:, [5, 9]] != 0).any(1)
    clean = dense.sum(1)
    for found, expected in (
        (ms.evaluate("y(i) = A(i,j) * x(j)", A=A, x=x), clean),
        (ms.evaluate("y(i) = b(i) - A(i,j) * x(j)", A=A, x=x, b=b), b - clean),
    ):
        np.testing.assert_array_equal(np.isfinite(found), ~hit)
        np.testing.assert_array_equal(found[~hit], expected[~hit])
    # What a row without entries is a multiple of does not matter.
    found = ms.evaluate("y(i) = a * A(i,j) * x(j)", A=A, x=np.ones(64), a=np.array(np.inf))
    np.testing.assert_array_equal(found, np.where(clean > 0, np.inf, 0.0))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_rows_do_not_depend_on_where_pieces_end(dtype: Any) -> None:
    rng = np.random.default_rng(7)
    A, dense = matrix([int(n) for n in rng.geometric(0.1, 300).clip(max=64)], dtype)
    x = rng.random(64).astype(dtype)
    kernel = ms.compile("y(i) = A(i,j) * x(j)", A=A, x=x)
    before = _native.piece_work()
    results = []
    try:
        _native.set_piece_work(1)
        for threads in (1, 2, 3, 7):
            ms.set_num_threads(threads)
            results.append(kernel(A, x))
    finally:
        _native.set_piece_work(before)
    exact = dense.astype(np.float64) @ x
    np.testing.assert_allclose(results[0], exact, rtol=4 * np.finfo(dtype).eps, atol=1e-30)
    assert all(np.array_equal(results[0], other) for other in results)


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("stored", ["CSR", "DCSR", "SlotELL"])
def test_all_numbers_of_half_precision_are_looked_up_as_they_are(stored: str, dtype: str) -> None:
    bits = np.arange(1 << 16, dtype=np.uint16)
    x, each = bits.view(ms.DType(dtype).numpy), np.arange(1 << 16)
    # One beside up to eleven stored zeros, whose columns have finite numbers: the one is in each lane, and beyond.
    before = np.minimum(each % 12, each)
    rows = np.repeat(each, before + 1)
    starts = np.concatenate(([0], np.cumsum(before + 1)))
    columns = np.arange(rows.size) - starts[rows]
    columns[starts[1:] - 1] = each
    values = np.zeros(rows.size, np.float32)
    values[starts[1:] - 1] = 1
    A = ms.tensor(((rows, columns), values), "CSR", shape=(1 << 16, 1 << 16)).astype(dtype).convert(stored)
    found, wide = ms.evaluate(SPMV, A=A, x=x), x.astype(np.float32)
    # What rounds to bf16 on Intel's processors has zeros in place of the least numbers, below its normal ones.
    least = float(np.finfo(np.float32).tiny) if dtype == "bf16" else 0.0
    usual = np.abs(wide) > least  # no NaN, and no zero, whose sign a sum does not keep
    np.testing.assert_array_equal(found.view(np.uint16)[usual], bits[usual])
    np.testing.assert_array_equal(np.isnan(found.astype(np.float32)), np.isnan(wide))
    assert not found[wide == 0].any()


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_numbers_of_half_precision_are_put_together_as_integers(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("mlir_sparse.pipeline.sparsifier_passes"), "vector_options", lambda: MASKED)
    monkeypatch.setenv("MLIR_SPARSE_CACHE", "off")
    code = ms.compile(SPMV, A=f"{dtype}[?,?] CSR", x=f"{dtype}[?]").ir("sparsified")
    assert "vector.from_elements" in code
    assert f"vector<1x{dtype}>" not in code


@pytest.mark.parametrize("dtype", ["i8", "bf16", "i32", "f32", "f64", "c64"])
def test_lanes_are_counted_in_narrow_integers(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bits = 64 if dtype in ("f64", "c64") else 32
    monkeypatch.setattr(import_module("mlir_sparse.pipeline.sparsifier_passes"), "vector_options", lambda: MASKED)
    monkeypatch.setenv("MLIR_SPARSE_CACHE", "off")
    code = ms.compile(SPMV, A=f"{dtype}[?,?] CSR", x=f"{dtype}[?]").ir("sparsified")
    lanes = r"(%\w+) = vector\.broadcast (%\w+) : i(\d+) to vector<(?:8|16)xi\3>"
    found = [match for match in re.finditer(lanes, code) if "ult, %cst" in code[match.end() : match.end() + 80]]
    assert {int(match[3]) for match in found} == {bits}
    for match in found:
        (cast,) = re.findall(rf"{match[2]} = arith\.index_cast (%\w+) : index", code)
        # What is left of a row of 2^32 entries and more is not cut to fewer.
        assert bits == 64 or re.search(rf"{cast} = arith\.minui", code)


@pytest.mark.parametrize("widths", [(32, 32), (64, 64), (32, 16), (16, 8)])
def test_rows_of_all_widths(widths: tuple[int, int]) -> None:
    _, dense = matrix([4, 0, 20, 7, 8, 9, 1, 1], np.float64)
    A, x = ms.tensor(dense, ms.encoding("CSR").with_widths(*widths)), np.arange(64.0)
    np.testing.assert_array_equal(ms.evaluate("y(i) = A(i,j) * x(j)", A=A, x=x), dense @ x)


@pytest.mark.parametrize("dtype", ["f32", "f64", "i8", "i32", "i64", "f16", "bf16"])
@pytest.mark.parametrize(
    "text",
    [
        SPMV,
        "y(i) = b(i) - A(i,j) * x(j)",
        "y(i) = A(i,j) * A(i,j) * x(j)",
        "y(i) = abs(A(i,j)) * x(j)",
        "y(i) = max(A(i,j), 0) * x(j)",
        "y(i) = where(A(i,j) > 1, A(i,j), 0) * x(j)",
    ],
)
def test_it_says_that_rows_are_summed_by_vectors(text: str, dtype: str) -> None:
    others = {"b": ""} if "b(" in text else {}
    assert said_by("sum-rows", text, dtype=dtype, A="CSR", x="", **others) == ["applied to j"]


def test_it_says_that_short_rows_are_summed_by_vectors_on_any_machine() -> None:
    said = said_by("sum-rows", "C(i,j) = T(i,j,k) * v(k)", out="DCSR", options=NARROW, T="CSF", v="")
    assert said == ["applied to k"]


@pytest.mark.parametrize("dtype", ["f32", "i8", "i32", "f16", "bf16"])
def test_it_says_that_rows_of_narrow_elements_are_summed_by_vectors_on_avx2(dtype: str) -> None:
    assert said_by("sum-rows", SPMV, dtype=dtype, options=NARROW, A="CSR", x="") == ["applied to j"]


@pytest.mark.parametrize(
    ("text", "kinds", "reason"),
    [
        ("y(i) = sin(A(i,j)) * x(j)", {}, "vectors of entries have no math.sin of f64"),
        (SPMV, {"A": "ELL"}, "its rows all have room for as many entries: where they end is foreseen"),
        (
            SPMV,
            {"options": NARROW},
            "vectors here have no masks, or lanes were asked for: only rows known to be short are worth it",
        ),
    ],
)
def test_it_says_why_rows_are_summed_one_by_one(text: str, kinds: dict[str, Any], reason: str) -> None:
    assert said_by("sum-rows", text, **{"A": "CSR", "x": "", **kinds}) == [f"j: {reason}"]


LENGTHS = [[0], [1], [8], [9, 0, 0], [0, 3, 5], [16, 1, 17, 40, 0, 64], [1] * 50, list(range(33)), [0] * 40 + [2, 9]]


def stored_rows(lengths: list[int], dtype: Any, seed: int = 0) -> tuple[Any, list[Any], list[Any]]:
    """Returns a CSR matrix whose rows have so many entries, with the columns and the values of each."""
    rng, width = np.random.default_rng(seed), max(64, *lengths)
    columns = [np.sort(rng.choice(width, length, replace=False)) for length in lengths]
    low, high = (-100, 100) if np.dtype(dtype).kind == "i" else (-9, 10)
    values = [rng.integers(low, high, length).astype(dtype) for length in lengths]
    starts = np.cumsum([0, *lengths]).astype(np.int32)
    crd = np.concatenate([np.zeros(0, np.int64), *columns]).astype(np.int32)
    data = np.concatenate([np.zeros(0, dtype), *values])
    return scipy.sparse.csr_array((data, crd, starts), shape=(len(lengths), width)), columns, values


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64", "i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_other_accumulations_of_all_types_and_lengths(lengths: list[int], dtype: str) -> None:
    kind = ms.DType(dtype).numpy
    A, _, values = stored_rows(lengths, np.float32 if dtype == "bf16" else kind)
    T = ms.tensor(A).astype(dtype)
    for name, reduce in (("max", np.max), ("min", np.min)):
        # A row that is not full has zeros.
        expected = [reduce(np.append(row, 0) if row.size < A.shape[1] else row) for row in values]
        same(ms.evaluate(f"y(i) = {name}(j : A(i,j))", A=T), np.array(expected))


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize(
    ("semiring", "join", "start", "multiply"),
    [
        ("min_plus", np.minimum, np.inf, np.add),
        ("max_plus", np.maximum, -np.inf, np.add),
        ("max_times", np.maximum, -np.inf, np.multiply),
        ("min_max", np.minimum, np.inf, np.maximum),
        ("times_plus", np.multiply, 1, np.add),
    ],
)
def test_semirings(semiring: str, join: Any, start: float, multiply: Any, dtype: Any, lengths: list[int]) -> None:
    A, columns, values = stored_rows(lengths, dtype)
    x = np.random.default_rng(1).integers(-3, 4, A.shape[1]).astype(dtype)
    if np.dtype(dtype).kind == "i" and abs(start) == np.inf:
        start = np.iinfo(dtype).max if start > 0 else np.iinfo(dtype).min
    found = ms.evaluate("y(i) = A(i,j) * x(j)", A=ms.tensor(A), x=x, semiring=semiring)
    terms = [multiply(row, x[at]) for at, row in zip(columns, values, strict=True)]
    with np.errstate(over="ignore"):
        expected = [join.reduce(each, initial=start, dtype=dtype) for each in terms]
    np.testing.assert_allclose(found, np.array(expected, dtype), rtol=1e-5)


@pytest.mark.parametrize("lengths", LENGTHS)
def test_truth_values(lengths: list[int]) -> None:
    A, columns, values = stored_rows(lengths, np.float64)
    x = np.random.default_rng(1).random(A.shape[1]) < 0.1
    T = ms.tensor(A)
    for semiring, combine in (("or_and", any), ("and_or", all)):
        found = ms.evaluate("y(i) = A(i,j) * x(j)", A=T.astype("bool"), x=x, semiring=semiring)
        pairs = [list(zip(row != 0, x[at], strict=True)) for at, row in zip(columns, values, strict=True)]
        met = [[(a and b) if combine is any else (a or b) for a, b in row] for row in pairs]
        np.testing.assert_array_equal(found, [combine(row) for row in met])
    np.testing.assert_array_equal(ms.evaluate("y(i) = or(j : A(i,j) > 5)", A=T), [(row > 5).any() for row in values])


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, 0.0])
@pytest.mark.parametrize("length", [1, 4, 8, 9, 30])
def test_extremes_of_what_is_not_finite(length: int, special: float) -> None:
    A, _, _ = stored_rows([length, 40, length], np.float64)
    A.data[:] = -1.0
    A.data[length // 2] = special
    for name, reduce in (("max", np.max), ("min", np.min)):
        found = ms.evaluate(f"y(i) = {name}(j : A(i,j))", A=ms.tensor(A))
        np.testing.assert_array_equal(found, reduce(A.toarray(), axis=1))


@pytest.mark.parametrize("first", [0, 3, 17])
def test_signs_of_zeros_are_those_of_extremes(first: int) -> None:
    full = np.full((2, 18), -0.0)
    full[0, first] = 0.0
    T = ms.SparseTensor.from_levels(
        "CSR",
        (2, 18),
        [None, np.array([0, 18, 36], np.int32)],
        [None, np.tile(np.arange(18, dtype=np.int32), 2)],
        full.ravel(),
    )
    np.testing.assert_array_equal(np.signbit(ms.evaluate("y(i) = max(j : A(i,j))", A=T)), [False, True])
    np.testing.assert_array_equal(np.signbit(ms.evaluate("y(i) = min(j : A(i,j))", A=T)), [True, True])


@pytest.mark.parametrize(
    ("text", "semiring"),
    [
        ("y(i) = max(j : A(i,j))", None),
        ("y(i) = prod(j : A(i,j))", None),
        ("y(i) = or(j : A(i,j) > 1)", None),
        (SPMV, "min_plus"),
        (SPMV, "max_times"),
        (SPMV, "or_and"),
    ],
)
def test_it_says_that_accumulations_are_made_by_vectors(text: str, semiring: str | None) -> None:
    dense = {"x": ""} if text == SPMV else {}
    assert "applied to j" in said_by("sum-rows", text, semiring=semiring, A="CSR", **dense)


def test_it_says_why_the_last_entry_is_found_one_by_one() -> None:
    said = said_by("sum-rows", SPMV, semiring="any_first", A="CSR", x="")
    assert said == ["j: it accumulates by no operation whose order is free"]


def test_it_says_nothing_of_loops_without_sums() -> None:
    assert said_by("sum-rows", TRANSPOSED, A="CSR", x="") == []
