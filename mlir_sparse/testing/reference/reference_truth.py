"""Decides which expressions are truth values; for these `+` is or, and values have one bit."""

from __future__ import annotations

import numpy as np

from mlir_sparse.notation.ast import (
    Access,
    Apply,
    Binary,
    BinaryOp,
    Call,
    Expr,
    Fold,
    Literal,
    Negate,
    Reduce,
    ReduceOp,
)
from mlir_sparse.testing.reference.read_elements import Block

__all__ = ["is_truth"]

_TESTS = frozenset({"logical_not", "logical_xor", "isnan", "isinf", "isfinite", "signbit"})
_KEEPING = frozenset({"max", "min", "fmax", "fmin", "bitwise_and", "bitwise_or", "bitwise_xor", "invert", "stored"})
_UNCHANGED = frozenset({"abs", "real", "imag", "floor", "ceil", "round", "trunc", "relu"})


def is_truth(node: Expr, block: Block) -> bool:
    """Returns whether NumPy's type of an expression with explicit sums is bool."""
    match node:
        case Access(tensor):
            return block.operands[tensor].values.dtype == np.bool_
        case Binary(op, left, right):
            joins = op in (BinaryOp.ADD, BinaryOp.MUL) and is_truth(right, block) and is_truth(left, block)
            return op.gives_truth or joins
        case Call("where", (_, then, otherwise)):
            return is_truth(then, block) and is_truth(otherwise, block)
        case Call(function, arguments):
            keeps = function in _KEEPING | _UNCHANGED and all(is_truth(argument, block) for argument in arguments)
            return function in _TESTS or keeps
        case Reduce(op, _, body):
            return op.gives_truth or (op in (ReduceOp.MAX, ReduceOp.MIN) and is_truth(body, block))
        case Literal() | Negate() | Apply() | Fold():
            return False
