"""Payloads that the sparsifier takes: what is not, is rewritten or read from dense copies.

Each rule names the defect it stands for; FINDINGS of the compiler are kept as
tests that run them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mlir_sparse.dtypes import DType
from mlir_sparse.notation import (
    Access,
    Binary,
    Call,
    Expr,
    IndexVar,
    accesses_of,
    children,
    rebuild,
    replace_accesses,
    substitute,
)
from mlir_sparse.plan.nests.entry_regions import is_native, regions_of
from mlir_sparse.plan.nests.literal_products import without_literal_products
from mlir_sparse.plan.nests.reduced_unions import without_wide_unions
from mlir_sparse.plan.order.storage_choice import is_sparse
from mlir_sparse.plan.program_builder import Values
from mlir_sparse.plan.rewrite.rewrite_rule import WhyNot
from mlir_sparse.plan.rewrite.split_choices import SPLIT_CHOICES
from mlir_sparse.plan.rewrite.sum_of_terms import unites
from mlir_sparse.spec import depends_on, inner_dtypes, is_tested, operand_dtype, promote, starts_anew, vanishes

__all__ = ["SparsifierPayloads", "repeats"]


def _operation(node: Expr) -> str:
    match node:
        case Binary(op):
            return f"`{op.value}`"
        case Call(function):
            return function
        case _:
            return "what is computed"


class SparsifierPayloads:
    """Rewrites payloads; conversions and temporaries that this takes become steps.

    Args:
        values: the program under construction.
        materialize: computes an expression into a temporary.
        densified: whether every payload must read dense arrays.
    """

    def __init__(self, values: Values, materialize: Callable[[Expr], Access], densified: bool) -> None:
        self._values = values
        self._compute = materialize
        self._dense_only = densified

    def payload(self, body: Expr, *, sums: bool, reduces: bool = False) -> Expr:
        """Returns a payload for a loop nest over sparse operands.

        Args:
            body: the scalar computation.
            sums: whether the nest accumulates by addition; any other operator must see every zero.
            reduces: whether the nest sums over variables that its result lacks.
        """
        if self._dense_only:
            return self._densified(body, "arithmetic cancels sparse operands, which the sparsifier does not survive")
        if not sums:
            return self.dense_payload(body)
        body = self._plain_storage(body)
        body = self._supported(body)
        if reduces:
            body = without_wide_unions(body, self._values.sparse_names(), self._materialize)
        return self._without_diagonals(body)

    def dense_payload(self, body: Expr) -> Expr:
        """Returns a payload that reads dense arrays only."""
        return self._densified(body, "the loops must see every element")

    def _plain_storage(self, body: Expr) -> Expr:
        """Reads operands densely that the sparsifier cannot iterate at all, and takes away what it would misread."""
        names: dict[Access, str] = {}
        for access in accesses_of(body):
            kind = self._values.type_of(access.tensor)
            if kind.encoding is None:
                continue
            if not is_sparse(kind):
                names[access] = self._values.dense(access.tensor, "all levels are dense")
            elif not _plainly_subscripted(access):
                names[access] = self._values.dense(access.tensor, "sparse levels take one index variable each")
            elif kind.encoding.explicit_val is not None and kind.encoding.has_padding:
                plain = replace(kind, encoding=replace(kind.encoding, explicit_val=None))
                names[access] = self._values.convert(access.tensor, plain, "zeros that pad it are not its explicitVal")
        return replace_accesses(body, names)

    def _without_diagonals(self, body: Expr) -> Expr:
        """Reads diagonals of dense arrays beforehand: next to a sparse operand they do not lower."""
        if not depends_on(body, self._values.sparse_names()):
            return body
        diagonals = {access: self._materialize(access) for access in accesses_of(body) if repeats(access)}
        return substitute(body, diagonals)

    def _materialize(self, node: Expr) -> Access:
        """Computes a part of a payload; what is compared or tested has a type of its own, which may be wider."""
        own = promote(self._values.dtype, operand_dtype((node,), self._values.dtypes()))
        with self._values.computing(own):
            return self._compute(node)

    def _supported(self, node: Expr) -> Expr:
        sparse = self._values.sparse_names()
        if not depends_on(node, sparse):
            return node
        if not vanishes(node, sparse):
            return self._densified(node, f"{_operation(node)} of what is not stored is not zero")
        if is_native(node, sparse, self._values.dtype.kind):
            supported = rebuild(node, self._operands(node))
            stored = [access for access in accesses_of(supported) if access.tensor in sparse]
            mixed = len({(self._values.encoding_of(access.tensor), access.subscripts) for access in stored}) > 1
            made = without_literal_products(supported, sparse, self._values.dtype.kind, mixed, self._materialize)
            return self._kept_together(node, made)
        found = regions_of(node, sparse)
        if found is None:
            return self._regrouped(node)
        if all(isinstance(operand, Access) for operand in found.operands):
            return node
        return self._kept_together(node, rebuild(node, self._operands(node)))

    def _operands(self, node: Expr) -> tuple[Expr, ...]:
        """Returns the operands of a node, supported, each in the type that it computes in."""
        found = []
        for child in children(node):
            with self._values.computing(self._type_of(node, child)):
                found.append(self._supported(child))
        return tuple(found)

    def _made_operand(self, node: Expr, child: Expr) -> Access:
        with self._values.computing(self._type_of(node, child)):
            return self._materialize(child)

    def _type_of(self, node: Expr, child: Expr) -> DType:
        """Returns the type that an operand computes in: what is compared, tested or counted has one of its own."""
        if is_tested(node, child):
            return operand_dtype((child,), self._values.dtypes())
        if not starts_anew(node):
            return self._values.dtype
        return inner_dtypes(node, self._values.dtypes())[children(node).index(child)]

    def _kept_together(self, node: Expr, supported: Expr) -> Expr:
        """Returns a node with its operands supported; all of it dense where one of several was: they do not unite."""
        sparse = self._values.sparse_names()
        if not depends_on(supported, sparse) or is_native(supported, sparse, self._values.dtype.kind):
            return supported
        if not is_native(node, sparse, self._values.dtype.kind) and regions_of(supported, sparse) is not None:
            return supported
        return self._densified(node, f"a part of {_operation(node)} is read densely")

    def _regrouped(self, node: Expr) -> Expr:
        """Computes parts of an expression over many sparse operands beforehand, until it is one over two.

        A choice is the sum of what each side gives. Where no part is sparse by itself, all of it is read densely.
        """
        sparse = self._values.sparse_names()
        split = SPLIT_CHOICES.apply(node, self._values.context())
        if not isinstance(split, WhyNot) and unites(split, sparse):
            self._values.rewritten(SPLIT_CHOICES, f"`{node}` is `{split}`")
            return self._supported(split)
        parts: dict[Expr, Expr] = {
            child: self._made_operand(node, child)
            for child in children(node)
            if not isinstance(child, Access) and depends_on(child, sparse) and vanishes(child, sparse)
        }
        if not parts:
            return self._densified(node, f"the sparsifier does not know {_operation(node)} of so many operands")
        return self._supported(rebuild(node, tuple(parts.get(child, child) for child in children(node))))

    def _densified(self, node: Expr, reason: str) -> Expr:
        names = {
            access: self._values.dense(access.tensor, reason)
            for access in accesses_of(node)
            if self._values.type_of(access.tensor).encoding is not None
        }
        return replace_accesses(node, names)


def _plainly_subscripted(access: Access) -> bool:
    return all(isinstance(subscript, IndexVar) for subscript in access.subscripts) and not repeats(access)


def repeats(access: Access) -> bool:
    """Returns whether an access has a variable in several subscripts, as diagonals have."""
    found = [v for s in access.subscripts for v in Access("", (s,)).indices]
    return len(found) > len(set(found))
