"""The passes of a kernel or a module as a value: a list of modules, which prints as text and shows itself as a page."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from html import escape
from pathlib import Path
from typing import overload

from mlir_sparse.classes import dataclass
from mlir_sparse.errors import SparseError
from mlir_sparse.loops.remarks import Remark
from mlir_sparse.pipeline import Snapshot, Trace
from mlir_sparse.plan.order.loop_graph import LoopGraph
from mlir_sparse.process.forks import importing
from mlir_sparse.text.given_arguments import path_of
from mlir_sparse.text.line_places import LinePlace
from mlir_sparse.text.shortened import shortened

__all__ = [
    "Language",
    "MachineText",
    "OperandView",
    "PassSection",
    "Passes",
    "PlanStep",
    "SectionDetails",
    "SourcePart",
    "joined",
]


class Language(Enum):
    """What a text is written in."""

    MLIR = "MLIR"
    LLVM = "LLVM IR"
    ASSEMBLY = "assembly"
    PTX = "PTX"


@dataclass(frozen=True, slots=True)
class SourcePart:
    """A part of the text that code comes from.

    Args:
        label: what it is, for people.
        text: its text.
        places: where it stands, as debug locations name it.
        in_line: whether it is shown in the text; index variables, which are inside of other parts, stand below it.
    """

    label: str
    text: str
    places: tuple[LinePlace, ...]
    in_line: bool = True


@dataclass(frozen=True, slots=True)
class OperandView:
    """A tensor of the statement.

    Args:
        name: its name.
        type: its type.
        account: what its storage is, a line a level.
        picture: the level tree of an example as SVG; "" without one.
        example: what the picture shows; "" without one.
    """

    name: str
    type: str
    account: str
    picture: str = ""
    example: str = ""


@dataclass(frozen=True, slots=True)
class PlanStep:
    """A step of the plan.

    Args:
        title: what it computes.
        graph: its iteration graph; None for a step without loops.
    """

    title: str
    graph: LoopGraph | None = None


@dataclass(frozen=True, slots=True)
class MachineText:
    """A text behind the last pass.

    Args:
        name: the stage, as `ir` calls it.
        language: what it is written in.
        text: the text.
    """

    name: str
    language: Language
    text: str


@dataclass(frozen=True, slots=True)
class SectionDetails:
    """What a page shows beside the passes.

    Args:
        parts: the parts of the source.
        operands: the tensors.
        steps: the steps of the plan.
        account: the explanation of the whole kernel; "" for a module.
        remarks: the remarks of strategies.
        machine: the texts behind the last pass.
        notes: what is missing, and why.
    """

    parts: tuple[SourcePart, ...] = ()
    operands: tuple[OperandView, ...] = ()
    steps: tuple[PlanStep, ...] = ()
    account: str = ""
    remarks: tuple[Remark, ...] = ()
    machine: tuple[MachineText, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PassSection:
    """One statement, or one module, through its passes.

    Args:
        title: the statement, or the name of the module.
        source: the text that code comes from.
        target: what it is compiled for.
        trace: the module after each pass.
        details: makes what a page shows beside them.
    """

    title: str
    source: str
    target: str
    trace: Trace
    details: Callable[[], SectionDetails]


@dataclass(frozen=True, slots=True, repr=False)
class Passes(Sequence[Snapshot]):
    """The module after each pass: a list that diffs, prints as text, and shows itself in a notebook.

    Modules are compiled anew for it, pass by pass in the compiler's process, also where the code that calls run came
    from a file or from the cache; the passes are those that made that code.

    Args:
        sections: one for each statement.

    >>> import mlir_sparse as ms
    >>> passes = ms.compile("y(i) = A(i,j) * x(j)", A="f64[?,?] CSR", x="f64[?]").passes()
    >>> passes[0].name, passes[-1].name
    ('input', 'reconcile-unrealized-casts')
    >>> "scf.for" in passes.diff("sparsification")
    True
    >>> passes.html().startswith("<!doctype html>")
    True
    """

    sections: tuple[PassSection, ...]

    @property
    def whole(self) -> Trace:
        """Returns the snapshots of all sections, one after the other, up to the first failure."""
        traces = [section.trace for section in self.sections]
        failed = next((one for one in traces if one.failure is not None), None)
        snapshots = tuple(snapshot for trace in traces for snapshot in trace)
        return Trace(snapshots) if failed is None else Trace(snapshots, failed.failed, failed.failure)

    @property
    def failure(self) -> SparseError | None:
        """Returns the error of the first pass that failed; None where all ran."""
        return self.whole.failure

    @overload
    def __getitem__(self, at: int) -> Snapshot: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Snapshot]: ...
    def __getitem__(self, at: int | slice) -> Snapshot | Sequence[Snapshot]:
        return self.whole[at]

    def __len__(self) -> int:
        return len(self.whole)

    def __iter__(self) -> Iterator[Snapshot]:
        return iter(self.whole)

    def diff(self, name: str) -> str:
        """Returns what a pass changed, as a unified diff; empty where it changed nothing.

        Args:
            name: a pass, or the start of its name; of several, the first.

        Raises:
            UnsupportedError: for a pass that the pipeline does not have, or that failed.
        """
        return self.whole.diff(name)

    def html(self) -> str:
        """Returns a page, which needs no server and no network: source, plan, each pass with its diff, machine code.

        Raises:
            MissingPackageError: without Pygments, which colours its code.
        """
        with importing():
            from mlir_sparse.compile.exploring.page_document import page  # what most kernels never need

        return page(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page to a file.

        Args:
            path: the file, such as `page.html`.

        Raises:
            MissingPackageError: without Pygments.
            OSError: for a file that cannot be written.
        """
        Path(path_of(path, "a page")).write_text(self.html(), encoding="utf-8")

    def _repr_html_(self) -> str:
        """Returns the page for a notebook, in a frame of its own: neither changes the other's style."""
        return (
            '<iframe title="passes" sandbox="allow-scripts" style="border:0;height:80vh;min-height:24rem;width:100%" '
            f'srcdoc="{escape(self.html())}"></iframe>'
        )

    def __str__(self) -> str:
        """Returns a line for each pass: its name, how many lines it changed, and why it is there."""
        return str(self.whole)

    def __repr__(self) -> str:
        titles = shortened("; ".join(section.title for section in self.sections))
        return f"<{len(self)} snapshots of {titles}{', the last pass failed' if self.failure else ''}>"


def joined(parts: Sequence[Passes]) -> Passes:
    """Returns the passes of several kernels, one after the other."""
    return Passes(tuple(section for one in parts for section in one.sections))
