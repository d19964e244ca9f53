"""The storage that the sparsifier supports for operands and results, and the storage to use instead.

Each rule is a measured fact about the sparsifier (code-generation mode); the tests of the plan run every one of them
against the oracle.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import lru_cache

from mlir_sparse.affine import Dim
from mlir_sparse.encoding import Encoding, LevelFormat, LevelProperty, LevelSpec, LevelType, TensorType
from mlir_sparse.notation import Access, Expr, IndexVar, accesses_of

__all__ = [
    "can_co_iterate",
    "can_insert_into",
    "can_iterate_alone",
    "has_limited_capacity",
    "insertable_storage",
    "inserts_without_dense_levels",
    "is_packed",
    "is_sparse",
    "level_variables",
    "needs_level_space",
    "ordered_as",
    "plain_storage",
    "stores_padding",
    "why_converted",
    "why_not_inserted",
    "with_dense_root",
]

_COMPRESSED = LevelType(LevelFormat.COMPRESSED)
_LOOSE = LevelType(LevelFormat.COMPRESSED, (LevelProperty.NONORDERED,))
_DENSE = LevelType(LevelFormat.DENSE)


def is_sparse(kind: TensorType) -> bool:
    """Returns whether a tensor has sparse storage: some level is not dense."""
    return kind.encoding is not None and not kind.encoding.is_dense


def is_packed(kind: LevelType) -> bool:
    """Returns whether the coordinates of all parents are stored without gaps."""
    return kind.functions.is_segmented and not kind.functions.has_gaps


def stores_padding(encoding: Encoding) -> bool:
    """Returns whether the storage has padding, so that no zero in it counts as an entry."""
    return encoding.has_padding


def has_limited_capacity(encoding: Encoding) -> bool:
    """Returns whether the storage cannot hold every tensor, such as triangles, bands and n:m.

    Zeros of loops need no place in it: they are padding or dropped.
    """
    return any(t.interval is not None or t.functions.is_grouped for t in encoding.level_types)


def level_variables(access: Access, encoding: Encoding) -> tuple[IndexVar, ...]:
    """Returns the index variables of an access in the order in which the levels first name them."""
    dims = dict.fromkeys(dim for spec in encoding.levels for dim in spec.expr.dims())
    found = (access.subscripts[dim] for dim in dims)
    return tuple(subscript for subscript in found if isinstance(subscript, IndexVar))


@lru_cache(maxsize=512)
def can_co_iterate(encoding: Encoding) -> bool:
    """Returns whether loops can co-iterate the storage with other sparse operands.

    Co-iteration visits coordinates once, in order: this rules out unordered levels, repeated coordinates, blocks and
    n:m levels.
    """
    if encoding.has_slices or not encoding.is_permutation or not encoding.is_native:
        return False
    types = encoding.level_types
    # n:m levels have padding, and batches are separate tensors.
    plain = not any(t.functions.is_grouped for t in types)
    return plain and not encoding.batch_rank and _visits_all(encoding) and all(t.ordered for t in types)


def can_iterate_alone(encoding: Encoding) -> bool:
    """Returns whether loops with a dense result can have the storage as their only sparse operand."""
    if encoding.has_slices or encoding.batch_rank or not (encoding.is_native and _visits_all(encoding)):
        return False
    # Blocks along only some dimensions crash the sparsifier (`rowblk_sig11.mlir`).
    blocked = [encoding.block_of(dim) > 1 for dim in range(encoding.dim_rank)]
    return encoding.is_permutation or all(blocked) or _keeps_of_groups(encoding)


def _keeps_of_groups(encoding: Encoding) -> bool:
    """Returns whether an n:m level is directly below the level of its groups; elsewhere it crashes the sparsifier."""
    *_, above, last = encoding.levels
    return last.type.functions.is_grouped and above.expr.dims() == last.expr.dims()


def needs_level_space(encoding: Encoding, payload: Expr) -> bool:
    """Returns whether the one sparse operand of a nest with a dense result must be read in level space."""
    plain = all(isinstance(s, IndexVar) for a in accesses_of(payload) for s in a.subscripts)
    part = encoding.has_slices or encoding.batch_rank > 0
    return plain and _visits_all(encoding) and not (part or can_iterate_alone(encoding))


def _visits_all(encoding: Encoding) -> bool:
    """Returns whether loops visit every entry at its place.

    Of equal coordinates in a row the sparsifier visits the first only; it visits singleton levels below for all of
    them, but addresses the levels below those wrongly.
    """
    pairs = zip(encoding.level_types, (*encoding.level_types[1:], None), strict=True)
    return all(_walked(level, below) for level, below in pairs)


def _walked(level: LevelType, below: LevelType | None) -> bool:
    if below is not None and below.functions.is_chained:
        return True
    return level.unique and (below is None or not level.functions.is_chained)


def why_converted(encoding: Encoding) -> str:
    """Returns why loops cannot co-iterate the storage with other sparse operands.

    >>> from mlir_sparse.encoding import encoding
    >>> why_converted(encoding("BSR(2, 2)"))
    'loops over blocks join neither another sparse operand nor a sparse result'
    """
    types = encoding.level_types
    if encoding.has_slices:
        return "loops run over whole tensors, a slice is a part of its parent's buffers"
    if encoding.batch_rank:
        return "loops run over one tensor, a batch is as many as it has"
    if not encoding.is_native:
        return f"the sparsifier makes no loops of {encoding.map_text()}"
    if not encoding.is_permutation or any(t.functions.is_grouped for t in types):
        return "loops over blocks join neither another sparse operand nor a sparse result"
    if not _visits_all(encoding):
        return "of entries with equal coordinates the sparsifier takes the first"
    return "coordinates in no order join neither another sparse operand nor a sparse result"


def can_insert_into(encoding: Encoding) -> bool:
    """Returns whether loops can insert into the storage.

    Insertion appends in the order of the levels: dense levels, then compressed ones, or coordinates as an array of
    structures.
    """
    if encoding.has_slices or not (encoding.is_permutation and encoding.is_native) or encoding.explicit_val is not None:
        return False
    rest = tuple(itertools.dropwhile(lambda kind: kind.functions.has_full_loop, encoding.level_types))
    return bool(rest) and (_are_lists(rest) or _is_coo(encoding))


def _are_lists(kinds: tuple[LevelType, ...]) -> bool:
    """Returns whether all levels are compressed; the last may leave its coordinates in the order in which they come."""
    *above, last = kinds
    return last in (_COMPRESSED, _LOOSE) and all(kind == _COMPRESSED for kind in above)


def inserts_without_dense_levels(encoding: Encoding) -> bool:
    """Returns whether loops can insert into the storage, and none of its levels is dense.

    Temporaries then get such storage too: a position for each of 2^40 rows would fit in no memory.
    """
    return can_insert_into(encoding) and not any(kind.functions.has_full_loop for kind in encoding.level_types)


def why_not_inserted(encoding: Encoding) -> str:
    """Returns why loops cannot insert into the storage."""
    what = encoding.preset or encoding.map_text()
    return f"loops insert into dense levels above compressed ones, and into coordinates in order, not into {what}"


def _is_coo(encoding: Encoding) -> bool:
    *above, last = encoding.level_types
    # Each entry comes with all of its coordinates: those above the last one repeat.
    repeats = last.unique and last.ordered and all(kind.ordered and not kind.unique for kind in above)
    return encoding.aos_levels == range(encoding.lvl_rank) and is_packed(encoding.level_types[0]) and repeats


def insertable_storage(variables: tuple[IndexVar, ...], order: tuple[IndexVar, ...], like: Encoding | None) -> Encoding:
    """Returns the storage that a loop order can insert into by appending.

    Args:
        variables: the index variable of each of the result's dimensions.
        order: the loop order.
        like: an encoding with the widths to use.
    """
    dims = tuple(variables.index(variable) for variable in order if variable in variables)
    names = tuple(variable.name for variable in variables)
    return _plain(names, dims, like)


def plain_storage(names: tuple[str, ...]) -> Encoding:
    """Returns plain storage with a level for each dimension, in their order."""
    return _plain(names, tuple(range(len(names))), None)


def ordered_as(kind: TensorType, dims: tuple[int, ...]) -> TensorType:
    """Returns the type with plain storage whose levels have the given order of dimensions."""
    assert kind.encoding is not None
    return replace(kind, encoding=_plain(kind.encoding.dim_names, dims, kind.encoding))


def with_dense_root(encoding: Encoding) -> Encoding:
    """Returns plain storage with the same order of levels, of which the outermost is dense and the others lists.

    >>> from mlir_sparse.encoding import encoding
    >>> with_dense_root(encoding("DCSR")) == encoding("CSR")
    True
    """
    kinds = (_DENSE, *[_COMPRESSED] * (encoding.dim_rank - 1))
    levels = tuple(LevelSpec(Dim(dim), kind) for dim, kind in zip(encoding.level_order, kinds, strict=True))
    return Encoding(encoding.dim_names, levels).with_widths(encoding.pos_width, encoding.crd_width)


# Cached: each order of the loops needs it for each operand, and a new encoding is verified.
@lru_cache(maxsize=8192)
def _plain(names: tuple[str, ...], dims: tuple[int, ...], like: Encoding | None) -> Encoding:
    """Returns CSR for a matrix and CSF for higher ranks, with the given order of dimensions."""
    specs = tuple(LevelSpec(Dim(dim), _level_type(level, len(dims))) for level, dim in enumerate(dims))
    encoding = Encoding(names, specs)
    return encoding if like is None else encoding.with_widths(like.pos_width, like.crd_width)


def _level_type(level: int, rank: int) -> LevelType:
    # A dense root of a matrix costs a position for each row; for a deeper tensor it may cost more than the entries.
    return _DENSE if level == 0 and rank == 2 else _COMPRESSED
