"""The parts of a rewritten statement: temporaries that are made before what reads them."""

from __future__ import annotations

from collections.abc import Callable

from mlir_sparse.notation import Expr, IndexVar, accesses_of, replace_accesses
from mlir_sparse.plan.program_builder import Values
from mlir_sparse.spec import Part

__all__ = ["RewrittenParts"]


class RewrittenParts:
    """The parts made so far.

    Args:
        values: the values so far.
        compute: emits the steps of a temporary with a name, and returns the name of the value that holds it.
    """

    def __init__(self, values: Values, compute: Callable[[str, Expr, tuple[IndexVar, ...]], str]) -> None:
        self._values = values
        self._compute = compute
        self._names: dict[str, str] = {}

    def make(self, part: Part) -> None:
        """Emits the steps of a part."""
        name = part.target.tensor
        self._values.note(name, "made first, by the rewritten statement")
        self._names[name] = self._compute(name, self.read(part.value), part.target.indices)

    def read(self, node: Expr) -> Expr:
        """Returns an expression that reads parts by the names of the values that hold them."""
        reads = [access for access in accesses_of(node) if access.tensor in self._names]
        return replace_accesses(node, {access: self._names[access.tensor] for access in reads}) if reads else node
