"""Which levels hold one coordinate or none for each parent, though the dialect is told that they are lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mlir_sparse.encoding import Encoding
from mlir_sparse.encoding.buffer_layout import argument_count, buffer_numbers
from mlir_sparse.encoding.levels.plain_levels import Buffer
from mlir_sparse.notation import Access
from mlir_sparse.plan import Program
from mlir_sparse.program import LevelSpaceView

__all__ = ["slots_of"]


def slots_of(operands: Sequence[Access], program: Program) -> list[int]:
    """Returns which arguments of a function are positions of such levels.

    Arguments are counted as code has them, a buffer each: of each level positions and coordinates
    where it has them, values, and the struct of sizes.

    Args:
        operands: the accesses that the function reads.
        program: whose steps say which of them are seen over their levels.
    """
    views = {step.result: step.operand for step in program.steps if isinstance(step, LevelSpaceView)}
    found: list[int] = []
    first = 0
    for access in operands:
        encoding = program.type_of(access.tensor).encoding
        if encoding is not None and access.tensor in views:
            seen = program.type_of(views[access.tensor]).encoding
            assert seen is not None
            for level in _slots(seen, encoding):
                found.append(first + buffer_numbers(encoding)[level, "positions"])
        first += argument_count(encoding)
    return found


def _slots(seen: Encoding, encoding: Encoding) -> Iterator[int]:
    """Yields the levels whose positions are made of the coordinates as they are stored."""
    # Narrow coordinates have no sign.
    if encoding.crd_width not in (0, 32, 64):
        return
    for level, view in enumerate(seen.level_space().views):
        derived = view.positions is Buffer.DERIVED and view.coordinates is Buffer.STORED
        if derived and view.type.functions.has_gaps:
            yield level
