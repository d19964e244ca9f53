"""The levels of an encoding as a map of dimensions: slots, offsets, and the inverse.

Two kinds of level say nothing new of the dimensions, and stay out of the inverse. An `offset` level is the sum of
levels above. A *slot* level `c * 3 * i` over a symbol c is the dialect's form of counting (`#i` in Chou et al. 2020):
the n-th entry with the same i is in slot n of 3. In `c * i` the data decide the number of slots. As `c * 1 * i`
simplifies to the same expression, one slot is `c * i : dense[0, 1]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from mlir_sparse.affine import AffineBinary, AffineExpr, AffineMap, AffineOp, Constant, Dim, Symbol
from mlir_sparse.affine.integer_form import Atom, Digit, Form, form_of
from mlir_sparse.affine.inverse import infer_inverse
from mlir_sparse.classes import dataclass
from mlir_sparse.encoding.coordinate_interval import Interval
from mlir_sparse.encoding.level_map import LevelSpec
from mlir_sparse.encoding.levels.level_functions import Brackets

__all__ = [
    "ONE_SLOT",
    "Slots",
    "holds_all",
    "independent_levels",
    "infer_lvl_to_dim",
    "inverts",
    "levels_needed",
    "outermost_block",
    "slots_of",
]


# The interval of a slot level with one slot.
ONE_SLOT = Interval(Constant(0), Constant(1))


@dataclass(frozen=True, slots=True)
class Slots:
    """The slots of a level.

    Args:
        dim: the dimension whose entries are numbered.
        width: the number of slots, or None where the data decide.
    """

    dim: int
    width: int | None


def slots_of(level: LevelSpec) -> Slots | None:
    """Returns the slots of a slot level; None for any other level.

    >>> from mlir_sparse.encoding import encoding
    >>> slots_of(encoding("[c](i, j) -> (c * 3 * i : dense, i : dense, j : singleton)").levels[0])
    Slots(dim=0, width=3)
    """
    if not level.type.functions.has_full_loop or level.type.interval not in (None, ONE_SLOT):
        return None
    match level.expr:
        case AffineBinary(AffineOp.MUL, Dim(dim), Symbol()):
            return Slots(dim, None if level.type.interval is None else 1)
        case _ if level.type.interval is not None:
            return None
        case AffineBinary(AffineOp.MUL, Dim(dim), AffineBinary(AffineOp.MUL, Symbol(), Constant(width))) if width > 0:
            return Slots(dim, width)
        case AffineBinary(AffineOp.MUL, AffineBinary(AffineOp.MUL, Dim(dim), Symbol()), Constant(width)) if width > 0:
            return Slots(dim, width)
        case _:
            return None


def independent_levels(levels: Sequence[LevelSpec]) -> list[int]:
    """Returns the levels that say something new of the dimensions: all except slots and offsets."""
    return [lvl for lvl, level in enumerate(levels) if slots_of(level) is None and not level.type.functions.is_computed]


@lru_cache(maxsize=1024)  # an encoding is verified each time one is derived from it
def infer_lvl_to_dim(dim_rank: int, levels: tuple[LevelSpec, ...]) -> AffineMap | str:
    """Returns the map from levels to dimensions, or the reason why none can be inferred."""
    kept = independent_levels(levels)
    found = infer_inverse(dim_rank, tuple(levels[lvl].expr for lvl in kept))
    if isinstance(found, str):
        return found
    back = AffineMap(len(kept), 0, found)
    onto = AffineMap(len(levels), 0, tuple(Dim(lvl) for lvl in kept))
    return back.compose(onto)


def inverts(given: AffineMap, dim_rank: int, levels: Sequence[LevelSpec]) -> bool:
    """Returns whether a map from levels to dimensions provably inverts that of the levels."""
    slots = {lvl for lvl, level in enumerate(levels) if slots_of(level) is not None}
    if any(slots & set(result.dims()) for result in given.results):
        return False
    exprs = tuple(Constant(0) if lvl in slots else level.expr for lvl, level in enumerate(levels))
    there = AffineMap(dim_rank, 0, exprs)
    return given.num_symbols == 0 and given.is_inverse_of(there)


def levels_needed(expr: AffineExpr, lvl_to_dim: AffineMap) -> tuple[int, ...]:
    """Returns the levels, ascending, whose coordinates determine an expression over dimensions.

    >>> from mlir_sparse.affine import parse_affine_map
    >>> dia = parse_affine_map("(d, i) -> (i, d + i)")
    >>> levels_needed(Dim(1), dia), levels_needed(Dim(0), dia)
    ((0, 1), (1,))
    """
    form = form_of(AffineMap(lvl_to_dim.num_results, 0, (expr,)).compose(lvl_to_dim).results[0])
    if form is None:
        return tuple(range(lvl_to_dim.num_dims))
    used = {lvl for result in lvl_to_dim.results for lvl in result.dims()}
    if form.is_linear:
        used = {atom.position for atom, _ in form.terms if isinstance(atom, Dim)}
    return tuple(sorted(used))


def holds_all(levels: Sequence[LevelSpec]) -> bool:
    """Returns whether the levels can store every set of coordinates."""
    slots = [found for level in levels if (found := slots_of(level)) is not None]
    if any(found.width is not None for found in slots):
        return False
    for lvl, level in enumerate(levels):
        is_chosen = bool(slots) or (lvl > 0 and not levels[lvl - 1].type.unique)
        if level.type.functions.is_chained and not is_chosen:
            return False  # one coordinate for each parent, and one parent for each coordinate
        if level.type.functions.is_grouped or not _is_open(level):
            return False
    return True


def _is_open(level: LevelSpec) -> bool:
    """Returns whether a level has no bounds, or bounds that the data decide."""
    interval = level.type.interval
    if interval is None:
        return True
    if level.type.functions.brackets is Brackets.NUMBERS or interval.exprs not in ((), (Constant(0),)):
        return False
    return interval.stored == 2 or interval.to_end or isinstance(level.expr, Dim)


@lru_cache(maxsize=512)  # as indices ask it again and again
def outermost_block(levels: tuple[LevelSpec, ...], dim: int) -> int | None:
    """Returns the block size of a dimension whose blocks the outermost level numbers; 1 without blocks.

    Runs of whole blocks are then stored one after another. None where other levels see where a block stands.

    >>> from mlir_sparse.encoding import encoding
    >>> [outermost_block(encoding(name).levels, 0) for name in ("CSR", "BSR(2, 3)", "COO", "CSC", "DIA")]
    [1, 2, 1, None, None]
    """
    outer, *inner = (form_of(level.expr) for level in levels)
    if outer is None or outer.constant or len(outer.terms) != 1 or outer.terms[0][1] != 1 or None in inner:
        return None
    atom, own = outer.terms[0][0], Form(((Dim(dim), 1),))
    if atom == Dim(dim):
        block = 1
    elif isinstance(atom, Digit) and atom.base == own and atom.high is None:
        block = atom.low
    else:
        return None
    seen = [one for form in inner if form is not None for one, _ in form.terms if _depends_on(one, dim)]
    inside = all(isinstance(one, Digit) and one.base == own and one.high and block % one.high == 0 for one in seen)
    return block if inside else None


def _depends_on(atom: Atom, dim: int) -> bool:
    if isinstance(atom, Dim):
        return atom.position == dim
    return any(_depends_on(inner, dim) for inner, _ in atom.base.terms)
