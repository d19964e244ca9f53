"""The public function parse: index notation as users give it, to checked statements."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, overload

from mlir_sparse import notation
from mlir_sparse.notation import Assignment, Comprehension, Monoid, Operator, TensorVar, with_index_vectors
from mlir_sparse.text.given_arguments import text_of
from mlir_sparse.text.identifiers import by_name

__all__ = ["parse", "parsed_with"]


@overload
def parse(text: Assignment | TensorVar, /, **operators: Operator | Monoid) -> Assignment: ...
@overload
def parse(text: str | Comprehension, /, **operators: Operator | Monoid) -> Assignment | Comprehension: ...
def parse(
    text: str | Assignment | Comprehension | TensorVar, /, **operators: Operator | Monoid
) -> Assignment | Comprehension:
    """Parses index notation and checks it.

    Args:
        text: one statement, such as `"y(i) = A(i,j) * x(j)"`, or several in a tensor comprehension,
            `"def mv(float(M,K) A, float(K) x) -> (C) { C(i) +=! A(i,k) * x(k) }"`; or a TensorVar with an assignment.
        operators: your operators and monoids, by their names in the text.

    Raises:
        NotationSyntaxError: for text outside the grammar.
        NotationError: for an assignment without a meaning.

    >>> str(parse("y(i)=A(i,j)*x(j)"))
    'y(i) = A(i,j) * x(j)'
    """
    if isinstance(text, TensorVar):
        text = text.assignment
    if isinstance(text, Assignment):
        notation.check_height(text)
        text = with_index_vectors(text)
        notation.check(text)
        return text
    if isinstance(text, Comprehension):
        notation.check_comprehension(text)
        return text
    return _parse(text_of(text, "index notation"), tuple(sorted(by_name(operators).items())))


@lru_cache(maxsize=512)
def _parse(text: str, operators: tuple[tuple[str, Operator | Monoid], ...]) -> Assignment | Comprehension:
    if notation.is_comprehension(text):
        return notation.parse_comprehension(text, dict(operators))
    return notation.parse(text, dict(operators))


def parsed_with(
    text: str | Assignment | Comprehension | TensorVar, given: Mapping[str, Any]
) -> Assignment | Comprehension:
    """Returns the statement of a text with the user's operators among the arguments."""
    return parse(text, **{name: value for name, value in given.items() if isinstance(value, Operator | Monoid)})
