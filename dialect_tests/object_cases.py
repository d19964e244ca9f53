"""Whatever Python has, where the package takes an array, a tensor, a shape, an index or a name: taken right or refused.

An object is taken where NumPy finds numbers in it, and then the same numbers are in the tensor. All else is
refused by an error of the package.
"""

from __future__ import annotations

import array
import datetime
import decimal
import fractions
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse
from hypothesis import strategies as st

import mlir_sparse as ms

__all__ = ["CALLS", "COUNT", "Case", "cases", "run"]

_D = np.array([[0.0, 2.0, 0.0], [3.0, 0.0, 4.0]])


class _Liar:
    """Says that it has elements and has none."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, at: object) -> object:
        raise IndexError(at)


class _Raises:
    """Raises whatever is asked of it."""

    def __array__(self, *arguments: object, **options: object) -> object:
        raise ZeroDivisionError

    def __index__(self) -> int:
        raise ArithmeticError

    def __iter__(self) -> object:
        raise OSError(5, "no")


class _Shaped:
    """Has a shape and an element type, and is no array."""

    shape, dtype, ndim = (3,), np.dtype("f8"), 1


class _Endless:
    def __iter__(self) -> object:
        return itertools.count()


class _Sub(np.ndarray[Any, Any]):
    pass


def _nested() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


# Each is made anew for every case, as some can be read once alone.
_OBJECTS: list[Callable[[], Any]] = [
    lambda: None, lambda: True, lambda: 3, lambda: -1, lambda: 2**70, lambda: 1.5, lambda: math.nan, lambda: math.inf,
    lambda: 1j, lambda: "abc", lambda: "CSR", lambda: "(i, j) -> (i : dense, j", lambda: "\0", lambda: b"\1\2",
    list, lambda: [[]], lambda: [[1], [2, 3]], lambda: [1, [2]], lambda: [None], lambda: [[0, 1], [1, 2]],
    lambda: (1, 2, 3), lambda: ([0], [1.0]), lambda: ([[0], [1]], [1.0]), lambda: ([[9], [9]], [1.0]), lambda: (),
    lambda: ([[0.5], [1]], [1.0]), lambda: ([[-1], [1]], [1.0]), lambda: ([[2**63], [1]], [1.0]),
    lambda: (np.zeros((2, 0), np.int64), np.zeros(0)), lambda: ([[0, 1], [1]], [1.0]), lambda: ([[0], [1]], ["a"]),
    dict, lambda: {0: 1.0}, lambda: {1, 2}, lambda: range(3), lambda: (n for n in range(3)), lambda: iter([1, 2]),
    lambda: object(), lambda: int, lambda: len, lambda: ..., lambda: slice(0, 1), lambda: slice("a", None),
    lambda: memoryview(b"abc"), lambda: bytearray(b"abc"), lambda: array.array("d", [1.0, 2.0, 3.0]),
    lambda: fractions.Fraction(1, 3), lambda: decimal.Decimal("1.5"), lambda: datetime.date(2020, 1, 1),
    _Liar, _Raises, _Shaped, _Endless, _nested, lambda: _Raises, lambda: NotImplemented, lambda: ValueError("x"),
    lambda: np.float64(2.5), lambda: np.int8(1), lambda: np.bool_(True), lambda: np.str_("a"), lambda: np.array(3.0),
    lambda: np.zeros(0), lambda: np.zeros((0, 3)), lambda: np.zeros((3, 0)), lambda: np.zeros((2, 0, 3)),
    lambda: np.arange(3.0), lambda: np.arange(3), lambda: np.arange(3, dtype=np.uint8), lambda: np.arange(3.0)[::-1],
    lambda: np.arange(3, dtype=np.uint64), lambda: np.arange(6.0)[::2], lambda: np.broadcast_to(2.0, 3),
    lambda: np.broadcast_to(1.0, (2, 3)), lambda: np.arange(3.0).astype(">f8"), lambda: np.arange(3, dtype=">i4"),
    lambda: np.ones((2, 3), ">c16"), lambda: np.ones((2, 3), np.float16), lambda: np.ones(3, np.longdouble),
    lambda: np.array([True, False, True]), lambda: np.array([1, "a", None], object), lambda: np.array(["a", "b"]),
    lambda: np.zeros(3, "M8[s]"), lambda: np.zeros(3, [("a", "f8"), ("b", "i4")]), lambda: np.zeros(3, "V5"),
    lambda: np.frombuffer(bytes(33), np.float64, 3, 3), lambda: np.ma.array([1.0, 2, 3], mask=[0, 1, 0]),
    lambda: np.matrix([[1.0, 2, 3]]), lambda: np.ones((2, 3)).view(_Sub), lambda: np.array([[[[1.0]]]]),
    lambda: np.array([math.nan, math.inf, -0.0]), lambda: np.ones((1, 1)), lambda: np.full((2, 3), -0.0),
    lambda: np.array([0, 5]), lambda: np.array([-9]), lambda: np.array([[True, False, True]] * 2),
    lambda: scipy.sparse.csr_array(_D), lambda: scipy.sparse.coo_array(_D), lambda: scipy.sparse.dia_array(_D),
    lambda: scipy.sparse.csr_matrix(_D), lambda: scipy.sparse.lil_array(_D), lambda: scipy.sparse.csr_array((0, 0)),
    lambda: scipy.sparse.bsr_array(np.ones((4, 6)), blocksize=(2, 3)), lambda: scipy.sparse.dok_array(_D),
    lambda: ms.tensor(_D), lambda: ms.tensor(_D, "COO"), lambda: ms.tensor([1.0, 0, 2]), lambda: ms.tensor(_D).storage,
    lambda: ms.encoding("CSR"), lambda: ms.tensor(_D).type, lambda: ms.tensor(_D > 1), lambda: ms.tensor(_D, "BSR"),
]  # fmt: skip


@cache
def _kernel() -> Any:
    return ms.compile("y(i) = A(i,j) * x(j)", A=ms.tensor(_D), x=np.zeros(3))


def _levels(one: Any, other: Any) -> Any:
    return ms.SparseTensor.from_levels("CSR", (2, 3), [None, one], [None, other], [1.0, 2.0, 3.0])


# Operators may say TypeError, as Python does for operands that neither side knows.
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "A @ o": lambda o, p: ms.tensor(_D) @ o,
    "o @ A": lambda o, p: o @ ms.tensor(_D),
    "A + o": lambda o, p: ms.tensor(_D) + o,
    "o * A": lambda o, p: o * ms.tensor(_D),
    "A == o": lambda o, p: ms.tensor(_D) == o,
    "A < o": lambda o, p: ms.tensor(_D) < o,
}
_CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "tensor(o, 'COO')": lambda o, p: ms.tensor(o, "COO"),
    "tensor(o, 'BSR')": lambda o, p: ms.tensor(o, "BSR"),
    "tensor(D, o)": lambda o, p: ms.tensor(_D, o),
    "tensor(D, dtype=o)": lambda o, p: ms.tensor(_D, dtype=o),
    "tensor((o, p))": lambda o, p: ms.tensor((o, p)),
    "tensor((o, [1]), shape=p)": lambda o, p: ms.tensor((o, [1.0]), shape=p),
    "tensor((p, o), shape=(2, 3))": lambda o, p: ms.tensor((p, o), shape=(2, 3)),
    "from_levels": _levels,
    "from_levels values": lambda o, p: ms.SparseTensor.from_levels("CSR", (2, 3), [None, [0, 1, 1]], [None, [2]], o),
    "from_levels shape": lambda o, p: ms.SparseTensor.from_levels("SparseVector", o, [[0, 1]], [[2]], [1.0]),
    "A[o]": lambda o, p: ms.tensor(_D)[o],
    "A[o, p]": lambda o, p: ms.tensor(_D)[o, p],
    "A.convert(o)": lambda o, p: ms.tensor(_D).convert(o),
    "A.reshape(o)": lambda o, p: ms.tensor(_D).reshape(o),
    "A.astype(o)": lambda o, p: ms.tensor(_D).astype(o),
    "A.sum(axis=o)": lambda o, p: ms.tensor(_D).sum(axis=o),
    "A.slice(o, p)": lambda o, p: ms.tensor(_D).slice(o, p),
    "encoding(o)": lambda o, p: ms.encoding(o),
    "evaluate x=o": lambda o, p: ms.evaluate("y(i) = A(i,j) * x(j)", A=ms.tensor(_D), x=o),
    "evaluate out=o": lambda o, p: ms.evaluate("C(i,j) = A(i,j) * x(j)", A=ms.tensor(_D), x=np.ones(3), out=o),
    "evaluate o": lambda o, p: ms.evaluate(o, A=ms.tensor(_D)),
    "compile A=o": lambda o, p: ms.compile("y(i) = A(i,j) * x(j)", A=o, x=p),
    "kernel(A, o)": lambda o, p: _kernel()(ms.tensor(_D), o),
    "kernel(o, p)": lambda o, p: _kernel()(o, p),
    "kernel(A, x, out=o)": lambda o, p: _kernel()(ms.tensor(_D), np.ones(3), out=o),
    "einsum(o, A)": lambda o, p: ms.einsum(o, ms.tensor(_D)),
    "einsum('ij,j->i', A, o)": lambda o, p: ms.einsum("ij,j->i", ms.tensor(_D), o),
    "np.concatenate([A, o])": lambda o, p: np.concatenate([ms.tensor(_D), o]),
    "np.where(A > 1, o, p)": lambda o, p: np.where(ms.tensor(_D) > 1, o, p),
    "np.maximum(A, o)": lambda o, p: np.maximum(ms.tensor(_D), o),
}


CALLS = ("tensor(o)", *_OPERATORS, *_CALLS)
COUNT = len(_OBJECTS)


@dataclass(frozen=True, slots=True)
class Case:
    """A call with one object or two.

    Args:
        call: its name.
        one: the number of an object.
        other: likewise.
    """

    call: str
    one: int
    other: int


def cases() -> st.SearchStrategy[Case]:
    """Returns the strategy that draws calls and objects."""
    objects = st.integers(0, COUNT - 1)
    return st.builds(Case, st.sampled_from(CALLS), objects, objects)


def run(case: Case) -> None:
    """Calls with the objects.

    Raises:
        SparseError: for objects that are refused by name.
        AssertionError: for numbers that are not those of the object.
    """
    one, other = _OBJECTS[case.one](), _OBJECTS[case.other]()
    with np.errstate(all="ignore"):
        if case.call == "tensor(o)":
            _compare(ms.tensor(one), one)
        elif case.call in _CALLS:
            _CALLS[case.call](one, other)
        else:
            _operate(case.call, one, other)


def _operate(name: str, one: Any, other: Any) -> None:
    try:
        _OPERATORS[name](one, other)
    except ms.SparseError:
        raise
    except TypeError as error:
        if not ("unsupported operand" in str(error) or "not supported" in str(error)):
            raise
    except (ZeroDivisionError, OSError, ValueError):
        if not (isinstance(one, _Raises | np.ndarray | np.generic) or scipy.sparse.issparse(one)):
            raise  # else it is of an operator of the object's own


def _compare(found: ms.SparseTensor, given: Any) -> None:
    """Compares a tensor with what NumPy makes of the object, where that is numbers."""
    if isinstance(given, tuple | ms.SparseTensor):
        return
    dense = given.toarray() if scipy.sparse.issparse(given) else np.asarray(given)
    np.testing.assert_array_equal(found.to_numpy(), dense)
