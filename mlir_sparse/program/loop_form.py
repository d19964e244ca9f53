"""What loops of sparsified code run over: as the plan expects it and as they are read."""

from __future__ import annotations

from enum import Enum

from mlir_sparse.classes import dataclass

__all__ = ["LoopForm", "NestLoops"]


class LoopForm(Enum):
    """What a loop runs over, of the forms that the sparsifier is known to write."""

    DENSE = "coordinates of a dense level"
    """An `scf.for` from 0 by 1."""
    POSITIONS = "stored entries"
    """An `scf.for` by 1 between positions, which a buffer holds or another loop found."""
    MERGE = "operands that meet"
    """An `scf.while` as long as all positions lie before the ends of their lists; runs of coordinates too."""
    SEGMENT_END = "entries with one coordinate"
    """An `scf.while` that looks for the end of a run of equal coordinates."""


@dataclass(frozen=True, slots=True)
class NestLoops:
    """The loops of a nest, as the plan expects them.

    Args:
        variables: the index variables, outermost first.
        forms: the forms of the loops at each depth, outermost first: storage may have more loops than variables.
    """

    variables: tuple[str, ...]
    forms: tuple[frozenset[LoopForm], ...]
