"""Operands that threads look up: where one operand says which entries there are, the others are searched for them.

Loops that walk two sparse operands together come to the next entry from the last, which threads that begin anywhere
cannot. In a product, an entry of one operand counts where the others have one too: threads take the entries of one, and
find those of the others by bisection of the coordinates in each level.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mlir_sparse.affine import AffineMap, add
from mlir_sparse.classes import dataclass
from mlir_sparse.encoding import Encoding, LevelFormat, LevelType, TensorType
from mlir_sparse.encoding.levels.level_loops import LoopKind
from mlir_sparse.notation import Access, Binary, BinaryOp, Expr, IndexVar, Negate, accesses_of, replace_accesses
from mlir_sparse.plan.nests.level_space_nests import space_of
from mlir_sparse.plan.order.storage_choice import (
    can_co_iterate,
    can_iterate_alone,
    is_packed,
    is_sparse,
    needs_level_space,
)
from mlir_sparse.plan.plan_steps import Located, LocatedRows
from mlir_sparse.plan.program_builder import Values

__all__ = ["looked_up", "looked_up_everywhere"]

Types = Mapping[str, TensorType]


def looked_up(body: Expr, values: Values) -> Expr:
    """Returns a payload with all sparse operands of a product looked up that another one leads to.

    Args:
        body: what is computed.
        values: the program under construction.
    """
    factors = _factors(body)
    sparse = [access for access in accesses_of(body) if is_sparse(values.type_of(access.tensor))]
    if len(sparse) < 2 or not all(access in factors for access in sparse):
        return body
    leads = [lead for lead in sparse if can_iterate_alone(values.encoding_of(lead.tensor))] or sparse
    found = {lead: [a for a in sparse if a != lead and _leads(lead, a) and _is_found(a, values)] for lead in leads}
    lead = max(leads, key=lambda lead: len(found[lead]))
    reason = f"its entries count where {lead} has some"
    names = {access: _locate(access.tensor, reason, values, whole=False) for access in found[lead]}
    others = [access for access in sparse if access != lead and access not in names]
    for access in others:
        rows = _rows(values.encoding_of(access.tensor))
        if rows is not None and access.subscripts[rows.dim] in lead.subscripts:
            names[access] = values.located_rows(rows.step(access.tensor, lead), rows.encoding)
    return replace_accesses(body, names)


def looked_up_everywhere(body: Expr, target: Access, values: Values) -> Expr:
    """Returns a payload without sums whose sparse operands are all looked up, where loops walk none of them by itself.

    Args:
        body: what is computed.
        target: the result, dense.
        values: the program under construction.
    """
    sparse = [access for access in accesses_of(body) if is_sparse(values.type_of(access.tensor))]
    if not sparse or not all(_leads(target, access) and _is_found(access, values) for access in sparse):
        return body
    if _is_walked([values.encoding_of(access.tensor) for access in sparse], sparse):
        return body
    reason = "each element of the result is computed, zeros where there is no entry"
    return replace_accesses(body, {a: _locate(a.tensor, reason, values, whole=True) for a in sparse})


def _is_walked(encodings: Sequence[Encoding], accesses: Sequence[Access]) -> bool:
    """Returns whether threads can walk operands: one by itself, several from rows that all of them have."""
    if len(encodings) == 1:
        return can_iterate_alone(encodings[0]) or not needs_level_space(encodings[0], accesses[0])
    rows = {
        access.subscripts[spec.expr.dims()[0]]
        for access, encoding in zip(accesses, encodings, strict=True)
        for spec in encoding.levels[:1]
    }
    counted = all(encoding.level_types[0].functions.has_full_loop for encoding in encodings)
    return len(rows) == 1 and counted and all(can_co_iterate(encoding) for encoding in encodings)


@dataclass(frozen=True, slots=True)
class _Rows:
    encoding: Encoding
    dim: int
    first: int
    stride: tuple[int, int]

    def step(self, name: str, lead: Access) -> LocatedRows:
        return LocatedRows("", name, self.first, self.stride, f"rows count where {lead} has entries")


def _rows(encoding: Encoding) -> _Rows | None:
    """Returns storage as it is where its outermost level is taken for a dense one; None where that is not sparse."""
    plain = _plain(encoding)
    if plain is None or plain[0] != encoding or not encoding.is_permutation or encoding.lvl_rank < 2:
        return None
    top, below, *deeper = encoding.level_types
    if not is_packed(top) or any(not is_packed(kind) for kind in deeper):
        return None
    listed = below.functions.is_chained
    if listed and deeper:
        return None
    dense, packed = LevelType(LevelFormat.DENSE), LevelType(LevelFormat.COMPRESSED)
    specs = [replace(spec, type=kind) for spec, kind in zip(encoding.levels, (dense, packed, *deeper), strict=True)]
    rows = replace(encoding, levels=tuple(specs), preset=None)
    (dim,) = encoding.levels[0].expr.dims()
    if not listed:
        return _Rows(rows, dim, 2, (1, 0)) if is_packed(below) else None
    together = 1 in encoding.aos_levels
    # Of the value positions are buffer 0, so that its coordinates come second.
    return _Rows(rows, dim, 0 if together else 1, (2, 1) if together else (1, 0))


def _leads(lead: Access, other: Access) -> bool:
    return set(other.subscripts) <= set(lead.subscripts)


def _factors(node: Expr) -> tuple[Expr, ...]:
    """Returns what is multiplied."""
    match node:
        case Negate(operand):
            return _factors(operand)
        case Binary(BinaryOp.MUL, left, right):
            return (*_factors(left), *_factors(right))
        case _:
            return (node,)


def _is_found(access: Access, values: Values) -> bool:
    """Returns whether an element can be found by its coordinates, without a look at all that is stored."""
    encoding = values.encoding_of(access.tensor)
    plain = all(isinstance(subscript, IndexVar) for subscript in access.subscripts)
    return plain and len(set(access.subscripts)) == len(access.subscripts) and _plain(encoding) is not None


def _plain(encoding: Encoding) -> tuple[Encoding, AffineMap] | None:
    """Returns storage whose levels can be searched, and their coordinates of dimensions and sizes; None for none."""
    if encoding.has_slices or encoding.batch_rank or encoding.explicit_val is not None:
        return None
    if encoding.implicit_val is not None or encoding.symbol_names:
        return None
    chained = any(kind.functions.is_chained for kind in encoding.level_types)
    if encoding.is_native and not encoding.is_permutation and chained:
        return None
    if encoding.is_native and _are_searched(encoding.level_types):
        results = tuple(spec.expr for spec in encoding.levels)
        return encoding, AffineMap(encoding.dim_rank, encoding.dim_rank, results)
    space = None if encoding.is_native else space_of(encoding)
    if space is None or not _are_searched(space.encoding.level_types):
        return None
    sources = [view.source for view in space.views]
    # Slots of tables are no coordinates of elements.
    if len(set(sources)) < len(sources) or any(view.size is None for view in space.views):
        return None
    results = tuple(add(encoding.levels[view.source].expr, view.offset) for view in space.views)
    return space.encoding, AffineMap(encoding.dim_rank, encoding.dim_rank, results)


def _are_searched(kinds: Sequence[LevelType]) -> bool:
    for at, kind in enumerate(kinds):
        chained = at + 1 < len(kinds) and kinds[at + 1].functions.is_chained
        if kind.loop is None:
            return False
        if kind.loop.kind in (LoopKind.FULL, LoopKind.GROUPS):
            continue
        # Of equal coordinates there is one tuple each, told apart by the level below.
        if not kind.ordered or kind.unique == chained:
            return False
        if kind.loop.kind is LoopKind.CHAINED and (at == 0 or kinds[at - 1].functions.has_full_loop):
            return False
    return True


def _locate(name: str, reason: str, values: Values, *, whole: bool) -> str:
    """Returns the name that an operand's elements are looked up by, as those of an array."""
    encoding = values.encoding_of(name)
    plain = _plain(encoding)
    assert plain is not None
    stored, coordinates = plain
    operand = name
    if stored != encoding:
        space = space_of(encoding)
        assert space is not None
        operand = values.view(name, space)
    return values.located(Located("", operand, name, coordinates, whole, reason))
