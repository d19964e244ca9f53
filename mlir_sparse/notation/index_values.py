"""Index variables as values: `S(i,j) * i`.

A vector of positions stands for such a variable: the access `i.index(i)`, which prints as `i`. So all that is true of
arrays is true of it, in every storage: a part of the range, as a thread's, has the positions of the whole. Calls make
the vectors.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mlir_sparse.notation.ast import Access, Assignment, Expr, IndexVar, children, reads
from mlir_sparse.notation.rebuild import rebuild
from mlir_sparse.notation.shifted_gathers import is_shifted_gather, shifted_gather_of
from mlir_sparse.text.identifiers import generated_name

if TYPE_CHECKING:
    from mlir_sparse.notation.comprehension import Comprehension

__all__ = [
    "index_vector",
    "index_vectors",
    "is_index_vector",
    "is_made_by_calls",
    "tensors_given",
    "with_index_vectors",
]

_ROLE = "index"


def is_index_vector(tensor: str) -> bool:
    """Returns whether a tensor is the vector of positions that stands for an index variable.

    >>> is_index_vector("i.index"), is_index_vector("i")
    (True, False)
    """
    return tensor.endswith(f".{_ROLE}")


def index_vector(variable: IndexVar) -> Access:
    """Returns the access that stands for a variable as a value.

    >>> index_vector(IndexVar("i")).tensor
    'i.index'
    """
    return Access(generated_name(variable.name, _ROLE), (variable,), variable.span)


def index_vectors(assignment: Assignment) -> dict[str, IndexVar]:
    """Returns the vectors of positions that a statement reads by name, with the variable that each stands for.

    >>> from mlir_sparse.notation.notation_parser import parse
    >>> index_vectors(parse("y(i) = A(i,j) * j"))
    {'j.index': IndexVar(name='j')}
    """
    found: dict[str, IndexVar] = {}
    for access in assignment.reads:
        if is_index_vector(access.tensor):
            (place,) = access.subscripts  # a derivative may give the variable another name than the vector has
            known = place if isinstance(place, IndexVar) else IndexVar(access.tensor.removesuffix(f".{_ROLE}"))
            found.setdefault(access.tensor, known)
    return found


def tensors_given(assignment: Assignment | Comprehension) -> tuple[str, ...]:
    """Returns the tensors of users that a statement or a comprehension reads.

    >>> from mlir_sparse.notation.notation_parser import parse
    >>> tensors_given(parse("y(i) = A(i,j) * j"))
    ('A',)
    """
    found = (name for name in assignment.inputs if not is_index_vector(name))
    gathers = ((name, shifted_gather_of(name)) for name in found)
    return tuple(dict.fromkeys(name if gather is None else gather.tensor for name, gather in gathers))


def is_made_by_calls(tensor: str) -> bool:
    """Returns whether a tensor is made in calls from what users pass: positions of a variable, places of a gather."""
    return is_index_vector(tensor) or is_shifted_gather(tensor)


def with_index_vectors(assignment: Assignment) -> Assignment:
    """Returns a statement in which vectors of positions stand for index variables as values.

    >>> from mlir_sparse.notation.ast import AssignOp
    >>> i = IndexVar("i")
    >>> found = with_index_vectors(Assignment(Access("y", (i,)), AssignOp.ASSIGN, Access("i")))
    >>> found.value.tensor, str(found)
    ('i.index', 'y(i) = i')
    """
    if all(access.subscripts for access in reads(assignment.value)):
        return assignment
    named = {variable.name for variable in assignment.indices}
    value = _with_vectors(assignment.value, named)
    return assignment if value == assignment.value else replace(assignment, value=value)


def _with_vectors(node: Expr, named: set[str]) -> Expr:
    if isinstance(node, Access):
        as_value = not node.subscripts and node.tensor in named
        return index_vector(IndexVar(node.tensor, node.span)) if as_value else node
    return rebuild(node, tuple(_with_vectors(child, named) for child in children(node)))
