"""Results with the entries of one operand: what is computed at each goes to a vector, in the order they are stored.

`C(i,j) = S(i,j) * X(i,k) * Y(j,k)` has an entry where S has one, and nowhere else. So all that loops have
to write is its value, at the position of that entry: nothing is appended, and chunks of the loops need not be joined.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import replace

from mlir_sparse.encoding import Encoding, TensorType
from mlir_sparse.notation import Access, Expr, IndexVar, accesses_of
from mlir_sparse.plan.order.co_iteration import products
from mlir_sparse.plan.order.storage_choice import is_packed, is_sparse, level_variables
from mlir_sparse.plan.plan_steps import Generic
from mlir_sparse.plan.program_builder import Values
from mlir_sparse.program import SharedLevels

__all__ = ["compute_at_entries", "find_sampled", "with_entries_of", "with_fibres_of"]

Types = Mapping[str, TensorType]


def with_entries_of(target: Access, payload: Expr, encoding: Encoding, types: Types) -> Access | None:
    """Returns the operand that has the entries and the storage of a result; None where none has.

    Args:
        target: the result.
        payload: what is computed.
        encoding: the storage of the result.
        types: the types of the operands.
    """
    found = [access for access in accesses_of(payload) if is_sparse(types[access.tensor])]
    if len(found) != 1 or found[0].subscripts != target.subscripts or len(products(payload, types)) != 1:
        return None
    own = types[found[0].tensor].encoding
    return found[0] if own is not None and own.to_text() == encoding.to_text() else None


def with_fibres_of(target: Access, payload: Expr, encoding: Encoding, types: Types) -> Access | None:
    """Returns the operand whose fibres are the entries of a result, so that it has the first of its levels.

    In `C(i,j) = A(i,j,k) * b(k)` those are the fibres along k, of which each has an entry at least.

    Args:
        target: the result.
        payload: what is computed.
        encoding: the storage of the result.
        types: the types of the operands.
    """
    found = [access for access in accesses_of(payload) if is_sparse(types[access.tensor])]
    if len(found) != 1 or len(products(payload, types)) != 1:
        return None
    own, rank = types[found[0].tensor].encoding, encoding.lvl_rank
    if own is None or rank >= own.lvl_rank or not _counts_entries(encoding) or not _counts_entries(own):
        return None
    widths = (own.pos_width, own.crd_width) == (encoding.pos_width, encoding.crd_width)
    same = own.level_types[:rank] == encoding.level_types and all(kind.unique for kind in encoding.level_types)
    ordered = level_variables(found[0], own)[:rank] == level_variables(target, encoding)
    return found[0] if widths and same and ordered else None


def find_sampled(
    variables: tuple[IndexVar, ...], payload: Expr, storages: Iterable[Encoding], types: Types
) -> Access | None:
    """Returns the operand at whose entries loops compute the values of a result; None where entries are inserted.

    Args:
        variables: those of the result, in the order of its dimensions.
        payload: what is computed, from operands in the storage that the loops take.
        storages: what the result may be stored in: what is asked for, and what the loops would insert into.
        types: the types of the operands.
    """
    target = Access("", variables)
    found = (with_entries_of(target, payload, storage, types) for storage in storages if _counts_entries(storage))
    return next((access for access in found if access is not None), None)


def _counts_entries(encoding: Encoding) -> bool:
    """Returns whether loops over a tensor so stored count its entries one by one, in the order of its values."""
    if encoding.has_slices or not (encoding.is_permutation and encoding.is_native) or encoding.explicit_val is not None:
        return False
    rest = tuple(itertools.dropwhile(lambda kind: kind.functions.has_full_loop, encoding.level_types))
    return bool(rest) and all(is_packed(kind) or kind.functions.is_chained for kind in rest)


def compute_at_entries(result: str, nest: Generic, sampled: Access, values: Values) -> None:
    """Emits the steps that compute a value for each entry of an operand, and give the values its levels.

    Args:
        result: the name of the tensor; declared.
        nest: the loops as they would insert into it.
        sampled: the operand.
        values: the program under construction.
    """
    encoding = values.encoding_of(sampled.tensor)
    vector, place = values.fresh(result, "values"), values.variable(sampled.tensor, "entry")
    values.declare(vector, replace(values.typed(None, (place,)), dtype=values.type_of(result).dtype))
    reason = f"values at the entries of {sampled.tensor}, which are those of the result"
    values.emit(nest.at_entries(Access(vector, (place,)), sampled, reason))
    why = "the result has an entry where the operand has one"
    variables, made = tuple(index.name for index in sampled.indices), values.encoding_of(result)
    values.emit(SharedLevels(result, vector, sampled.tensor, encoding.lvl_rank, variables, made, why))
