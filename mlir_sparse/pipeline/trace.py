"""The module after each pass, what each pass changed, and how long it took."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import overload

from mlir_sparse.classes import dataclass
from mlir_sparse.errors import CompileError, CompilerCrash, SparseError, UnsupportedError
from mlir_sparse.pipeline.compiler_process import answer_of
from mlir_sparse.pipeline.module_compilation import invalid_module, module_diagnostics
from mlir_sparse.pipeline.module_passes import module_to_buffers, module_to_llvm
from mlir_sparse.pipeline.pass_values import Pass, Pipeline, pass_name
from mlir_sparse.pipeline.process_messages import PassSnapshot, TraceOutcome, TraceRequest
from mlir_sparse.pipeline.reproducer import write_reproducer
from mlir_sparse.text.given_arguments import text_of
from mlir_sparse.text.line_places import LinePlace
from mlir_sparse.text.source_text import Source

__all__ = ["Snapshot", "Trace", "trace_module", "trace_user_module"]


_INPUT = "input"
_BUILT = "the module as it was built"

Variables = Mapping[str, Sequence[LinePlace | None]]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A module after a pass.

    Args:
        name: the pass; `input` for the module before all passes.
        reason: why the pass is there; "" where a user asked for it.
        text: the module as MLIR prints it.
        seconds: the time that the pass took.
        places: for each line of the text the places that it comes from, by debug locations; empty where not known.
        item: the pass with its options, in MLIR's syntax.
    """

    name: str
    reason: str
    text: str
    seconds: float = field(default=0.0, compare=False)
    places: tuple[tuple[LinePlace, ...], ...] = field(default=(), repr=False)
    item: str = ""

    def __str__(self) -> str:
        return f"// after {self.name}: {self.reason}\n{self.text}"


@dataclass(frozen=True, slots=True)
class Trace(Sequence[Snapshot]):
    """The snapshots of a module on its way through a pipeline, the input first.

    Args:
        snapshots: the module after each pass that ran.
        failed: the pass that failed, in MLIR's syntax; "" where all ran.
        failure: what became of it.
    """

    snapshots: tuple[Snapshot, ...]
    failed: str = ""
    failure: SparseError | None = None

    @overload
    def __getitem__(self, at: int) -> Snapshot: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Snapshot]: ...
    def __getitem__(self, at: int | slice) -> Snapshot | Sequence[Snapshot]:
        return self.snapshots[at]

    def __len__(self) -> int:
        return len(self.snapshots)

    def __iter__(self) -> Iterator[Snapshot]:
        return iter(self.snapshots)

    def _steps(self) -> Iterator[tuple[Snapshot, Snapshot]]:
        """Yields what stands before and after each pass; an input in between begins another module."""
        pairs = zip(self.snapshots, self.snapshots[1:], strict=False)
        return ((before, after) for before, after in pairs if after.name != _INPUT)

    def diff(self, name: str) -> str:
        """Returns what a pass changed, as a unified diff; empty where it changed nothing.

        Args:
            name: a pass, or the start of its name; of several, the first.

        Raises:
            UnsupportedError: for a pass that the pipeline does not have, or that failed.
        """
        name = text_of(name, "a pass")
        for before, after in self._steps():
            if after.name.startswith(name):
                lines = before.text.splitlines(), after.text.splitlines()
                return "\n".join(difflib.unified_diff(*lines, before.name, after.name, lineterm=""))
        passes = ", ".join(dict.fromkeys(after.name for _, after in self._steps()))
        raise UnsupportedError(f"expected a pass of {passes}, but got {name!r}")

    def __str__(self) -> str:
        """Returns a line for each pass: its name, how many lines it changed, and why it is there."""
        lines = []
        for before, after in self._steps():
            changed = sum(d[0] in "+-" for d in difflib.ndiff(before.text.splitlines(), after.text.splitlines()))
            lines.append(f"{after.name}: {changed} lines changed" + (f"; {after.reason}" if after.reason else ""))
        if self.failure is not None:
            first, *_ = str(self.failure).splitlines()
            lines.append(f"{pass_name(self.failed)}: failed, {first}")
        return "\n".join(lines)


def trace_module(module: bytes, pipeline: Pipeline, *, kernel: str, variables: Variables) -> Trace:
    """Runs a pipeline on a verified module, pass by pass in the compiler's process.

    Args:
        module: bytecode of a verified module, with debug locations.
        pipeline: the passes.
        kernel: the assignment, for messages.
        variables: for each function the places of its loops' index variables.

    Returns:
        the module after each pass; up to the first that fails, with its error.
    """
    told, outcome = _traced(TraceRequest(module, tuple(map(str, pipeline.passes)), variables))
    snapshots = _snapshots(told, pipeline.passes)
    return _ended(snapshots, tuple(map(str, pipeline.passes)), outcome, kernel)


def trace_user_module(content: bytes, name: str, passes: Pipeline | Sequence[str]) -> Trace:
    """Runs a pipeline on a module of a user's, likewise; its debug locations are those of its own text.

    Args:
        content: the text, or bytecode.
        name: what messages call it, such as its path.
        passes: the passes; as texts without what they run on, or pipelines by their names.

    Raises:
        ModuleError: for a module that does not parse or verify.
        UnsupportedError: for a pass that is not there.
    """
    known = passes.passes if isinstance(passes, Pipeline) else ()
    items = tuple(map(str, known)) if isinstance(passes, Pipeline) else tuple(passes)
    told, outcome = _traced(TraceRequest(content, items, {}, nests=not isinstance(passes, Pipeline)))
    if isinstance(outcome, TraceOutcome) and not outcome.is_valid:
        raise invalid_module(Source(content.decode(errors="replace"), name), outcome.diagnostics)
    if not told:
        _refuse(outcome)
    listed = next((one for one in told if isinstance(one, tuple)), items)
    return _ended(_snapshots(told, known or _known_passes(listed)), listed, outcome, name)


def _traced(request: TraceRequest) -> tuple[list[object], TraceOutcome | str]:
    told: list[object] = []
    outcome = answer_of(request, hear=told.append)
    assert isinstance(outcome, TraceOutcome | str)
    return told, outcome


def _refuse(outcome: TraceOutcome | str) -> None:
    """Raises what a module that no pass was run on was refused with."""
    if isinstance(outcome, TraceOutcome) and outcome.refusal:
        raise UnsupportedError(outcome.refusal)


def _snapshots(told: Sequence[object], passes: Sequence[Pass]) -> tuple[Snapshot, ...]:
    """Returns the snapshots with names and reasons, those of the passes in their order."""
    found = [one for one in told if isinstance(one, PassSnapshot)]
    steps = (Pass(_INPUT, _BUILT), *passes)
    return tuple(
        Snapshot(step.name, step.reason, one.text, one.seconds, one.places, one.item)
        for step, one in zip(steps, found, strict=False)
    )


def _known_passes(items: Sequence[str]) -> Sequence[Pass]:
    """Returns passes from texts, with the reasons of those that modules of users are compiled with."""
    known = module_to_buffers().then(module_to_llvm()).passes
    reasons = {step.name: step.reason for step in known}
    names = [pass_name(item) for item in items]
    return [Pass(name, reasons.get(name, "")) for name in names]


def _ended(snapshots: tuple[Snapshot, ...], items: Sequence[str], outcome: TraceOutcome | str, kernel: str) -> Trace:
    if isinstance(outcome, TraceOutcome) and not (outcome.diagnostics or outcome.refusal):
        return Trace(snapshots)
    done = len(snapshots) - 1
    failed = items[done] if 0 <= done < len(items) else ""
    if isinstance(outcome, TraceOutcome) and outcome.refusal:
        return Trace(snapshots, failed, UnsupportedError(outcome.refusal))
    before = snapshots[-1].text if snapshots else ""
    pipeline = f"builtin.module({failed})"
    reproducer = write_reproducer(before.encode(), pipeline, kernel) if snapshots else None
    what = f"the pass {pass_name(failed)} to run" if failed else "a module to run passes on"
    if isinstance(outcome, str):
        message = f"expected {what}, but the compiler {outcome}"
        return Trace(snapshots, failed, CompilerCrash(message, kernel=kernel, pipeline=pipeline, reproducer=reproducer))
    said = "\n".join(module_diagnostics(Source("", kernel), outcome.diagnostics))
    message = f"expected {what}, but got:\n{said}"
    return Trace(snapshots, failed, CompileError(message, kernel=kernel, pipeline=pipeline, reproducer=reproducer))
