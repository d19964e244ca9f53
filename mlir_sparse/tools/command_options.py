"""The options `NAME:ENCODING`, `NAME=FILE` and so on of the command line, checked against the notation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

import click

from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import REAL, DType
from mlir_sparse.encoding import Encoding, TensorType, encoding
from mlir_sparse.errors import RankError, UnknownTensorError
from mlir_sparse.notation import (
    Access,
    Assignment,
    Comprehension,
    accesses_of_statement,
    check,
    is_comprehension,
    is_index_vector,
    parse,
    parse_comprehension,
    tensors_given,
    under,
)
from mlir_sparse.notation import semiring as semiring_named
from mlir_sparse.text.identifiers import normal_name
from mlir_sparse.text.lexer import is_name

__all__ = ["CommandRequest", "NamedValue", "as_mapping"]


class NamedValue(click.ParamType):  # type: ignore[type-arg]  # older releases of click take no arguments of types
    """An option of the form `NAME<separator>VALUE`; the value may contain the separator."""

    def __init__(self, separator: str, value: str) -> None:
        """Sets the names of the parts for messages.

        Args:
            separator: `:` or `=`.
            value: the name of the value, such as `ENCODING`.
        """
        self.name = f"NAME{separator}{value}"
        self._separator = separator

    def convert(
        self, value: str | tuple[str, str], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Splits the text of one option."""
        if isinstance(value, tuple):
            return value
        name, separator, rest = value.partition(self._separator)
        if not separator or not is_name(name.strip()) or not rest.strip():
            self.fail(f"expected {self.name}, but got '{value}'", param, ctx)
        return normal_name(name.strip()), rest.strip()


def as_mapping(option: str, pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Collects a repeatable option, which each tensor may have once.

    Raises:
        click.UsageError: for a repeated tensor.
    """
    found: dict[str, str] = {}
    for name, value in pairs:
        if name in found:
            raise click.UsageError(f"expected {option} once for each tensor, but got '{name}' twice")
        found[name] = value
    return found


@dataclass(frozen=True, slots=True)
class CommandRequest:
    """An assignment or a comprehension, and the options about its tensors.

    Args:
        assignment: the assignment or comprehension.
        encodings: the text of encodings by tensor; dense if absent.
        dtypes: element types by tensor; f64 if absent.
        shapes: extents by tensor, None for an extent to infer.
    """

    assignment: Assignment | Comprehension
    encodings: Mapping[str, str]
    dtypes: Mapping[str, str]
    shapes: Mapping[str, tuple[int | None, ...]]

    @staticmethod
    def of(
        text: str,
        encodings: Mapping[str, str],
        dtypes: Mapping[str, str],
        shapes: Mapping[str, str],
        semiring: str | None = None,
    ) -> CommandRequest:
        """Parses the notation and checks that every option names one of its tensors."""
        ring = semiring_named(semiring or "plus_times")
        assignment: Assignment | Comprehension
        if is_comprehension(text):
            several = parse_comprehension(text)
            statements = tuple(under(statement, ring) for statement in several.statements)
            assignment = replace(several, statements=statements)
        else:
            one = parse(text)
            check(one)
            assignment = under(one, ring)
        request = CommandRequest(assignment, encodings, dtypes, {})
        for option, names in (("-f", encodings), ("-t", dtypes), ("-s", shapes)):
            request.require_known(option, names)
        parsed = {name: _parse_shape(name, shape, request.ranks[name]) for name, shape in shapes.items()}
        return CommandRequest(assignment, encodings, dtypes, parsed)

    @property
    def ranks(self) -> dict[str, int]:
        """Returns the number of subscripts of every tensor, in the order of the text."""
        ranks = {a.tensor: len(a.subscripts) for a in self.accesses if not is_index_vector(a.tensor)}
        if isinstance(self.assignment, Comprehension):
            declared = {p.name: len(p.sizes or ()) for p in self.assignment.parameters}
            ranks = {name: rank for name, rank in (declared | ranks).items() if name not in self.assignment.sizes}
        return ranks

    @property
    def tensors(self) -> tuple[str, ...]:
        """Returns the names of the tensors that are read, in the order of the text."""
        whole = self.assignment
        return whole.inputs if isinstance(whole, Comprehension) else tensors_given(whole)

    @property
    def statements(self) -> tuple[Assignment, ...]:
        """Returns the assignments."""
        whole = self.assignment
        return whole.statements if isinstance(whole, Comprehension) else (whole,)

    @property
    def accesses(self) -> tuple[Access, ...]:
        """Returns all accesses, targets before the values assigned to them."""
        return tuple(access for statement in self.statements for access in accesses_of_statement(statement))

    @property
    def targets(self) -> tuple[str, ...]:
        """Returns the names of the results."""
        whole = self.assignment
        return whole.results if isinstance(whole, Comprehension) else (whole.target.tensor,)

    def require_known(self, option: str, names: Iterable[str]) -> None:
        """Refuses an option about a tensor that the notation lacks.

        Raises:
            UnknownTensorError: for such an option.
        """
        for name in names:
            if name not in self.ranks:
                known = ", ".join(self.ranks)
                raise UnknownTensorError(f"expected {option} to name one of {known}, but got '{name}'")

    def type_of(self, name: str) -> TensorType:
        """Returns a tensor's type: by default f64, dense, with dynamic extents.

        Raises:
            SparseError: for an encoding or element type that does not parse, or has another rank.
        """
        shape = self.shapes.get(name, (None,) * self.ranks[name])
        return TensorType(self.dtype(name), shape, self.encoding(name))

    def dtype(self, name: str, default: str = REAL.name) -> DType:
        """Returns a tensor's element type: that of -t, of a comprehension's declaration, or the default."""
        if isinstance(self.assignment, Comprehension):
            declared = (*self.assignment.parameters, *self.assignment.outputs)
            default = next((one.dtype for one in declared if one.name == name and one.dtype is not None), default)
        return DType.of(self.dtypes.get(name, default))

    def encoding(self, name: str) -> Encoding | None:
        """Returns a tensor's encoding, None for a dense array."""
        text = self.encodings.get(name, "dense")
        return None if text.lower() == "dense" else encoding(text, rank=self.ranks[name])

    @property
    def output(self) -> str | Encoding | TensorType | dict[str, str | Encoding | TensorType]:
        """Returns the argument `out` of `compile`, for one result or several."""
        if isinstance(self.assignment, Comprehension):
            return {name: self._output(name) for name in self.targets}
        return self._output(self.targets[0])

    def _output(self, name: str) -> str | Encoding | TensorType:
        """Returns the storage of a result, with the element type if -t names it."""
        return self.type_of(name) if name in self.dtypes else self.encoding(name) or "dense"


def _parse_shape(name: str, text: str, rank: int) -> tuple[int | None, ...]:
    parts = [part.strip() for part in re.split(r"[x,]", text)]
    if not all(part == "?" or (part.isdecimal() and len(part) < 20) for part in parts):
        raise click.UsageError(f"expected -s NAME=1000x? (extents or '?', joined by 'x'), but got '{name}={text}'")
    if len(parts) != rank:
        raise RankError(f"expected {rank} extents for '{name}', as in the notation, but got {len(parts)} in '{text}'")
    return tuple(None if part == "?" else int(part) for part in parts)
