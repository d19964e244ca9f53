"""Payloads of expressions about stored entries: what the sparsifier takes in one loop nest, the rest as temporaries.

An expression is *partial*, with entries only where some of its sparse operands have one, or *total*,
with one everywhere. What is partial is iterated over those operands; what is total is read along.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation import (
    SELECT,
    WITHOUT,
    Access,
    Apply,
    Expr,
    Fold,
    IndexVar,
    Literal,
    Operator,
    Reduce,
    accesses_of,
    free_indices,
    is_mask,
    substitute,
    walk,
)
from mlir_sparse.notation.entry_functions import entries_of
from mlir_sparse.notation.laws import Law, holds
from mlir_sparse.notation.semiring import Semiring
from mlir_sparse.plan.nests.sparsifier_limits import repeats
from mlir_sparse.plan.order.storage_choice import can_co_iterate, is_sparse, ordered_as, plain_storage, stores_padding
from mlir_sparse.plan.program_builder import Values
from mlir_sparse.plan.rewrite.masks_into_folds import MASKS_INTO_FOLDS
from mlir_sparse.plan.rewrite.merge_sums import MERGE_SUMS
from mlir_sparse.plan.rewrite.missing_as_masks import MISSING_AS_MASKS
from mlir_sparse.plan.rewrite.sum_of_terms import stored_indices
from mlir_sparse.spec import depends_on, missing, operand_entry_dtype

__all__ = ["StructuralPayloads", "without"]


def without(node: Expr) -> tuple[Expr | None, Expr]:
    """Returns the mask whose entries an expression leaves out, if any, and what it leaves them out of."""
    match node:
        case Apply(operator, (mask, body)) if operator == WITHOUT:
            return mask, body
        case Fold(_, (), Apply(operator, (mask, body))) if operator == WITHOUT:
            return mask, replace(node, body=body)
        case _:
            return None, node


class StructuralPayloads:
    """Brings expressions to payloads.

    Args:
        values: the program under construction.
        regular: computes an expression that is not about entries into a dense temporary.
        value: computes one that is into a temporary.
        everywhere: computes an operator that has a result everywhere into a dense temporary.
    """

    def __init__(
        self,
        values: Values,
        regular: Callable[[Expr], Access],
        value: Callable[[Expr], Access],
        everywhere: Callable[[Apply, Expr | None], Access],
    ) -> None:
        self._values = values
        self._regular = regular
        self._value = value
        self._everywhere = everywhere

    def prepared(self, node: Expr) -> Expr:
        """Returns an expression of entries with masks inside reductions, and sparse."""
        return self._masked(entries_of(node))

    def _masked(self, node: Expr) -> Expr:
        match node:
            case Apply(_, (Access() as mask, body)) if is_mask(node):
                body, mask = self._masked(body), self._mask(mask)
                found = self._values.applied(MASKS_INTO_FOLDS, replace(node, arguments=(mask, body)))
                return replace(found, body=self._masked(found.body)) if isinstance(found, Fold) else found
            case Apply(_, arguments):
                node = replace(node, arguments=tuple(map(self._masked, arguments)))
                return self._values.applied(MISSING_AS_MASKS, node)
            case Fold(_, _, body):
                return self._values.applied(MERGE_SUMS, replace(node, body=self._masked(body)))
            case _:
                return node

    def _mask(self, mask: Access) -> Access:
        """Returns a mask as a sparse tensor: of an array, what is not zero."""
        kind = self._values.type_of(mask.tensor)
        if is_sparse(kind) or kind.rank == 0:
            return mask
        names = tuple(str(subscript) for subscript in mask.subscripts)
        encoding = self._values.widened(plain_storage(names))
        # An array has no widths that the mask could take.
        stored = replace(kind, encoding=encoding.with_widths(encoding.pos_width or 64, encoding.crd_width or 64))
        return replace(mask, tensor=self._values.convert(mask.tensor, stored, "what is not zero is in the mask"))

    def is_partial(self, node: Expr) -> bool:
        """Returns whether an expression has no entry where no sparse operand has one."""
        return missing(node, self._values.sparse_names())

    def payload(self, node: Expr) -> Expr:
        """Returns a payload: sparse and dense accesses, numbers, and operators that entries alone decide on."""
        match node:
            case Access():
                return self._plain(node)
            case Literal():
                return node
            case Fold():
                return self._value(node)
            case Apply():
                return self._operated(node)
            case _ if depends_on(node, self._values.sparse_names()) or any(
                isinstance(below, (Apply, Fold, Reduce)) for below in walk(node)
            ):
                return self._regular(node)
            case _:
                return substitute(node, {access: self._plain(access) for access in accesses_of(node)})

    def _operated(self, node: Apply) -> Expr:
        operator = node.operator
        if operator == SELECT:
            return self._selected(node)
        arguments = tuple(self._in_its_type(self._operand, operator, argument) for argument in node.arguments)
        built = replace(node, arguments=arguments)
        partial = [self.is_partial(argument) for argument in arguments]
        if not any(partial):
            return self.overlapping(built)
        if not self.is_partial(built):
            return self._everywhere(built, arguments[partial.index(False)] if not all(partial) else None)
        if not all(partial):
            return self.overlapping(built)
        self._check_union(built)
        return replace(
            built, arguments=tuple(self._in_its_type(self._fused, operator, argument) for argument in arguments)
        )

    def _in_its_type(self, make: Callable[[Operator, Expr], Expr], operator: Operator, argument: Expr) -> Expr:
        """Returns what is made of an operand; the temporaries of that have the type that the operand is computed in."""
        own = operand_entry_dtype(argument, operator, self._values.dtype, self._values.dtypes())
        with self._values.computing(own):
            return make(operator, argument)

    def _operand(self, operator: Operator, node: Expr) -> Expr:
        """Returns a payload for an operand, whose missing entries may have become a value of their own."""
        built = self.payload(node)
        if isinstance(built, Apply) and built.operator == SELECT:
            return self._value(built)  # the sparsifier selects at the root of a payload only
        if not isinstance(node, Fold) or self.is_partial(built) or not self.is_partial(node):
            return built
        annihilates = operator.intersects and holds(Law.ANNIHILATES, Semiring(node.monoid, operator))
        if annihilates or operator == node.monoid.union:
            return built
        raise UnsupportedError(
            f"expected an operand of {operator.name} that is sparse along a variable of its own, or an annihilator of "
            f"it that is the identity of {node.monoid.name}, but got `{node}`, which is computed as a dense array: "
            "compute it by a statement of its own"
        )

    def _selected(self, node: Apply) -> Expr:
        """Returns a selection whose condition reads dense arrays and the entry itself."""
        value, condition = node.arguments
        entry = self.payload(value)
        if not isinstance(entry, Access):
            entry = self._value(value)
        names: dict[Access, Expr] = {value: entry} if isinstance(value, Access) else {}
        for access in accesses_of(condition):
            if access not in names and self._values.type_of(access.tensor).encoding is not None:
                dense = self._values.dense(access.tensor, "the condition is looked up at the entries selected from")
                names[access] = replace(access, tensor=dense)
        return replace(node, arguments=(entry, substitute(condition, names)))

    def _fused(self, parent: Operator, node: Expr) -> Expr:
        """Returns an operand in place, or as a temporary where the sparsifier cannot nest it."""
        if not isinstance(node, Apply):
            return node
        if not parent.intersects and not stored_indices(node, self._values.sparse_names()).issuperset(
            free_indices(node)
        ):
            return self._value(node)  # dense along a variable, which is not united with what is sparse along it
        if len(node.arguments) == 1 or node.operator.intersects:
            return node
        whole = None not in (node.operator.overlap, node.operator.left, node.operator.right)
        unites = None not in (parent.overlap, parent.left, parent.right)
        return node if whole and (parent.intersects or unites) else self._value(node)

    def is_ragged(self, node: Expr) -> bool:
        """Returns whether an operator on two sparse operands has no result in one of the places that it is asked for.

        It may have one where either is missing, but not where both are, or have operands over unlike variables.
        """
        return any(
            isinstance(below, Apply)
            and not below.operator.intersects
            and len(below.arguments) == 2
            and all(map(self.is_partial, below.arguments))
            and (
                None in (below.operator.overlap, below.operator.left, below.operator.right)
                or len({frozenset(free_indices(argument)) for argument in below.arguments}) == 2
            )
            for below in walk(node)
        )

    def _check_union(self, node: Apply) -> None:
        """Refuses to unite operands over different variables: what is missing of one would be so along all of them."""
        operator = node.operator
        left, right = (set(free_indices(node.arguments[place])) for place in (0, -1))
        if (operator.left is None or left >= right) and (operator.right is None or right >= left):
            return
        raise UnsupportedError(
            f"expected sparse operands over the same variables for {operator}, which has results where one has no "
            f"entry, but got {node}: pass one of them as a dense array"
        )

    def overlapping(self, node: Apply) -> Apply:
        """Returns an application that is computed where all operands are: nothing else can happen."""
        if node.operator.overlap is None:
            raise UnsupportedError(
                f"expected an operand of {node.operator.name} whose entries are stored, but got {node}, where one has "
                "a value everywhere and the operator none where both have: compute that operand first, in a statement "
                "of its own with sparse storage, as by ms.evaluate(..., out='CSR'), and name its result here"
            )
        return replace(node, operator=replace(node.operator, left=None, right=None, absent=None))

    def _array(self, access: Access) -> Access:
        """Returns an access to an array: next to a sparse operand its diagonal does not lower, and is read before."""
        if self._values.type_of(access.tensor).encoding is not None:
            access = replace(access, tensor=self._values.dense(access.tensor, "all levels are dense"))
        if not repeats(access):
            return access
        with self._values.computing(self._values.type_of(access.tensor).dtype):
            return self._regular(access)

    def _plain(self, access: Access) -> Access:
        """Returns an access to storage that stores entries one by one, in an order."""
        kind = self._values.type_of(access.tensor)
        if kind.encoding is None or not is_sparse(kind):
            return self._array(access)
        variables = [subscript for subscript in access.subscripts if isinstance(subscript, IndexVar)]
        if len(set(variables)) < kind.rank:
            raise UnsupportedError(
                f"expected an index variable of its own for each dimension of the sparse operand {access.tensor} of an "
                f"operator, but got {access}: assign it to a tensor of its own first"
            )
        if can_co_iterate(kind.encoding) and not stores_padding(kind.encoding):
            return access
        reason = "entries are told from padding" if stores_padding(kind.encoding) else "entries are visited once"
        plain = ordered_as(kind, tuple(range(kind.rank)))
        return replace(access, tensor=self._values.convert(access.tensor, plain, reason))
