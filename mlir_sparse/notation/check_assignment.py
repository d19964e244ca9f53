"""Refuses assignments that parse but have no meaning, each by a rule of its own."""

from __future__ import annotations

import cmath
from collections.abc import Iterator, Sequence
from typing import NoReturn

from mlir_sparse.errors import NotationError, RankError, SparseError
from mlir_sparse.notation.ast import (
    Access,
    AffineSubscript,
    Assignment,
    Call,
    Expr,
    Fold,
    IndexVar,
    Literal,
    Reduce,
    children,
    reads,
    walk,
)
from mlir_sparse.notation.index_values import is_made_by_calls
from mlir_sparse.notation.numbers import INTEGER_RANGE
from mlir_sparse.notation.scalar_functions import STORED, mistake_in_call
from mlir_sparse.notation.stored_entries import mistake_in_stored
from mlir_sparse.text.lexer import is_name
from mlir_sparse.text.source_text import Span

__all__ = ["MAX_HEIGHT", "check", "check_height"]

# The parser's own depth. Sums group to the left, so this also bounds the number of `+` in a sum without parentheses.
MAX_HEIGHT = 100


def check(assignment: Assignment) -> None:
    """Raises unless an assignment has a meaning.

    The rules: the target's subscripts are variables, each once if all are plain, or sums of them; a tensor has the same
    number of subscripts everywhere; a name is either a tensor or an index variable; functions exist, and get the number
    of arguments that they take; literals are finite and fit in 64 bits; a reduction binds each variable once, uses it
    in its body and not outside; the right side reads the target at the target's own subscripts only, and not at all
    where these are sums; and at most MAX_HEIGHT operations are nested.

    Raises:
        RankError: for a tensor with two numbers of subscripts.
        NotationError: for the rest.
    """
    check_height(assignment)
    nodes = list(walk(assignment.value))
    accesses = [assignment.target, *reads(assignment.value), *assignment.exists]
    _check_target(assignment)
    _check_literals(assignment, nodes)
    _check_calls(assignment, nodes)
    _check_reductions(assignment, nodes)
    _check_names(assignment, accesses)
    _check_ranks(assignment, accesses)
    _check_aliasing(assignment, accesses)
    if assignment.ranges or assignment.exists:
        _check_ranges(assignment)


def _fail(
    assignment: Assignment, message: str, span: Span | None, error: type[SparseError] = NotationError
) -> NoReturn:
    raise error(message, source=assignment.source, span=span)


def check_height(assignment: Assignment) -> None:
    """Raises if an expression nests more operations than recursion may follow.

    Raises:
        NotationError: past MAX_HEIGHT.
    """
    # Level by level: recursion is not safe before this check has passed.
    level: list[Expr] = [assignment.value]
    for _ in range(MAX_HEIGHT + 1):
        above, level = level, []
        for node in above:
            level += children(node)
        if not level:
            return
    _fail(
        assignment,
        f"expected at most {MAX_HEIGHT} operations inside one another, but got more; "
        "split the assignment, or group long sums with parentheses",
        assignment.value.span,
    )


def _check_target(assignment: Assignment) -> None:
    seen: set[IndexVar] = set()
    is_plain = _is_plain(assignment.target)
    for subscript in assignment.target.subscripts:
        if isinstance(subscript, Access):
            _fail(
                assignment,
                f"expected sums of index variables in the target, but got `{subscript}` in `{assignment.target}`; "
                "multiply by a sparse matrix with one entry a row, at these places",
                subscript.span,
            )
        if not isinstance(subscript, IndexVar):
            continue
        if is_plain and subscript in seen:
            _fail(
                assignment,
                f"expected each index variable once in the target, but got `{subscript}` again in "
                f"`{assignment.target}`; give each dimension a variable of its own",
                subscript.span,
            )
        seen.add(subscript)


def _check_literals(assignment: Assignment, nodes: Sequence[Expr]) -> None:
    for node in nodes:
        if not isinstance(node, Literal):
            continue
        if not isinstance(node.value, int):
            if not cmath.isfinite(node.value):
                message = f"expected a finite number, but got {node.value!r}; pass it as a scalar tensor"
                _fail(assignment, message, node.span)
        elif node.value not in INTEGER_RANGE:
            _fail(assignment, "expected an integer of 64 bits, but got a larger one; write it as a real", node.span)


def _check_calls(assignment: Assignment, nodes: Sequence[Expr]) -> None:
    for node in nodes:
        if isinstance(node, Call):
            mistake = mistake_in_call(node.function, len(node.arguments))
            if mistake is None and node.function == STORED:
                mistake = mistake_in_stored(node)
            if mistake is not None:
                _fail(assignment, mistake, node.span)


def _check_reductions(assignment: Assignment, nodes: Sequence[Expr]) -> None:
    reductions = [node for node in nodes if isinstance(node, (Reduce, Fold))]
    if not reductions:
        return
    _check_bindings(assignment, assignment.value, dict.fromkeys(assignment.target.indices, "the target has it"))
    for node in reductions:
        _check_body(assignment, node)
        if isinstance(node, Reduce):
            _check_position(assignment, node)
    reduced = {index for node in reductions for index in node.indices}
    for index in _free(assignment.value):
        if index in reduced:
            _fail(
                assignment,
                f"expected `{index}` only inside the reduction that binds it, but got it outside too; "
                "rename one of the two",
                index.span,
            )


def _check_bindings(assignment: Assignment, node: Expr, bound: dict[IndexVar, str]) -> None:
    if isinstance(node, (Reduce, Fold)):
        bound = dict(bound)
        for index in node.indices:
            if index in bound:
                _fail(
                    assignment,
                    f"expected {_reduction_name(node)} to bind a new index variable, but got `{index}`, and "
                    f"{bound[index]}; rename it in the reduction",
                    index.span,
                )
            bound[index] = "a reduction binds it already"
    for child in children(node):
        _check_bindings(assignment, child, bound)


def _check_body(assignment: Assignment, node: Reduce | Fold) -> None:
    used = set(_free(node.body))
    for index in node.indices:
        if index not in used:
            _fail(
                assignment,
                f"expected the body of {_reduction_name(node)} to use `{index}`, but got `{node.body}`; "
                f"remove `{index}` from the reduction",
                index.span,
            )


def _check_position(assignment: Assignment, node: Reduce) -> None:
    if node.op.finds and len(node.indices) > 1:
        _fail(
            assignment,
            f"expected one index variable in {node.op.value}, whose value is a position, but got "
            f"{len(node.indices)}; nest two reductions, or flatten the operand",
            node.indices[1].span,
        )


def _free(node: Expr) -> Iterator[IndexVar]:
    """Yields every use of a variable that no reduction in the node binds, with its own span."""
    match node:
        case Access(_, subscripts):
            for subscript in subscripts:
                if isinstance(subscript, Access):
                    yield from _free(subscript)
                else:
                    yield from _variables(subscript)
        case Reduce(_, indices, body) | Fold(_, indices, body):
            yield from (index for index in _free(body) if index not in indices)
        case _:
            for child in children(node):
                yield from _free(child)


def _variables(subscript: IndexVar | AffineSubscript) -> tuple[IndexVar, ...]:
    match subscript:
        case IndexVar():
            return (subscript,)
        case AffineSubscript(terms):
            return tuple(variable for _, variable in terms)


def _check_names(assignment: Assignment, accesses: Sequence[Access]) -> None:
    indices = {index.name for index in assignment.indices}
    for name in (*indices, *(access.tensor for access in accesses)):
        # Nodes need not come from a text; other names are generated by the compiler.
        if not is_name(name) and not is_made_by_calls(name):
            _fail(assignment, f"expected a name of letters, digits and `_`, but got {name!r:.60}", None)
    for access in accesses:
        name = access.tensor
        if name not in indices:
            continue
        if access.subscripts or access is assignment.target:
            message = f"expected `{name}` to name a tensor or an index variable, but got both; rename one of the two"
        else:
            message = (
                f"expected a tensor or a number, but got the index variable `{name}` as a value; "
                f"only statements of their own have these: pass a vector of its values, as in `n({name})`"
            )
        _fail(assignment, message, access.span)


def _check_ranks(assignment: Assignment, accesses: Sequence[Access]) -> None:
    first: dict[str, Access] = {}
    for access in accesses:
        known = first.setdefault(access.tensor, access)
        if len(known.subscripts) != len(access.subscripts):
            _fail(
                assignment,
                f"expected {_subscripts(known)} on `{access.tensor}`, as in `{known}`, but got "
                f"{_subscripts(access)} in `{access}`; give different tensors different names",
                access.span,
                RankError,
            )


def _check_ranges(assignment: Assignment) -> None:
    seen: set[IndexVar] = set()
    used = set(assignment.indices)
    for clause in assignment.ranges:
        variable = clause.variable
        if variable in seen:
            _fail(assignment, f"expected one range for `{variable}`, but got another: `{clause}`", clause.span)
        if variable not in used:
            message = f"expected a range of an index variable of the statement, but got `{clause}`"
            _fail(assignment, message, variable.span)
        seen.add(variable)
        if not clause.low.symbolic and not clause.high.symbolic and clause.low.constant > clause.high.constant:
            _fail(
                assignment,
                f"expected a range of `{variable}` that ends at or after its start, but got "
                f"{clause.low.constant} to {clause.high.constant}",
                clause.span,
            )
    for access in assignment.exists:
        for index in access.indices:
            if index not in used:
                message = f"expected index variables of the statement in `exists {access}`, but got `{index}`"
                _fail(assignment, message, index.span)


def _subscripts(access: Access) -> str:
    count = len(access.subscripts)
    return f"{count} subscript{'' if count == 1 else 's'}"


def _check_aliasing(assignment: Assignment, accesses: Sequence[Access]) -> None:
    target = assignment.target
    for access in accesses:
        if access is not target and access.tensor == target.tensor and not _is_plain(target):
            _fail(
                assignment,
                f"expected `{target}` to be assigned alone, but got it read too; add to it by `+=`, or read it by "
                "another name",
                access.span,
            )
        if access.tensor == target.tensor and access.subscripts != target.subscripts:
            _fail(
                assignment,
                f"expected the target to be read as `{target}`, but got `{access}`, which may be overwritten "
                "already; give the result another name",
                access.span,
            )


def _is_plain(access: Access) -> bool:
    return all(isinstance(subscript, IndexVar) for subscript in access.subscripts)


def _reduction_name(node: Reduce | Fold) -> str:
    """Returns the name of a reduction in notation."""
    return node.op.value if isinstance(node, Reduce) else node.monoid.name
