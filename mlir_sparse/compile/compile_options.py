"""The options of a compilation, checked here for kernels of every kind."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from mlir_sparse.classes import dataclass
from mlir_sparse.compile.statement_optimizer import check_optimize
from mlir_sparse.errors import ScheduleError, UnsupportedError
from mlir_sparse.plan.schedule import STATIC, Schedule
from mlir_sparse.runtime.thread_limit import check_threads

__all__ = ["TUNED", "VIAS", "CompileOptions", "chip_in"]

VIAS = ("auto", "codegen", "library")
# The name of the schedule that tuning found.
TUNED = "tuned"
_TARGET = r"cuda(?::(sm_\d{2,3}[a-z]?))?"


def chip_in(target: object) -> str | None:
    """Returns the chip in a GPU target; None if it has none.

    Raises:
        UnsupportedError: for text that is no GPU target.

    >>> chip_in("cuda:sm_90")
    'sm_90'
    """
    match = re.fullmatch(_TARGET, target, re.ASCII) if isinstance(target, str) else None
    if match is None:
        raise UnsupportedError(
            f"expected target='cpu', 'cuda' or a chip such as 'cuda:sm_90', but got {target!r}: "
            "which of several devices runs a kernel is where its operands lie"
        )
    return match[1]


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """The options of `compile`.

    Args:
        target: the machine to run on.
        via: the origin of GPU kernels.
        schedule: the schedule of the loops.
        tuned: whether to use the schedule that tuning found.
        threads: the greatest number of threads of a call; None for the process' limit.
        deterministic: whether results must be the same for any number of threads.
        optimize: whether statements are rewritten for their data: "auto", "off" or "algebra".
    """

    target: str = "cpu"
    via: str = "auto"
    schedule: Schedule = STATIC
    tuned: bool = False
    threads: int | None = None
    deterministic: bool = False
    optimize: str = "off"

    @classmethod
    def of(
        cls, target: Any, via: Any, schedule: Any, threads: Any, deterministic: Any, optimize: Any = None
    ) -> CompileOptions:
        """Checks the arguments and returns the options.

        Raises:
            UnsupportedError: for an unknown target, a `via` that does not exist or is not for the target, parts of a
                schedule that the target lacks, and an optimization that does not exist.
            ScheduleError: for an invalid schedule or number of threads, and for threads on a GPU.
        """
        if not isinstance(deterministic, bool):
            raise ScheduleError(f"expected deterministic=True or False, but got {deterministic!r}")
        check_threads(threads)
        tuned = isinstance(schedule, str) and schedule == TUNED
        chosen = STATIC if tuned else Schedule.of(schedule)
        # An order of loops is a plan; another one would not have these loops.
        optimize = check_optimize(optimize)
        follows = not tuned and chosen.order is None and isinstance(target, str) and target == "cpu"
        wanted = optimize if follows else "off"
        found = cls(target, via, chosen, tuned, threads, deterministic, wanted)
        if not (isinstance(target, str) and target == "cpu"):
            chip_in(target)
        if not (isinstance(via, str) and via in VIAS):
            raise UnsupportedError(f"expected via= one of {', '.join(VIAS)}, but got {via!r}")
        if found.target == "cpu":
            found._check_host()
        else:
            found._check_device()
        return found

    def _check_host(self) -> None:
        if self.via != "auto":
            raise UnsupportedError(f"expected via= for target='cuda' only, but got via={self.via!r} with target='cpu'")

    def _check_device(self) -> None:
        if self.threads is not None or self.deterministic:
            raise ScheduleError("expected threads= and deterministic= for target='cpu' only, but got them for a GPU")
        if self.tuned:
            raise UnsupportedError(f"expected schedule='{TUNED}' for target='cpu' only, but got it for a GPU")
        order_only = replace(self.schedule, lanes=None, tile=None)
        if self.schedule != order_only:
            raise UnsupportedError(
                f"expected a schedule with an order only for a GPU, where threads take lanes and tiles, "
                f"but got '{self.schedule}': leave lanes and tile out"
            )
        if self.via == "library" and self.schedule != STATIC:
            raise UnsupportedError(
                f"expected no schedule for via='library', whose loops are NVIDIA's, but got '{self.schedule}'"
            )

    def refuse_schedule(self, statements: int) -> None:
        """Refuses a schedule for several statements, and for a statement that is compiled for each shape.

        Raises:
            UnsupportedError: if the options have a schedule.
        """
        if self.tuned or self.schedule != STATIC:
            schedule = TUNED if self.tuned else self.schedule
            raise UnsupportedError(
                f"expected a schedule for one statement without ranges, but got schedule='{schedule}' for "
                f"{statements} in a comprehension: compile the statement apart, or leave it out"
            )

    def refuse_with_alternative(self, semiring: object, optimize: object) -> None:
        """Refuses options that an alternative has decided.

        Raises:
            UnsupportedError: if there is one.
        """
        decided = {"semiring": semiring is None, "optimize": optimize is None, "target": self.target == "cpu"}
        decided["schedule"] = not self.tuned and self.schedule.order is None
        for name, absent in decided.items():
            if not absent:
                raise UnsupportedError(
                    f"expected no {name}= with an alternative, which says how a statement is computed on the "
                    "processor, but got one: leave it out, or pass the text"
                )
