"""Sizes that data may have where only types are known: a plan that is best for all of them needs no data."""

from __future__ import annotations

import math
from collections.abc import Iterator

from mlir_sparse.encoding import AxisSketch, Sketch, TensorType
from mlir_sparse.notation import Access, IndexVar, reads
from mlir_sparse.plan.order.storage_choice import is_sparse
from mlir_sparse.spec import KernelSpec

__all__ = ["assumed_sketches"]

# Unknown extents: those of sparse tensors and vectors, and those that only arrays have; entries a row, and whether some
# rows have a tenth of them all. What is cheapest in each is so in between.
_SIZES = (
    (20_000, 8, 2.0, False),
    (500_000, 256, 50.0, False),
    (500_000, 8, 2.0, True),
    (20_000, 256, 50.0, True),
)


def assumed_sketches(spec: KernelSpec) -> Iterator[tuple[Sketch, ...]]:
    """Yields sketches of the operands of a statement, for each choice of sizes that its types leave open.

    Args:
        spec: the statement.
    """
    accesses = {access.tensor: access for access in reads(spec.assignment.value)}
    long = _long_variables(accesses, dict(spec.inputs))
    for many, few, degree, hubs in _SIZES:
        sketches = list[Sketch]()
        for name, kind in spec.inputs:
            subscripts = _subscripts(accesses, name, kind)
            known = [_static(spec, *pair) for pair in zip(subscripts, kind.shape, strict=True)]
            sizes = [many if subscript in long else few for subscript in subscripts]
            shape = tuple(size if given is None else given for given, size in zip(known, sizes, strict=True))
            sketches.append(_sketch(kind, shape, degree, hubs=hubs))
        yield tuple(sketches)


def _static(spec: KernelSpec, subscript: object, size: int | None) -> int | None:
    return spec.static_extents.get(subscript) if size is None and isinstance(subscript, IndexVar) else size


def _subscripts(accesses: dict[str, Access], name: str, kind: TensorType) -> tuple[object, ...]:
    found: tuple[object, ...] = accesses[name].subscripts if name in accesses else ()
    return found if len(found) == kind.rank else (None,) * kind.rank


def _long_variables(accesses: dict[str, Access], kinds: dict[str, TensorType]) -> frozenset[object]:
    """Returns the variables that sparse tensors or vectors have; those of arrays alone run over columns."""
    return frozenset(
        subscript
        for name, access in accesses.items()
        if is_sparse(kinds[name]) or len(access.subscripts) == 1
        for subscript in access.subscripts
    )


def _sketch(kind: TensorType, shape: tuple[int, ...], degree: float, *, hubs: bool) -> Sketch:
    """Returns the sketch of a tensor with so many entries in each row; with hubs, some rows have a tenth of all."""
    space = float(math.prod(shape))
    if not is_sparse(kind):
        return Sketch(shape, space)
    entries = min(space, degree * max(shape, default=1))
    axes = []
    for extent in shape:
        mean = max(1.0, entries / max(extent, 1))
        largest = max(mean, entries / 10) if hubs else math.ceil(mean)
        squares = entries * (largest / 10 if hubs else mean)
        axes.append(AxisSketch(min(float(extent), entries), largest, max(entries, squares)))
    return Sketch(shape, entries, tuple(axes))
