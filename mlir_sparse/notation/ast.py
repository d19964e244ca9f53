"""Index notation as values (Kjolstad et al. 2017, section 3).

Nodes are frozen and compare by structure. Comparison ignores `span`, the node's place in the user's text. `str` of any
node is its notation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from enum import Enum
from typing import TYPE_CHECKING, cast

from mlir_sparse.classes import dataclass
from mlir_sparse.notation.binary_op import BinaryOp
from mlir_sparse.process.first_use import import_at_first_call
from mlir_sparse.text.shown_text import PrintedValue
from mlir_sparse.text.source_text import Source, Span

if TYPE_CHECKING:
    from mlir_sparse.notation.notation_printer import to_text
    from mlir_sparse.notation.operator import Monoid, Operator
else:
    import_at_first_call(__name__, {"notation.notation_printer": ("to_text",)})  # which imports the nodes

__all__ = [
    "Access",
    "AffineSubscript",
    "Apply",
    "AssignOp",
    "Assignment",
    "Binary",
    "BinaryOp",
    "Call",
    "Expr",
    "Fold",
    "IndexVar",
    "Literal",
    "Negate",
    "Range",
    "Reduce",
    "ReduceOp",
    "Subscript",
    "children",
    "reads",
    "walk",
]


class _Printed(PrintedValue):
    """Prints a node as notation, and may keep its hash, which no pickle has: processes hash texts otherwise."""

    __slots__ = ("_hash",)
    _hash: int

    def __str__(self) -> str:
        return to_text(cast("Assignment | Expr | Range | Subscript", self))


@dataclass(frozen=True, slots=True)
class IndexVar(_Printed):
    """An index variable, such as the `i` of `y(i)`."""

    name: str
    span: Span | None = field(default=None, compare=False, repr=False)

    # What the class would get, in half the time: planning asks for thousands.
    def __eq__(self, other: object) -> bool:
        return other.__class__ is IndexVar and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


@dataclass(frozen=True, slots=True)
class AffineSubscript(_Printed):
    """A subscript that is not a plain variable: `2*i + k - 1`.

    Args:
        terms: (coefficient, variable) pairs, coefficients nonzero, each variable once, in the order written.
        constant: the constant term.
        symbolic: (coefficient, names, variable or None) products with sizes and integer parameters of a comprehension,
            such as `sh*h` in `sh*h + kh`; empty once their values are known.
    """

    terms: tuple[tuple[int, IndexVar], ...]
    constant: int
    span: Span | None = field(default=None, compare=False, repr=False)
    symbolic: tuple[tuple[int, tuple[str, ...], IndexVar | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Access(_Printed):
    """A tensor with a subscript for each dimension; a scalar has no subscripts.

    A subscript that is an access itself is a gather: `X(I(i), j)` reads row I(i) of X.
    """

    tensor: str
    subscripts: tuple[Subscript, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)
    # What `indices` and `variables` found: planning asks each access for them many times.
    _indices: tuple[IndexVar, ...] | None = field(default=None, init=False, compare=False, repr=False)
    _variables: frozenset[IndexVar] | None = field(default=None, init=False, compare=False, repr=False)

    @property
    def indices(self) -> tuple[IndexVar, ...]:
        """Returns the index variables of all subscripts, each once, in order."""
        if self._indices is None:
            object.__setattr__(self, "_indices", tuple(dict.fromkeys(self._in_subscripts())))
        assert self._indices is not None
        return self._indices

    @property
    def variables(self) -> frozenset[IndexVar]:
        """Returns the index variables of all subscripts as a set."""
        if self._variables is None:
            object.__setattr__(self, "_variables", frozenset(self.indices))
        assert self._variables is not None
        return self._variables

    def _in_subscripts(self) -> Iterator[IndexVar]:
        for subscript in self.subscripts:
            match subscript:
                case IndexVar():
                    yield subscript
                case AffineSubscript(terms, symbolic=symbolic):
                    yield from (variable for _, variable in terms)
                    yield from (factor for _, _, factor in symbolic if factor is not None)
                case Access():
                    yield from subscript.indices

    @property
    def gathers(self) -> bool:
        """Returns whether some subscript is an access."""
        return self.indices != self.subscripts and any(isinstance(subscript, Access) for subscript in self.subscripts)


Subscript = IndexVar | AffineSubscript | Access


@dataclass(frozen=True, slots=True, eq=False)
class Literal(_Printed):
    """A number: int, float or complex, as Python reads it.

    Two are equal if their type, digits and sign are: kernels are cached by their literals, and `1 / -0.0` is not
    `1 / 0.0`.
    """

    value: int | float | complex
    span: Span | None = field(default=None, compare=False, repr=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and type(self.value) is type(other.value) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(self.value)


@dataclass(frozen=True, slots=True)
class Negate(_Printed):
    """Unary minus."""

    operand: Expr
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Binary(_Printed):
    """Two expressions joined by an operator."""

    op: BinaryOp
    left: Expr
    right: Expr
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Call(_Printed):
    """A scalar function of expressions: `exp(x(i))`, `max(a(i), b(i))`."""

    function: str
    arguments: tuple[Expr, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


class ReduceOp(Enum):
    """The operator of a reduction.

    `or` and `and` give whether any value, or every one, is nonzero; `count` gives the number of nonzero values;
    `argmax` and `argmin` give the first position of the greatest or least value, over one variable.
    """

    SUM = "sum"
    PRODUCT = "prod"
    MAX = "max"
    MIN = "min"
    OR = "or"
    AND = "and"
    COUNT = "count"
    ARGMAX = "argmax"
    ARGMIN = "argmin"

    @property
    def finds(self) -> bool:
        """Returns whether the result is a position: `argmax` and `argmin`."""
        return self in (ReduceOp.ARGMAX, ReduceOp.ARGMIN)

    @property
    def gives_truth(self) -> bool:
        """Returns whether the result is 0 or 1."""
        return self in (ReduceOp.OR, ReduceOp.AND)


@dataclass(frozen=True, slots=True)
class Reduce(_Printed):
    """A reduction over index variables: `sum(j, k : A(i,j) * B(j,k))`."""

    op: ReduceOp
    indices: tuple[IndexVar, ...]
    body: Expr
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Apply(_Printed):
    """A user's operator applied to stored entries: `f(A(i,j), B(i,j))`."""

    operator: Operator
    arguments: tuple[Expr, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Fold(_Printed):
    """A reduction of stored entries by a monoid: `f(j : A(i,j))`; over no variables each entry, or the identity."""

    monoid: Monoid
    indices: tuple[IndexVar, ...]
    body: Expr
    span: Span | None = field(default=None, compare=False, repr=False)


Expr = Access | Literal | Negate | Binary | Call | Reduce | Apply | Fold


class AssignOp(Enum):
    """How an assignment combines its value with the target.

    `=` replaces the target. `+=`, `*=`, `max=`, `min=`, `or=` and `and=` reduce the variables that only the right side
    has by their operator, and combine the result with the target's present value. `+=!`, `*=!`, `max=!`, `min=!`,
    `or=!` and `and=!` start from the operator's identity instead.
    """

    ASSIGN = "="
    ADD = "+="
    MUL = "*="
    MAX = "max="
    MIN = "min="
    OR = "or="
    AND = "and="
    REDUCE_ADD = "+=!"
    REDUCE_MUL = "*=!"
    REDUCE_MAX = "max=!"
    REDUCE_MIN = "min=!"
    REDUCE_OR = "or=!"
    REDUCE_AND = "and=!"

    @property
    def reads_target(self) -> bool:
        """Returns whether the target's present value is an argument."""
        return self is not AssignOp.ASSIGN and not self.value.endswith("!")

    @property
    def reduction(self) -> ReduceOp | None:
        """Returns the reduction of the whole right side; None for `=` and `+=`, which sum inside it."""
        return _NAMED_REDUCTIONS.get(self)


_NAMED_REDUCTIONS = {
    AssignOp.MUL: ReduceOp.PRODUCT,
    AssignOp.MAX: ReduceOp.MAX,
    AssignOp.MIN: ReduceOp.MIN,
    AssignOp.OR: ReduceOp.OR,
    AssignOp.AND: ReduceOp.AND,
    AssignOp.REDUCE_ADD: ReduceOp.SUM,
    AssignOp.REDUCE_MUL: ReduceOp.PRODUCT,
    AssignOp.REDUCE_MAX: ReduceOp.MAX,
    AssignOp.REDUCE_MIN: ReduceOp.MIN,
    AssignOp.REDUCE_OR: ReduceOp.OR,
    AssignOp.REDUCE_AND: ReduceOp.AND,
}


@dataclass(frozen=True, slots=True)
class Range(_Printed):
    """The range of a variable: `kw in 0:2` is 0 and 1.

    Args:
        variable: the index variable.
        low: the first value: a constant, plus sizes in a comprehension.
        high: the value after the last one.
    """

    variable: IndexVar
    low: AffineSubscript
    high: AffineSubscript
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Assignment(_Printed):
    """`target op value where ranges`: one statement of index notation.

    Args:
        target: the access that is assigned to.
        op: how the value combines with it.
        value: the right side.
        source: the text that it was parsed from.
        ranges: the ranges written out; other variables run over the extents of the tensors.
        exists: accesses that are not read, but bound their variables (`where exists A(i)`).
    """

    target: Access
    op: AssignOp
    value: Expr
    source: Source | None = field(default=None, compare=False, repr=False)
    ranges: tuple[Range, ...] = ()
    exists: tuple[Access, ...] = ()
    # What `with_explicit_sums`, `reads` and `inputs` found: each stage of a kernel asks for it, and for the hash.
    _explicit: Assignment | None = field(default=None, init=False, compare=False, repr=False)
    _reads: tuple[Access, ...] | None = field(default=None, init=False, compare=False, repr=False)
    _inputs: tuple[str, ...] | None = field(default=None, init=False, compare=False, repr=False)

    def __hash__(self) -> int:
        if not hasattr(self, "_hash"):
            object.__setattr__(self, "_hash", hash((self.target, self.op, self.value, self.ranges, self.exists)))
        return self._hash

    @property
    def reads(self) -> tuple[Access, ...]:
        """Returns every access of the value in the order of the text, those in subscripts included."""
        if self._reads is None:
            object.__setattr__(self, "_reads", tuple(reads(self.value)))
        assert self._reads is not None
        return self._reads

    @property
    def inputs(self) -> tuple[str, ...]:
        """Returns the tensors read, each once, in the order of the text: the target first, where `+=` reads it."""
        if self._inputs is None:
            names = [self.target.tensor] if self.op.reads_target else []
            names += [access.tensor for access in self.reads]
            names += [access.tensor for access in self.exists]
            object.__setattr__(self, "_inputs", tuple(dict.fromkeys(names)))
        assert self._inputs is not None
        return self._inputs

    @property
    def indices(self) -> tuple[IndexVar, ...]:
        """Returns all index variables: the target's, then the value's, in the order written."""
        found = list(self.target.indices)
        for node in walk(self.value):
            if isinstance(node, (Access, Reduce, Fold)):
                found += node.indices
        return tuple(dict.fromkeys(found))


def children(node: Expr) -> tuple[Expr, ...]:
    """Returns the expressions directly below a node, left to right."""
    if isinstance(node, (Access, Literal)):  # `match` takes longer, and planning asks for thousands
        return ()
    if isinstance(node, Binary):
        return (node.left, node.right)
    if isinstance(node, (Reduce, Fold)):
        return (node.body,)
    return (node.operand,) if isinstance(node, Negate) else node.arguments


def reads(node: Expr) -> Iterator[Access]:
    """Yields every access of an expression in the order of the text, those in subscripts included."""
    for below in walk(node):
        if isinstance(below, Access):
            yield below
            for subscript in below.subscripts:
                if isinstance(subscript, Access):
                    yield from reads(subscript)


def walk(node: Expr) -> Iterator[Expr]:
    """Yields a node and all nodes below it, in the order of the text."""
    left = [node]
    while left:
        node = left.pop()
        yield node
        if isinstance(node, Binary):
            left += (node.right, node.left)
        elif not isinstance(node, (Access, Literal)):  # most nodes are one of these, and have no children
            left += children(node)[::-1]
