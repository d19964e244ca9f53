"""Tries cells, one a line of JSON on standard input, and answers with a line each.

It is a separate process, so that a cell that kills it is a result like any other.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

import mlir_sparse as ms
from dialect_tests import oracle
from dialect_tests.conforming import conforming
from dialect_tests.pieces import pieces_of
from mlir_sparse.notation import Access, walk
from support_table.cells import CONVERSIONS, KERNELS, Cell

__all__ = ["THREADS", "try_cell"]

# Each cell must be right on one thread and on two, in chunks of one entry.
THREADS = (1, 2)

# Nothing that blocks or vectors divide.
EXTENTS = {"i": 7, "j": 10, "k": 5, "l": 3}
SQUARE = {"i": 7, "j": 7, "k": 7, "l": 3}


def try_cell(cell: Cell) -> tuple[str, str]:
    """Returns the verdict on a cell, `right`, `wrong` or `refused`, and the reason."""
    try:
        found = next(filter(None, (_on_threads(cell, count) for count in THREADS)), None)
    except ms.CompileError as error:
        return "crash", str(error)
    except ms.SparseError as error:
        return "refused", f"{type(error).__name__}: {error}"
    return ("right", "") if found is None else ("wrong", found)


def _on_threads(cell: Cell, threads: int) -> str | None:
    """Runs a cell on so many threads, cut wherever it can be; returns what is wrong, or None."""
    with pieces_of(1, threads):
        found = _convert(cell) if cell.kernel in CONVERSIONS else _compute(cell)
    return None if found is None else f"on {threads} threads: {found}"


def _compute(cell: Cell) -> str | None:
    """Runs a kernel; returns what is wrong with the result, or None."""
    text, storage = KERNELS[cell.rank][cell.kernel]
    assignment = ms.parse(text)
    extents = SQUARE if "M(k,j)" in text or "Packed" in cell.preset or "Skyline" in cell.preset else EXTENTS
    dense = {name: _data(cell, name, _shape(assignment, name, extents)) for name in assignment.inputs}
    stored: dict[str, Any] = dict(dense)
    for name in set(dense) & {"A", "B"}:
        stored[name] = ms.tensor(dense[name], cell.preset)
    if "M" in dense:
        stored["M"] = ms.tensor(dense["M"], "CSR")
    result = ms.evaluate(assignment, tensors=stored, out=cell.preset if storage == "format" else storage)
    return _difference(result, oracle.evaluate(assignment, dense))


def _convert(cell: Cell) -> str | None:
    dense = _data(cell, "A", tuple(SQUARE[v] for v in "ijk"[: cell.rank]))
    first, second = CONVERSIONS[cell.kernel], cell.preset
    if cell.kernel.startswith("to"):
        first, second = second, first
    return _difference(ms.tensor(dense, first).convert(second), dense)


def _difference(result: Any, expected: Any) -> str | None:
    actual = result.to_numpy() if isinstance(result, ms.SparseTensor) else result
    try:
        oracle.assert_close(actual, expected, terms=50)
    except AssertionError as error:
        return str(error)
    return None


def _shape(assignment: ms.Assignment, name: str, extents: dict[str, int]) -> tuple[int, ...]:
    access = next(a for a in walk(assignment.value) if isinstance(a, Access) and a.tensor == name)
    return tuple(extents[index.name] for index in access.indices)


def _data(cell: Cell, name: str, shape: tuple[int, ...]) -> Any:
    """Returns data with zeros that the format can hold: n of m entries, or a triangle, where it holds no more."""
    rng = np.random.default_rng([ord(name[0]), *shape])
    dtype = ms.DType.of(cell.dtype)
    values = rng.integers(1, 6, shape) * (rng.random(shape) < 0.45)
    array = values.astype(dtype.numpy) if dtype.kind != "c" else (values + 1j * (values % 3)).astype(dtype.numpy)
    return conforming(array, cell.preset) if name in "AB" else array


def main() -> None:
    """Serves cells until the input ends."""
    for line in sys.stdin:
        verdict, reason = try_cell(Cell(**json.loads(line)))
        print(json.dumps([verdict, reason]), flush=True)


if __name__ == "__main__":
    main()
