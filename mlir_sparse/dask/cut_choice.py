"""Which cuts of a statement on `dask.array`s move the fewest bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from math import prod
from typing import Any

import dask.array
import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.dask.array_chunks import nbytes_of
from mlir_sparse.dask.halo_parts import ends_along
from mlir_sparse.dask.image_operands import SentImage, images_sent
from mlir_sparse.errors import UnknownTensorError, UnsupportedError
from mlir_sparse.notation import Assignment, IndexVar, Semiring
from mlir_sparse.plan.composed_cuts import ComposedCut, compose
from mlir_sparse.plan.statement_cuts import StatementCut, cuts
from mlir_sparse.process.available_memory import in_units
from mlir_sparse.spec import index_ends

__all__ = ["NO_CHUNKS", "CutChoice", "chunks_wanted", "cut_choices", "extents_of"]

NO_CHUNKS = "no operand comes in chunks along it"
"""Why there is no cut along a variable that has a legal one."""

_DIMENSIONS = 3
"""Cuts along more variables at once have no use that is known: products of matrices have three."""

Bounds = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class CutChoice:
    """Cuts with the bounds of pieces along each, and the bytes that they move.

    Args:
        cuts: the cuts.
        bounds: where pieces begin along each, and the extent.
        rechunked: the bytes that cutting operands anew moves.
        whole: those that several pieces read.
        images: those of images that are sent in place of wholes.
        reduced: those of results that are combined.
        named: the operands of which images are sent, by the name of the part that names them.
        sends: the tasks that send images.
    """

    cuts: ComposedCut
    bounds: tuple[Bounds, ...]
    rechunked: int
    whole: int
    images: int
    reduced: int
    named: Mapping[str, str]
    sends: int

    @property
    def moved(self) -> int:
        """Returns the bytes that go from one task to another."""
        return self.rechunked + self.whole + self.images + self.reduced

    def __str__(self) -> str:
        shared = "read whole by every piece" if len(self.bounds) == 1 else "read by several pieces"
        parts = {"to cut operands anew": self.rechunked, shared: self.whole,
                 "of images, which pieces read in place of wholes": self.images,
                 "of results that are combined": self.reduced}  # fmt: skip
        told = ", ".join(f"{in_units(nbytes)} {what}" for what, nbytes in parts.items() if nbytes)
        count = prod(len(ends) - 1 for ends in self.bounds)
        tasks = f"{count} task{'s' * (count != 1)}"
        if self.sends:
            tasks += f" and {self.sends} that send"
        cuts = self.cuts.cuts[0].described(self.named) if len(self.bounds) == 1 else self.cuts
        return f"{cuts}\n  {tasks}, {told or 'nothing moves'}"


def cut_choices(
    statement: Assignment, operands: Mapping[str, Any], ring: Semiring, along: Sequence[str] | None
) -> tuple[list[CutChoice], list[str]]:
    """Returns the cuts from those that move the fewest bytes on, and why others are none.

    Args:
        statement: one statement.
        operands: its operands by name, some of them dask.arrays.
        ring: what `+` and `*` are.
        along: the variables to cut along, all of them at once; any by default.

    Raises:
        UnknownTensorError: for an operand that was not given.
        UnsupportedError: for a variable that the statement has not.
    """
    legal = cuts(statement, ring)
    for variable in along or ():
        if variable not in legal:
            raise UnsupportedError(
                f"expected one of the variables {', '.join(legal)} to cut along, but got {variable} for {statement}"
            )
    reasons = [f"{variable}: {cut}" for variable, cut in legal.items() if isinstance(cut, str)]
    bounds: dict[str, Bounds] = {}
    for cut in legal.values():
        if isinstance(cut, StatementCut):
            _check_given(cut, operands, statement)
            found = _bounds_along(cut, operands, extents_of(operands, statement))
            if found is None:
                reasons.append(f"{cut.variable}: {NO_CHUNKS}")
            else:
                bounds[cut.variable] = found
    choices = list[CutChoice]()
    for variables in _subsets(legal, bounds) if along is None else [_in_order(legal, along)]:
        composed = compose(statement, variables, ring) if all(one in bounds for one in variables) else ""
        if isinstance(composed, ComposedCut):
            choices.append(_choice(composed, [bounds[one] for one in variables], operands, statement))
        elif composed:
            reasons.append(f"{' and '.join(variables)}: {composed}")
    return sorted(choices, key=_order), reasons


def _order(choice: CutChoice) -> tuple[int, int, bool]:
    return choice.moved, len(choice.bounds), any(cut.axis is None for cut in choice.cuts.cuts)


def _check_given(cut: StatementCut, operands: Mapping[str, Any], statement: Assignment) -> None:
    missing = [name for name in map(cut.operand, (*cut.parts, *cut.whole)) if name not in operands]
    if missing:
        raise UnknownTensorError(f"expected data for {', '.join(missing)} in {statement}")


def _bounds_along(cut: StatementCut, operands: Mapping[str, Any], extents: Mapping[IndexVar, int]) -> Bounds | None:
    """Returns where pieces begin along a variable: as an operand's chunks do, of which there are most."""
    given = [(operands[cut.operand(name)], axis, cut.halos.get(name)) for name, axis in cut.parts.items()]
    extent = extents[IndexVar(cut.variable)]
    found = {
        ends_along(np.cumsum([0, *value.chunks[axis]]).tolist(), halo, extent): value.size
        for value, axis, halo in given
        if isinstance(value, dask.array.Array)
    }
    if not any(len(ends) > 2 for ends in found) and any(
        max(map(len, value.chunks), default=1) > 1 for value in operands.values() if isinstance(value, dask.array.Array)
    ):
        return None  # another variable has chunks
    return max(found, key=lambda ends: (len(ends), found[ends])) if found else None


def _in_order(legal: Mapping[str, StatementCut | str], variables: Sequence[str]) -> tuple[str, ...]:
    """Returns variables, those first along which results follow one another."""

    def reduced(variable: str) -> bool:
        cut = legal[variable]
        return isinstance(cut, StatementCut) and cut.axis is None

    return tuple(sorted(dict.fromkeys(variables), key=reduced))


def _subsets(legal: Mapping[str, StatementCut | str], bounds: Mapping[str, Bounds]) -> Iterator[tuple[str, ...]]:
    for count in range(1, _DIMENSIONS + 1):
        yield from combinations(_in_order(legal, list(bounds)), count)


def _choice(
    cuts: ComposedCut, bounds: Sequence[Bounds], operands: Mapping[str, Any], statement: Assignment
) -> CutChoice:
    counts = [len(ends) - 1 for ends in bounds]
    values = {name: operands[cuts.operand(name)] for name in cuts.names}
    rechunked = {
        cuts.operand(name): nbytes_of(value)
        for name, value in values.items()
        if isinstance(value, dask.array.Array)
        and any(axis is not None for axis in cuts.axes(name))
        and value.chunks != chunks_wanted(value.shape, cuts.axes(name), bounds)
    }
    sent: dict[str, SentImage] = {}
    if len(bounds) == 1 and not rechunked:
        cut = cuts.cuts[0]
        if all(isinstance(values[name], dask.array.Array) for name in cut.parts):
            sent = images_sent(cut, values)
    whole = 0
    for name, value in values.items():
        readers = [count for count, axis in zip(counts, cuts.axes(name), strict=True) if axis is None]
        if readers and name not in sent:
            whole += nbytes_of(value) * prod(readers)
    images = sum(one.nbytes(values[name]) for name, one in sent.items())
    reduced = 0
    if any(cut.axis is None for cut in cuts.cuts):
        extents = extents_of(operands, statement)
        cells = prod(extents.get(index, 1) for index in statement.target.indices)
        reduced = 8 * cells * prod(count for count, cut in zip(counts, cuts.cuts, strict=True) if cut.axis is None)
    named = {name: one.image.part for name, one in sent.items()}
    sends = sum(one.count(values[name]) for name, one in sent.items())
    return CutChoice(cuts, tuple(bounds), sum(rechunked.values()), whole, images, reduced, named, sends)


def extents_of(operands: Mapping[str, Any], statement: Assignment) -> Mapping[IndexVar, int]:
    """Returns the extent of each index variable.

    Raises:
        ExtentError: for operands that disagree, and for a subscript beyond its axis.
    """
    return index_ends(statement, {name: tuple(operands[name].shape) for name in statement.inputs}, None)


def chunks_wanted(
    shape: Sequence[int], axes: Sequence[int | None], bounds: Sequence[Bounds]
) -> tuple[tuple[int, ...], ...]:
    """Returns the chunks of an operand, given the axis of it that each cut divides."""
    own = {axis: tuple(high - low for low, high in pairwise(ends)) for axis, ends in zip(axes, bounds, strict=True)}
    return tuple(own.get(dim, (extent,)) for dim, extent in enumerate(shape))
