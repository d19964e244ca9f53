"""What each access of an expression adds to its tensor's cotangent: the chain rule, from the outside in.

Reverse-mode differentiation (Griewank and Walther 2008, chapter 3) on expressions: the cotangent of a node, an
expression itself, gives those of its children. Sums over index variables are transposed into products with variables
that are free, and the reverse.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import field, replace
from typing import NoReturn

from mlir_sparse.classes import dataclass
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation.adjoint.complex_values import is_complex, real_part
from mlir_sparse.notation.adjoint.derivative_table import DERIVATIVES, HOLOMORPHIC, OF_PARTS, derivative
from mlir_sparse.notation.ast import (
    Access,
    Apply,
    Assignment,
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
    reads,
)
from mlir_sparse.notation.definition import fresh_name
from mlir_sparse.notation.masks import MASK, SELECT, is_mask
from mlir_sparse.notation.rebuild import accesses_of, rename_variables, substitute
from mlir_sparse.notation.scalar_functions import STORED

__all__ = ["Contribution", "Descent", "times"]

_PASSIVE = (ReduceOp.OR, ReduceOp.AND, ReduceOp.COUNT, ReduceOp.ARGMAX, ReduceOp.ARGMIN)


@dataclass(frozen=True, slots=True)
class Contribution:
    """A term of a cotangent.

    Args:
        access: the access whose tensor's cotangent it is added to.
        value: the term, an expression over the variables of the statement.
        summed: variables that it is summed over where the access has them not.
        mask: the mask operator with its access, None without: the term has entries where the mask leaves some.
        statement: where the access stands.
    """

    access: Access
    value: Expr
    summed: tuple[IndexVar, ...]
    mask: Apply | None
    statement: Assignment


@dataclass(slots=True)
class Descent:
    """The walk through one statement.

    Args:
        statement: the statement, with explicit sums and each bound variable bound once.
        active: the tensors whose cotangents are wanted.
        complexes: the tensors of complex numbers, cotangents too: cotangents are multiplied by conjugates of these.
        is_sparse: whether a tensor stores some of its elements only.
        temporary: gives an expression a name, and returns the access that reads it.
        equal: returns an access that is 1 where two variables are equal, which an access runs over.
        taken: the names in use.
        found: the terms.
        reasons: why an active tensor has no term somewhere.
    """

    statement: Assignment
    active: Collection[str]
    complexes: Collection[str]
    is_sparse: Callable[[str], bool]
    temporary: Callable[[str, Expr], Access]
    equal: Callable[[IndexVar, IndexVar, Access], Access]
    taken: set[str]
    found: list[Contribution] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)

    def run(self, cotangent: Expr) -> None:
        """Walks through the value of the statement.

        Raises:
            UnsupportedError: for a node that has no derivative, where an active tensor is below.
        """
        self._down(self.statement.value, cotangent, (), None)

    def _refuse(self, what: str, instead: str, node: Expr) -> NoReturn:
        source = self.statement.source
        raise UnsupportedError(
            f"expected operations with a derivative, but got {what} in `{self.statement}`; {instead}",
            source=source,
            span=node.span if source is not None else None,
        )

    def _below(self, node: Expr) -> bool:
        return any(access.tensor in self.active for access in reads(node))

    def _down(self, node: Expr, g: Expr, summed: tuple[IndexVar, ...], mask: Apply | None) -> None:
        if not self._below(node):
            return
        match node:
            case Access():
                self._at_access(node, g, summed, mask)
            case Literal():
                return
            case Negate(operand):
                self._down(operand, Negate(g), summed, mask)
            case Binary():
                self._at_binary(node, g, summed, mask)
            case Call():
                self._at_call(node, g, summed, mask)
            case Reduce():
                self._at_reduction(node, g, summed, mask)
            case Apply():
                self._at_operator(node, g, summed, mask)
            case Fold(monoid):
                way_out = "differentiate a statement in + and *, or one with max(j : ...) or min(j : ...)"
                self._refuse(f"a reduction by the monoid {monoid.name}", way_out, node)

    def _at_access(self, node: Access, g: Expr, summed: tuple[IndexVar, ...], mask: Apply | None) -> None:
        if node.tensor in self.active:
            self.found.append(Contribution(node, g, summed, mask, self.statement))
        for subscript in node.subscripts:
            if isinstance(subscript, Access) and self._below(subscript):
                self.reasons.append(f"`{subscript}` is a subscript, an integer that says where to read")

    def _at_binary(self, node: Binary, g: Expr, summed: tuple[IndexVar, ...], mask: Apply | None) -> None:
        left, right = node.left, node.right
        match node.op:
            case BinaryOp.ADD:
                self._down(left, g, summed, mask)
                self._down(right, g, summed, mask)
            case BinaryOp.SUB:
                self._down(left, g, summed, mask)
                self._down(right, Negate(g), summed, mask)
            case BinaryOp.MUL:
                self._down(left, times(g, self._conj(right)), summed, mask)
                self._down(right, times(g, self._conj(left)), summed, mask)
            case BinaryOp.DIV:
                over = self._conj(right)
                self._down(left, Binary(BinaryOp.DIV, g, over), summed, mask)
                share = Negate(times(g, self._conj(left)))
                self._down(right, Binary(BinaryOp.DIV, share, Call("square", (over,))), summed, mask)
            case _:
                self.reasons.append(f"`{node}` is a truth value, constant nearly everywhere")

    def _conj(self, node: Expr) -> Expr:
        if isinstance(node, Literal):
            return Literal(node.value.conjugate())
        return Call("conj", (node,)) if self._is_complex(node) else node

    def _is_complex(self, node: Expr) -> bool:
        return is_complex(node, self.complexes)

    def _at_call(self, node: Call, g: Expr, summed: tuple[IndexVar, ...], mask: Apply | None) -> None:
        known = DERIVATIVES[node.function]
        if known.reason:
            self._refuse(f"{node.function}, but {known.reason}", "leave it out of what is differentiated", node)
        if any(map(self._is_complex, node.arguments)) and node.function not in HOLOMORPHIC:
            self._at_parts(node, g, summed, mask)
            return
        if node.function == "pow" and isinstance(node.arguments[1], Literal):
            self._at_power(node, g, summed, mask)
            return
        arguments = tuple(map(self._conj, node.arguments))
        for at, argument in enumerate(node.arguments):
            if not self._below(argument):
                continue
            term = derivative(node.function, at, arguments, g)
            if term is None:
                self.reasons.append(f"{node.function} is constant nearly everywhere in `{argument}`")
            else:
                self._down(argument, term, summed, mask)

    def _at_parts(self, node: Call, g: Expr, summed: tuple[IndexVar, ...], mask: Apply | None) -> None:
        """Differentiates a function of the parts of a complex number."""
        if node.function not in OF_PARTS:
            way_out = "write it in conj, real, imag, abs, angle and sign"
            self._refuse(f"{node.function} of complex numbers", way_out, node)
        (argument,) = node.arguments
        own = g if self._is_complex(node) else real_part(g, self.complexes)
        term = derivative(node.function, 0, node.arguments, own, of_parts=True)
        assert term is not None, "each has one"
        self._down(argument, term, summed, mask)

    def _at_power(self, node: Call, g: Expr, summed: tuple[IndexVar, ...], mask: Apply | None) -> None:
        """Differentiates a constant power, without a logarithm or a quotient."""
        base, exponent = node.arguments
        assert isinstance(exponent, Literal)
        value = exponent.value
        if value == 0:
            self.reasons.append(f"`{node}` is constant")
            return
        factor = value.conjugate()
        below = self._conj(base) if value == 2 else Call("pow", (self._conj(base), Literal(factor - 1)))
        whole = times(Literal(factor), g)
        self._down(base, whole if value == 1 else times(whole, below), summed, mask)

    def _at_stored(self, node: Apply, g: Expr, summed: tuple[IndexVar, ...], mask: Apply | None) -> None:
        """Differentiates `stored(...)`, whose result has entries where its sparse tensors have one."""
        named = zip(node.operator.parameters, node.arguments, strict=True)
        operands = {Access(name): operand for name, operand in named}
        assert node.operator.overlap is not None
        body = substitute(node.operator.overlap, operands)
        sparse = [access for access in accesses_of(body) if self.is_sparse(access.tensor)]
        if sparse and (mask is not None or len(sparse) > 1):
            way_out = "give it a name by a statement of its own"
            self._refuse("`stored` under a mask, or of several sparse tensors", way_out, node)
        if sparse:
            mask = Apply(MASK, (sparse[0], g))
        self._down(body, g, summed, mask)

    def _at_reduction(self, node: Reduce, g: Expr, summed: tuple[IndexVar, ...], mask: Apply | None) -> None:
        below = (*summed, *node.indices)
        match node.op:
            case ReduceOp.SUM:
                self._down(node.body, g, below, mask)
            case ReduceOp.MAX | ReduceOp.MIN:
                self._down(node.body, self._at_extreme(node, g), below, mask)
            case ReduceOp.PRODUCT:
                self._down(node.body, times(g, self._conj(self._others(node))), below, mask)
            case op if op in _PASSIVE:
                self.reasons.append(f"{op.value} is constant nearly everywhere")

    def _at_extreme(self, node: Reduce, g: Expr) -> Expr:
        """Selects the values that are the extreme; several share the cotangent equally, as in `torch.amax`."""
        # Values that are compared are computed once: another loop may round a product that is added differently.
        body = node.body if isinstance(node.body, Access) else self.temporary("terms", node.body)
        extreme = self.temporary(node.op.value, replace(node, body=body))
        equal = Binary(BinaryOp.EQ, body, extreme)
        ties = self.temporary("ties", Reduce(ReduceOp.COUNT, node.indices, equal))
        return Call("where", (equal, Binary(BinaryOp.DIV, g, ties), Literal(0)))

    def _others(self, node: Reduce) -> Expr:
        """Returns the product of all factors but one: exact where factors are zero, too."""
        names = {one: IndexVar(fresh_name(one.name, self.taken)) for one in node.indices}
        factor = rename_variables(node.body, names)
        access = next(access for access in accesses_of(node.body) if set(access.indices) & set(node.indices))
        same: Expr | None = None
        for old, new in names.items():
            at = Binary(BinaryOp.NE, self.equal(old, new, access), Literal(0))
            same = at if same is None else Binary(BinaryOp.AND, same, at)
        assert same is not None
        return Reduce(ReduceOp.PRODUCT, tuple(names.values()), Call("where", (same, Literal(1), factor)))

    def _at_operator(self, node: Apply, g: Expr, summed: tuple[IndexVar, ...], mask: Apply | None) -> None:
        if is_mask(node):
            over, value = node.arguments
            if self._below(over):
                self.reasons.append(f"`{over}` is a mask, of which the structure alone counts")
            if mask is not None:
                self._refuse("a mask inside of another", "give the inner one a name by a statement of its own", node)
            self._down(value, g, summed, replace(node, arguments=(over, g)))
            return
        if node.operator == SELECT:
            value, condition = node.arguments
            self._down(value, Call("where", (condition, g, Literal(0))), summed, mask)
            return
        if node.operator.name == STORED:
            self._at_stored(node, g, summed, mask)
            return
        way_out = "write it out in notation: where(c, a, b), max(a, b) and the other functions have derivatives"
        self._refuse(f"the operator {node.operator.name} on entries", way_out, node)


def times(left: Expr, right: Expr) -> Expr:
    """Returns a product; one by the number 1 is the other factor.

    >>> print(times(Literal(1), Access("x")))
    x
    """
    if left == Literal(1):
        return right
    if isinstance(left, Negate):
        return Negate(times(left.operand, right))
    return Binary(BinaryOp.MUL, left, right)
