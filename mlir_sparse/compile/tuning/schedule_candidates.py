"""Candidates: loop orders, vector lanes and tiles of a kernel, one for each different program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from itertools import islice, permutations

from mlir_sparse.classes import dataclass
from mlir_sparse.compile.cpu_build import Build
from mlir_sparse.encoding import Encoding, TensorType
from mlir_sparse.errors import SparseError
from mlir_sparse.notation import IndexVar, accesses_of
from mlir_sparse.plan import Generic, Program
from mlir_sparse.plan.cost import conversion_cost, nest_cost
from mlir_sparse.plan.schedule import STATIC, Schedule
from mlir_sparse.program import Conversion
from mlir_sparse.spec import KernelSpec

__all__ = ["Candidate", "Variants", "inner_schedules", "order_schedules", "thread_numbers"]

# Five variables have 120 orders.
_MOST_PLANNED = 120
_MOST_ORDERS = 12
# A call cannot be stopped, so candidates are skipped whose estimate exceeds the plan's choice by this factor.
_TOO_SLOW = 8.0
# Vectors of one and of two registers.
_VECTOR_BITS = (0, 256, 512)
_TILES = (0, 16, 32, 64, 128)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A way to compute a kernel.

    Args:
        schedule: its schedule.
        encodings: (operand, encoding) of each operand in another storage; None for a dense array.
        threads: the greatest number of threads of a call; None for the process' limit.
    """

    schedule: Schedule = STATIC
    encodings: tuple[tuple[str, Encoding | None], ...] = ()
    threads: int | None = None

    def __str__(self) -> str:
        stored = [f"{name}: {storage_name(encoding)}" for name, encoding in self.encodings]
        threads = [] if self.threads is None else [f"threads={self.threads}"]
        return "; ".join([*stored, str(self.schedule), *threads])


def storage_name(encoding: Encoding | None) -> str:
    """Returns the name of a storage, which `encoding` accepts."""
    return "dense" if encoding is None else encoding.preset or encoding.to_text()


@dataclass(slots=True)
class Variants:
    """The programs of a kernel, whose operands' types have widths, under different schedules."""

    spec: KernelSpec
    extents: Mapping[IndexVar, int]
    refused: dict[Schedule, str] = field(default_factory=dict)
    _seen: set[tuple[str, str]] = field(default_factory=set)

    def new(self, schedule: Schedule) -> bool:
        """Returns whether a schedule gives a program that no earlier one gave."""
        build = self.build(schedule)
        if build is None:
            return False
        key = build.identity, str(build.passes)
        if key in self._seen:
            return False
        self._seen.add(key)
        return True

    def build(self, schedule: Schedule) -> Build | None:
        """Returns the build of a schedule; None if it is refused."""
        try:
            build = Build.of(self.spec.with_open_blocks().with_output_widths(), schedule)
            build.passes  # noqa: B018 - plans, and refuses lanes
        except SparseError as error:
            self.refused[schedule] = str(error)
            return None
        return build

    def steps(self, schedule: Schedule) -> float | None:
        """Returns the estimated loop steps of a call, conversions included."""
        build = self.build(schedule)
        if build is None:
            return None
        program, total = build.program, 0.0
        sized = self._sized(program)
        for step in program.steps:
            match step:
                case Generic():
                    total += nest_cost(step.loops, step.payload, sized)
                case Conversion():
                    total += conversion_cost(sized[step.result])
                case _:
                    pass
        return total

    def _sized(self, program: Program) -> dict[str, TensorType]:
        """Returns the types of a program's values with their extents."""
        sized = dict(program.types)
        for step in program.steps:
            for access in (*accesses_of(step.payload), step.target) if isinstance(step, Generic) else ():
                extents = (self.extents.get(s) if isinstance(s, IndexVar) else None for s in access.subscripts)
                sized[access.tensor] = replace(sized[access.tensor], shape=tuple(extents))
        return sized


def order_schedules(variants: Variants) -> Iterator[Schedule]:
    """Yields the loop orders worth trying besides the plan's, fewest estimated steps first."""
    names = [variable.name for variable in variants.spec.assignment.indices]
    if len(names) < 2:
        return
    variants.new(STATIC)
    least = variants.steps(STATIC)
    found = []
    for order in islice(permutations(names), _MOST_PLANNED):
        schedule = Schedule(order=order)
        steps = variants.steps(schedule)
        if steps is None or least is None:
            continue
        if steps > _TOO_SLOW * least:
            variants.refused[schedule] = f"about {steps / least:,.0f} times the loop steps of the plan's choice"
        else:
            found.append((steps, schedule))
    distinct = (schedule for _, schedule in sorted(found, key=lambda one: one[0]) if variants.new(schedule))
    yield from islice(distinct, _MOST_ORDERS)


def inner_schedules(variants: Variants, schedule: Schedule) -> Iterator[Schedule]:
    """Yields the vector lanes and tiles worth trying with a loop order."""
    variants.new(schedule)
    bits = [kind.dtype.bits for _, kind in variants.spec.inputs if kind.dtype.in_vectors]
    lanes = [vector // min(bits) for vector in _VECTOR_BITS] if bits else []
    build = variants.build(schedule)
    tiles = _TILES if build is not None and build.has_dense_rows else ()
    every = [replace(schedule, tile=tile) for tile in tiles] + [replace(schedule, lanes=number) for number in lanes]
    yield from filter(variants.new, every)


def thread_numbers(limit: int) -> Iterator[int]:
    """Yields the numbers of threads worth trying below the limit: 1, 2, 4 and so on."""
    number = 1
    while number < limit:
        yield number
        number *= 2
