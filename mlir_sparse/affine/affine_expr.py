"""Affine expressions as values: the coordinate of a level as an expression over the dimensions.

The nodes and their printed form are those of MLIR's `AffineExpr`. Build them with the constructors of
`mlir_sparse.affine.simplify`, which fold and reorder exactly as MLIR does. So most expressions of equal meaning have
equal structure, and the printed text is MLIR's.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, TypeAlias, assert_never

from mlir_sparse.classes import dataclass

__all__ = ["AffineBinary", "AffineExpr", "AffineOp", "Constant", "Dim", "Symbol"]


class AffineOp(Enum):
    """The operators of affine expressions, as MLIR spells them."""

    ADD = "+"
    MUL = "*"
    FLOORDIV = "floordiv"
    CEILDIV = "ceildiv"
    MOD = "mod"


class _Expr:
    """The methods of every node; the nodes are the four classes below."""

    __slots__ = ()

    def evaluate(self, dims: Sequence[Any], symbols: Sequence[Any] = ()) -> Any:
        """Returns the value for values of the dimensions and symbols: ints, or NumPy integer arrays elementwise.

        >>> AffineBinary(AffineOp.FLOORDIV, Dim(0), Constant(4)).evaluate([11])
        2
        """
        return _evaluate(_node(self), dims, symbols)

    def dims(self) -> tuple[int, ...]:
        """Returns the positions of the dimensions used, ascending."""
        return tuple(sorted({n.position for n in _leaves(_node(self)) if isinstance(n, Dim)}))

    def symbols(self) -> tuple[int, ...]:
        """Returns the positions of the symbols used, ascending."""
        return tuple(sorted({n.position for n in _leaves(_node(self)) if isinstance(n, Symbol)}))

    def constants(self) -> tuple[int, ...]:
        """Returns the integers in the expression, left to right."""
        return tuple(n.value for n in _leaves(_node(self)) if isinstance(n, Constant))

    @property
    def is_symbolic(self) -> bool:
        """Returns whether the expression uses no dimension."""
        return not self.dims()

    def to_text(self, dim_names: Sequence[str] = (), symbol_names: Sequence[str] = ()) -> str:
        """Returns the text of the expression; variables without a given name are `d0`, `s0`.

        >>> AffineBinary(AffineOp.MOD, Dim(1), Constant(4)).to_text(["i", "j"])
        'j mod 4'
        """
        return _print(_node(self), dim_names, symbol_names, tight=False)

    def __str__(self) -> str:
        return self.to_text()


@dataclass(frozen=True, slots=True)
class Dim(_Expr):
    """A dimension variable (a level variable in a map from levels to dimensions)."""

    position: int

    __str__ = _Expr.__str__


@dataclass(frozen=True, slots=True)
class Symbol(_Expr):
    """A symbol: a size that each tensor fixes."""

    position: int

    __str__ = _Expr.__str__


@dataclass(frozen=True, slots=True)
class Constant(_Expr):
    """An integer."""

    value: int

    __str__ = _Expr.__str__


@dataclass(frozen=True, slots=True)
class AffineBinary(_Expr):
    """An operator applied to two expressions; use the constructors to build one simplified."""

    op: AffineOp
    left: AffineExpr
    right: AffineExpr

    __str__ = _Expr.__str__


AffineExpr: TypeAlias = Dim | Symbol | Constant | AffineBinary


def _node(expr: _Expr) -> AffineExpr:
    assert isinstance(expr, Dim | Symbol | Constant | AffineBinary)
    return expr


def _leaves(expr: AffineExpr) -> list[Dim | Symbol | Constant]:
    if isinstance(expr, AffineBinary):
        return _leaves(expr.left) + _leaves(expr.right)
    return [expr]


def _evaluate(expr: AffineExpr, dims: Sequence[Any], symbols: Sequence[Any]) -> Any:
    match expr:
        case Dim(position):
            return dims[position]
        case Symbol(position):
            return symbols[position]
        case Constant(value):
            return value
        case AffineBinary(op, left, right):
            return _apply(op, _evaluate(left, dims, symbols), _evaluate(right, dims, symbols))
        case _:
            assert_never(expr)


def _apply(op: AffineOp, left: Any, right: Any) -> Any:
    match op:
        case AffineOp.ADD:
            return left + right
        case AffineOp.MUL:
            return left * right
        case AffineOp.FLOORDIV:
            return left // right
        case AffineOp.CEILDIV:
            return -(-left // right)
        case AffineOp.MOD:
            return left % right
        case _:
            assert_never(op)


def _print(expr: AffineExpr, dims: Sequence[str], symbols: Sequence[str], tight: bool) -> str:
    """Prints as MLIR does: `tight` asks for parentheses around anything but a leaf."""
    match expr:
        case Dim(position):
            return dims[position] if position < len(dims) else f"d{position}"
        case Symbol(position):
            return symbols[position] if position < len(symbols) else f"s{position}"
        case Constant(value):
            return str(value)
        case AffineBinary(AffineOp.ADD, left, right):
            text = _print(left, dims, symbols, False) + _print_addend(right, dims, symbols)
        case AffineBinary(AffineOp.MUL, left, Constant(-1)):
            text = "-" + _print(left, dims, symbols, True)
        case AffineBinary(op, left, right):
            text = f"{_print(left, dims, symbols, True)} {op.value} {_print(right, dims, symbols, True)}"
        case _:
            assert_never(expr)
    return f"({text})" if tight else text


def _print_addend(expr: AffineExpr, dims: Sequence[str], symbols: Sequence[str]) -> str:
    match expr:
        case AffineBinary(AffineOp.MUL, factor, Constant(-1)):
            is_sum = isinstance(factor, AffineBinary) and factor.op is AffineOp.ADD
            return " - " + _print(factor, dims, symbols, is_sum)
        case AffineBinary(AffineOp.MUL, factor, Constant(value)) if value < -1:
            return f" - {_print(factor, dims, symbols, True)} * {-value}"
        case Constant(value) if value < 0:
            return f" - {-value}"
        case _:
            return " + " + _print(expr, dims, symbols, False)
