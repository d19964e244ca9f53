"""Refuses comprehensions that parse but have no meaning, each by a rule of its own."""

from __future__ import annotations

from typing import NoReturn

from mlir_sparse.errors import NotationError, RankError, SparseError, UnknownTensorError
from mlir_sparse.notation.ast import Assignment
from mlir_sparse.notation.check_assignment import check
from mlir_sparse.notation.comprehension import Comprehension, accesses_of_statement
from mlir_sparse.notation.index_values import is_index_vector
from mlir_sparse.notation.shifted_gathers import shifted_gather_of
from mlir_sparse.text.source_text import Span

__all__ = ["check_comprehension"]


def check_comprehension(comprehension: Comprehension) -> None:
    """Raises unless a comprehension has a meaning.

    The rules: a name is either a tensor, a size or an index variable; each statement has a meaning by itself (see
    `check`); a tensor has the same number of subscripts everywhere; a tensor that is read is a parameter, an output, or
    assigned before; parameters are not assigned, unless they are outputs too; and every output is assigned.

    Updates in place are causal: a statement may read the tensor that it assigns only at the subscripts that it assigns.

    Raises:
        RankError: for a tensor with two numbers of subscripts.
        UnknownTensorError: for a tensor that is read before it has a value.
        NotationError: for the rest.
    """
    _check_header(comprehension)
    for statement in comprehension.statements:
        check(statement)
        _check_variables(comprehension, statement)
    _check_order(comprehension)
    _check_ranks(comprehension)
    _check_outputs(comprehension)


def _fail(
    comprehension: Comprehension, message: str, span: Span | None, error: type[SparseError] = NotationError
) -> NoReturn:
    raise error(message, source=comprehension.source, span=span)


def _check_header(comprehension: Comprehension) -> None:
    sizes = set(comprehension.sizes)
    for declared in (comprehension.parameters, comprehension.outputs):
        seen: set[str] = set()
        for one in declared:
            if one.name in seen:
                _fail(comprehension, f"expected `{one.name}` once, but got it again", one.span)
            if one.name in sizes:
                message = f"expected `{one.name}` to name a tensor or a size, but got both; rename one of the two"
                _fail(comprehension, message, one.span)
            seen.add(one.name)
    for parameter in comprehension.parameters:
        for output in comprehension.outputs:
            both = output.name == parameter.name and output.dtype is not None
            if both and (output.dtype, output.sizes) != (parameter.dtype, parameter.sizes):
                message = f"expected one type for `{output.name}`, but got `{parameter}` and `{output}`"
                _fail(comprehension, message, output.span)


def _tensors(comprehension: Comprehension) -> set[str]:
    assigned = (statement.target.tensor for statement in comprehension.statements)
    return {*(parameter.name for parameter in comprehension.parameters), *comprehension.results, *assigned}


def _check_variables(comprehension: Comprehension, statement: Assignment) -> None:
    tensors = _tensors(comprehension)
    for index in statement.indices:
        if index.name in tensors:
            message = f"expected `{index}` to name a tensor or an index variable, but got both; rename one of the two"
            _fail(comprehension, message, index.span)
    if statement.target.tensor in comprehension.sizes:
        message = f"expected a tensor to assign to, but got the size `{statement.target.tensor}`"
        _fail(comprehension, message, statement.target.span)
    for access in accesses_of_statement(statement):
        if access.tensor in comprehension.sizes and access.subscripts:
            message = f"expected `{access.tensor}` to name a size, but got it with subscripts in `{access}`"
            _fail(comprehension, message, access.span)


def _check_order(comprehension: Comprehension) -> None:
    known = {*comprehension.inputs, *comprehension.sizes}
    for statement in comprehension.statements:
        for access in accesses_of_statement(statement):
            if access is statement.target and not statement.op.reads_target:
                continue
            gather = shifted_gather_of(access.tensor)
            name = access.tensor if gather is None else gather.tensor
            if name not in known and not is_index_vector(name):
                _fail(
                    comprehension,
                    f"expected a parameter, an output or a tensor that a statement before has assigned, but got "
                    f"`{name}`",
                    access.span,
                    UnknownTensorError,
                )
        known.add(statement.target.tensor)


def _check_ranks(comprehension: Comprehension) -> None:
    ranks: dict[str, tuple[int, str]] = {
        one.name: (len(one.sizes), str(one))
        for one in (*comprehension.parameters, *comprehension.outputs)
        if one.sizes is not None
    }
    for statement in comprehension.statements:
        for access in accesses_of_statement(statement):
            rank, first = ranks.setdefault(access.tensor, (len(access.subscripts), str(access)))
            if rank != len(access.subscripts):
                _fail(
                    comprehension,
                    f"expected {rank} subscript{'' if rank == 1 else 's'} on `{access.tensor}`, as in `{first}`, "
                    f"but got {len(access.subscripts)} in `{access}`",
                    access.span,
                    RankError,
                )


def _check_outputs(comprehension: Comprehension) -> None:
    assigned = {statement.target.tensor for statement in comprehension.statements}
    for output in comprehension.outputs:
        if output.name not in assigned:
            _fail(comprehension, f"expected a statement that assigns `{output.name}`, but got none", output.span)
    taken = {parameter.name for parameter in comprehension.parameters} - set(comprehension.results)
    for statement in comprehension.statements:
        if statement.target.tensor in taken:
            name = statement.target.tensor
            _fail(
                comprehension,
                f"expected an output or a new tensor to assign to, but got the parameter `{name}`; "
                f"list it after `->` to update it, or give the result another name",
                statement.target.span,
            )
