"""The operations of a module by name, found by one walk for all passes that look for some.

A walk through Python takes as long as a pass of MLIR's, and most passes of ours find nothing
to do in most modules.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.loops.facts_in_ir import facts_of
from mlir_sparse.loops.inner_loops import Line, line_of
from mlir_sparse.loops.model import ForLoop, WhileLoop
from mlir_sparse.loops.regions import body_of
from mlir_sparse.loops.remarks import Missed, Remarks
from mlir_sparse.loops.value_origins import is_around
from mlir_sparse.process.forks import cached_property
from mlir_sparse.program.nest_facts import NestFacts

__all__ = ["Inside", "Nest", "Seen"]

_BRANCHES = ("scf.for", "scf.while", "scf.if")


@dataclass(frozen=True)
class Inside:
    """What is inside an operation, at any depth.

    Args:
        by_name: operations, each behind what is in it.
    """

    by_name: Mapping[str, list[ir.Operation]]

    def named(self, name: str) -> list[ir.Operation]:
        """Returns the operations of a name."""
        return self.by_name.get(name, [])

    @cached_property
    def innermost(self) -> Sequence[ir.Operation]:
        """Returns the `scf.for` without loops or branches inside."""
        around = {op.parent for name in _BRANCHES for op in self.named(name)}
        return [op for op in self.named("scf.for") if op not in around]


@dataclass(frozen=True)
class Nest(Inside):
    """The loop nest of a function, read once until a strategy rewrites it.

    Args:
        function: the `func.func`.
        options: those of the pass that looks at it.
        asked: whether somebody asks for remarks: whether to look at loops that a strategy does not take anyway.
    """

    function: ir.Operation
    options: Mapping[str, str]
    asked: bool

    @cached_property
    def facts(self) -> NestFacts:
        """Returns what the plan knows of it."""
        return facts_of(self.function)

    @property
    def arguments(self) -> Sequence[ir.Value]:
        """Returns the arguments of the function."""
        return list(body_of(self.function).arguments)

    @cached_property
    def for_loops(self) -> Sequence[ForLoop]:
        """Returns its `scf.for`, each behind those in it."""
        return [ForLoop(op) for op in self.named("scf.for")]

    @cached_property
    def while_loops(self) -> Sequence[WhileLoop]:
        """Returns its `scf.while`, each behind those in it."""
        return [WhileLoop(op) for op in self.named("scf.while")]

    @cached_property
    def innermost_loops(self) -> Sequence[ForLoop]:
        """Returns its `scf.for` without loops or branches inside."""
        return [ForLoop(op) for op in self.innermost]

    @cached_property
    def lines(self) -> list[tuple[ForLoop, Line | Missed]]:
        """Returns its innermost loops, each as a line or why it is none."""
        return [(loop, line_of(loop)) for loop in self.innermost_loops]

    def leave_out_lines(self, op: ir.Operation) -> None:
        """Leaves out the lines in an operation that is erased next: nothing may look at what is erased."""
        self.lines[:] = [(loop, line) for loop, line in self.lines if loop.op != op and not is_around(op, loop.op)]


class Seen:
    """A module, its operations as they were when last looked at, and what passes say of them.

    Args:
        module: the module; whoever changes it says so by `forget`.
        remarks: where strategies say what they applied, and why not.
    """

    def __init__(self, module: ir.Module, remarks: Remarks | None = None) -> None:
        self.module = module
        self.remarks = remarks or Remarks()
        self._whole: Inside | None = None

    def forget(self) -> None:
        """Looks again when next asked."""
        self._whole = None

    @property
    def whole(self) -> Inside:
        """Returns what is in the module."""
        if self._whole is None:
            self._whole = _inside(self.module.operation)
        return self._whole

    def nests(self, options: Mapping[str, str]) -> Iterator[Nest]:
        """Yields the loop nests of the functions, for a pass with options."""
        for function, inside in self.functions:
            yield Nest(inside.by_name, function, options, self.remarks.wanted)

    @property
    def functions(self) -> Sequence[tuple[ir.Operation, Inside]]:
        """Returns the functions, each with what is in it."""
        functions = self.whole.named("func.func")
        if len(functions) == 1:
            return [(functions[0], self.whole)]
        return [(function, _inside(function)) for function in functions]


def _inside(around: ir.Operation) -> Inside:
    found: defaultdict[str, list[ir.Operation]] = defaultdict(list)
    advance = ir.WalkResult.ADVANCE

    def visit(op: ir.Operation) -> ir.WalkResult:
        found[op.name].append(op)
        return advance

    around.walk(visit)
    return Inside(found)
