"""Vectors read sparse or dense by their elements at each call: the same bits, and the way that takes the least time."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse import _native
from mlir_sparse.compile import switching_kernel, vector_storage
from mlir_sparse.compile.switching_kernel import switching
from mlir_sparse.compile.vector_storage import restored
from mlir_sparse.plan.algebra.choose_rewriting import choose_rewriting
from mlir_sparse.plan.algebra.nest_times import NestTimes
from mlir_sparse.plan.algebra.tensor_facts import TensorFacts
from mlir_sparse.plan.vector_uses import vector_uses
from mlir_sparse.tensor.sketch_of import sketch_of

N = 60
PUSH, PULL = "y(j) = A(i,j) * x(i)", "y(i) = A(i,j) * x(j)"
RINGS = [
    (None, "f8"),
    (None, "i4"),
    (None, "c16"),
    ("or_and", "?"),
    ("or_and", "f8"),
    ("min_plus", "f8"),
    ("min_plus", "i4"),
    ("max_min", "f4"),
    ("any_pair", "f8"),
    ("plus_first", "f8"),
]
COUNTS = (0, 1, 9, N)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors of tests are looked at, however short they are."""
    monkeypatch.setattr(vector_storage, "_LEAST", 1)


def matrix(dtype: str, rows: int = N, columns: int = N) -> np.ndarray[Any, Any]:
    random = np.random.default_rng(0)
    return (random.integers(-3, 4, (rows, columns)) * (random.random((rows, columns)) < 0.05)).astype(dtype)


def frontier(count: int, dtype: str, absent: Any = 0, extent: int = N) -> np.ndarray[Any, Any]:
    random = np.random.default_rng(count)
    found = np.full(extent, absent, dtype)
    found[random.permutation(extent)[:count]] = random.integers(1, 4, count)
    return found


def absent_of(ring: str | None, dtype: str) -> Any:
    if ring not in ("min_plus", "max_min"):
        return 0
    kind = np.dtype(dtype)
    least, greatest = (-np.inf, np.inf) if kind.kind == "f" else (np.iinfo(kind).min, np.iinfo(kind).max)
    return greatest if ring == "min_plus" else least


def same(found: Any, expected: Any) -> None:
    if isinstance(expected, ms.SparseTensor):
        assert (found.encoding, found.nse) == (expected.encoding, expected.nse)
        np.testing.assert_array_equal(found.storage.coordinates[0], expected.storage.coordinates[0])
        found, expected = found.storage.values, expected.storage.values
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def way(kernel: Any, *operands: Any, **named: Any) -> str:
    return str(kernel.explain(*operands, **named)).partition("\n\nvectors\n")[2].strip()


@pytest.mark.parametrize(("ring", "dtype"), RINGS)
def test_arrays_of_few_elements_push(ring: str | None, dtype: str) -> None:
    A, absent = ms.tensor(matrix(dtype), "CSR"), absent_of(ring, dtype)
    kernels = [
        ms.compile(PUSH, A=A, x=frontier(1, dtype), semiring=ring, optimize=optimize) for optimize in ("auto", "off")
    ]
    for count in COUNTS:
        x = frontier(count, dtype, absent)
        auto, off = (kernel(A, x) for kernel in kernels)
        same(auto, off)
        if ring not in ("any_pair", "plus_first"):  # under which each element counts
            assert way(kernels[0], A, x).startswith("x is read as a sparse vector") == (count < N / 4)
    assert ring in ("any_pair", "plus_first") or "\nvectors\n  x is read as a sparse vector" in kernels[0].explain()
    assert "\nvectors\n" not in kernels[1].explain()


@pytest.mark.parametrize("out", ["dense", "SparseVector"])
@pytest.mark.parametrize(("ring", "dtype"), RINGS)
def test_sparse_vectors_of_many_entries_are_not_met_with_each_row(ring: str | None, dtype: str, out: str) -> None:
    A = ms.tensor(matrix(dtype), "CSR")
    x = ms.tensor(frontier(9, dtype), "SparseVector")
    kernels = [ms.compile(PULL, A=A, x=x, semiring=ring, out=out, optimize=o) for o in ("auto", "off")]
    for count in (*COUNTS, 40):
        x = ms.tensor(frontier(count, dtype), "SparseVector")
        auto, off = (kernel(A, x) for kernel in kernels)
        same(auto, off)
        by_value = out == "dense" and ring not in ("any_pair", "plus_first")
        if count >= 9:
            how = "x is read as an array" if by_value else "A is converted first" if count > 9 else "all are read"
            assert way(kernels[0], A, x).startswith(how)


@pytest.mark.parametrize("text", [f"{PUSH} if not v(j)", f"{PUSH} if v(j)", f"{PUSH} if not v(i)"])
@pytest.mark.parametrize("ring", ["or_and", "min_plus", None])
def test_masks_stay(text: str, ring: str | None) -> None:
    dtype = "?" if ring == "or_and" else "i8"
    A, visited = ms.tensor(matrix(dtype), "CSR"), frontier(20, "?")
    for count in (0, 3, N):
        x = frontier(count, dtype, absent_of(ring, dtype))
        for v in (visited, ms.tensor(visited, "SparseVector"), np.zeros(N, bool), np.ones(N, bool)):
            auto, off = (ms.evaluate(text, A=A, x=x, v=v, semiring=ring, optimize=o) for o in ("auto", "off"))
            same(auto, off)


def test_a_search_gives_the_distances_of_the_statement_as_written() -> None:
    steps = np.eye(N, k=1) + np.eye(N, k=-1) + np.eye(N, k=7)
    A = ms.tensor(steps, "CSR")
    for optimize in ("auto", "off"):
        reached, distance, round_ = frontier(0, "?"), np.zeros(N, int), 1
        reached[0] = True
        visited = reached.copy()
        while reached.any():
            distance[reached] = round_
            reached = ms.evaluate(
                f"{PUSH} if not v(j)", A=A, x=reached, v=visited, semiring="or_and", optimize=optimize
            )
            visited |= reached
            round_ += 1
        expected = [min(i // 7 + i % 7, i // 7 + 1 + (7 - i % 7)) + 1 for i in range(N - 7)]
        np.testing.assert_array_equal(distance[: N - 7], expected)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("ring", [None, "min_plus", "max_min"])
def test_what_is_not_finite_counts_as_written(ring: str | None, value: float) -> None:
    full = matrix("f8")
    full[5, 6] = value
    A, x = ms.tensor(full, "CSR"), frontier(2, "f8", absent_of(ring, "f8"))
    x[5] = absent_of(ring, "f8")
    auto, off = (ms.evaluate(PUSH, A=A, x=x, semiring=ring, optimize=o) for o in ("auto", "off"))
    same(auto, off)
    sparse = ms.tensor(frontier(30, "f8"), "SparseVector")
    auto, off = (ms.evaluate(PULL, A=A, x=sparse, semiring=ring, optimize=o) for o in ("auto", "off"))
    same(auto, off)
    kernel = ms.compile(PUSH, A=A, x=x, semiring=ring)
    assert way(kernel, A, x) == "all are read from the storage that they have"
    A.storage.values[:] = 1.0  # nothing is remembered of values
    assert way(kernel, A, x).startswith("x is read as a sparse vector")


@pytest.mark.usefixtures("whatever_can_be_cut", "one_thread_and_two")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", [0, 1, 2, 63, 1000, 300_001])
def test_one_value_that_is_not_finite_is_found_in_any_place(dtype: str, count: int) -> None:
    values = np.full(count, -np.finfo(dtype).max, dtype)  # which are finite, though their sum is not
    assert _native.are_finite(values)
    ends = {count * part // 24 + by for part in range(25) for by in range(-3, 3)}
    for number, place in enumerate(sorted(place for place in ends if 0 <= place < count)):
        values[place] = (np.inf, -np.inf, np.nan, -np.nan)[number % 4]
        assert not _native.are_finite(values), place
        values[place] = 0
    assert _native.are_finite(values)


@pytest.mark.parametrize("values", [np.ones(8)[::2], np.ones(8, "f2"), np.ones(8, "i8"), np.ones(8, "c16")])
def test_values_that_are_no_plain_numbers_are_refused(values: np.ndarray[Any, Any]) -> None:
    with pytest.raises(ValueError, match="expected contiguous and aligned values of f32 or f64"):
        _native.are_finite(values)


def test_elements_that_are_not_numbers_count() -> None:
    A, x = ms.tensor(matrix("f8"), "CSR"), frontier(2, "f8")
    x[7], x[8] = np.nan, -0.0
    auto, off = (ms.evaluate(PUSH, A=A, x=x, optimize=o) for o in ("auto", "off"))
    same(auto, off)


@pytest.mark.parametrize(
    ("text", "others"),
    [
        ("y(j) = d * A(i,j) * x(i) * w(i) + t", {"d": 0.5, "w": np.arange(N) + 1.0, "t": 0.25}),
        ("y(j) = b(j) - A(i,j) * x(i)", {"b": np.arange(N) + 1.0}),
        ("y(j) += A(i,j) * x(i)", {"y": np.arange(N) + 1.0}),
        ("y(j) = A(i,j) * x(i) + A(j,i) * x(i)", {}),
        ("y(j) = A(i,j) * x(i) / w(i)", {"w": np.arange(N) * 1.0}),
        ("y(j) = A(i,j) * exp(x(i))", {}),
        ("y(j) max= A(i,j) * x(i)", {"y": np.arange(N) - 9.0}),
        ("y(i,j) = A(i,j) * x(i)", {}),
        ("y(j) = sum(i : A(i,j) * x(i)) * sum(k : B(j,k) * z(k))", {"B": ms.tensor(matrix("f8"), "CSR")}),
    ],
)
def test_other_statements(text: str, others: dict[str, Any]) -> None:
    for storage in ("CSR", "CSC", "DCSR", "COO"):
        given = {"A": ms.tensor(matrix("f8"), storage), "x": frontier(2, "f8"), **others}
        if "z" in text:
            given["z"] = ms.tensor(frontier(30, "f8"), "SparseVector")
        with np.errstate(all="ignore"):
            auto, off = (ms.evaluate(text, tensors=given, optimize=o, out="dense") for o in ("auto", "off"))
        np.testing.assert_allclose(auto, off, rtol=1e-14)


@pytest.mark.parametrize("text", ["y(i) = A(i,j) * B(j,k) * x(k)", "y(i) = 2 * A(i,j) * B(j,k) * x(k)"])
def test_parts_of_rewritten_statements(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tensors = {name: ms.tensor(matrix("f8"), "CSR") for name in "ABC" if f"{name}(" in text}
    x = ms.tensor(frontier(30, "f8"), "SparseVector")
    spec = ms.compile(text, **tensors, x=x, optimize="off").spec
    facts = {name: TensorFacts(spec.type_of(name), sketch_of(value)) for name, value in {**tensors, "x": x}.items()}
    monkeypatch.setattr(NestTimes, "allow_copies", lambda *_: None)  # x would be copied at each call
    rewriting = choose_rewriting(spec.explicit, facts, always=True)
    assert rewriting is not None
    kernel = switching(ms.Kernel(replace(spec, rewriting=rewriting)))
    found = restored(vector_uses(kernel.spec), {**tensors, "x": x})
    assert (str(found) if found else "").startswith("x is read as an array, looked up at the entries of B")
    expected = x.to_numpy() * (2 if "2" in text else 1)
    for name in ("B", "A", "C"):
        expected = tensors[name].to_numpy() @ expected if name in tensors else expected
    np.testing.assert_allclose(kernel(**tensors, x=x), expected)


@pytest.mark.parametrize(
    ("text", "ring", "how"),
    [
        ("y(i) = A(i,j) * x(j) + B(i,j) * x(j)", None, "x is read as an array"),
        ("y(i) = A(i,j) * x(j) + B(i,j) * x(j)", "min_plus", "x is read as an array"),
        ("y(i) = A(i,j) * x(j) + A(j,i) * x(j)", "or_and", ""),
        ("y(i) = A(i,j) * x(j) + B(i,j) * x(j)", "any_pair", ""),
        ("y(i) = A(i,j) * x(j) + exp(x(i))", None, ""),
        ("y(i) = A(i,j) * x(j) * x(i)", None, ""),
    ],
)
def test_vectors_in_several_places(text: str, ring: str | None, how: str) -> None:
    tensors = {name: ms.tensor(matrix("f8"), "CSR") for name in "AB" if f"{name}(" in text}
    x = ms.tensor(frontier(30, "f8"), "SparseVector")
    auto, off = (ms.compile(text, **tensors, x=x, semiring=ring, out="dense", optimize=o) for o in ("auto", "off"))
    same(auto(**tensors, x=x), off(**tensors, x=x))
    assert way(auto, **tensors, x=x).startswith(how)


def test_slices_of_tensors_of_higher_rank() -> None:
    random = np.random.default_rng(3)
    cube = (random.integers(-3, 4, (N, 5, 6)) * (random.random((N, 5, 6)) < 0.2)).astype(float)
    T, x = ms.tensor(cube, "CSF"), frontier(3, "f8")
    kernel = ms.compile("y(j,k) = T(i,j,k) * x(i)", T=T, x=x, out="dense")
    assert way(kernel, T, x).startswith("x is read as a sparse vector")
    np.testing.assert_array_equal(kernel(T, x), np.einsum("ijk,i->jk", cube, x))
    z = ms.tensor(frontier(6, "f8", extent=6), "SparseVector")
    np.testing.assert_allclose(ms.evaluate("y(i,j) = T(i,j,k) * z(k)", T=T, z=z, out="dense"), cube @ z.to_numpy())


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0), (1, 1), (1, N)])
def test_extents_of_nothing_and_one(shape: tuple[int, int]) -> None:
    full = np.ones(shape)
    A = ms.tensor(full, "CSR")
    x = np.zeros(shape[0])
    np.testing.assert_array_equal(ms.evaluate(PUSH, A=A, x=x), x @ full)
    sparse = ms.tensor(np.ones(shape[1]), "SparseVector")
    np.testing.assert_array_equal(ms.evaluate(PULL, A=A, x=sparse), full @ np.ones(shape[1]))


def test_calls_in_turn_and_into_arrays() -> None:
    full, out = matrix("f8"), np.full(N, 7.0)
    A = ms.tensor(full, "CSR")
    kernel = ms.compile(PUSH, A=A, x=frontier(1, "f8"))
    for count in (1, N, 2, 2, N, 0):
        x = frontier(count, "f8")
        assert kernel(A, x, out=out) is out
        np.testing.assert_allclose(out, x @ full)
        np.testing.assert_allclose(kernel(x=x, A=A), x @ full)
    strided = frontier(4, "f8", extent=2 * N)[::2]
    strided.flags.writeable = False
    np.testing.assert_allclose(kernel(A, strided), strided @ full)
    limited = kernel.within(1, deterministic=True)  # type: ignore[attr-defined]
    assert way(limited, A, x).startswith("x is read as a sparse vector")
    np.testing.assert_allclose(limited(A, frontier(3, "f8")), frontier(3, "f8") @ full)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(kernel))(A, strided), strided @ full)


def test_saved_kernels_take_all_calls(tmp_path: Path) -> None:
    full = matrix("f8")
    A = ms.tensor(full, "CSR")
    kernel = ms.compile(PUSH, A=A, x=frontier(1, "f8"))
    kernel(A, frontier(1, "f8"))
    kernel.save(tmp_path / "push.msk")  # type: ignore[attr-defined]
    loaded = ms.load(tmp_path / "push.msk")
    for count in (1, N):
        np.testing.assert_allclose(loaded(A, frontier(count, "f8")), frontier(count, "f8") @ full)


def test_mistakes_are_those_of_the_statement_as_written() -> None:
    A = ms.tensor(matrix("f8"), "CSR")
    kernel = ms.compile(PUSH, A=A, x=frontier(1, "f8"))
    for wrong, error in [
        (np.zeros(N, np.float32), ms.DTypeError),
        (np.zeros(N + 1), ms.ExtentError),
        (np.zeros((N, 1)), ms.RankError),
        (ms.tensor(frontier(3, "f8"), "SparseVector"), ms.OperandError),
        ("x", ms.OperandError),
    ]:
        with pytest.raises(error):
            kernel(A, wrong)
    with pytest.raises(ms.OperandError):
        kernel(A.convert("CSC"), frontier(1, "f8"))
    pulling = ms.compile(PULL, A=A, x=ms.tensor(frontier(3, "f8"), "SparseVector"))
    with pytest.raises(ms.OperandError):
        pulling(A, frontier(30, "f8"))


def test_kernels_of_types_are_as_written() -> None:
    kernel = ms.compile(PUSH, A="f64[?,?] CSR", x="f64[?]")
    assert "\nvectors\n" not in kernel.explain()


@pytest.mark.parametrize("text", [PUSH, "p(j) = d * A(i,j) * x(i) + d"])
@pytest.mark.parametrize("limits", [{}, {"threads": 1}])
def test_calls_on_little_data_do_not_look(text: str, limits: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors of few elements are read as they are, by the path of a kernel that never looks; longer ones are seen."""
    monkeypatch.setattr(vector_storage, "_LEAST", 700)
    given = {"A": ms.tensor(matrix("f8"), "CSR"), "x": frontier(1, "f8")} | (
        {"d": np.float64(2)} if "d" in text else {}
    )
    kernel = ms.compile(text, **given, **limits)
    looked: list[object] = []
    for module in (switching_kernel, vector_storage):
        monkeypatch.setattr(module, "restored", lambda *found: looked.append(1) or restored(*found))
    monkeypatch.setattr(
        switching_kernel, "is_small", lambda *found: looked.append(1) or vector_storage.is_small(*found)
    )
    assert given["A"].storage.values.size + N < 700
    for round_, large in enumerate((False, True, False)):
        A = matrix("f8")
        if large:
            A[:20] = 1
        operands = given | {"A": ms.tensor(A, "CSR")}
        for call in range(3):
            looked.clear()
            found = kernel(**operands)
            np.testing.assert_allclose(found, operands.get("d", 1) * (A.T @ given["x"]) + operands.get("d", 0))
            assert bool(looked) == (large or round_ == call == 0)


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2", "f2", "i4", "f4", "i8", "u8", "f8"])
@pytest.mark.parametrize("count", [0, 1, 7, 63, 1024, 1025, 5003])
def test_places_of_what_is_not_zero(dtype: str, count: int) -> None:
    """Zeros of either sign are none; NaN, infinities and the least numbers are some; so is the last of all."""
    random = np.random.default_rng(count)
    array = np.zeros(count, dtype)
    if array.dtype.kind == "f":
        array[random.random(count) < 0.5] = -0.0
    for number in range(min(count, 9)):
        at = count - 1 if number == 0 else random.integers(count)
        array[at] = random.choice([1, np.nan, -np.inf, np.finfo(dtype).tiny]) if array.dtype.kind == "f" else 1
        if dtype == "i8":
            array[at] = np.iinfo(dtype).min
        expected = np.flatnonzero(array)
        np.testing.assert_array_equal(_native.nonzero_places(array, count), expected)
        np.testing.assert_array_equal(_native.nonzero_places(array, expected.size), expected)
        assert _native.nonzero_places(array, expected.size - 1) is None
    if not count:
        assert _native.nonzero_places(array, 0).size == 0


@pytest.mark.parametrize("array", [np.zeros(8)[::2], np.zeros(3, "c16"), np.zeros(3, ">i4")[::-1], np.array(["a"])])
def test_places_of_other_arrays_are_refused(array: np.ndarray[Any, Any]) -> None:
    with pytest.raises(ValueError, match="expected contiguous and aligned"):
        _native.nonzero_places(array, 8)
