"""The module after each pass, and what each pass changed."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import overload

from mlir_sparse.classes import dataclass
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.pipeline.compiler_process import compile_module
from mlir_sparse.pipeline.pass_values import Pipeline
from mlir_sparse.text.given_arguments import text_of

__all__ = ["Snapshot", "Trace", "trace_module"]


_INPUT = "input"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A module after a pass.

    Args:
        name: the pass; `input` for the module before all passes.
        reason: why the pass is there.
        text: the module as MLIR prints it.
    """

    name: str
    reason: str
    text: str

    def __str__(self) -> str:
        return f"// after {self.name}: {self.reason}\n{self.text}"


@dataclass(frozen=True, slots=True)
class Trace(Sequence[Snapshot]):
    """The snapshots of a module on its way through a pipeline, the input first."""

    snapshots: tuple[Snapshot, ...]

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
            UnsupportedError: for a pass that the pipeline does not have.
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
            lines.append(f"{after.name}: {changed} lines changed; {after.reason}")
        return "\n".join(lines)


def trace_module(module: bytes, text: str, pipeline: Pipeline, *, kernel: str) -> Trace:
    """Runs a pipeline on a verified module, as bytecode and as text, pass by pass in the compiler's process.

    Raises:
        UnsupportedError, CompileError, CompilerCrash: when a pass fails, as for `compile_module`.
    """
    snapshots = [Snapshot(_INPUT, "the module as it was built", text)]
    for step in pipeline.passes:
        module = compile_module(module, Pipeline((step,)), kernel=kernel, as_text=True)
        snapshots.append(Snapshot(step.name, step.reason, module.decode()))
    return Trace(tuple(snapshots))
