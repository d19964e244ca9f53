"""Level space: the buffers of a tensor, viewed as a plain tensor with a dimension for each level.

The dialect lacks some maps of dimensions (skews, slots, nested blocks). In level space the map is the identity. A
kernel reads the plain tensor, and replaces each dimension of the original by its expression over levels. For DIA of an
s0 by s1 matrix, `y(i) = A(i,j) * x(j)` becomes `y(l1) = L(l0,l1) * x(l0 + l1 - s0 + 1)`.

Coordinates of MLIR's tensors start at 0, but those of a level may not: `j - i` starts at 1 - s0. Each view has the
offset to add.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from mlir_sparse.affine import AffineExpr, AffineMap, Constant, Dim, add
from mlir_sparse.affine.form_bounds import Bounds, bounds_of, scale
from mlir_sparse.affine.integer_form import form_of
from mlir_sparse.classes import dataclass
from mlir_sparse.encoding.level_bounds import level_bounds
from mlir_sparse.encoding.level_format import LevelFormat
from mlir_sparse.encoding.level_map import LevelSpec
from mlir_sparse.encoding.level_maps import slots_of
from mlir_sparse.encoding.level_type import LevelType
from mlir_sparse.encoding.levels.plain_levels import Buffer
from mlir_sparse.errors import EncodingError, UnsupportedError

if TYPE_CHECKING:  # encoding_value imports this module
    from mlir_sparse.encoding.encoding_value import Encoding

__all__ = ["LevelSpace", "LevelView", "level_space"]

_ZERO = Constant(0)


@dataclass(frozen=True, slots=True)
class LevelView:
    """A dimension of level space.

    Args:
        source: the level of the original encoding that it views.
        type: its level type in the plain tensor.
        offset: the number to add to the level's coordinates; symbol d is the size of dimension d.
        size: the extent, likewise; None where only the storage decides it (slots, hash tables).
        positions: the origin of its positions.
        coordinates: the origin of its coordinates.
    """

    source: int
    type: LevelType
    offset: AffineExpr = _ZERO
    size: AffineExpr | None = None
    positions: Buffer = Buffer.NONE
    coordinates: Buffer = Buffer.NONE


@dataclass(frozen=True, slots=True)
class LevelSpace:
    """A plain view of an encoding, with a dimension for each level.

    Args:
        encoding: the plain encoding: identity map, native.
        views: its dimensions.
        lvl_to_dim: each dimension of the original over those of level space; symbol d is its size.
        dim_bounds: the bounds of these expressions. Outside `[0, s_d)` is padding: it holds zeros, and other operands
            must be padded that far.

    >>> from mlir_sparse.encoding import encoding
    >>> dia = encoding("(i, j) -> (j - i : compressed, i : range)").level_space()
    >>> print(dia.encoding.map_text())
    (l0, i) -> (l0 : compressed, i : dense)
    >>> print(dia.lvl_to_dim)
    (d0, d1)[s0, s1] -> (d1, d0 + d1 - s0 + 1)
    """

    encoding: Encoding
    views: tuple[LevelView, ...]
    lvl_to_dim: AffineMap
    dim_bounds: tuple[Bounds, ...]

    @property
    def has_derived_buffers(self) -> bool:
        """Returns whether some buffer has to be computed: it is neither stored nor a shifted copy."""
        return any(Buffer.DERIVED in (view.positions, view.coordinates) for view in self.views)

    def shape(self, shape: Sequence[int], widths: Sequence[int] = ()) -> tuple[int, ...]:
        """Returns the extents of the plain tensor.

        Args:
            shape: the extents of the original.
            widths: the extents that only the storage decides, in the order of the views.

        >>> from mlir_sparse.encoding import encoding
        >>> encoding("(i, j) -> (j - i : compressed, i : range)").level_space().shape((4, 6))
        (9, 4)
        """
        rest = iter(widths)
        return tuple(max(0, v.size.evaluate((), shape)) if v.size is not None else next(rest) for v in self.views)

    def offsets(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Returns the number to add to the coordinates of each level, for a tensor's shape.

        >>> from mlir_sparse.encoding import encoding
        >>> encoding("(i, j) -> (j - i : compressed, i : range)").level_space().offsets((4, 6))
        (3, 0)
        """
        return tuple(view.offset.evaluate((), shape) for view in self.views)


def level_space(encoding: Encoding) -> LevelSpace:
    """Returns the plain view of an encoding; see `Encoding.level_space`.

    - `range` is dense, with zeros outside the interval. With bounds it is compressed: its positions are sums of the
    lengths unless they are stored, and its coordinates are written out.
    - `offset` has no dimension: it stores nothing.
    - A singleton below anything but a compressed level is loose_compressed: positions `[p, p + 1]`
      below parent p, or `[p, p]` where its coordinate is -1.
    - `hashed` is a dense level of the table's slots, and below it such a singleton.
    """
    if encoding.has_slices:
        raise UnsupportedError(f"expected the encoding of a whole tensor, but got slices in {encoding.map_text()}")
    try:
        lvl_to_dim = encoding.lvl_to_dim
    except EncodingError as error:
        raise UnsupportedError(f"expected a map with an inverse, but {error.message}") from None
    views, back, bounds = _geometry(encoding.levels, encoding.dim_rank, lvl_to_dim)
    names: list[str] = []
    for at, view in enumerate(views):
        is_table = at + 1 < len(views) and views[at + 1].source == view.source
        names.append(_name(encoding, view.source, is_table, names))
    plain = replace(
        encoding,
        dim_names=tuple(names),
        levels=tuple(LevelSpec(Dim(at), view.type) for at, view in enumerate(views)),
        lvl_to_dim_given=None,
        symbol_names=(),
        preset=None,
    )
    return LevelSpace(plain, views, back, bounds)


@lru_cache(maxsize=1024)  # each call of a kernel needs it
def _geometry(
    levels: tuple[LevelSpec, ...], dim_rank: int, lvl_to_dim: AffineMap
) -> tuple[tuple[LevelView, ...], AffineMap, tuple[Bounds, ...]]:
    """Returns the parts of a level space that depend on neither names nor widths."""
    views = tuple(_views(levels))
    return views, _shifted(len(levels), dim_rank, lvl_to_dim, views), _dim_bounds(levels, lvl_to_dim)


def _views(levels: Sequence[LevelSpec]) -> Iterator[LevelView]:
    above: LevelType | None = None
    is_above_native = True
    for lvl, level in enumerate(levels):
        views = _view(lvl, level, above, is_above_native)
        yield from views
        if views:
            above = views[-1].type
            is_above_native = level.type == above


def _view(lvl: int, level: LevelSpec, above: LevelType | None, is_above_native: bool) -> list[LevelView]:
    kind, bounds = level.type, level_bounds(level)
    low, high = bounds or (_ZERO, None)
    offset = scale(low, -1)
    size = None if high is None else add(high, offset)
    stored = Buffer.STORED if offset == _ZERO else Buffer.SHIFTED
    plain_levels = kind.functions.plain_levels(kind, above, is_above_native=is_above_native)
    if plain_levels is None:
        positions = Buffer.STORED if kind.has_positions else Buffer.NONE
        return [LevelView(lvl, kind, offset, size, positions, stored if kind.has_coordinates else Buffer.NONE)]
    views = []
    for plain in plain_levels:
        view = LevelView(lvl, LevelType(LevelFormat(plain.format), plain.properties), positions=plain.positions)
        if not plain.is_table:
            coordinates = stored if plain.coordinates is Buffer.STORED else plain.coordinates
            view = replace(view, offset=offset, size=size, coordinates=coordinates)
        views.append(view)
    return views


def _name(encoding: Encoding, lvl: int, is_table: bool, taken: Sequence[str]) -> str:
    """Returns the name of a level's dimension in level space."""
    level = encoding.levels[lvl]
    name = level.name or f"l{lvl}"
    if isinstance(level.expr, Dim):
        name = encoding.dim_names[level.expr.position]
    elif slots_of(level):
        name = encoding.symbol_names[level.expr.symbols()[0]]
    name = f"{name}_slot" if is_table else name
    while name in taken:
        name += "_"
    return name


def _shifted(lvl_rank: int, dim_rank: int, lvl_to_dim: AffineMap, views: Sequence[LevelView]) -> AffineMap:
    """Returns the inverse map over the dimensions of level space, whose coordinates start at 0."""
    # The last view of a level has its coordinate; a view before it has the slots of a table.
    at = {view.source: place for place, view in enumerate(views)}
    levels = tuple(Dim(at.get(lvl, 0)) for lvl in range(lvl_rank))
    results = []
    for expr in lvl_to_dim.results:
        form = form_of(expr)
        if form is None or not form.is_linear:
            raise UnsupportedError(f"expected dimensions that are sums of levels, but got {expr} of {lvl_to_dim}")
        moved = AffineMap(len(views), 0, levels)
        (result,) = AffineMap(lvl_rank, 0, (expr,)).compose(moved).results
        for atom, factor in form.terms:  # constants and sizes come after the levels
            assert isinstance(atom, Dim)
            result = add(result, scale(views[at[atom.position]].offset, -factor))
        results.append(result)
    return AffineMap(len(views), dim_rank, tuple(results))


def _dim_bounds(levels: Sequence[LevelSpec], lvl_to_dim: AffineMap) -> tuple[Bounds, ...]:
    ranges = [level_bounds(level) or (_ZERO, Constant(1)) for level in levels]
    found = []
    for expr in lvl_to_dim.results:
        form = form_of(expr)
        assert form is not None  # an inverse is a sum of levels, or was proved in this form
        found.append(bounds_of(form, ranges))
    return tuple(found)
