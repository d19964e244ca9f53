"""Products of the innermost dimensions of one sparse tensor with matrices: TTM of a tensor stored by fibres.

Each stored fibre of A gives one row of `C(i,j,l) = A(i,j,k) * M(k,l)`, so that C has the levels of A above the
fibres as they are. What remains is a product with a row for each fibre, without any insertion:
`C.rows(A.fibre,l) += A.fibres(A.fibre,k) * M(k,l)`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mlir_sparse.affine import Dim
from mlir_sparse.classes import dataclass
from mlir_sparse.encoding import Encoding, LevelFormat, LevelSpec, LevelType, TensorType
from mlir_sparse.notation import Access, IndexVar, ReduceOp, accesses_of, substitute
from mlir_sparse.plan.order.storage_choice import (
    can_co_iterate,
    has_limited_capacity,
    is_sparse,
    level_variables,
    ordered_as,
    why_converted,
)
from mlir_sparse.plan.plan_steps import AccumulateMode
from mlir_sparse.plan.program_builder import Values
from mlir_sparse.plan.rewrite.sum_of_terms import Term
from mlir_sparse.program import FibreView, SharedLevels

__all__ = ["Fibres", "compute_by_fibres", "find_fibres"]

_COMPRESSED = LevelType(LevelFormat.COMPRESSED)
_DENSE = LevelType(LevelFormat.DENSE)


# Takes a target, a sum and how it meets what the target holds, and emits the loops.
Accumulate = Callable[[Access, Term, AccumulateMode], None]


@dataclass(frozen=True, slots=True)
class Fibres:
    """A tensor as its fibres.

    Args:
        access: the tensor, at plain variables.
        type: its storage, or the one to convert it to.
        depth: how many levels are above the fibres.
        inner: the variables of the levels in a fibre, outermost first.
        rows: the variables of a row of the result: what the tensor does not have.
        order: the variables of the result in the order of its levels.
    """

    access: Access
    type: TensorType
    depth: int
    inner: tuple[IndexVar, ...]
    rows: tuple[IndexVar, ...]
    order: tuple[IndexVar, ...]


def find_fibres(variables: tuple[IndexVar, ...], term: Term, encoding: Encoding, values: Values) -> Fibres | None:
    """Returns the fibres that rows of a sparse result are made of; None where they are not.

    A result without rows of its own has one entry a fibre. Those are inserted in less time than a conversion takes,
    so that they are taken from fibres only where none is needed.

    Args:
        variables: those of the result, in the order of its dimensions.
        term: the sum, its body as loops take it.
        encoding: the storage of the result.
        values: the program under construction.
    """
    read = accesses_of(term.body)
    sparse = [access for access in read if is_sparse(values.type_of(access.tensor))]
    if term.op is not ReduceOp.SUM or not term.indices or len(sparse) != 1:
        return None
    access = sparse[0]
    if len(set(access.subscripts)) < len(access.subscripts) or not _is_plain(access):
        return None
    kind = _as_fibres(values.type_of(access.tensor), access, variables)
    if kind is None or kind.encoding is None:
        return None
    levels = level_variables(access, kind.encoding)
    depth = sum(variable in variables for variable in levels)
    above, inner = levels[:depth], levels[depth:]
    rows = tuple(variable for variable in variables if variable not in above)
    others = {variable for other in read if other != access for variable in other.indices}
    apart = others.isdisjoint(above) and others.issuperset(rows)
    if not apart or set(inner) != set(term.indices) or not _are_fibres(kind.encoding, depth):
        return None
    found = Fibres(access, kind, depth, inner, rows, (*above, *rows))
    converts = (
        kind != values.type_of(access.tensor) or values.widened(_result(kind.encoding, variables, found)) != encoding
    )
    return found if rows or not converts else None


def compute_by_fibres(
    result: str,
    variables: tuple[IndexVar, ...],
    term: Term,
    encoding: Encoding,
    fibres: Fibres,
    values: Values,
    accumulate: Accumulate,
) -> None:
    """Emits the steps that compute a row for each fibre, and give the rows the levels above the fibres.

    Args:
        result: the name of the value.
        variables: those of its dimensions.
        term: what to sum.
        encoding: its storage.
        fibres: as `find_fibres` found them.
        values: the program under construction.
        accumulate: emits the loops of a sum into a dense value.
    """
    before, kind = values.type_of(fibres.access.tensor), fibres.type
    assert before.encoding is not None
    assert kind.encoding is not None
    structure = values.convert(fibres.access.tensor, kind, why_converted(before.encoding))
    view, rows = values.fresh(structure, "fibres"), values.fresh(result, "rows")
    place = values.variable(structure, "fibre")
    sizes = tuple(kind.shape[fibres.access.subscripts.index(variable)] for variable in fibres.inner)
    seen = values.widened(_view(kind.encoding, place, fibres))
    values.declare(view, TensorType(kind.dtype, (None, *sizes), seen))
    why = "each stored fibre makes one row of the result"
    values.emit(FibreView(view, structure, fibres.depth, seen, why, place.name))
    values.declare(rows, values.typed(None, (place, *fibres.rows)))
    body = substitute(term.body, {fibres.access: Access(view, (place, *fibres.inner))})
    accumulate(Access(rows, (place, *fibres.rows)), replace(term, body=body), AccumulateMode.START)
    storage = values.widened(_result(kind.encoding, variables, fibres))
    direct = storage == encoding
    target = result if direct else values.fresh(result, "by_fibres")
    made = values.typed(encoding if direct else storage, variables)
    assert made.encoding is not None
    values.declare(target, made)
    why = "the result has an entry where the operand has a fibre"
    names = tuple(variable.name for variable in variables)
    values.emit(SharedLevels(target, rows, structure, fibres.depth, names, made.encoding, why))
    if not direct:
        why = "the levels asked for are not those of the operand"
        values.conversion(result, target, values.typed(encoding, variables), has_limited_capacity(encoding), why)


def _is_plain(access: Access) -> bool:
    return all(isinstance(subscript, IndexVar) for subscript in access.subscripts)


def _as_fibres(kind: TensorType, access: Access, variables: tuple[IndexVar, ...]) -> TensorType | None:
    """Returns the type that an operand has or, where loops do not insert from it well, is converted to."""
    assert kind.encoding is not None
    if all(level in (_COMPRESSED, _DENSE) for level in kind.encoding.level_types) and can_co_iterate(kind.encoding):
        return kind
    kept = [dim for dim, subscript in enumerate(access.subscripts) if subscript in variables]
    rest = [dim for dim, subscript in enumerate(access.subscripts) if subscript not in variables]
    return ordered_as(kind, (*kept, *rest)) if kind.rank > 2 else None


def _are_fibres(encoding: Encoding, depth: int) -> bool:
    """Returns whether places of the level above the fibres are what is stored, without gaps."""
    types = encoding.level_types
    if not 0 < depth < len(types) or encoding.explicit_val is not None:
        return False
    return all(kind in (_COMPRESSED, _DENSE) for kind in types) and types[depth - 1] == types[depth] == _COMPRESSED


def _view(encoding: Encoding, place: IndexVar, fibres: Fibres) -> Encoding:
    kinds = (_DENSE, *encoding.level_types[fibres.depth :])
    specs = tuple(LevelSpec(Dim(level), kind) for level, kind in enumerate(kinds))
    names = tuple(variable.name for variable in (place, *fibres.inner))
    return Encoding(names, specs).with_widths(encoding.pos_width, encoding.crd_width)


def _result(encoding: Encoding, variables: tuple[IndexVar, ...], fibres: Fibres) -> Encoding:
    kinds = (*encoding.level_types[: fibres.depth], *(_DENSE for _ in fibres.rows))
    pairs = zip(fibres.order, kinds, strict=True)
    specs = tuple(LevelSpec(Dim(variables.index(variable)), kind) for variable, kind in pairs)
    names = tuple(variable.name for variable in variables)
    return Encoding(names, specs).with_widths(encoding.pos_width, encoding.crd_width)
