"""The plans of a kernel's statement: that of each call, the ways that there are, and what `explain()` says of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from mlir_sparse.compile.kernel_settings import KernelSettings
from mlir_sparse.compile.known_plan import KnownPlan
from mlir_sparse.compile.statement_optimizer import (
    DataSketches,
    account,
    alternatives,
    depends_on_data,
    rewriting_for,
    sketches_of,
)
from mlir_sparse.errors import OperandError
from mlir_sparse.process.forks import cached_property
from mlir_sparse.spec import Alternative, KernelSpec, Rewriting
from mlir_sparse.tensor import SparseTensor

__all__ = ["StatementPlans"]


class StatementPlans:
    """The plans of a statement.

    Args:
        spec: the statement, with the rewriting that it was compiled with.
        settings: how it is optimized, and the data that the rewriting was chosen for.
    """

    def __init__(self, spec: KernelSpec, settings: KernelSettings) -> None:
        self._spec = spec
        self._data = settings.data
        self._optimize = settings.optimize
        self.known = self._first()
        """The plan of the last call, where data decides, or where it is right for some values only."""

    def _first(self) -> KnownPlan | None:
        chosen, names = self._spec.rewriting, self._spec.assignment.inputs
        if self._is_open and self._data:
            return None if self._data.unasked else KnownPlan(chosen, self._data, names)
        return KnownPlan(chosen, None, names) if chosen is not None and chosen.symmetric else None

    @property
    def _is_open(self) -> bool:
        return self._optimize != "off"

    @cached_property
    def _depends_on_data(self) -> bool:
        return depends_on_data(self._spec, self._optimize)

    @property
    def _rules(self) -> str:
        """Returns the rules that alternatives are found by."""
        return self._optimize if self._is_open else "auto"

    def way(self, operands: tuple[np.ndarray[Any, Any] | SparseTensor, ...]) -> Rewriting | None:
        """Returns how the statement is computed on operands; the plan of the call before is kept for similar data.

        Raises:
            OperandError: for a matrix that is not symmetric, if the way was chosen that takes it to be.
        """
        plan = self.known
        if not self._is_open or not self._depends_on_data:
            if plan is not None and not plan.is_for(operands):
                raise self._not_symmetric()
            return self._spec.rewriting
        if plan is None or not plan.is_for(operands):
            names = self._spec.assignment.inputs
            data = sketches_of(self._spec, dict(zip(names, operands, strict=True)).__getitem__)
            plan = self.known = KnownPlan(rewriting_for(self._spec, data, self._optimize), data, names)
        return plan.rewriting

    def _not_symmetric(self) -> OperandError:
        chosen = self._spec.rewriting
        names = " and ".join(chosen.symmetric) if chosen else ""
        return OperandError(
            f"expected {names} equal to the transpose, bit for bit, as the alternative takes it to be, but got another "
            "matrix: choose an alternative that does not, or compile the statement's text"
        )

    @cached_property
    def unconditional(self) -> Rewriting | None:
        """Returns how the statement is computed on the data that it was compiled for, whatever its values are."""
        if self._spec.rewriting is None or not self._spec.rewriting.symmetric or self._data is None:
            return None
        return rewriting_for(self._spec, replace(self._data, symmetric=()), self._rules)

    def alternatives(self, data: DataSketches | None) -> tuple[Alternative, ...]:
        """Returns the ways to compute the statement on data, that which it was compiled for when None.

        Raises:
            OperandError: where there is none.
        """
        data = self._data if data is None else data
        if data is None and depends_on_data(self._spec, self._rules):
            raise OperandError(
                "expected data to estimate for, but got none, and the kernel was compiled for types alone: "
                "pass the operands, as in kernel.alternatives(A, x)"
            )
        return alternatives(self._spec, data, self._rules)

    @cached_property
    def account(self) -> tuple[str, ...]:
        """Returns how the statement is computed and why, as it was compiled, a line each."""
        if not depends_on_data(self._spec, self._rules):
            return ()
        if self._data is not None:
            return tuple(account(self._spec, self._data, self._rules))
        return tuple(self._of_types())

    def _of_types(self) -> Iterator[str]:
        if self._spec.rewriting is not None:
            yield from Alternative(self._spec, None, 0.0).lines()
        if not self._is_open:
            return
        if self._spec.rewriting is None:
            yield f"as written: {self._spec.planned}"
            yield "because: the types do not say which way takes least; calls are planned by their data"
        else:
            yield "because: it takes least for all sizes that the types leave open; calls are planned by their data"
