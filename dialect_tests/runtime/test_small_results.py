"""Small sparse results by one native call: the same tensors as by the calls of large ones, for any sizes in turn."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse import _native
from mlir_sparse.runtime import function_call

RNG = np.random.default_rng(5)
CASES: list[tuple[str, str, dict[str, tuple[str, str]]]] = [
    ("C(i,j) = A(i,k) * B(k,j)", "CSR", {"A": ("ik", "CSR"), "B": ("kj", "CSR")}),
    ("C(i,j) = A(i,k) * B(k,j)", "CSC", {"A": ("ik", "CSC"), "B": ("kj", "CSC")}),
    ("C(i,j) = A(i,k) * B(k,j)", "DCSR", {"A": ("ik", "DCSR"), "B": ("kj", "CSR")}),
    ("C(i,j) = A(i,j) + B(i,j)", "CSR", {"A": ("ij", "CSR"), "B": ("ij", "CSR")}),
    ("C(i,j) = A(i,j) * B(i,j)", "COO", {"A": ("ij", "COO"), "B": ("ij", "COO")}),
    ("C(i,j) = a(i) * b(j)", "CSR", {"a": ("i", "SparseVector"), "b": ("j", "SparseVector")}),
    ("y(i) = A(i,j) * x(j)", "SparseVector", {"A": ("ij", "DCSR"), "x": ("j", "dense")}),
    ("T(i,j,k) = A(i,j,k) + B(i,j,k)", "CSF", {"A": ("ijk", "CSF"), "B": ("ijk", "CSF")}),
    ("D(i,l) = A(i,j) * (B(j,k) * C(k,l))", "CSR", {"A": ("ij", "CSR"), "B": ("jk", "CSR"), "C": ("kl", "CSR")}),
]
SIZES = ((6, 0.4), (6, 0.4), (7, 0.2), (6, 0.0), (1, 1.0), (6, 1.0), (0, 0.0), (6, 0.4))


def drawn(letters: str, storage: str, size: int, share: float, dtype: str) -> tuple[Any, np.ndarray[Any, Any]]:
    shape = tuple(size + "ijkl".index(letter) * (size > 1) for letter in letters)
    dense = (RNG.integers(1, 5, shape) * (RNG.random(shape) < share)).astype(dtype)
    return (dense if storage == "dense" else ms.tensor(dense, storage)), dense


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "c16", "?"])
@pytest.mark.parametrize(("text", "out", "operands"), CASES)
def test_any_sizes_in_turn(text: str, out: str, operands: dict[str, tuple[str, str]], dtype: str) -> None:
    drawn_first = {name: drawn(*form, 4, 0.5, dtype)[0] for name, form in operands.items()}
    kernel = ms.compile(text, out=out, semiring="or_and" if dtype == "?" else None, **drawn_first)
    for size, share in SIZES:
        pairs = {name: drawn(*form, size, share, dtype) for name, form in operands.items()}
        given = {name: pair[0] for name, pair in pairs.items()}
        wanted = expected(text, {name: pair[1] for name, pair in pairs.items()})
        for _ in range(3):
            found = kernel(**given)
            assert isinstance(found, ms.SparseTensor)
            np.testing.assert_array_equal(found.to_numpy(), wanted)
            # As by the checks of the user's own buffers.
            storage = found.storage
            again = ms.SparseTensor.from_levels(
                found.encoding, found.shape, storage.positions, storage.coordinates, storage.values
            )
            np.testing.assert_array_equal(again.to_numpy(), wanted)


def expected(text: str, dense: dict[str, np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    if "+" in text:
        return dense["A"] + dense["B"]
    if text.startswith("C(i,j) = A(i,j)"):
        return dense["A"] * dense["B"]
    if text.startswith("C(i,j) = a"):
        return np.outer(dense["a"], dense["b"])
    first, *others = dense.values()
    for one in others:
        first = first @ one
    return first


def test_calls_of_the_same_sizes_take_one_native_call(monkeypatch: pytest.MonkeyPatch) -> None:
    A, _ = drawn("ii", "CSR", 8, 0.3, "f8")
    for text, given in (
        ("C(i,j) = A(i,k) * B(k,j)", {"A": A, "B": A.T.convert("CSR")}),
        ("D(i,l) = A(i,j) * (B(j,k) * A(k,l))", {"A": A, "B": A.T.convert("CSR")}),
    ):
        kernel = ms.compile(text, **given)
        first = [kernel(**given) for _ in range(3)][-1]
        with monkeypatch.context() as patched:
            patched.setattr(function_call, "assemble", lambda *_: pytest.fail("expected the short path"))
            second = kernel(**given)
        np.testing.assert_array_equal(first.to_numpy(), second.to_numpy())


def test_structure_is_read_only_and_memory_is_given_back() -> None:
    A, _ = drawn("ii", "CSR", 40, 0.1, "f8")
    kernel = ms.compile("C(i,j) = A(i,k) * A(k,j)", A=A)
    gc.collect()
    before = _native.owned_buffers()
    made = [kernel(A) for _ in range(5)]
    for one in made:
        positions, coordinates = one.storage.positions[1], one.storage.coordinates[1]
        assert positions is not None
        assert coordinates is not None
        assert not positions.flags.writeable
        assert not coordinates.flags.writeable
        assert one.storage.values.flags.writeable
        assert len(coordinates) == len(one.storage.values) == positions[-1]
    assert _native.owned_buffers() > before
    values = made[0].storage.values
    del made, one, positions, coordinates
    gc.collect()
    assert _native.owned_buffers() == before + 1  # the values are still there
    assert np.isfinite(values).all()


def test_results_with_narrow_positions_are_refused_where_they_do_not_fit() -> None:
    a = ms.tensor(np.ones(20), "SparseVector")
    narrow = "#sparse_tensor.encoding<{ map = (i, j) -> (i : dense, j : compressed), posWidth = 8, crdWidth = 8 }>"
    kernel = ms.compile("C(i,j) = a(i) * b(j)", out=narrow, a=a, b=a)
    few = ms.tensor(np.eye(1, 20)[0], "SparseVector")
    for _ in range(3):
        assert kernel(few, few).nse == 1
        with pytest.raises(ms.WidthError):
            kernel(a, a)
