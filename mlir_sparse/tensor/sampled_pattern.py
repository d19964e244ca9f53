"""Where a square matrix has entries, by a sample: near the diagonal or far from it, and on both sides of it or one."""

from __future__ import annotations

from mlir_sparse import _native
from mlir_sparse.encoding.derived_fact import fact_of
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.encoding.sketch import PatternSketch
from mlir_sparse.tensor.level_storage import LevelStorage

__all__ = ["is_rows", "sampled_pattern"]

# Matrices with fewer entries have no sample: estimates matter little to them, and a sample takes as long as a count.
_LEAST = 4096


def sampled_pattern(storage: LevelStorage, shape: tuple[int, ...]) -> PatternSketch | None:
    """Returns where a matrix has entries; None for one that is not square, is small, or neither CSR nor CSC.

    The same entries are looked at each time.
    """
    values = storage.values
    if len(shape) != 2 or shape[0] != shape[1] or values.size < _LEAST:
        return None
    side = _side(storage.encoding)
    if side == 0 or storage.view:
        return None
    positions, coordinates = storage.positions[-1], storage.coordinates[-1]
    assert positions is not None
    assert coordinates is not None
    mirrored, alike, shares = _native.sample_rows(positions, coordinates, values)
    if side < 0:
        shares = {-bits: share for bits, share in shares.items()}
    return PatternSketch(mirrored, shares, alike and bool(values[0] == values[0]))


@fact_of
def _side(encoding: Encoding) -> int:
    """Returns 1 for CSR, -1 for CSC, where columns are what rows are elsewhere, and 0 for other storage."""
    if not is_rows(encoding):
        return 0
    return 1 if encoding.level_order[0] == 0 else -1


@fact_of
def is_rows(encoding: Encoding) -> bool:
    """Returns whether a matrix has a compressed level of coordinates in order below a dense one."""
    kinds = encoding.level_types
    return (
        encoding.is_native
        and encoding.is_permutation
        and len(kinds) == 2
        and kinds[0].is_full
        and kinds[1].has_adjacent_lists
        and kinds[1].ordered
    )
