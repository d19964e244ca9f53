"""Targets with sums in their subscripts: `c(i + 8, 2*j) = a(i,j)`.

Such a statement computes a value for each combination of the target's variables, as a plain one does, and puts it where
the subscripts say. Elements that no combination reaches are zero, or stay as they are.
"""

from __future__ import annotations

from dataclasses import replace

from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation.ast import Access, Assignment, AssignOp, IndexVar
from mlir_sparse.notation.comprehension import Comprehension

__all__ = ["has_affine_target", "refuse_affine_targets", "with_plain_target"]


def has_affine_target(statement: Assignment) -> bool:
    """Returns whether some subscript of the target is no plain variable.

    >>> from mlir_sparse.notation.notation_parser import parse
    >>> has_affine_target(parse("c(2*i) = a(i)")), has_affine_target(parse("c(i) = a(i)"))
    (True, False)
    """
    return not all(isinstance(subscript, IndexVar) for subscript in statement.target.subscripts)


def with_plain_target(statement: Assignment) -> Assignment:
    """Returns the statement that computes a value for each combination of the target's variables.

    The target's present value is no part of it: `+=` and the like combine it with the values when these are placed.

    >>> from mlir_sparse.notation.notation_parser import parse
    >>> print(with_plain_target(parse("c(i + j) += a(i) * b(j)")))
    c(i,j) = a(i) * b(j)
    """
    op = statement.op
    if op is AssignOp.ADD:  # sums are placed inside, as by `=`
        op = AssignOp.ASSIGN
    elif op.reads_target:
        op = AssignOp(f"{op.value}!")
    target = Access(statement.target.tensor, statement.target.indices, statement.target.span)
    return replace(statement, target=target, op=op)


def refuse_affine_targets(given: Assignment | Comprehension, what: str) -> None:
    """Refuses statements with sums in the subscripts of their targets, for what takes none.

    Raises:
        UnsupportedError: with the statement to write instead.
    """
    for statement in given.statements if isinstance(given, Comprehension) else (given,):
        if has_affine_target(statement):
            plain = with_plain_target(statement).target
            raise UnsupportedError(
                f"expected plain index variables in the target for {what}, but got `{statement.target}`: "
                f"compute `{plain}`, and put it in its place by NumPy",
                source=statement.source,
                span=statement.target.span,
            )
