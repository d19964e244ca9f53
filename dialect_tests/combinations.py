"""Expressions crossed with the storage of every operand and of the result.

An orthogonal array makes the cross: for each expression, every pair of two operands' storage occurs,
every pair of an operand's and the result's, and each of these choices in each element type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

import numpy as np

import mlir_sparse as ms
from dialect_tests import oracle
from dialect_tests.conforming import NARROW, conforming, narrowed
from dialect_tests.entries_oracle import Meaning, Regions, entries_of
from dialect_tests.entries_oracle import evaluate as entries_evaluate
from dialect_tests.generated import extent_classes, operands, places
from dialect_tests.kernel_cases import check_storage
from mlir_sparse.notation import Assignment, parse, reads, walk

__all__ = ["DTYPES", "EXPRESSIONS", "Combination", "combinations", "sample", "storages", "try_combination"]

Array = np.ndarray[Any, Any]

EXPRESSIONS = (
    # Kernels of the literature.
    "y(i) = A(i,j) * x(j)",
    "y(j) = A(i,j) * x(i)",
    "y(i) = b(i) - A(i,j) * x(j)",
    "y(i) = alpha * A(j,i) * x(j) + beta * z(i)",
    "C(i,j) = A(i,k) * B(k,j)",
    "C(i,j) = S(i,j) * (U(i,k) * V(k,j))",
    "C(i,j) = L(i,j) * (L(i,k) * L(k,j))",
    "C(i,j) = A(i,k) * B(k,l) * D(l,j)",
    "y(i) = A(i,j) * (B(j,k) * x(k))",
    "C(i,j) = A(i,j) + B(i,j)",
    "C(i,j) = A(i,j) * B(i,j)",
    "C(i,j) = A(i,j) + B(i,j) + D(i,j)",
    "C(i,j) = A(i,j) + A(j,i)",
    "C(j,i) = A(i,j)",
    "y(i) = A(i,j)",
    "s = A(i,j) * B(i,j)",
    "C(i,j) = T(i,j,k) * x(k)",
    "C(i,j,l) = T(i,j,k) * M(l,k)",
    "C(i,j) = T(i,k,l) * D(l,j) * E(k,j)",
    "s = T(i,j,k) * R(i,j,k)",
    "C(i,j,k) = T(i,j,k) + R(i,j,k)",
    # Nesting, powers, comparison, choice, functions.
    "C(i,j) = (A(i,j) + B(i,j)) * (A(i,j) - D(i,j)) / 2",
    "C(i,j) = A(i,j) ** 2 - A(i,j)",
    "C(i,j) = A(i,j) > B(i,j)",
    "C(i,j) = (A(i,j) != 0) & !B(i,j)",
    "C(i,j) = where(A(i,j) > 1, A(i,j), B(i,j))",
    "C(i,j) = max(A(i,j), B(i,j))",
    "C(i,j) = min(A(i,j), x(j))",
    "C(i,j) = abs(A(i,j))",
    "C(i,j) = exp(A(i,j))",
    "C(i,j) = sqrt(abs(A(i,j))) * cos(B(i,j))",
    "C(i,j) = 2 * A(i,j) - B(i,j) / (1 + x(j) * x(j))",
    # Broadcasting, the same tensor more than once, diagonals, sums as subscripts, gathers.
    "a(i) = b(i) + 1.0",
    "C(i,j) = A(i,j) + x(i)",
    "C(i,j) = u(i) * v(j)",
    "d(i) = A(i,i)",
    "C(i,j) = T(i,i,j) + A(j,i)",
    "y(i) = x(i + k) * w(k)",
    "C(i,j) = A(i + k,j + l) * W(k,l)",
    "y(i) = x(2*i + 1)",
    "C(i,j) = x(I(i,j))",
    "y(i) = A(I(i),j) * x(j)",
    # Reductions other than sums, and targets that are read.
    "y(i) *=! A(i,j)",
    "y(i) = max(j : A(i,j))",
    "y(i) = min(j : A(i,j) * x(j))",
    "y(i) = or(j : A(i,j) > 1) & and(k : B(i,k) > -3)",
    "y(i) = count(j : A(i,j))",
    "y(i) = argmax(j : A(i,j))",
    "y(i) = argmin(j : A(i,j) - B(i,j))",
    "y(i) += A(i,j) * x(j)",
    "C(i,j) += A(i,k) * B(k,j)",
    # Stored entries: functions of them, masks, operators, semirings.
    "C(i,j) = stored(exp(A(i,j)))",
    "C(i,j) = A(i,k) * B(k,j) if M(i,j)",
    "C(i,j) = A(i,j) + B(i,j) if not M(i,j)",
    "y(i) = x(i) if m(i)",
    "C(i,j) = f(A(i,j), B(i,j))",
    "C(i,j) = sq(A(i,j)) + B(i,j)",
    "y(i) = A(i,j) * x(j) in min_plus",
    "C(i,j) = A(i,k) * B(k,j) in or_and",
    "C(i,j) = A(i,k) * B(k,j) in plus_pair",
    "C(i,j) = A(i,j) + B(i,j) in max_plus",
)
DTYPES = ("f64", "i32")

# Operators that the expressions name, and what NumPy makes of their regions.
_OPERATORS = {
    "f": (ms.operator(lambda a, b: a * b + 1, name="f", left="keep"), Regions(lambda a, b: a * b + 1, lambda a: a)),
    "sq": (ms.operator(lambda a: a * a + 1, name="sq"), Regions(lambda a: a * a + 1)),
}
# What semirings mean: addition, its identity, multiplication, and the element type of results, None for the operands'.
_SEMIRINGS: dict[str, tuple[Any, float, Any, str | None]] = {
    "min_plus": (np.minimum, np.inf, np.add, None),
    "max_plus": (np.maximum, -np.inf, np.add, None),
    "or_and": (np.logical_or, 0, np.logical_and, "bool"),
    "plus_pair": (np.add, 0, lambda a, b: np.ones(np.broadcast_shapes(np.shape(a), np.shape(b)), np.int64), "i64"),
}

# How an expression is told that is about stored entries.
_MARKS = (" if ", " f(", " sq(")

# Extents that no block and no vector divides; all the same where some matrix must be square.
_EXTENTS = {"i": 7, "j": 10, "k": 5, "l": 3}
_SQUARE = 6


@dataclass(frozen=True, slots=True)
class Combination:
    """An expression with its storage.

    Args:
        text: index notation, and the semiring that it is computed in.
        storage: the storage of each operand, in the order of `inputs`; `dense` for an array.
        out: the storage of the result.
        dtype: the element type of all operands but places to gather from.
    """

    text: str
    storage: tuple[str, ...]
    out: str
    dtype: str

    @property
    def assignment(self) -> Assignment:
        """Returns the expression."""
        return _parsed(self.text)

    @property
    def semiring(self) -> str | None:
        """Returns the name of the semiring, None for arithmetic."""
        return self.text.partition(" in ")[2] or None

    def __str__(self) -> str:
        return f"{self.text} [{', '.join(self.storage)}] -> {self.out}, {self.dtype}"


def storages(rank: int) -> tuple[str, ...]:
    """Returns the names of all storage for a rank, that of an array first."""
    presets = ms.PRESETS.values()
    return ("dense", *(p.name for p in presets if rank and p.min_rank <= rank <= (p.max_rank or rank)))


def _parsed(text: str) -> Assignment:
    notation = text.partition(" in ")[0]
    return parse(notation, {name: operator for name, (operator, _) in _OPERATORS.items() if f" {name}(" in notation})


@cache
def combinations(text: str) -> tuple[Combination, ...]:
    """Returns the cross of one expression."""
    assignment = _parsed(text)
    ranks = _ranks(assignment)
    factors = [storages(ranks[name]) for name in assignment.inputs]
    rows = _orthogonal([*factors, storages(len(assignment.target.subscripts)), DTYPES])
    return tuple(Combination(text, row[:-2], row[-2], row[-1]) for row in rows)


def sample(text: str, count: int, seed: int) -> list[Combination]:
    """Returns a few combinations of one expression, the same for the same seed."""
    return Random(f"{seed} {text}").sample(combinations(text), count)


def _orthogonal(factors: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Returns rows in which every pair of values of any two factors occurs.

    Columns a, b, a + b, a + 2b ... modulo a prime take every pair of values once (Bose 1938); a
    factor with fewer values takes them in turn.
    """
    prime = next(n for n in range(max(map(len, factors)), 1000) if n > 1 and all(n % d for d in range(2, n)))
    assert len(factors) <= prime + 1
    rows: dict[tuple[str, ...], None] = {}
    for a in range(prime):
        for b in range(prime):
            columns = (a, b, *((a + step * b) % prime for step in range(1, len(factors) - 1)))
            row = tuple(factor[at % len(factor)] for factor, at in zip(factors, columns, strict=False))
            rows[row] = None
    return list(rows)


def _ranks(assignment: Assignment) -> dict[str, int]:
    found = {access.tensor: len(access.subscripts) for access in reads(assignment.value)}
    return found | {assignment.target.tensor: len(assignment.target.subscripts)}


# -- one combination ------------------------------------------------------------------------------------------


def try_combination(case: Combination) -> tuple[str, str]:
    """Returns the verdict, and why it is not `right`.

    `wrong`; `crash` of the compiler; `no room`, where the result asked for cannot hold what the expression is, and
    it was refused for that; `refused` for any other error with a name.
    """
    dense, has_room = _data(case, case.assignment)
    try:
        _compare(case, case.assignment, dense)
    except ms.CompileError as error:
        return "crash", str(error)
    except ms.StorageError as error:
        return "refused" if has_room else "no room", f"{type(error).__name__}: {error}"
    except ms.SparseError as error:
        return "refused", f"{type(error).__name__}: {error}"
    except Exception as error:  # whatever else comes out is an answer that no user may see
        return "wrong", f"{type(error).__name__}: {error}"
    return "right", ""


def _compare(case: Combination, assignment: Assignment, dense: dict[str, Array]) -> None:
    stored = _stored(case, dense)
    result = ms.evaluate(assignment, tensors=stored, out=case.out, semiring=case.semiring)
    assert isinstance(result, ms.SparseTensor) == (case.out.lower() != "dense"), type(result)
    if isinstance(result, ms.SparseTensor):
        check_storage(result)
    if _is_about_entries(case):
        wanted, zero = _expected_entries(case, assignment, stored)
        values, present = entries_of(result)
        result, expected = np.where(present, values, zero.astype(values.dtype)), wanted
    else:
        result = result.to_numpy() if isinstance(result, ms.SparseTensor) else result
        there = {n: entries_of(t).present for n, t in stored.items() if _is_stored(t)}
        expected = oracle.evaluate(assignment, dense, stored=there)
    terms = max(1, max(map(np.size, dense.values()))) * len(list(walk(assignment.value)))
    oracle.assert_close(result, expected, terms=terms)


def _stored(case: Combination, dense: Mapping[str, Array]) -> dict[str, Any]:
    storage = dict(zip(case.assignment.inputs, case.storage, strict=True))
    return {name: a if storage[name] == "dense" else ms.tensor(a, storage[name]) for name, a in dense.items()}


def _is_about_entries(case: Combination) -> bool:
    """Returns whether the result depends on what is stored, not on values alone."""
    return case.semiring is not None or any(mark in case.text for mark in _MARKS)


def _expected_entries(case: Combination, assignment: Assignment, stored: Mapping[str, Any]) -> tuple[Array, Array]:
    """Returns what the other oracle gives, and the value of what is no entry."""
    held = {
        name: value if _is_stored(value) or isinstance(value, np.ndarray) else value.to_numpy()
        for name, value in stored.items()
    }
    own = np.result_type(*(value.dtype for value in stored.values()))
    add, zero, multiply, named = _SEMIRINGS.get(case.semiring or "", (np.add, 0, np.multiply, None))
    dtype = own if named is None else ms.DType.of(named).numpy
    if dtype.kind == "i" and np.isinf(zero):
        zero = np.iinfo(dtype).max if zero > 0 else np.iinfo(dtype).min
    lift = (lambda a: a != 0) if case.semiring == "or_and" else np.asarray
    regions = {name: region for name, (_, region) in _OPERATORS.items()}
    masks = {name for name in ("M", "m") if isinstance(held.get(name), np.ndarray)}
    meaning = Meaning(add, zero, multiply, regions, lift=lift)
    return entries_evaluate(assignment, held, meaning, dtype, masks).values, np.asarray(zero)


def _is_stored(value: Any) -> bool:
    """Returns whether a tensor has entries; storage of dense levels only is an array, with one everywhere."""
    return isinstance(value, ms.SparseTensor) and not value.encoding.is_dense


def _data(case: Combination, assignment: Assignment) -> tuple[dict[str, Array], bool]:
    """Returns data that the operands' storage can hold, and the result's too where there is such data."""
    names = {*case.storage, case.out}
    square = bool(names & set(NARROW))
    leaders = extent_classes(assignment)
    extents = {name: _SQUARE if square else _EXTENTS[leader] for name, leader in leaders.items()}
    data = operands(assignment, extents, ms.DType.of(case.dtype).numpy, 0.45, seed=7)
    storage = dict(zip(assignment.inputs, case.storage, strict=True))
    data = {name: conforming(array, storage[name]) for name, array in data.items()}
    if _holds(case, assignment, data):
        return data, True
    kept = places(assignment)
    narrow = {name: array if name in kept else narrowed(array) for name, array in data.items()}
    return narrow, _holds(case, assignment, narrow)


def _holds(case: Combination, assignment: Assignment, data: dict[str, Array]) -> bool:
    """Returns whether the storage asked for can hold the result."""
    if case.out not in NARROW:
        return True
    try:
        if _is_about_entries(case):
            ms.tensor(_expected_entries(case, assignment, _stored(case, data))[0], case.out)
        else:
            ms.tensor(oracle.evaluate(assignment, data), case.out)
    except ms.StorageError:
        return False
    return True
