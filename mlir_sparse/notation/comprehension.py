"""Tensor comprehensions as values: several statements under one name (Vasilache et al. 2018, section 3).

    def mv(float(M,K) A, float(K) x) -> (C) {
      C(i) +=! A(i,k) * x(k)
    }

A parameter declares its element type and the size of each axis, by name or number; a size has one value in the whole
text. Statements run in the order of the text; each reads the results of those before it. An assigned tensor that is no
output is an intermediate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import DTYPES, DType
from mlir_sparse.notation.ast import Access, Assignment, reads
from mlir_sparse.text.shown_text import PrintedValue
from mlir_sparse.text.source_text import Source, Span

__all__ = ["ELEMENT_TYPES", "Comprehension", "Parameter", "accesses_of_statement"]

_BY_KIND = sorted(DTYPES, key=lambda dtype: "fbic".index(dtype.kind))
_C_NAMES = {text: dtype.name for dtype in _BY_KIND for text in dtype.c_names}
# The paper's names of element types, which are C's, and this package's, each with this package's.
ELEMENT_TYPES = {text: _C_NAMES[text] for text in sorted(_C_NAMES, key=lambda text: text[-1].isdigit())}
ELEMENT_TYPES |= {dtype.name: dtype.name for dtype in _BY_KIND}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A tensor that a comprehension takes or returns: `float(M,K) A`.

    Args:
        name: the tensor.
        dtype: the name of its element type; None where it follows from the assignments.
        sizes: the name or the number of each axis' size, empty for a scalar; None where they follow.
        span: its place in the text.
    """

    name: str
    dtype: str | None = None
    sizes: tuple[str | int, ...] | None = None
    span: Span | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        if self.dtype is None:
            return self.name
        sizes = f"({','.join(map(str, self.sizes))})" if self.sizes else ""
        return f"{next(iter(DType(self.dtype).c_names), self.dtype)}{sizes} {self.name}"


@dataclass(frozen=True, slots=True)
class Comprehension(PrintedValue):
    """A definition of one or more outputs by statements.

    Args:
        name: its name.
        parameters: the tensors that it takes, with element types and sizes.
        outputs: the tensors that it returns.
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
        """Returns the names that can replace an integer: sizes, and integer scalars among the parameters."""
        scalars = {p.name for p in self.parameters if p.sizes == () and p.dtype and DType(p.dtype).is_integer}
        return frozenset((*self.sizes, *scalars))

    @property
    def results(self) -> tuple[str, ...]:
        """Returns the names of the outputs."""
        return tuple(output.name for output in self.outputs)

    @property
    def updated(self) -> tuple[str, ...]:
        """Returns the outputs that are read before they are assigned: their present values are operands."""
        known = {parameter.name for parameter in self.parameters}
        found: dict[str, None] = {}
        for statement in self.statements:
            found.update(dict.fromkeys(name for name in statement.inputs if name in self.results and name not in known))
            known.add(statement.target.tensor)
        return tuple(found)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Returns the operands of a call: the parameters, then the outputs that are read before they are assigned."""
        return (*(parameter.name for parameter in self.parameters), *self.updated)

    def __str__(self) -> str:
        taken, returned = (", ".join(map(str, ones)) for ones in (self.parameters, self.outputs))
        body = "".join(f"  {statement}\n" for statement in self.statements)
        return f"def {self.name}({taken}) -> ({returned}) {{\n{body}}}"


def accesses_of_statement(statement: Assignment) -> Iterator[Access]:
    """Yields the target of a statement, the accesses that it reads, and those of its `exists`."""
    yield statement.target
    yield from reads(statement.value)
    yield from statement.exists
