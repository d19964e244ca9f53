"""What is taken as an array of numbers, and what strangers bring that is none: refused at once, with the way out.

The classes stand in for those of other libraries and behave as these do: networkx' graphs and JAX'
sparse arrays iterate, pydata's raise their own error, pint answers for NumPy's protocols under any name.
"""

from __future__ import annotations

import array
import collections
import ctypes
import fractions
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse.tensor.borders.dense_arrays import array_of, is_array_source

EYE = np.eye(3)


class Graph:
    """Iterates over the names of its nodes, which are numbers, as networkx' graphs do."""

    __module__ = "networkx.classes.graph"

    def __len__(self) -> int:
        return 3

    def __iter__(self) -> Iterator[int]:
        return iter(range(3))

    def __getitem__(self, node: int) -> dict[int, Any]:
        return {node: {}}


class Slow:
    """Gives one element after the other, each at a cost, as JAX' BCOO does; its length has no end."""

    __module__ = "jax.experimental.sparse.bcoo"
    nse, shape, dtype, ndim = 9, (10**6,), EYE.dtype, 1
    given = 0

    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, at: int) -> float:
        Slow.given += 1
        assert Slow.given < 10, "its elements are asked for"
        return 1.0


class Refusing:
    """Refuses to be made dense by an error of its own, as pydata's COO does."""

    __module__ = "sparse.numba_backend._coo.core"
    nnz = 3

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise RuntimeError("cannot convert a sparse array to dense automatically")


class Measured:
    """Has a unit, and answers for its magnitude under every name of NumPy's protocols, as pint's quantities do."""

    units = "m"

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return "in metres"

    def __radd__(self, other: Any) -> Any:
        return "in metres"

    def __getattr__(self, name: str) -> Any:
        return getattr(EYE, name)


class Subclass(np.ndarray[Any, Any]):
    """Gives NumPy's functions another meaning, as astropy's quantities do."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return NotImplemented


class Failing:
    """Has an array protocol that fails by an error of its own."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise KeyError("no column of numbers")


def _itself() -> list[Any]:
    found: list[Any] = []
    found += [found, found]
    return found


STRANGERS: dict[str, tuple[Callable[[], Any], str]] = {
    "graph": (Graph, r"Graph of networkx: pass networkx\.to_scipy_sparse_array\(x\)"),
    "graphs": (lambda: [Graph(), Graph()], "list that holds Graph of networkx: pass networkx"),
    "slow": (Slow, r"Slow of jax: pass jax\.experimental\.sparse\.BCOO\.fromdense\(x\.todense\(\)\)"),
    "refusing": (Refusing, r"Refusing of sparse: pass x\.to_scipy_sparse\(\)"),
    "quantity": (Measured, r"Measured, which means more than its numbers: pass numpy\.asarray\(x\)"),
    "subclass": (lambda: EYE.view(Subclass), "Subclass, which means more than its numbers"),
    "masked": (lambda: np.ma.masked_array(EYE, EYE > 0), r"MaskedArray of numpy: pass x\.filled\(0\)"),
    "masked rows": (lambda: [np.ma.masked_array(EYE[0], EYE[0] > 0)], "list that holds MaskedArray"),
    "failing": (Failing, "Failing: 'no column of numbers'"),
    "dict": (lambda: {(0, 1): 2.0}, r"dict: pass a pair \(coordinates, values\)"),
    "set": (lambda: {1, 2}, "set: pass an array or a list of its numbers"),
    "generator": (lambda: (x for x in [1, 2]), "generator: pass an array or a list"),
    "deque": (lambda: collections.deque([1.0]), "deque: pass an array or a list"),
    "bytes": (lambda: b"123", "bytes"),
    "bytearray": (lambda: bytearray(b"123"), "bytearray"),
    "strings": (lambda: ["1", "2"], "list that holds str"),
    "nothing": (lambda: [1.0, None], "list that holds NoneType"),
    "fractions": (lambda: [fractions.Fraction(1, 2)], "list that holds Fraction"),
    "objects": (lambda: np.array([1, 2], object), "ndarray of Python objects: pass numbers"),
    "ragged": (lambda: [[1, 2], [3]], "list: setting an array element with a sequence"),
    "itself": (_itself, "list nested deeper than 64"),
    "tensors": (lambda: [ms.tensor(EYE), ms.tensor(EYE)], r"list that holds SparseTensor .* numpy\.stack"),
    "class": (lambda: np.float64, "type"),
    "function": (lambda: len, "builtin_function_or_method"),
}

TENSOR = ms.tensor(EYE)

ENTRANCES: dict[str, Callable[[Any], Any]] = {
    "tensor": ms.tensor,
    "of a pair": lambda x: ms.tensor(([0, 1, 2], x)),
    "from_levels": lambda x: ms.SparseTensor.from_levels("SparseVector", (3,), [[0, 3]], [[0, 1, 2]], x),
    "positions": lambda x: ms.SparseTensor.from_levels("SparseVector", (3,), [x], [[0, 1, 2]], [1.0, 2, 3]),
    "evaluate": lambda x: ms.evaluate("y(i) = A(i,j) * x(j)", A=TENSOR, x=x),
    "compile": lambda x: ms.compile("y(i) = A(i,j) * x(j)", A=TENSOR, x=x),
    "a kernel": lambda x: ms.compile("y(i) = A(i,j) * x(j)", A=TENSOR, x="f64[?]")(TENSOR, x),
    "einsum": lambda x: ms.einsum("ij,j->i", TENSOR, x),
    "@": lambda x: TENSOR @ x,
    "left of @": lambda x: x @ TENSOR,
    "stack": lambda x: np.stack([TENSOR, x]),
    "where": lambda x: np.where(TENSOR > 0, x, 0),
    "minimum": lambda x: np.minimum(TENSOR, x),
    "index": lambda x: TENSOR[[0], x],
    "write": lambda x: ms.write("/nowhere/x.mtx", x),
}


@pytest.mark.parametrize("name", STRANGERS)
def test_strangers_are_refused_at_once(name: str) -> None:
    make, words = STRANGERS[name]
    assert not is_array_source(make()) or name in ("objects", "ragged", "failing")
    with pytest.raises(ms.SparseError, match=f"expected numbers for x, but got {words}"):
        array_of(make(), "numbers for x")


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_every_entrance_refuses_them(entrance: str) -> None:
    for name, (make, _) in STRANGERS.items():
        if entrance == "minimum" and name == "quantity":
            assert ENTRANCES[entrance](make()) == "in metres"  # its own function, which tensors are handed to
            continue
        if entrance == "compile" and name == "bytes":
            continue
        if (entrance, name) == ("left of @", "masked"):
            continue  # NumPy's own method, which asks for the tensor as an array
        with pytest.raises(ms.SparseError, match="but got"):
            ENTRANCES[entrance](make())


@pytest.mark.parametrize(
    "source",
    [
        EYE,
        EYE.T[::2],
        EYE.view(np.matrix),
        [list(row) for row in EYE],
        tuple(tuple(row) for row in EYE),
        list(EYE),
        [[np.float64(x) for x in row] for row in EYE],
        memoryview(EYE),
        [array.array("d", row) for row in EYE],
        ((ctypes.c_double * 3) * 3)((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    ],
    ids=lambda source: type(source).__name__,
)
def test_what_holds_numbers_is_taken(source: Any) -> None:
    expected = np.asarray(source)
    assert np.array_equal(array_of(source, "numbers"), expected)
    assert np.array_equal(ms.tensor(source, "CSR").to_numpy(), expected)
    assert np.array_equal(ms.evaluate("y(i,j) = x(i,j)", x=source), expected)
    assert np.array_equal(ms.tensor(EYE) @ np.asarray(source).T, expected.T)


def test_numbers_of_python() -> None:
    assert ms.tensor(range(4)).to_numpy().tolist() == [0, 1, 2, 3]
    assert ms.tensor([True, False]).to_numpy().tolist() == [1, 0]
    assert ms.tensor(([[0, 1], [1, 0]], (2.0, 3.0))).to_numpy().tolist() == [[0, 2.0], [3.0, 0]]
    assert ms.tensor(((range(2), range(2)), [2.0, 3.0])).to_numpy().tolist() == [[2.0, 0], [0, 3.0]]
    assert ms.tensor(2.0, shape=(2,)).to_numpy().tolist() == [2.0, 2.0]
    assert array_of([], "numbers").tolist() == []
    assert array_of([[], []], "numbers").shape == (2, 0)


def test_protocols_of_an_object_rather_than_its_type() -> None:
    class Holder:
        pass

    holder = Holder()
    holder.__array_interface__ = EYE.__array_interface__  # type: ignore[attr-defined]
    assert np.array_equal(ms.tensor(holder).to_numpy(), EYE)


@pytest.mark.parametrize("index", [range(2), (0, 1), [0, 1], array.array("q", [0, 1]), memoryview(np.array([0, 1]))])
def test_indices_in_any_array(index: Any) -> None:
    expected = np.arange(9.0).reshape(3, 3)
    tensor = ms.tensor(expected)
    assert np.array_equal(tensor[index, :].to_numpy(), expected[np.asarray(index), :])


class Labelled:
    """An array with names, which computes with tensors inside it, as xarray's do."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.data, dtype)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [x.data if isinstance(x, Labelled) else x for x in inputs]
        return Labelled(getattr(ufunc, method)(*plain, **options))

    def __mul__(self, other: Any) -> Any:
        return np.multiply(self, other)

    def __rmul__(self, other: Any) -> Any:
        return np.multiply(other, self)

    def __gt__(self, other: Any) -> Any:
        return np.greater(self, other)


class Undecided(Labelled):
    """An array that leaves what it does not know to others, as Dask's does."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return NotImplemented

    def __mul__(self, other: Any) -> Any:
        return NotImplemented

    def __rmul__(self, other: Any) -> Any:
        return NotImplemented


def test_arrays_with_functions_of_their_own_take_tensors_into_themselves() -> None:
    labelled = Labelled(ms.tensor(EYE))
    for found in (
        TENSOR * labelled,
        labelled * TENSOR,
        np.multiply(TENSOR, labelled),
        operator.lt(TENSOR, Labelled(2 * EYE)),
    ):
        assert isinstance(found, Labelled)
        assert np.array_equal(np.asarray(found), EYE)
    assert isinstance((TENSOR * labelled).data, ms.SparseTensor)
    assert np.array_equal(TENSOR @ Labelled(EYE), EYE)
    assert np.array_equal(ms.evaluate("y(i,j) = x(i,j)", x=Labelled(EYE)), EYE)


def test_arrays_that_leave_it_to_others_are_taken_by_position() -> None:
    other = Undecided(2 * EYE)
    for found in (TENSOR * other, other * TENSOR, np.multiply(TENSOR, other), np.multiply(other, TENSOR)):
        assert isinstance(found, ms.SparseTensor)
        assert np.array_equal(found.to_numpy(), 2 * EYE)


def test_operators_are_left_to_objects_that_have_them() -> None:
    class Model:
        def __radd__(self, other: Any) -> str:
            return "a model plus a tensor"

        def __rmatmul__(self, other: Any) -> str:
            return "a model at a tensor"

    class Closed:
        __array_ufunc__ = None

        def __rmul__(self, other: Any) -> str:
            return "closed"

    assert TENSOR + Model() == "a model plus a tensor"
    assert TENSOR @ Model() == "a model at a tensor"
    assert TENSOR * Closed() == "closed"
    assert TENSOR + Measured() == "in metres"
    for compute in (
        lambda: TENSOR * Model(),
        lambda: Model() - TENSOR,
        lambda: operator.lt(TENSOR, Graph()),
        lambda: TENSOR + None,
    ):
        with pytest.raises(ms.OperandError, match="expected an array or tensor of numbers for an operand of"):
            compute()
