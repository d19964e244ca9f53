"""Parts that have much more than their share of the entries, as one row may: pieces of them are computed apart.

A statement that is linear in an operand is the sum of what it is on any division of the operand's entries. So a part is
divided by stored entries, inside of rows too: each division has the part's shape, and the same kernel computes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from operator import getitem
from typing import Any

import numpy as np
from dask.base import tokenize

from mlir_sparse.dask.array_chunks import Place, chunk_futures, chunks_at_hand
from mlir_sparse.dask.kept_while import kept_while
from mlir_sparse.dask.part_facts import asked_of_parts, kept_with_parts
from mlir_sparse.dask.task_names import beside
from mlir_sparse.notation import Access, Assignment, Binary, BinaryOp, Expr, Negate, Reduce, ReduceOp, walk
from mlir_sparse.plan.composed_cuts import ComposedCut
from mlir_sparse.tensor import SparseTensor, tensor
from mlir_sparse.tensor.other_values import all_are_elements

__all__ = ["divided_parts", "is_linear"]

_HEAVY = 1.05
"""The bytes of a part that is divided, as a multiple of an equal share."""
_ROUNDS = 8


def divided_parts(cuts: ComposedCut, arrays: Mapping[str, Any]) -> tuple[str, dict[Place, list[Any]]] | None:
    """Returns the operand whose parts are divided, and for the place of each heavy chunk its divisions.

    Divisions are tensors where parts are at hand, and futures where they were persisted: those are asked their sizes,
    divided where they are, and divisions are dealt out to the workers.

    Args:
        cuts: the cuts of the statement.
        arrays: the operands by their names in the statement of a piece, in chunks as pieces are.

    Returns:
        None where no part is heavy, sizes are not known, or the statement is not linear in them.
    """
    sizes = {name: _sizes(value) for name, value in arrays.items() if is_linear(cuts.assignment, name)}
    chosen = max(sizes, key=lambda name: sum(nbytes for nbytes, _ in sizes[name].values()), default=None)
    if chosen is None or not sizes[chosen]:
        return None
    share = _share([nbytes for nbytes, _ in sizes[chosen].values()])
    counts = {
        place: min(nse, -int(-nbytes // share))
        for place, (nbytes, nse) in sizes[chosen].items()
        if nbytes > _HEAVY * share and nse > 1
    }
    if not counts:
        return None
    at_hand, futures = chunks_at_hand(arrays[chosen]), chunk_futures(arrays[chosen])
    found, dealt = dict[Place, list[Any]](), 0
    for place, count in counts.items():
        own = _divided(at_hand[place], count) if at_hand else _divided_elsewhere(futures[place], count, dealt)
        if own:
            found[place] = own
            dealt += count
    return (chosen, found) if found else None


def _sizes(value: Any) -> dict[Place, tuple[int, int]]:
    """Returns the bytes and the entries of an array's chunks by their places; nothing where they are not known."""
    at_hand = chunks_at_hand(value)
    return {place: _size(part) for place, part in at_hand.items()} if at_hand else asked_of_parts(value, _size) or {}


def _size(part: SparseTensor) -> tuple[int, int]:
    return part.nbytes, part.nse


def _share(sizes: Sequence[int]) -> float:
    """Returns the mean size of pieces, those that heavy parts are divided into counted as several."""
    share = sum(sizes) / len(sizes)
    for _ in range(_ROUNDS):
        share = sum(sizes) / sum(max(1, round(size / share)) for size in sizes) if share else 1.0
    return share


def is_linear(statement: Assignment, name: str) -> bool:
    """Returns whether a statement is the sum of what it is on any division of an operand's entries.

    >>> from mlir_sparse.notation import parse
    >>> is_linear(parse("y(i) = 2 * A(i,j) * x(j)"), "A"), is_linear(parse("y(i) = A(i,j) * x(j) + b(i)"), "A")
    (True, False)
    """
    return not statement.op.reads_target and not statement.exists and _linear(statement.value, name)


def _linear(node: Expr, name: str) -> bool:
    match node:
        case Access():
            return node.tensor == name and not any(isinstance(one, Access) for one in node.subscripts)
        case Reduce(ReduceOp.SUM, _, body) | Negate(body):
            return _linear(body, name)
        case Binary(BinaryOp.ADD | BinaryOp.SUB, left, right):
            return _linear(left, name) and _linear(right, name)
        case Binary(BinaryOp.MUL, left, right) if _reads(left, name) != _reads(right, name):
            return _linear(left if _reads(left, name) else right, name)
        case Binary(BinaryOp.DIV, left, right):
            return not _reads(right, name) and _linear(left, name)
        case _:
            return False


def _reads(node: Expr, name: str) -> bool:
    return any(isinstance(one, Access) and one.tensor == name for one in walk(node))


def _divided(part: SparseTensor, count: int) -> list[SparseTensor]:
    """Returns a part's divisions, on its own values; none where those were copies, as of blocks with padding.

    A program that changes values in place sees the other parts change: a copy would keep what it was made of.
    """

    def made() -> list[SparseTensor]:
        found = _division(part, count)
        shared = all(np.shares_memory(one.storage.values, part.storage.values) for one in found)
        return found if shared else []

    return kept_while((part,), ("divisions", count), made)


def _division(part: SparseTensor, count: int) -> list[SparseTensor]:
    """Returns tensors of a part's shape with equal shares of its entries; they share its values if that can be."""
    coordinates, values = part.to_coo()
    shared = not part.storage.view and all_are_elements(part)
    made = list[SparseTensor]()
    for low, high in pairwise(np.linspace(0, len(values), count + 1).astype(np.int64).tolist()):
        numbers = np.arange(low, high)
        one = tensor((coordinates[:, low:high], numbers), part.encoding, shape=part.shape)
        if shared and np.array_equal(one.storage.values, numbers):  # packing kept the order of the entries
            made.append(one.with_values(part.storage.values[low:high]))
        else:
            made.append(tensor((coordinates[:, low:high], values[low:high]), part.encoding, shape=part.shape))
    return made


def _divided_elsewhere(part: Any, count: int, first: int) -> list[Any] | None:
    """Returns futures of a persisted part's divisions, dealt out to the workers from a number on."""

    def made(client: Any) -> list[Any]:
        label = f"division-{tokenize(part.key, count)}"
        whole = client.submit(_division, part, count, key=beside(label, "all"))
        workers = sorted(client.nthreads())
        return [
            client.submit(
                _itself,
                client.submit(getitem, whole, at, key=(beside(label, "one"), at)),
                key=(label, at),
                workers=[workers[(first + at) % len(workers)]],
                allow_other_workers=True,
            )
            for at in range(count)
        ]

    return kept_with_parts([part], ("divisions", count), made)


def _itself(value: SparseTensor) -> SparseTensor:
    return value
