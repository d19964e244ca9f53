"""bool as an element type: NumPy's meaning in operators, functions and notation, whatever it came from."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import mlir_sparse as ms
from dialect_tests import oracle
from dialect_tests.as_array import as_array

UNEQUAL = np.array([0.5, 1, 0, 256, np.nan])
RANDOM = np.random.default_rng(3)
A, B = RANDOM.random((6, 6)) < 0.4, RANDOM.random((6, 6)) < 0.4
F = np.where(RANDOM.random((6, 6)) < 0.5, RANDOM.standard_normal((6, 6)) / 8, 0)
X = RANDOM.random(6) < 0.5


def assert_numpys(found: Any, expected: Any) -> None:
    got, wanted = as_array(found), np.asarray(expected)
    assert got.dtype == wanted.dtype
    np.testing.assert_array_equal(got, wanted)
    if got.dtype == np.bool_ and isinstance(found, ms.SparseTensor):
        assert found.storage.values.view(np.uint8).max(initial=0) <= 1


SOURCES: dict[str, Callable[[], Any]] = {
    "array": lambda: ms.tensor(UNEQUAL, dtype=bool),
    "astype": lambda: ms.tensor(UNEQUAL).astype(bool),
    "dense": lambda: ms.tensor(UNEQUAL, "dense", dtype="bool"),
    "list": lambda: ms.tensor(UNEQUAL.tolist(), dtype=np.bool_),
    "scipy": lambda: ms.tensor(scipy.sparse.coo_array(UNEQUAL), dtype=bool),
    "pair": lambda: ms.tensor(([np.arange(5)], UNEQUAL), dtype=bool),
    "levels": lambda: ms.SparseTensor.from_levels("dense", (5,), [None], [None], UNEQUAL, dtype=bool),
    "tensor": lambda: ms.tensor(ms.tensor(UNEQUAL), dtype=bool),
    "complex": lambda: ms.tensor(UNEQUAL * 1j, dtype=bool),
    "f16": lambda: ms.tensor(UNEQUAL.astype(np.float16)).astype(bool),
    "bf16": lambda: ms.tensor(UNEQUAL, dtype="bf16").astype(bool),
    "convert": lambda: ms.tensor(UNEQUAL, dtype=bool).convert("dense"),
}


@pytest.mark.parametrize("source", SOURCES)
def test_what_differs_from_zero_is_true(source: str) -> None:
    assert_numpys(SOURCES[source](), UNEQUAL != 0)


def test_files_are_read_as_truth(tmp_path: Path) -> None:
    ms.write(tmp_path / "a.mtx", ms.tensor(np.where(F != 0, 0.25, 0)))
    assert_numpys(ms.read(tmp_path / "a.mtx", dtype=bool), F != 0)
    ms.write(tmp_path / "b.tns", ms.tensor(A))
    assert_numpys(ms.read(tmp_path / "b.tns", dtype=bool, shape=(6, 6)), A)


def test_entries_stored_twice_are_joined_by_or() -> None:
    twice = ([[0, 0, 1, 2], [1, 1, 2, 0]], np.array([True, True, False, True]))
    expected = np.zeros((3, 3), bool)
    expected[0, 1] = expected[2, 0] = True
    for storage in ("CSR", "COO", "DIA", "BSR(2, 2)", "dense", "HashedRows"):
        assert_numpys(ms.tensor(twice, storage, shape=(3, 3)), expected)
    assert_numpys(ms.tensor(twice, "NonuniqueCOO", shape=(3, 3), sum_duplicates=False), expected)


def test_bytes_of_views_become_zeros_and_ones() -> None:
    odd = np.array([0, 2, 255, 1], np.uint8).view(np.bool_)
    for storage in ("dense", "SparseVector"):
        assert_numpys(ms.tensor(odd, storage), [False, True, True, True])


def test_bool_goes_out_as_it_came() -> None:
    tensor = ms.tensor(A)
    assert str(tensor.type).startswith("bool[?,?] ")
    assert tensor.type.mlir_text().startswith("tensor<?x?xi8")
    assert "bool[6,6]" in repr(tensor)
    assert tensor.to_scipy().dtype == np.bool_
    assert_numpys(pickle.loads(pickle.dumps(tensor)), A)
    for dtype in ("i8", "i32", "f16", "f64", "c64"):
        assert_numpys(tensor.astype(dtype), A.astype(ms.DType.of(dtype).numpy))


BINARY = (np.add, np.multiply, np.logical_and, np.logical_or, np.logical_xor, np.maximum, np.minimum, np.fmax)
BINARY += (np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.less, np.less_equal, np.greater, np.equal, np.not_equal)
BINARY += (np.true_divide, np.power, np.left_shift, np.hypot, np.floor_divide)


@pytest.mark.parametrize("ufunc", BINARY, ids=lambda ufunc: ufunc.__name__)
def test_ufuncs_of_two(ufunc: np.ufunc) -> None:
    others = [
        (ms.tensor(B, "CSC"), B),
        (B, B),
        (True, True),
        (3, 3),
        (F, F),
        (ms.tensor(F), F),
        (B.astype(np.int8),) * 2,
    ]
    for ours, theirs in others:
        with np.errstate(all="ignore"):
            try:
                expected = ufunc(A, theirs)
            except TypeError:  # such as bits of floating-point numbers
                continue
            if isinstance(expected, np.ndarray) and np.isnan(expected.astype(np.float64)).any():
                continue  # of 0 / 0 only what is stored is looked at
            assert_numpys(ufunc(ms.tensor(A), ours), expected)


@pytest.mark.parametrize(
    "name", ["absolute", "invert", "logical_not", "square", "sqrt", "exp", "floor", "isnan", "signbit", "conjugate"]
)
def test_ufuncs_of_one(name: str) -> None:
    ufunc = getattr(np, name)
    assert_numpys(ufunc(ms.tensor(A)), ufunc(A))


@pytest.mark.parametrize(("left", "right"), [(F, B), (B, F), (F, F.astype(np.float32)), (F, (F != 0).astype(np.int8))])
def test_logic_of_unlike_types(left: Any, right: Any) -> None:
    for ufunc in (np.logical_and, np.logical_or):
        assert_numpys(ufunc(ms.tensor(left), ms.tensor(right)), ufunc(left, right))


def test_differences_are_refused_as_numpy_does() -> None:
    tensor = ms.tensor(A)
    for mistake in (lambda: tensor - tensor, lambda: tensor - A, lambda: -tensor, lambda: np.sign(tensor)):
        with pytest.raises(TypeError, match="expected") as caught:
            mistake()
        assert isinstance(caught.value, ms.SparseError)
    for text in ("C(i,j) = A(i,j) - A(i,j)", "C(i,j) = -A(i,j)", "C(i,j) = 2.0 * (A(i,j) - (A(i,j) > 0))"):
        with pytest.raises(ms.DTypeError, match="expected numbers for `-`, but got truth values in"):
            ms.evaluate(text, A=tensor)


def test_reductions() -> None:
    tensor = ms.tensor(A)
    for axis in (None, 0, 1):
        for name in ("sum", "prod", "max", "min", "any", "all", "mean", "argmax", "argmin"):
            assert_numpys(getattr(tensor, name)(axis=axis), getattr(A, name)(axis=axis))
        assert_numpys(np.count_nonzero(tensor, axis=axis), np.count_nonzero(A, axis=axis))
    np.testing.assert_allclose(np.linalg.norm(tensor), np.linalg.norm(A))
    cube = RANDOM.random((3, 4, 5)) < 0.4
    assert_numpys(ms.tensor(cube).sum(axis=1), cube.sum(axis=1))


def test_products_are_whether_any_holds() -> None:
    for storage in ("CSR", "CSC", "COO", "BSR(2, 2)", "dense"):
        left, right = ms.tensor(A, storage), ms.tensor(B, storage)
        assert_numpys(left @ right, A @ B)
        assert_numpys(left @ X, A @ X)
        assert_numpys(X @ left, X @ A)
        assert_numpys(ms.einsum("ij,jk,k->i", left, right, X), np.einsum("ij,jk,k->i", A, B, X))
        assert_numpys(ms.einsum("ij->j", left), np.einsum("ij->j", A))
        assert_numpys(left @ F, A @ F)
        assert_numpys(ms.einsum("ij,k->k", left, F[0]), np.einsum("ij,k->k", A.astype(np.float64), F[0]))
    many = np.ones((1, 300), bool)  # as many as no byte counts
    assert_numpys(ms.tensor(many) @ many.T, many @ many.T)
    assert_numpys(np.tensordot(ms.tensor(A), B, 2), np.tensordot(A, B, 2))


def test_conditions_index() -> None:
    tensor = ms.tensor(F)
    condition = tensor > 0.1
    assert_numpys(F[condition.to_numpy()], F[F > 0.1])
    assert_numpys(tensor[condition], F[F > 0.1])
    assert_numpys((condition & ~(tensor < 0.2)) | (tensor == 0), ((F > 0.1) & ~(F < 0.2)) | (F == 0))
    with pytest.raises(ms.OperandError, match=r"expected a mask \(bool, .*\) as index, but got a tensor of int8"):
        tensor[condition.astype(np.int8)]


@pytest.mark.parametrize(
    "text",
    [
        "C(i,j) = A(i,j) + B(i,j) + F(i,j)",
        "C(i,j) = (A(i,j) + B(i,j)) * F(i,j)",
        "C(i,j) = A(i,j) * B(i,j) + x(j)",
        "C(i,j) = max(A(i,j), B(i,j)) + 1",
        "C(i,j) = invert(A(i,j)) + 0 * F(i,j)",
        "C(i,j) = bitwise_xor(A(i,j), B(i,j)) / 2",
        "C(i,j) = where(A(i,j), B(i,j), x(j)) + 2",
        "C(i,j) = A(i,j) ** B(i,j)",
        "C(i,j) = A(i,j) / 4",
        "C(i,j) = 3 * (A(i,j) > B(i,j)) + A(i,j)",
        "y(i) = A(i,j) * x(j)",
        "y(i) = A(i,j) + x(i)",
        "y(i) = max(j : A(i,j)) + min(j : A(i,j))",
        "y(i) = prod(j : A(i,j) + B(i,j))",
        "y(i) = sum(j : A(i,j) + B(i,j)) * x(i)",
        "y(i) = argmax(j : A(i,j))",
        "y(i) max=! A(i,j)",
        "y(i) *=! A(i,j) + B(i,j)",
        "y(i) or=! A(i,j) * F(i,j)",
        "z(i) += A(i,j)",
        "z(i) += x(i)",
        "z(i) max= A(i,j)",
        "z(i) min= A(i,j)",
        "z(i) *= x(i)",
        "s = A(i,j) * B(i,j)",
    ],
)
@pytest.mark.parametrize("storage", ["CSR", "COO", "dense"])
def test_notation_computes_truth_as_numpy(text: str, storage: str) -> None:
    data = {"A": A, "B": B, "F": F, "x": X, "z": A[0]}
    data = {name: data[name] for name in ms.parse(text).inputs}
    stored = {name: ms.tensor(array, storage) if array.ndim == 2 else array for name, array in data.items()}
    expected = oracle.evaluate(text, data)
    oracle.assert_close(as_array(ms.evaluate(text, tensors=stored)), expected, terms=12)


def test_results_are_written_in_place() -> None:
    out, tensor = np.ones(6, bool), ms.tensor(A)
    kernel = ms.compile("y(i) = or(j : A(i,j) & x(j))", A="bool[?,?] CSR", x="bool[?]")
    assert str(kernel.output) == "bool[?]"
    assert kernel(tensor, X, out=out) is out
    assert_numpys(out, A @ X)
    with pytest.raises(ms.DTypeError, match="expected out of dtype bool, but got int8"):
        kernel(tensor, X, out=np.ones(6, np.int8))
    with pytest.raises(ms.DTypeError, match="expected bool for x, but got i8"):
        kernel(tensor, X.astype(np.int8))
    both = ms.compile("C(i,j) = A(i,j) & B(i,j)", A=tensor, B=tensor)
    assert_numpys(both.compute(tensor, tensor, out=both.assemble(tensor, tensor)), A)


def test_kernels_are_saved_and_loaded(tmp_path: Path) -> None:
    kernel = ms.compile("y(i) = A(i,j) + x(i)", A=ms.tensor(A), x=X)
    expected = kernel(ms.tensor(A), X)
    kernel.save(tmp_path / "k.msk")
    assert_numpys(ms.load(tmp_path / "k.msk")(ms.tensor(A), X), expected)


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.int32, np.float64])
def test_what_or_and_gives(dtype: Any) -> None:
    """Logic of i8 stays i8, so that those who keep truth values as such have one type; all else gives bool."""
    adjacency, frontier = ms.tensor(A.astype(dtype)), X.astype(dtype)
    found = ms.evaluate("y(j) = A(i,j) * x(i)", A=adjacency, x=frontier, semiring="or_and")
    assert_numpys(found, (X @ A).astype(np.int8 if dtype is np.int8 else np.bool_))
    assert ms.evaluate("y(i) = x(i) > 0", x=frontier).dtype == np.bool_
    counted = ms.evaluate("C(i,j) = A(i,k) * A(k,j) if A(i,j)", A=adjacency, semiring="plus_pair")
    assert_numpys(counted, (A.astype(int) @ A.astype(int)) * A)


@pytest.mark.parametrize("text", ["y(i) = 2 * x(i)", "y(i) = x(i) * 1", "y(i) = x(i) * x(i)"])
@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.int32])
def test_numbers_in_logic_are_of_the_type_beside_them(text: str, dtype: Any) -> None:
    found = ms.evaluate(text, x=X.astype(dtype), semiring="or_and")
    assert_numpys(found, X.astype(np.int8 if dtype is np.int8 else np.bool_))


@pytest.mark.parametrize("text", ["y(i) = A(i,j) * x(j)", "y(i) = x(i)", "y(i) += x(i)"])
def test_numbers_are_no_truth_values(text: str) -> None:
    types = {name: {"A": "f64[?,?] CSR", "x": "f64[?]", "y": "bool[?]"}[name] for name in ms.parse(text).inputs}
    with pytest.raises(
        ms.DTypeError, match=r"expected truth values for y\(i\), whose type is bool, but got f64: compare"
    ):
        ms.compile(text, tensors=types, out=ms.TensorType.parse("bool[?]"))


def test_the_ir_says_what_is_done() -> None:
    kernel = ms.compile("C(i,j) = A(i,j) + B(i,j)", A="bool[?,?] CSR", B="bool[?,?] CSR")
    assert kernel.explain().splitlines()[0] == "C(i,j) = A(i,j) | B(i,j)"
    assert "i1>" not in kernel.ir("linalg")
    assert "tensor<?x?xi8, #sparse>" in kernel.ir("linalg")
