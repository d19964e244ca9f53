"""Tensor comprehensions as values: several statements under one name (Vasilache et al. 2018, section 3).

    def mv(float(M,K) A, float(K) x) -> (C) {
      C(i) +=! A(i,k) * x(k)
    }

A parameter says its element type and the size of each axis, by name or number; a
size has one value in the whole text. Statements run in the order of the text, each
on all of the tensors that it reads, as they are after the statements before it. What
is assigned and not an output is an intermediate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from mlir_sparse.notation.ast import Access, Assignment, reads
from mlir_sparse.text.source_text import Source, Span

__all__ = ["ELEMENT_TYPES", "Comprehension", "Parameter", "accesses_of_statement"]

# The paper's names of element types, and this package's; each with the latter.
ELEMENT_TYPES = {
    "half": "f16",
    "float": "f32",
    "double": "f64",
    "bool": "bool",
    "int": "i32",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    **{name: name for name in ("f16", "bf16", "f32", "f64", "i8", "i16", "i32", "i64", "c64", "c128")},
}
_PRINTED = {"f16": "half", "f32": "float", "f64": "double", **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)}}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A tensor that a comprehension takes or returns: `float(M,K) A`.

    Args:
        name: the tensor.
        dtype: its element type, by this package's name; None where it follows from what is assigned.
        sizes: the name or the number of elements of each axis, none for a scalar; None where they follow.
        span: where it stands.
    """

    name: str
    dtype: str | None = None
    sizes: tuple[str | int, ...] | None = None
    span: Span | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        if self.dtype is None:
            return self.name
        sizes = f"({','.join(map(str, self.sizes))})" if self.sizes else ""
        return f"{_PRINTED.get(self.dtype, self.dtype)}{sizes} {self.name}"


@dataclass(frozen=True, slots=True)
class Comprehension:
    """A definition of one or more outputs by statements.

    Args:
        name: what it is called.
        parameters: what it takes, with element types and sizes.
        outputs: what it returns.
        statements: assignments, in order.
        source: the text.
    """

    name: str
    parameters: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    statements: tuple[Assignment, ...]
    source: Source | None = field(default=None, compare=False, repr=False)

    @property
    def sizes(self) -> tuple[str, ...]:
        """Returns the names of sizes, in the order of the text."""
        declared = (*self.parameters, *self.outputs)
        return tuple(dict.fromkeys(s for one in declared for s in one.sizes or () if isinstance(s, str)))

    @property
    def symbols(self) -> frozenset[str]:
        """Returns the names that may stand where an integer does: sizes, and parameters that are one integer."""
        scalars = {p.name for p in self.parameters if p.sizes == () and (p.dtype or "").startswith("i")}
        return frozenset((*self.sizes, *scalars))

    @property
    def results(self) -> tuple[str, ...]:
        """Returns the names of the outputs."""
        return tuple(output.name for output in self.outputs)

    @property
    def updated(self) -> tuple[str, ...]:
        """Returns the outputs that a statement reads before any assigns them: their present values are operands."""
        known = {parameter.name for parameter in self.parameters}
        found: dict[str, None] = {}
        for statement in self.statements:
            found.update(dict.fromkeys(name for name in statement.inputs if name in self.results and name not in known))
            known.add(statement.target.tensor)
        return tuple(found)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Returns what a call takes: the parameters, then the outputs that are read before they are assigned."""
        return (*(parameter.name for parameter in self.parameters), *self.updated)

    def __str__(self) -> str:
        taken, returned = (", ".join(map(str, ones)) for ones in (self.parameters, self.outputs))
        body = "".join(f"  {statement}\n" for statement in self.statements)
        return f"def {self.name}({taken}) -> ({returned}) {{\n{body}}}"


def accesses_of_statement(statement: Assignment) -> Iterator[Access]:
    """Yields the target of a statement, what it reads, and what it says to exist."""
    yield statement.target
    yield from reads(statement.value)
    yield from statement.exists
