"""The levels of the presets: each function is a `Preset.build`, or returns one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from mlir_sparse.affine import AffineExpr, Constant, Dim, floordiv, mod
from mlir_sparse.encoding.dim_slice import DimSlice
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.encoding.level_format import LevelFormat
from mlir_sparse.encoding.level_map import LevelSpec
from mlir_sparse.encoding.level_type import LevelType
from mlir_sparse.encoding.levels.level_property import LevelProperty
from mlir_sparse.encoding.preset import PresetOptions
from mlir_sparse.errors import EncodingError

__all__ = [
    "batched_coo",
    "batched_csr",
    "blocked",
    "blocked_along",
    "blocks_in_coo",
    "coo",
    "csb",
    "dim_names",
    "hicoo",
    "mix",
    "n_of_m",
    "sliced_csr",
    "uniform",
]

Build: TypeAlias = Callable[[int, PresetOptions], Encoding]

_NAMES = ("i", "j", "k", "l", "m", "n", "p", "q")
_DEFAULT_BLOCK = 4
_DENSE = LevelType(LevelFormat.DENSE)


def dim_names(rank: int) -> tuple[str, ...]:
    """Returns the names of dimensions in presets: i, j, k, ..., or d0, d1, ... for many.

    >>> dim_names(3)
    ('i', 'j', 'k')
    """
    return _NAMES[:rank] if rank <= len(_NAMES) else tuple(f"d{d}" for d in range(rank))


def _encoding(rank: int, levels: Sequence[tuple[AffineExpr, LevelType]], slices: Sequence[DimSlice] = ()) -> Encoding:
    return Encoding(dim_names(rank), tuple(LevelSpec(expr, kind) for expr, kind in levels), tuple(slices))


def _ordered(rank: int, order: Sequence[int] | None, kinds: Sequence[LevelType]) -> Encoding:
    order = range(rank) if order is None else order
    return _encoding(rank, [(Dim(d), kind) for d, kind in zip(order, kinds, strict=True)])


def mix(*formats: str, order: Sequence[int] | None = None) -> Build:
    """Returns a format with the given level formats."""
    kinds = [LevelType(LevelFormat(f)) for f in formats]
    return lambda rank, options: _ordered(rank, options.order or order, kinds)


def uniform(level_format: str) -> Build:
    """Returns a format of any rank with one level format."""
    kind = LevelType(LevelFormat(level_format))
    return lambda rank, options: _ordered(rank, options.order, [kind] * rank)


def coo(*, soa: bool = False, ordered: bool = True, unique: bool = True, reverse: bool = False) -> Build:
    """Returns a coordinate format: one compressed level with singletons below it."""

    def build(rank: int, options: PresetOptions) -> Encoding:
        order = tuple(reversed(range(rank))) if reverse else options.order
        return _ordered(rank, order, _coo_types(rank, soa=soa, ordered=ordered, unique=unique))

    return build


def _coo_types(
    rank: int,
    first: LevelFormat = LevelFormat.COMPRESSED,
    *,
    soa: bool = False,
    ordered: bool = True,
    unique: bool = True,
) -> list[LevelType]:
    kinds = []
    for level in range(rank):
        properties = []
        # Above the last level a coordinate is repeated for each entry below it.
        if level < rank - 1 or not unique:
            properties.append(LevelProperty.NONUNIQUE)
        if not ordered:
            properties.append(LevelProperty.NONORDERED)
        if soa and level:
            properties.append(LevelProperty.SOA)
        kinds.append(LevelType(LevelFormat.SINGLETON if level else first, tuple(properties)))
    return kinds


def batched_coo(rank: int, options: PresetOptions) -> Encoding:
    """Returns a dense level over coordinate lists with gaps between them."""
    return _ordered(rank, None, [_DENSE, *_coo_types(rank - 1, LevelFormat.LOOSE_COMPRESSED)])


def batched_csr(rank: int, options: PresetOptions) -> Encoding:
    """Returns a batch level over CSR."""
    kinds = [LevelFormat.BATCH, LevelFormat.DENSE, LevelFormat.COMPRESSED]
    return _ordered(rank, None, [LevelType(f) for f in kinds])


def blocked(outer: str, last: str, *, by_column: bool = False) -> Build:
    """Returns a format of dense blocks: outer levels, the last of them sparse, then row-major blocks.

    A block size of 1 leaves its dimension unblocked: the dialect folds such levels away.
    """

    def build(rank: int, options: PresetOptions) -> Encoding:
        block = options.block or (_DEFAULT_BLOCK,) * rank
        formats = [LevelType(LevelFormat(outer))] * (rank - 1) + [LevelType(LevelFormat(last))]
        order = tuple(reversed(range(rank))) if by_column else tuple(range(rank))
        grid = [(floordiv(Dim(d), Constant(block[d])), kind) for d, kind in zip(order, formats, strict=True)]
        inside = [(mod(Dim(d), Constant(block[d])), _DENSE) for d in range(rank) if block[d] > 1]
        return _encoding(rank, grid + inside)

    return build


def csb(rank: int, options: PresetOptions) -> Encoding:
    """Returns compressed sparse blocks: a dense grid of blocks, with coordinates inside each."""
    block = options.block or (_DEFAULT_BLOCK,) * rank
    if min(block) < 2:
        raise EncodingError(f"expected blocks of at least 2 in each dimension for CSB, but got {block}")
    grid = [(floordiv(Dim(d), Constant(block[d])), _DENSE) for d in range(rank)]
    kinds = _coo_types(rank)
    return _encoding(rank, [*grid, *((mod(Dim(d), Constant(block[d])), kinds[d]) for d in range(rank))])


def hicoo(rank: int, options: PresetOptions) -> Encoding:
    """Returns hierarchical coordinates: those of blocks, and below each block those inside it.

    With block size 1 only the outer coordinates store a dimension.
    """
    grid, block = _grid_in_coo(rank, options)
    inside = [d for d in range(rank) if block[d] > 1]
    kinds = _coo_types(len(inside))
    return _encoding(rank, grid + [(mod(Dim(d), Constant(block[d])), k) for d, k in zip(inside, kinds, strict=True)])


def blocks_in_coo(rank: int, options: PresetOptions) -> Encoding:
    """Returns dense blocks with the coordinates of each (mode-generic, Baskaran et al. 2012)."""
    grid, block = _grid_in_coo(rank, options)
    return _encoding(rank, grid + [(mod(Dim(d), Constant(block[d])), _DENSE) for d in range(rank) if block[d] > 1])


def _grid_in_coo(rank: int, options: PresetOptions) -> tuple[list[tuple[AffineExpr, LevelType]], tuple[int, ...]]:
    block = options.block or (_DEFAULT_BLOCK,) * rank
    kinds = _coo_types(rank)
    return [(floordiv(Dim(d), Constant(block[d])), kinds[d]) for d in range(rank)], block


def blocked_along(dim: int) -> Build:
    """Returns a format of dense blocks along one dimension: a block is a part of a row or a column."""

    def build(rank: int, options: PresetOptions) -> Encoding:
        (size,) = options.size or (_DEFAULT_BLOCK,)
        block = tuple(size if d == dim else 1 for d in range(rank))
        return blocked("dense", "compressed")(rank, PresetOptions(block=block))

    return build


def n_of_m(rank: int, options: PresetOptions) -> Encoding:
    """Returns dense rows with n of every m entries; 2 of 4 by default."""
    n, m = options.n_m or (2, 4)
    if m < 2:
        raise EncodingError(f"expected groups of at least 2 entries, but got m = {m}")
    last = rank - 1
    outer: list[tuple[AffineExpr, LevelType]] = [(Dim(d), _DENSE) for d in range(last)]
    group = floordiv(Dim(last), Constant(m)), _DENSE
    kept = mod(Dim(last), Constant(m)), LevelType(LevelFormat.STRUCTURED, (), n, m)
    return _encoding(rank, [*outer, group, kept])


def sliced_csr(rank: int, options: PresetOptions) -> Encoding:
    """Returns CSR over a slice, whose offset, size and stride are unknown unless given."""
    slices = options.slices or (DimSlice(None, None, None),) * rank
    return _encoding(rank, [(Dim(0), _DENSE), (Dim(1), LevelType(LevelFormat.COMPRESSED))], slices)
