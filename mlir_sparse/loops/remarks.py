"""What strategies say of the loops that they looked at: applied, or the first reason why not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import DTYPES, DType
from mlir_sparse.program.loop_form import NestLoops
from mlir_sparse.text.shown_text import PrintedValue

__all__ = ["Missed", "Remark", "Remarks", "keep_name", "loops_by_depth", "type_name"]

T = TypeVar("T")

_LOOPS = ("scf.for", "scf.while")
_NAME = "index variable"


@dataclass(frozen=True, slots=True)
class Missed:
    """Why a strategy leaves a loop as it is.

    Args:
        reason: what stands in the way, in the user's words.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class Remark(PrintedValue):
    """What a strategy did to a loop nest, or why it did nothing.

    Args:
        strategy: the strategy, by the name of its pass where it is a pass of its own.
        function: the function of the loops, as `ir("sparsified")` shows it.
        loop: the index variable of the loop; where storage has more loops than the notation has variables, which loop
            it is of how many; "" for a whole function.
        applied: whether the strategy was applied.
        reason: why it was not; "" where it was.

    >>> print(Remark("sum-rows", "kernel", "j", False, "the sum is of i32"))
    sum-rows: not applied to j, because the sum is of i32
    """

    strategy: str
    function: str
    loop: str
    applied: bool
    reason: str = ""

    def __str__(self) -> str:
        where = f" to {self.loop}" if self.loop else ""
        if self.applied:
            return f"{self.strategy}: applied{where}"
        return f"{self.strategy}: not applied{where}, because {self.reason}"


class Remarks:
    """Collects what strategies say of the loops of a module.

    Nothing is kept where nobody asks, as in a compilation: loops are given names for remarks alone.

    Args:
        expected: the loops of each function, as the plan expects them; None where nobody asks.
    """

    def __init__(self, expected: Mapping[str, NestLoops] | None = None) -> None:
        self._expected = expected
        self._found: dict[Remark, None] = {}
        self.strategy = ""

    @property
    def wanted(self) -> bool:
        """Returns whether somebody asks: whether to look at loops that a strategy does not take anyway."""
        return self._expected is not None

    @property
    def found(self) -> tuple[Remark, ...]:
        """Returns the remarks in the order of the strategies, each once."""
        return tuple(self._found)

    def of(self, op: ir.Operation, found: T | Missed, strategy: str = "") -> T | None:
        """Notes what a strategy found of a loop before it rewrites it.

        Args:
            op: the loop, or another operation in a function.
            found: what it is going to rewrite, or why it does not.
            strategy: which one, where a pass has several; the pass by default.

        Returns:
            what it is going to rewrite; None where it does not.
        """
        if self._expected is not None:
            self._note(op, found.reason if isinstance(found, Missed) else "", strategy or self.strategy)
        return None if isinstance(found, Missed) else found

    def _note(self, op: ir.Operation, reason: str, strategy: str) -> None:
        # What a strategy leaves of the loops that another one wrote is no news.
        if not reason or _NAME in op.attributes or op.name not in _LOOPS:
            self._found[Remark(strategy, _function_of(op), _name_of(op), not reason, reason)] = None

    def expected_in(self, function: ir.Operation) -> NestLoops:
        """Returns the loops of a function as the plan expects them: none where nobody asks."""
        return (self._expected or {}).get(_function_of(function), NestLoops((), ()))

    def name_loops(self, module: ir.Module) -> None:
        """Gives loops the names of their index variables, which copies of loops keep.

        Args:
            module: the module before any strategy rewrites it.
        """
        if self._expected is None:
            return
        for function in [op.operation for op in module.body.operations if op.operation.name == "func.func"]:
            depths, variables = loops_by_depth(function), self.expected_in(function).variables
            if len(variables) != len(depths):
                variables = tuple(f"loop {depth + 1} of {len(depths)}" for depth in range(len(depths)))
            for variable, loops in zip(variables, depths, strict=True):
                for op in loops:
                    op.attributes[_NAME] = ir.StringAttr.get(variable)


def keep_name(old: ir.Operation, new: ir.Operation) -> None:
    """Gives a loop the name of the one that it is written for, if that has one."""
    if _NAME in old.attributes:
        new.attributes[_NAME] = old.attributes[_NAME]


_NAMES = {dtype.mlir: dtype.name for dtype in DTYPES if dtype.mlir not in DType.NAMES}


def type_name(kind: ir.Type) -> str:
    """Returns an element type as the notation calls it."""
    return _NAMES.get(str(kind), str(kind))


def loops_by_depth(function: ir.Operation) -> list[list[ir.Operation]]:
    """Returns the loops of a function at each depth, the outermost first."""
    found: list[list[ir.Operation]] = []
    for op in _loops_in(function):
        depth = len(_loops_around(op))
        found += [[] for _ in range(len(found), depth + 1)]
        found[depth].append(op)
    return found


def _loops_in(op: ir.Operation) -> list[ir.Operation]:
    """Returns the loops inside an operation, each behind those in it."""
    found: list[ir.Operation] = []
    advance = ir.WalkResult.ADVANCE

    def visit(inner: ir.Operation) -> ir.WalkResult:
        if inner.name in _LOOPS and inner != op:
            found.append(inner)
        return advance

    op.walk(visit)
    return found


def _loops_around(op: ir.Operation) -> list[ir.Operation]:
    """Returns the loops around an operation, the innermost first."""
    found: list[ir.Operation] = []
    around = op.parent
    while around is not None and around.name != "func.func":
        if around.name in _LOOPS:
            found.append(around)
        around = around.parent
    return found


def _function_of(op: ir.Operation) -> str:
    while op.name != "func.func" and op.parent is not None:
        op = op.parent
    return ir.StringAttr(op.attributes["sym_name"]).value


def _name_of(op: ir.Operation) -> str:
    """Returns the name of a loop; of a loop that strategies made, that of those inside, or else around."""
    for named in (op, *reversed(_loops_in(op))) if op.name != "func.func" else ():
        if _NAME in named.attributes:
            return _text(named)
    around = next((loop for loop in _loops_around(op) if _NAME in loop.attributes), None)
    return "" if around is None else _text(around)


def _text(loop: ir.Operation) -> str:
    return ir.StringAttr(loop.attributes[_NAME]).value
