"""Definitions of logical tensors: what a tensor is, in index notation over others.

A definition is the storage mapping of a tensor (Schleich et al. 2022, section 3): statements that read the tensor are
composed with it before they are planned, so that the tensor itself need not be made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from mlir_sparse.classes import dataclass
from mlir_sparse.notation.ast import (
    Access,
    AffineSubscript,
    Assignment,
    Expr,
    Fold,
    IndexVar,
    Reduce,
    Subscript,
    children,
    reads,
)
from mlir_sparse.notation.linear_subscript import add, as_affine, as_subscript, scale
from mlir_sparse.notation.rebuild import rebuild
from mlir_sparse.text.source_text import Source

__all__ = ["Composition", "Definition", "IndexFormula", "NoCompositionError", "at_subscripts", "composed", "fresh_name"]


class NoCompositionError(Exception):
    """Says why a defined tensor is made before the statement that reads it."""


@dataclass(frozen=True, slots=True)
class IndexFormula:
    """Integers that the values of index variables say: a subscript that is not linear, or the variable itself.

    Args:
        variables: the variables, each a dimension of the array of integers.
        value: the formula; an access without subscripts that has a variable's name is its value, and all division is
            rounded down.
    """

    variables: tuple[IndexVar, ...]
    value: Expr


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition: `A(i,j) = U(i,k) * V(j,k)`.

    Args:
        target: the tensor that is defined, at distinct variables.
        value: its elements; an access without subscripts that has a variable's name is the variable's value.
        formulas: by the name of the array that it reads, each subscript that is no linear sum.
        source: the text.
    """

    target: Access
    value: Expr
    formulas: tuple[tuple[str, IndexFormula], ...] = ()
    source: Source | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return self.source.text.strip() if self.source else f"{self.target} = {self.value}"


@dataclass(frozen=True, slots=True)
class Composition:
    """What a defined tensor is in statements.

    Args:
        variables: the variable of each dimension.
        value: its elements, with explicit sums over variables of its own.
    """

    variables: tuple[IndexVar, ...]
    value: Expr


def composed(assignment: Assignment, definitions: Mapping[str, Composition]) -> Assignment:
    """Returns a statement in which what defines tensors stands in place of them.

    Variables that a definition sums over get names that the statement does not have.

    Args:
        assignment: the statement.
        definitions: by name, the tensors that are defined.

    Raises:
        NoCompositionError: for an access that a definition cannot be read at.

    >>> from mlir_sparse.notation.notation_parser import parse
    >>> from mlir_sparse.notation.summation import with_explicit_sums
    >>> low_rank = with_explicit_sums(parse("A(i,j) = U(i,k) * V(j,k)"))
    >>> A = Composition(low_rank.target.indices, low_rank.value)
    >>> print(composed(parse("y(k) = A(k,j) * x(j)"), {"A": A}))
    y(k) = sum(k1 : U(k,k1) * V(j,k1)) * x(j)
    """
    taken = {variable.name for variable in assignment.indices}
    values = (assignment.value, *(one.value for one in definitions.values()))
    taken |= {assignment.target.tensor, *(access.tensor for value in values for access in reads(value))}
    return replace(assignment, value=_composed(assignment.value, definitions, taken), source=None)


def _composed(node: Expr, definitions: Mapping[str, Composition], taken: set[str]) -> Expr:
    if isinstance(node, Access):
        definition = definitions.get(node.tensor)
        if definition is not None:
            subscripts = dict(zip(definition.variables, node.subscripts, strict=True))
            return at_subscripts(definition.value, subscripts, taken)
        gathered = [s for s in node.subscripts if isinstance(s, Access) and s.tensor in definitions]
        if gathered:
            raise NoCompositionError(f"{gathered[0].tensor} gives places to gather from")
        return node
    return rebuild(node, tuple(_composed(child, definitions, taken) for child in children(node)))


def at_subscripts(node: Expr, subscripts: Mapping[IndexVar, Subscript], taken: set[str]) -> Expr:
    """Returns an expression with subscripts in place of its free variables, and new names for those it sums over.

    Args:
        node: the expression.
        subscripts: by variable.
        taken: the names that no variable may have; new names are added.

    Raises:
        NoCompositionError: for a gathered subscript inside of a linear sum.
    """
    match node:
        case Access():
            return replace(node, subscripts=tuple(_placed(s, subscripts, taken) for s in node.subscripts), span=None)
        case Reduce(_, indices) | Fold(_, indices):
            names: dict[IndexVar, Subscript] = {one: IndexVar(fresh_name(one.name, taken)) for one in indices}
            body = at_subscripts(node.body, {**subscripts, **names}, taken)
            new = tuple(one for one in names.values() if isinstance(one, IndexVar))
            return replace(node, indices=new, body=body, span=None)
        case _:
            return rebuild(node, tuple(at_subscripts(child, subscripts, taken) for child in children(node)))


def fresh_name(name: str, taken: set[str]) -> str:
    """Returns a name that is not taken, and takes it.

    >>> taken = {"k"}
    >>> fresh_name("k", taken), fresh_name("k", taken)
    ('k1', 'k2')
    """
    found, number = name, 0
    while found in taken:
        number += 1
        found = f"{name}{number}"
    taken.add(found)
    return found


def _placed(subscript: Subscript, subscripts: Mapping[IndexVar, Subscript], taken: set[str]) -> Subscript:
    match subscript:
        case IndexVar():
            return subscripts.get(subscript, subscript)
        case Access():
            inner = at_subscripts(subscript, subscripts, taken)
            assert isinstance(inner, Access)
            return inner
        case AffineSubscript(terms, constant):
            total = as_affine(constant)
            for factor, variable in terms:
                place = subscripts.get(variable, variable)
                if isinstance(place, Access):
                    raise NoCompositionError(f"{place} would be gathered inside of the sum {subscript}")
                total = add(total, scale(as_affine(place), factor))
            return as_subscript(total)
