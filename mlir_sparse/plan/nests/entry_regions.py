"""How an expression over sparse operands is said to the sparsifier: in operations it knows, or in regions.

It knows arithmetic and a few functions, and sees from them where the result can be
anything but zero. All else is said with the dialect's own operations: a region for the
places where an operand is stored (`sparse_tensor.unary`), or three for those where both
are, only the first and only the second (`sparse_tensor.binary`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from mlir_sparse.classes import dataclass
from mlir_sparse.notation import (
    Access,
    Binary,
    BinaryOp,
    Call,
    Expr,
    IndexVar,
    Literal,
    Negate,
    accesses_of,
    children,
    rebuild,
    walk,
)
from mlir_sparse.plan.rewrite.sum_of_terms import stored_indices, unites
from mlir_sparse.spec import depends_on, vanishes

__all__ = ["KNOWN_FUNCTIONS", "Regions", "is_native", "regions_of"]

# Functions that the sparsifier knows to keep zeros, by kind of element type.
KNOWN_FUNCTIONS = {
    "f": frozenset({"ceil", "floor", "sqrt", "expm1", "log1p", "sin", "tanh"}),
    "c": frozenset({"sqrt"}),  # of others MLIR loses digits, and they are several operations instead
    "i": frozenset[str](),
    "b": frozenset[str](),
}
# Functions of dense operands that become one operation of at most two operands; others do not lower beside sparse ones.
_SINGLE = frozenset(
    {"sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "erf", "pow", "max", "min", "conj"}
    | {"sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"}
    | {"floor", "ceil", "round", "trunc"}
)
_SINGLE_OF_COMPLEX = frozenset({"sqrt", "exp", "conj"})


@dataclass(frozen=True, slots=True)
class Regions:
    """An expression as a function of one or two of its parts, each of them sparse.

    Args:
        operands: the parts: accesses, or expressions that vanish where their operands do.
        left: whether there is a result where only the first is stored.
        right: whether there is one where only the second is.
    """

    operands: tuple[Expr, ...]
    left: bool = False
    right: bool = False


def is_native(node: Expr, sparse: Collection[str], kind: str) -> bool:
    """Returns whether the sparsifier knows the operation of a node, and each operand is one it can carry.

    Args:
        node: an expression that depends on sparse tensors.
        sparse: the tensors that leave out zeros.
        kind: the kind of element type it computes in.
    """
    if not _is_known(node, sparse, kind):
        return False
    return all(
        vanishes(child, sparse) if depends_on(child, sparse) else _is_plain(child, kind) for child in children(node)
    )


def _is_known(node: Expr, sparse: Collection[str], kind: str) -> bool:
    match node:
        case Access() | Literal() | Negate() | Binary(BinaryOp.MUL):
            return True
        case Binary(BinaryOp.ADD | BinaryOp.SUB):
            return unites(node, sparse)
        case Binary(BinaryOp.DIV, _, right):
            return isinstance(right, Literal)
        case Call(function, arguments):
            return len(arguments) == 1 and function in KNOWN_FUNCTIONS[kind]
        case _:
            return False


def _is_plain(node: Expr, kind: str) -> bool:
    """Returns whether a dense expression lowers beside sparse operands: the sparsifier takes no selection there."""
    match node:
        case Binary(op) if op.gives_truth:
            return False
        case Negate() | Binary(BinaryOp.SUB) if any(isinstance(below, Call) for below in walk(node)):
            return False  # a function that is subtracted crashes it
        case Call(function) if function not in (_SINGLE_OF_COMPLEX if kind == "c" else _SINGLE) and not (
            function == "abs" and kind == "f"
        ):
            return False
        case _:
            return all(_is_plain(child, kind) for child in children(node))


def regions_of(node: Expr, sparse: Collection[str]) -> Regions | None:
    """Returns a vanishing expression as a function of its sparse parts; None where it has too many for that.

    >>> from mlir_sparse.notation import parse
    >>> found = regions_of(parse("C(i,j) = where(A(i,j) > B(i,j), A(i,j), 0)").value, {"A", "B"})
    >>> [str(operand) for operand in found.operands], found.left, found.right
    (['A(i,j)', 'B(i,j)'], True, False)
    """
    if not vanishes(node, sparse):
        return None
    stored = [access for access in accesses_of(node) if access.tensor in sparse]
    if len(stored) <= 2:
        found = _over_accesses(node, stored)
        if found is not None:
            return found
    return _over_children(node, sparse)


def _over_accesses(node: Expr, stored: Sequence[Access]) -> Regions | None:
    if len(stored) == 1:
        return Regions(tuple(stored))
    first, second = stored
    indices = frozenset(first.indices), frozenset(second.indices)
    return _joined((first, second), indices, not vanishes(node, [second]), not vanishes(node, [first]))


def _over_children(node: Expr, sparse: Collection[str]) -> Regions | None:
    parts = [child for child in children(node) if depends_on(child, sparse)]
    if not all(vanishes(part, sparse) for part in parts):
        return None
    if len(parts) == 1:
        return Regions(tuple(parts))
    if len(parts) != 2:
        return None

    def without(part: Expr) -> Expr:
        return rebuild(node, tuple(Literal(0) if child is part else child for child in children(node)))

    first, second = parts
    indices = stored_indices(first, sparse), stored_indices(second, sparse)
    return _joined((first, second), indices, not vanishes(without(second), ()), not vanishes(without(first), ()))


def _joined(
    operands: tuple[Expr, Expr],
    variables: tuple[frozenset[IndexVar], frozenset[IndexVar]],
    left: bool,
    right: bool,
) -> Regions | None:
    """Returns the regions of two operands; where one is missing, the other must have said where the loops are."""
    first, second = variables
    if (left and not second <= first) or (right and not first <= second):
        return None
    return Regions(operands, left, right)
