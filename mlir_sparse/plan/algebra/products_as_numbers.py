"""Sums of products of other kinds, read as sums of products of numbers, and written as what they are again.

The rules are written for numbers. They need sums in any order, a product that is associative, commutative and
distributes over the sum, and a zero that makes products zero. Where another sum and product have these laws, a way to
compute a sum of products is one for them. Three kinds do: sums and products under a semiring, reductions of arrays such
as `min(j : P(i,j) + x(j))`, and products of truth values that are counted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache

from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import TRUTH, DType
from mlir_sparse.notation import (
    Access,
    Apply,
    Binary,
    BinaryOp,
    Call,
    Expr,
    Fold,
    IndexVar,
    Literal,
    Negate,
    Reduce,
    ReduceOp,
    Semiring,
    children,
    rebuild,
    semiring,
    walk,
)
from mlir_sparse.notation.entry_functions import COMBINING, lifted
from mlir_sparse.notation.laws import Law, holds
from mlir_sparse.notation.semiring import MONOIDS, MULTIPLICATIONS
from mlir_sparse.spec import Rewriting, logic_of
from mlir_sparse.spec.computed_type import gives_truth, result_dtype

__all__ = ["CountedTruth", "ReducedValues", "SemiringProducts", "SumsOfProducts", "ruled_semirings"]

# What the rules rely on.
_LAWS = (Law.SUM_ORDER, Law.LEFT, Law.RIGHT, Law.GROUPS, Law.SWAPS, Law.ANNIHILATES)
# Sums and products of numbers need no reading; `any` takes whichever comes last.
_OTHERS = frozenset({"times", "any"})


@cache
def _ruled() -> tuple[Semiring, ...]:
    found = (
        ring
        for add in MONOIDS.keys() - _OTHERS - {"plus"}
        for multiply in MULTIPLICATIONS.keys() - _OTHERS
        if all(holds(law, ring := semiring(add, multiply)) for law in _LAWS)
    )
    return tuple(sorted(found, key=lambda ring: ring.name))


def ruled_semirings(*, reals: bool) -> Iterator[Semiring]:
    """Yields the semirings beside that of numbers which have all laws that rules rely on.

    Least and greatest values are exact. In floating point `a + b` never falls where b grows, so that `a + min(b, c)`
    is `min(a + b, a + c)` bit for bit, and `(a + b) + c` is rounded otherwise than `a + (b + c)`. Integers wrap: in i8
    `100 + min(100, -100)` is 0, but the least of `100 + 100` and `100 - 100` is -56.

    Args:
        reals: whether all operands are real numbers in floating point, so that + may be the product.

    >>> [ring.name for ring in ruled_semirings(reals=False)]
    ['and_or', 'max_min', 'min_max', 'or_and']
    >>> [ring.name for ring in ruled_semirings(reals=True) if ring.multiply.name == "plus"]
    ['max_plus', 'min_plus']
    """
    yield from (ring for ring in _ruled() if reals or ring.multiply.name != "plus")


class SumsOfProducts(ABC):
    """A kind of sums of products.

    `_sum_in` and `_factors_in` say what is a sum over variables and what a product of two, `_sum` and `_product` write
    them.
    """

    def as_numbers(self, node: Expr) -> Expr | None:
        """Returns a sum of products of this kind as one of numbers; None for anything else."""
        if isinstance(node, Access):
            return node
        if (summed := self._sum_in(node)) is not None:
            inside = self.as_numbers(summed[1])
            return inside if inside is None or not summed[0] else Reduce(ReduceOp.SUM, summed[0], inside)
        if (factors := self._factors_in(node)) is not None:
            left, right = map(self.as_numbers, factors)
            return None if left is None or right is None else Binary(BinaryOp.MUL, left, right)
        return None

    def restored(self, rewriting: Rewriting) -> Rewriting:
        """Returns a way to compute what `as_numbers` gave as one for this kind."""
        parts = tuple(replace(part, value=self._whole(part.value), dtype=self._dtype) for part in rewriting.parts)
        return replace(rewriting, parts=parts, value=self._whole(rewriting.value))

    _dtype: DType | None = None

    def _whole(self, node: Expr) -> Expr:
        return self._of_numbers(node)

    def _of_numbers(self, node: Expr) -> Expr:
        match node:
            case Access():
                return node
            case Reduce(ReduceOp.SUM, indices, body):
                return self._sum(indices, self._of_numbers(body))
            case Binary(BinaryOp.MUL, left, right):
                return self._product(self._of_numbers(left), self._of_numbers(right))
            case _:
                raise AssertionError(f"no product of accesses: {node}")

    @abstractmethod
    def _sum_in(self, node: Expr) -> tuple[tuple[IndexVar, ...], Expr] | None: ...

    @abstractmethod
    def _factors_in(self, node: Expr) -> tuple[Expr, Expr] | None: ...

    @abstractmethod
    def _sum(self, indices: tuple[IndexVar, ...], body: Expr) -> Expr: ...

    @abstractmethod
    def _product(self, left: Expr, right: Expr) -> Expr: ...


@dataclass(frozen=True, slots=True)
class SemiringProducts(SumsOfProducts):
    """Sums and products of stored entries under a semiring.

    Args:
        ring: the semiring.
        target: what the sum is added to; None for a statement that does not read its result.
    """

    ring: Semiring
    target: Access | None = None

    @classmethod
    def of(cls, value: Expr, target: Access, *, reals: bool) -> tuple[SemiringProducts, Expr] | None:
        """Returns the kind of a statement's right side, and that as a sum of products of numbers; None for no such one.

        Args:
            value: the right side, with folds and operators.
            target: the target.
            reals: whether all operands are real numbers in floating point.
        """
        for ring in ruled_semirings(reals=reals):
            match value:
                case Fold(monoid, (), Apply(added, (read, inner))) if added == ring.add.union and monoid == ring.add:
                    kind = cls(ring, target if read == target else None)
                    found = None if kind.target is None else kind.as_numbers(inner)
                case _:
                    kind = cls(ring)
                    found = kind.as_numbers(value)
            if found is not None:
                return kind, found
        return None

    def restored(self, rewriting: Rewriting) -> Rewriting:
        """Returns a way to compute a sum of products of numbers as one under the semiring."""
        found = SumsOfProducts.restored(self, rewriting)
        if self.target is None:
            return found
        return replace(found, value=Fold(self.ring.add, (), Apply(self.ring.add.union, (self.target, found.value))))

    def _whole(self, node: Expr) -> Expr:
        found = self._of_numbers(node)
        return found if isinstance(found, Fold) else Fold(self.ring.add, (), lifted(found, self.ring.add))

    def _sum_in(self, node: Expr) -> tuple[tuple[IndexVar, ...], Expr] | None:
        match node:
            case Fold(monoid, indices, body) if monoid == self.ring.add:
                return indices, body
            case Apply(known, (operand,)) if known == self.ring.add.lift:
                return (), operand
            case _:
                return None

    def _factors_in(self, node: Expr) -> tuple[Expr, Expr] | None:
        match node:
            case Apply(known, (left, right)) if known == self.ring.multiply:
                return left, right
            case _:
                return None

    def _sum(self, indices: tuple[IndexVar, ...], body: Expr) -> Expr:
        return Fold(self.ring.add, indices, lifted(body, self.ring.add))

    def _product(self, left: Expr, right: Expr) -> Expr:
        return Apply(self.ring.multiply, (left, right))


# What is a product where a semiring's product has a name.
_AS_OPERATION = {"plus": BinaryOp.ADD, "and": BinaryOp.AND, "or": BinaryOp.OR}


@dataclass(frozen=True, slots=True)
class ReducedValues(SumsOfProducts):
    """Reductions of all elements by minimum, maximum, or, and: `min(j : P(i,j) + x(j))`.

    Args:
        op: the reduction.
        ring: the semiring with this sum.
    """

    op: ReduceOp
    ring: Semiring

    @classmethod
    def of(cls, value: Expr, *, reals: bool, arrays: bool) -> tuple[ReducedValues, Expr] | None:
        """Returns the kind of a statement's right side, and that as a sum of products of numbers; None for no such one.

        Elements that are not stored count as zeros here. So products of others than truth values need arrays.

        Args:
            value: the right side.
            reals: whether all operands are real numbers in floating point.
            arrays: whether all operands are arrays.
        """
        op = next((node.op for node in walk(value) if isinstance(node, Reduce)), ReduceOp.SUM)
        add = COMBINING.get(op)
        if add is None or add == MONOIDS["plus"]:
            return None  # sums are those of numbers: to look through the semirings takes milliseconds, once
        for ring in ruled_semirings(reals=reals):
            if ring.add == add and (arrays or ring.name == "or_and"):
                kind = cls(op, ring)
                if (found := kind.as_numbers(value)) is not None:
                    return kind, found
        return None

    @property
    def _dtype(self) -> DType | None:  # type: ignore[override]
        return TRUTH if self.op.gives_truth else None

    def _sum_in(self, node: Expr) -> tuple[tuple[IndexVar, ...], Expr] | None:
        return (node.indices, node.body) if isinstance(node, Reduce) and node.op is self.op else None

    def _factors_in(self, node: Expr) -> tuple[Expr, Expr] | None:
        name = self.ring.multiply.name
        match node:
            case Binary(op, left, right) if op is _AS_OPERATION.get(name):
                return left, right
            case Call(function, (left, right)) if function == name:
                return left, right
            case _:
                return None

    def _sum(self, indices: tuple[IndexVar, ...], body: Expr) -> Expr:
        return Reduce(self.op, indices, body)

    def _product(self, left: Expr, right: Expr) -> Expr:
        name = self.ring.multiply.name
        op = _AS_OPERATION.get(name)
        return Call(name, (left, right)) if op is None else Binary(op, left, right)


@dataclass(frozen=True, slots=True)
class CountedTruth:
    """Sums of products in which truth values are ones and zeros: their products are logic in the statement.

    Args:
        types: (name, element type) of each tensor.
        dtype: the element type of the statement, which parts have.
    """

    types: tuple[tuple[str, DType], ...]
    dtype: DType

    def as_numbers(self, node: Expr) -> Expr:
        """Returns an expression with products of numbers in place of `&` below its sums."""
        match node:
            case Reduce(ReduceOp.SUM):
                return replace(node, body=self.as_numbers(node.body))
            case Negate(operand):
                return replace(node, operand=self.as_numbers(operand))
            case Binary(BinaryOp.ADD | BinaryOp.SUB | BinaryOp.MUL, left, right):
                return replace(node, left=self.as_numbers(left), right=self.as_numbers(right))
            case Binary(BinaryOp.AND, left, right) if self._is_truth(left) and self._is_truth(right):
                return Binary(BinaryOp.MUL, self.as_numbers(left), self.as_numbers(right))
            case _:
                return node

    def _is_truth(self, node: Expr) -> bool:
        return gives_truth(node) or (isinstance(node, Access) and dict(self.types)[node.tensor].is_truth)

    def restored(self, rewriting: Rewriting) -> Rewriting:
        """Returns a way to compute sums of numbers, with logic where all factors are truth values."""
        dtypes = {**dict(self.types), **{part.target.tensor: part.dtype or self.dtype for part in rewriting.parts}}
        parts = tuple(replace(part, value=self._counted(part.value, dtypes)) for part in rewriting.parts)
        return replace(rewriting, parts=parts, value=self._counted(rewriting.value, dtypes))

    def _counted(self, node: Expr, dtypes: Mapping[str, DType]) -> Expr:
        return logic_of(self._with_numbers(node, dtypes), dtypes)

    def _with_numbers(self, node: Expr, dtypes: Mapping[str, DType]) -> Expr:
        """Returns an expression in which sums of truth values are sums of numbers: a common factor's are no logic."""
        if gives_truth(node):
            return node  # what it compares is as the statement has it
        below = children(node)
        operands = tuple(self._with_numbers(child, dtypes) for child in below)
        node = node if operands == below else rebuild(node, operands)
        match node:
            case Binary(BinaryOp.ADD | BinaryOp.SUB, left, _) if all(
                result_dtype(o, dtypes) == TRUTH for o in operands
            ):
                one = Literal(1 if self.dtype.is_integer else 1.0)
                return replace(node, left=Binary(BinaryOp.MUL, one, left))
            case _:
                return node
