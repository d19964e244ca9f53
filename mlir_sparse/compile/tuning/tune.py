"""`tune`: tries schedules and storage on the user's tensors, and records the fastest."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.compile.cpu_kernel import Kernel
from mlir_sparse.compile.entry_points import compile as compile_kernel
from mlir_sparse.compile.entry_points import parse
from mlir_sparse.compile.index_operands import bound_operands
from mlir_sparse.compile.tuning.progress_bar import bar
from mlir_sparse.compile.tuning.schedule_candidates import Candidate, storage_name
from mlir_sparse.compile.tuning.search import Search, kernel_of
from mlir_sparse.compile.tuning.storage_candidates import Formats, formats_text
from mlir_sparse.compile.tuning.timed_race import Watch
from mlir_sparse.compile.tuning.tuning_store import TuningKey, TuningRecord
from mlir_sparse.compile.tuning.tuning_table import Table, TuningRow
from mlir_sparse.encoding import Encoding, TensorType
from mlir_sparse.encoding import encoding as as_encoding
from mlir_sparse.errors import OperandError, UnsupportedError
from mlir_sparse.notation import Assignment, Comprehension, Monoid, Operator, Semiring, TensorVar, refuse_affine_targets
from mlir_sparse.plan.schedule import Schedule
from mlir_sparse.runtime import operand_check
from mlir_sparse.spec import bind_parameters
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor import tensor as as_tensor
from mlir_sparse.text.given_arguments import shown as text_shown
from mlir_sparse.text.html_table import html_rows
from mlir_sparse.text.identifiers import by_name

__all__ = ["Tuning", "tune"]

Array = np.ndarray[Any, Any]
Value = Array | SparseTensor


@dataclass(frozen=True, eq=False)
class Tuning:
    """The result of tuning.

    Args:
        kernel: the fastest kernel; its operands have the storage in `encodings`.
        schedule: its schedule.
        encodings: the storage of each operand, None for a dense array.
        threads: the greatest number of threads of its calls; None for the process' limit.
        table: the measurements.
        remembered: whether it comes from an earlier record.
    """

    kernel: Kernel
    schedule: Schedule
    encodings: Mapping[str, Encoding | None]
    threads: int | None
    table: Table
    remembered: bool

    def arrange(self, /, *operands: Any, **named: Any) -> tuple[Value, ...]:
        """Returns operands in the kernel's storage and order."""
        self.kernel.bound(operands, named)  # which refuses what is no operand
        bound = bind_parameters(self.kernel.parameters, operands, named)
        values = {name: operand_check.value_of(name, bound[name]) for name in self.kernel.parameters}
        return tuple(
            stored_as(value, self.encodings[name]) if name in self.encodings else value
            for name, value in values.items()
        )

    def __str__(self) -> str:
        return f"{self.table}\n\nfastest: {self._fastest()}"

    def _fastest(self) -> str:
        stored = [f"{name} as {storage_name(encoding)}" for name, encoding in self.encodings.items()]
        source = ", from the record of an earlier tuning" if self.remembered else ""
        threads = "" if self.threads is None else f" on {self.threads} thread{'s' * (self.threads > 1)}"
        return f"schedule {self.schedule}{threads}; {', '.join(stored)}{source}"

    def _repr_html_(self) -> str:
        """Returns what is fastest above the measurements, for notebooks."""
        rows = [("computes", str(self.kernel.spec.assignment)), ("fastest", self._fastest())]
        return html_rows("Tuning", rows, below=self.table.html("measurements"))


def stored_as(value: Value, encoding: Encoding | None) -> Value:
    """Converts a tensor to a storage; widths that it does not name stay."""
    if encoding is None:
        return value.to_numpy() if isinstance(value, SparseTensor) else value
    return value.convert(encoding) if isinstance(value, SparseTensor) else as_tensor(value, encoding)


def tune(
    kernel: Kernel | str | Assignment | TensorVar,
    /,
    *operands: Any,
    out: str | Encoding | TensorType | None = None,
    tensors: Mapping[str, Any] | None = None,
    semiring: str | Semiring | None = None,
    budget: float = 5.0,
    formats: Formats = False,
    fresh: bool = False,
    progress: bool | None = None,
    clock: Callable[[], float] = time.perf_counter,
    **named: Any,
) -> Tuning:
    """Returns the fastest of several ways to compute a kernel on given tensors.

    It times loop orders, vector lanes, tiles, fewer threads and, if wanted, other storage of the operands on the
    tensors themselves, interleaved, until all except one are clearly slower or the budget is spent. The plan's choice
    is always among them, and wins unless another is faster by more than the noise. A candidate with another result,
    beyond rounding, never wins. The outcome is recorded on disk: tuning the same kernel for tensors of similar extents
    returns at once, and `compile(..., schedule="tuned")` uses it.

    Args:
        kernel: a kernel, or index notation.
        operands: the tensors read, in the order in which the notation first names them.
        out: the storage of the result, as for `compile`; for notation only.
        tensors: data by name, for names that clash with these arguments.
        semiring: the meaning of `+` and `*`, as for `compile`; for notation only.
        budget: seconds to spend after the first call of the plan's choice, including compilation. A call that has begun
            is finished.
        formats: True to try other storage of sparse operands too, chosen by their structure; encodings to try for all
            of them; or a mapping of names to encodings ("dense" for an array), also for dense operands.
        fresh: whether to ignore a record.
        progress: whether to show a progress bar on stderr; by default on terminals.
        clock: returns seconds.
        named: the tensors read, by name; also operators and monoids in the text.

    Raises:
        SparseError: one of its kinds, for every mistake in text, types or data.

    >>> import mlir_sparse as ms
    >>> A, x = ms.tensor(np.eye(3)), np.arange(3.0)
    >>> found = tune("y(i) = A(i,j) * x(j)", A, x, budget=0.1, formats={"A": ["COO"]}, fresh=True)
    >>> found.kernel(*found.arrange(A, x))
    array([0., 1., 2.])
    """
    said: object = budget
    if not isinstance(said, int | float | np.integer | np.floating) or not said > 0:
        raise OperandError(f"expected a budget of more than 0 seconds, but got {text_shown(budget)}")
    given = by_name(named, tensors)
    if isinstance(kernel, Kernel) and (out is not None or semiring is not None):
        raise OperandError("expected out= and semiring= with notation only, but got them for a kernel, which has both")
    base = kernel if isinstance(kernel, Kernel) else _compiled(kernel, operands, given, out, semiring)
    tensors_given = {name: value for name, value in given.items() if not _is_operator(value)}
    bound = base.bound(operands, tensors_given)
    users = bind_parameters(base.parameters, operands, tensors_given)
    values = {name: operand_check.as_argument(name, bound[name], kind) for name, kind in base.spec.inputs}
    problem = TuningKey.of(base.spec, values, formats_text(formats))
    found = None if fresh else problem.found()
    if found is not None:
        return _remembered(base, found)
    with bar(f"tuning {base.spec.assignment}", progress) as shown:
        search = Search(base, values, Watch(clock, budget, shown), stored_as, users)
        best = search.run(formats)
    rows = search.rows()
    return _kept(base, problem, best.what, search.values(best.what), rows)


def _compiled(
    text: Any, operands: tuple[Any, ...], given: Mapping[str, Any], out: Any, semiring: str | Semiring | None
) -> Kernel:
    """Returns the kernel of notation for the operands' types."""
    operators = {name: value for name, value in given.items() if _is_operator(value)}
    parsed = parse(text, **operators)
    if isinstance(parsed, Comprehension) or parsed.ranges or parsed.exists:
        raise UnsupportedError(
            f"expected one statement without ranges to tune, but got '{parsed}': tune its statements apart"
        )
    refuse_affine_targets(parsed, "tune")
    tensors = {name: value for name, value in given.items() if name not in operators}
    data = bound_operands(parsed, operands, tensors)
    types = {name: operand_check.type_of(operand_check.value_of(name, value)) for name, value in data.items()}
    compiled = compile_kernel(parsed, out=out, tensors=types, semiring=semiring)
    assert isinstance(compiled, Kernel), "comprehensions are refused above"
    return compiled


def _is_operator(value: object) -> bool:
    return isinstance(value, Operator | Monoid)


def _remembered(base: Kernel, found: TuningRecord) -> Tuning:
    ranks = {name: kind.rank for name, kind in base.spec.inputs}
    changed = tuple(
        (name, None if text == "dense" else as_encoding(text, rank=ranks[name]))
        for name, text in found.encodings.items()
    )
    return _tuning(
        base, Candidate(found.schedule, changed, found.threads), Table(map(TuningRow.read, found.rows)), remembered=True
    )


def _tuning(base: Kernel, best: Candidate, table: Table, *, remembered: bool) -> Tuning:
    kernel = kernel_of(base, best)
    encodings = {name: kind.encoding for name, kind in kernel.spec.inputs if name in kernel.parameters}
    return Tuning(kernel, best.schedule, encodings, best.threads, table, remembered)


def _kept(
    base: Kernel, problem: TuningKey, best: Candidate, values: Mapping[str, Value], rows: Iterable[TuningRow]
) -> Tuning:
    """Returns the outcome, after recording it for the given operands and for operands in the best storage."""
    table = Table(rows)
    tuning = _tuning(base, best, table, remembered=False)
    kept = tuple(row.kept() for row in table)
    stored = {name: _text(encoding) for name, encoding in best.encodings}
    problem.keep(TuningRecord(best.schedule, best.threads, stored, kept))
    if problem.asked:
        TuningKey.of(tuning.kernel.spec, values).keep(TuningRecord(best.schedule, best.threads, {}, kept))
    return tuning


def _text(encoding: Encoding | None) -> str:
    return "dense" if encoding is None else encoding.to_text()
