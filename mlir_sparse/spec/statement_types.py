"""The element type of every tensor of a comprehension."""

from __future__ import annotations

from collections.abc import Mapping

from mlir_sparse.dtypes import INTEGER, TRUTH, DType
from mlir_sparse.errors import DTypeError
from mlir_sparse.notation import (
    Access,
    Assignment,
    Binary,
    BinaryOp,
    Comprehension,
    Expr,
    Literal,
    is_made_by_calls,
    substitute,
    walk,
)
from mlir_sparse.spec.computed_type import promote, result_dtype

__all__ = ["element_types"]


def element_types(comprehension: Comprehension, inputs: Mapping[str, DType]) -> dict[str, DType]:
    """Returns the element type of every tensor that is read or assigned.

    A tensor has one type: the one declared after `->`, or the common type of its initial value and all values assigned
    to it. Literals and sizes are weak: `C(i) = 0` before `C(i) += A(i,k)` does not decide. Values between statements
    are not rounded to types that are stored alone.

    Raises:
        DTypeError: for an output with a narrower declared type than that of its values.
    """
    known = dict(inputs)
    for statement in comprehension.statements:
        known |= {name: INTEGER for name in statement.inputs if is_made_by_calls(name)}
    declared = {output.name: DType.of(output.dtype) for output in comprehension.outputs if output.dtype is not None}
    found: dict[str, DType | Literal] = {}
    for statement in comprehension.statements:
        name = statement.target.tensor
        new = _assigned(comprehension, statement, known | _strong(found))
        before = found.get(name, known.get(name))
        found[name] = new if before is None else _joined(before, new)
    kinds = known | _strong(found)
    for name, wanted in declared.items():
        if promote(kinds[name], wanted) != wanted and not isinstance(found[name], Literal):
            raise DTypeError(
                f"expected {name} to hold {kinds[name]}, which is assigned to it, but got {wanted} declared: "
                f"declare the wider type",
                source=comprehension.source,
                span=next(output.span for output in comprehension.outputs if output.name == name),
            )
    between = {name for name in found if name not in comprehension.results and kinds[name].is_storage}
    return kinds | declared | {name: kinds[name].accumulated_in for name in between}


def _strong(found: Mapping[str, DType | Literal]) -> dict[str, DType]:
    return {name: kind if isinstance(kind, DType) else result_dtype(kind, {}) for name, kind in found.items()}


def _assigned(comprehension: Comprehension, statement: Assignment, known: Mapping[str, DType]) -> DType | Literal:
    """Returns the type of the value that a statement assigns; a literal of its kind if there are only literals."""
    names = {statement.target.tensor, *comprehension.sizes}
    accesses = [node for node in walk(statement.value) if isinstance(node, Access)]
    # The target itself and the sizes are weak: they take the type of the rest.
    weak = {access: Literal(0) for access in accesses if access.tensor in names}
    value = substitute(statement.value, weak)
    kind = result_dtype(value, known)
    if kind != TRUTH and all(access in weak for access in accesses):
        return Literal({"i": 0, "f": 0.0, "c": 0j}[kind.kind])
    return kind


def _joined(left: DType | Literal, right: DType | Literal) -> DType | Literal:
    if isinstance(left, DType) and isinstance(right, DType):
        return promote(left, right)
    if isinstance(left, Literal) and isinstance(right, Literal):
        return left if _weight(left) >= _weight(right) else right
    strong, weak = (left, right) if isinstance(left, DType) else (right, left)
    assert isinstance(strong, DType)
    joined: Expr = Binary(BinaryOp.ADD, Access("x"), weak) if isinstance(weak, Literal) else Access("x")
    return result_dtype(joined, {"x": strong})


def _weight(literal: Literal) -> int:
    return (int, float, complex).index(type(literal.value))
