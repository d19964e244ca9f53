"""Accesses that loops cannot read as they are, picked beforehand: gathers, diagonals and strides of sparse tensors."""

from __future__ import annotations

from dataclasses import replace

from mlir_sparse.encoding import TensorType
from mlir_sparse.notation import Access, AffineSubscript, Expr, IndexVar, accesses_of, substitute
from mlir_sparse.plan.order.storage_choice import has_limited_capacity, insertable_storage, is_sparse
from mlir_sparse.plan.plan_steps import place_of
from mlir_sparse.plan.program_builder import Values
from mlir_sparse.program import Pick

__all__ = ["PickEmitter"]


class PickEmitter:
    """Emits the steps that pick elements, each at most once.

    Args:
        values: the program under construction.
    """

    def __init__(self, values: Values) -> None:
        self._values = values
        self._picked: dict[Access, Access] = {}

    def picked(self, node: Expr) -> Expr:
        """Returns an expression that reads tensors of picked elements in place of what loops cannot read."""
        found = {access: self._access(access) for access in accesses_of(node)}
        return substitute(node, found)

    def whole(self, target: Access, value: Expr) -> bool:
        """Emits the step that picks all elements of a result; returns whether there is one."""
        if not (isinstance(value, Access) and value.gathers and value.indices == target.subscripts):
            return False
        kind, output = self._values.type_of(value.tensor), self._values.output
        if kind.dtype != output.dtype or (kind.encoding is None) != (output.encoding is None):
            return False
        if output.encoding is not None and (has_limited_capacity(output.encoding) or not _stays_sparse(value, kind)):
            return False
        self._values.declare(target.tensor, output)
        self._pick(value, kind, "its places are known only when it runs", target.tensor)
        return True

    def _access(self, access: Access) -> Access:
        kind = self._values.type_of(access.tensor)
        reason = _reason(access, is_sparse(kind))
        if reason is None:
            return access
        known = self._picked.get(access)
        if known is None:
            known = self._picked[access] = self._pick(access, kind, reason)
        return known

    def _pick(self, access: Access, kind: TensorType, reason: str, into: str = "") -> Access:
        subscripts = tuple(self._index(s) if isinstance(s, Access) else s for s in access.subscripts)
        taken = replace(access, subscripts=subscripts)
        if kind.encoding is not None and not _stays_sparse(taken, kind):
            taken = replace(taken, tensor=self._values.dense(taken.tensor, "its elements are picked from an array"))
        variables = taken.indices
        storage = self._values.type_of(taken.tensor).encoding
        if storage is not None:  # one element is a number, whatever it was stored in
            storage = None if not variables else self._values.widened(insertable_storage(variables, variables, storage))
        name = into or self._values.fresh(access.tensor, "picked")
        if into:
            storage = self._values.type_of(into).encoding
        else:
            self._values.declare(name, replace(self._values.typed(storage, variables), dtype=kind.dtype))
        places = tuple(map(place_of, taken.subscripts))
        self._values.emit(Pick(name, taken.tensor, places, storage, str(taken), reason))
        return Access(name, variables)

    def _index(self, access: Access) -> Access:
        """Returns an access of integers as an array at plain variables."""
        access = self._access(access)
        if not _is_plain(access):
            access = self._pick(access, self._values.type_of(access.tensor), "the places to gather from")
        return replace(access, tensor=self._values.dense(access.tensor, "the places to gather from"))


def _is_plain(access: Access) -> bool:
    plain = [subscript for subscript in access.subscripts if isinstance(subscript, IndexVar)]
    return len(plain) == len(access.subscripts) == len(set(plain))


def _reason(access: Access, sparse: bool) -> str | None:
    """Returns why the elements of an access must be picked; None where loops can read them."""
    if access.gathers:
        return "its places are known only when it runs"
    if not sparse or _is_plain(access) or not _is_soluble(access):
        return None
    affine = any(isinstance(subscript, AffineSubscript) for subscript in access.subscripts)
    return "sparse levels are iterated by one variable each, " + ("not by a sum" if affine else "not by one twice")


def _is_soluble(access: Access) -> bool:
    """Returns whether an entry's coordinates say which values of the variables read it."""
    gathered = {v for s in access.subscripts if isinstance(s, Access) for v in s.indices}
    return all(
        len(subscript.terms) <= 1 or gathered.issuperset(variable for _, variable in subscript.terms)
        for subscript in access.subscripts
        if isinstance(subscript, AffineSubscript)
    )


def _stays_sparse(access: Access, kind: TensorType) -> bool:
    return is_sparse(kind) and _is_soluble(access)
