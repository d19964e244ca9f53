"""The kernels that must run, the storage they must take, and one way to run and judge any combination of the two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import Any

import numpy as np

import mlir_sparse as ms
from dialect_tests import crossing, oracle
from dialect_tests.generated import DTYPES, has_meaning, operands

__all__ = ["DTYPES", "EDGES", "FAMILIES", "Case", "Family", "check_case", "class_of", "covering", "edges_of"]

Array = np.ndarray[Any, Any]

# None is a dense array.
MATRIX = ("CSR", "CSC", "DCSR", "DCSC", "COO", "SoA-COO", None)
CUBE = ("CSF", "CSF(2,1,0)", "CSF(1,2,0)", "COO", "SoA-COO", "DenseCompressedCompressed", None)
VECTOR = (None, "SparseVector")
MATRIX_OUT = ("CSR", "DCSR", "COO", "CSC", "DCSC", "SoA-COO", "dense", None)
CUBE_OUT = ("CSF", "CSF(2,1,0)", "COO", "dense", None)
DENSE_OUT = ("dense",)
VECTOR_OUT = ("dense", "SparseVector")

# What tells loops apart: the order of levels, and whether they are dense; each of a class meets all other classes.
_ALIKE = ({"DCSR", "DCSC"}, {"COO", "SoA-COO"}, {"CSF", "CSF(1,2,0)"}, {"dense", None})

USUAL = {"i": 5, "j": 7, "k": 4, "l": 3}


@dataclass(frozen=True, slots=True)
class Family:
    """A kernel and every storage of its operands and result.

    Args:
        text: index notation.
        formats: the storage that each operand may have; operands left out are dense.
        outs: the storage that the result may have; None is the inferred one.
        square: whether i and j share one extent.
        pairs: whether `covering` holds every pair of a choice and a class of choices; else every single one, where
            another kernel has the pairs.
    """

    text: str
    formats: Mapping[str, tuple[str | None, ...]]
    outs: tuple[str | None, ...]
    square: bool = False
    pairs: bool = True

    @property
    def extents(self) -> dict[str, int]:
        """Returns the usual extent of each index variable, all different where the kernel allows."""
        return USUAL | ({"j": USUAL["i"]} if self.square else {})

    @property
    def factors(self) -> tuple[tuple[str | None, ...], ...]:
        """Returns the choices: the storage of each operand, then that of the result."""
        return (*self.formats.values(), self.outs)


FAMILIES = {
    "SpMV": Family("y(i) = A(i,j) * x(j)", {"A": MATRIX, "x": VECTOR}, VECTOR_OUT),
    "SpMM": Family("C(i,j) = A(i,k) * B(k,j)", {"A": MATRIX}, ("dense", "CSR")),
    "SDDMM": Family("C(i,j) = S(i,j) * A(i,k) * B(k,j)", {"S": MATRIX}, MATRIX_OUT),
    "SpGEMM": Family("C(i,j) = A(i,k) * B(k,j)", {"A": MATRIX, "B": MATRIX}, MATRIX_OUT),
    "A+B": Family("C(i,j) = A(i,j) + B(i,j)", {"A": MATRIX, "B": MATRIX}, MATRIX_OUT),
    "A+B+C": Family(
        "C(i,j) = A(i,j) + B(i,j) + D(i,j)", {"A": MATRIX, "B": MATRIX, "D": MATRIX}, MATRIX_OUT, pairs=False
    ),
    "A.*B": Family("C(i,j) = A(i,j) * B(i,j)", {"A": MATRIX, "B": MATRIX}, MATRIX_OUT),
    "A-B": Family("C(i,j) = A(i,j) - B(i,j)", {"A": MATRIX, "B": MATRIX}, MATRIX_OUT, pairs=False),
    "MatTransMul": Family(
        "y(i) = alpha * A(j,i) * x(j) + beta * z(i)", {"A": MATRIX, "x": VECTOR, "z": VECTOR}, VECTOR_OUT
    ),
    "residual": Family("y(i) = b(i) - A(i,j) * x(j)", {"A": MATRIX, "x": VECTOR, "b": VECTOR}, VECTOR_OUT),
    "A+A^T": Family("C(i,j) = A(i,j) + A(j,i)", {"A": MATRIX}, MATRIX_OUT, square=True),
    "row sums": Family("y(i) = A(i,j)", {"A": MATRIX}, VECTOR_OUT),
    "column sums": Family("y(j) = A(i,j)", {"A": MATRIX}, VECTOR_OUT),
    "total": Family("s = A(i,j)", {"A": MATRIX}, DENSE_OUT),
    "dot": Family("s = A(i,j) * B(i,j)", {"A": MATRIX, "B": MATRIX}, DENSE_OUT, pairs=False),
    "copy": Family("C(i,j) = A(i,j)", {"A": MATRIX}, MATRIX_OUT),
    "transpose": Family("C(j,i) = A(i,j)", {"A": MATRIX}, MATRIX_OUT, pairs=False),
    "TTV": Family("C(i,j) = B(i,j,k) * c(k)", {"B": CUBE, "c": VECTOR}, MATRIX_OUT),
    "TTM": Family("C(i,j,k) = B(i,j,l) * D(k,l)", {"B": CUBE, "D": (None, "CSR", "COO")}, CUBE_OUT),
    "MTTKRP": Family("C(i,j) = B(i,k,l) * D(k,j) * E(l,j)", {"B": CUBE}, ("dense", "CSR")),
    "INNERPROD": Family("s = B(i,j,k) * D(i,j,k)", {"B": CUBE, "D": CUBE}, DENSE_OUT, pairs=False),
    "3-way A+B": Family("C(i,j,k) = B(i,j,k) + D(i,j,k)", {"B": CUBE, "D": CUBE}, CUBE_OUT),
}


@dataclass(frozen=True, slots=True)
class Case:
    """One kernel with the storage of everything chosen.

    Args:
        family: the kernel's name in FAMILIES.
        formats: the storage of the operands that have a choice, in the family's order.
        out: the storage of the result.
        dtype: the element type of all operands.
    """

    family: str
    formats: tuple[str | None, ...]
    out: str | None
    dtype: np.dtype[Any] = field(default=np.dtype(np.float64))

    def __str__(self) -> str:
        return f"{self.family}-{','.join(f or 'dense' for f in self.formats)}-{self.out or 'inferred'}-{self.dtype}"


def class_of(storage: str | None) -> object:
    """Returns what tells the loops over a storage from those over others."""
    return next((number for number, names in enumerate(_ALIKE) if storage in names), storage)


@cache
def covering(name: str) -> tuple[Case, ...]:
    """Returns cases in which each choice meets each class of others (or occurs), and each element type in turn.

    The whole run takes the whole product of the choices.
    """
    family = FAMILIES[name]
    if crossing.is_whole():
        chosen = list(product(*family.factors))
    else:
        classes = [class_of] * len(family.factors)
        chosen = crossing.covering(family.factors, classes) if family.pairs else _each(family.factors)
    # Every element type must occur, even where the choices of storage are few.
    rows = chosen * -(-len(DTYPES) // len(chosen))
    start, kinds = list(FAMILIES).index(name), _types_of(name)
    return tuple(
        Case(name, row[:-1], row[-1], kinds[(start + 11 * number) % len(kinds)]) for number, row in enumerate(rows)
    )


@cache
def edges_of(name: str) -> dict[Case, tuple[str, ...]]:
    """Returns on which edges each case of `covering` runs: each choice and each element type meets every edge.

    The whole run takes them all.
    """
    cases = covering(name)
    if crossing.is_whole():
        return dict.fromkeys(cases, EDGES)
    pairs = {
        (case, edge): frozenset((at, choice, edge) for at, choice in enumerate((*case.formats, case.out, case.dtype)))
        for case in cases
        for edge in EDGES
    }
    chosen = crossing.cover(pairs)
    return {case: tuple(edge for one, edge in chosen if one == case) for case in cases}


def _types_of(name: str) -> tuple[np.dtype[Any], ...]:
    """Returns the element types that a family has a meaning in: all but bool where it subtracts."""
    return tuple(dtype for dtype in DTYPES if has_meaning(ms.parse(FAMILIES[name].text), dtype))


def _each(factors: tuple[tuple[str | None, ...], ...]) -> list[tuple[str | None, ...]]:
    """Returns rows that hold every value of each factor, shifted against each other so that few rows are all alike."""
    longest = max(map(len, factors))
    return [tuple(f[(row + 2 * number) % len(f)] for number, f in enumerate(factors)) for row in range(longest)]


EDGES = ("empty", "one entry", "full", "1-extents", "0-extents", "no rows", "no columns")


def _data_for(case: Case, variant: str) -> dict[str, Array]:
    """Returns dense data for the operands of a case: of the usual extents, or at the edge that the variant names."""
    assignment, extents = ms.parse(FAMILIES[case.family].text), dict(FAMILIES[case.family].extents)
    match variant:
        case "1-extents":
            extents = dict.fromkeys(extents, 1)
        case "0-extents":
            extents = dict.fromkeys(extents, 0)
        case "no rows":
            extents |= {"i": 0} | ({"j": 0} if FAMILIES[case.family].square else {})
        case "no columns" if not FAMILIES[case.family].square:
            extents |= {"j": 0}
        case _:
            pass
    density = {"empty": 0.0, "full": 1.0, "one entry": 0.0}.get(variant, 0.4)
    data = operands(assignment, extents, case.dtype, density, seed=7)
    if variant == "one entry":
        for array in data.values():
            array.flat[array.size // 2] = 3
    return data


def check_case(case: Case, edges: tuple[str, ...]) -> None:
    """Raises AssertionError unless the kernel gives what the oracle gives, stored as asked, inputs unchanged.

    Args:
        case: the kernel.
        edges: on which of EDGES it runs, besides the usual data.
    """
    for variant in ("usual", *edges):
        try:
            _check_variant(case, _data_for(case, variant))
        except AssertionError as error:
            raise AssertionError(f"{case}, {variant}: {error}") from None


def _check_variant(case: Case, data: dict[str, Array]) -> None:
    family = FAMILIES[case.family]
    tensors: dict[str, Any] = dict(data)
    for name, storage in zip(family.formats, case.formats, strict=True):
        if storage is not None:
            tensors[name] = ms.tensor(data[name], storage)
    before = _bytes(tensors)
    result = ms.evaluate(family.text, tensors=tensors, out=case.out)
    assert _bytes(tensors) == before, "an input changed"
    expected = oracle.evaluate(family.text, data)
    if case.out is not None:
        assert isinstance(result, ms.SparseTensor) == (case.out != "dense"), type(result)
    if isinstance(result, ms.SparseTensor):
        check_storage(result, case.out)
        result = result.to_numpy()
    oracle.assert_close(result, expected, terms=64)


def check_storage(result: ms.SparseTensor, asked: str | None = None) -> None:
    """Raises unless a result is stored as asked, by all rules of its encoding."""
    storage = result.storage
    if asked is not None:
        wanted = ms.encoding(asked, rank=result.ndim)
        assert result.encoding.with_widths(0, 0) == wanted, f"stored as {result.encoding}"
    again = ms.SparseTensor.from_levels(
        result.encoding, result.shape, storage.positions, storage.coordinates, storage.values
    )
    assert again.nse == result.nse


def _bytes(tensors: Mapping[str, Any]) -> list[bytes]:
    return [
        buffer.tobytes()
        for value in tensors.values()
        for buffer in (value.storage.buffers() if isinstance(value, ms.SparseTensor) else (value,))
    ]
