"""What passes must know of a plan's loop nests that their code does not say."""

from __future__ import annotations

from collections.abc import Iterator

from mlir_sparse.encoding import Encoding
from mlir_sparse.encoding.buffer_layout import argument_count, buffer_numbers
from mlir_sparse.encoding.levels.plain_levels import Buffer
from mlir_sparse.notation import Access, IndexVar, Subscript
from mlir_sparse.plan.choose_cuts import choose_cut
from mlir_sparse.plan.mapping.buffer_arguments import arguments_of, two_phase_arguments
from mlir_sparse.plan.mapping.mapped_nest import MappedNest
from mlir_sparse.plan.order.scattered_masks import scattered
from mlir_sparse.plan.plan_steps import AccumulateMode, Generic, NestFunction, Program
from mlir_sparse.program import LevelSpaceView
from mlir_sparse.program.nest_facts import NestFacts, ThreadedNest

__all__ = ["facts_of_nest"]


def facts_of_nest(function: NestFunction, program: Program, mapped: MappedNest | None = None) -> NestFacts:
    """Returns the facts of a loop nest.

    Args:
        function: what the nest becomes.
        program: whose it is.
        mapped: how its loops are given to the threads of a GPU; None for the processor.
    """
    step = function.step
    return NestFacts(
        rows=_rows(step, program),
        slots=tuple(_slots(function, program)),
        sampled=step.sampled is not None,
        scatters=scattered(step, dict(program.types)) is not None,
        short_rows=step.short_rows,
        runs=_runs(function, program),
        zeros=_zeros(function, program),
        once=_once(step, program),
        threads=None if mapped is None else _threads(function, program, mapped),
        alike=tuple(_alike(function, program)),
    )


def _threads(function: NestFunction, program: Program, mapped: MappedNest) -> ThreadedNest:
    two_phase = None if mapped.two_phase is None else two_phase_arguments(function.step, program, mapped.two_phase)
    arguments = arguments_of(function, program, mapped.two_phase)
    return ThreadedNest(mapped.cases, mapped.combine or "sum", arguments, two_phase)


def _rows(step: Generic, program: Program) -> int | None:
    """Returns the axis of the result along which the runtime cuts calls, where no level of an operand says how far."""
    cut = choose_cut(step, dict(program.types))
    if isinstance(cut, str) or not any(part.level for part in cut.stored):
        return None
    return step.target.subscripts.index(IndexVar(cut.variable))


def _runs(function: NestFunction, program: Program) -> int | None:
    """Returns the argument with the outermost coordinates of the one sparse operand, if that is a list in order."""
    kinds = [program.type_of(access.tensor).encoding for access in function.operands]
    places = [place for place, encoding in enumerate(kinds) if encoding is not None]
    stored = kinds[places[0]] if len(places) == 1 else None
    if stored is None or not stored.is_ordered or stored.level_types[0].unique:
        return None
    numbers = buffer_numbers(stored)
    return (
        sum(map(argument_count, kinds[: places[0]])) + numbers[0, "coordinates"]
        if (0, "coordinates") in numbers
        else None
    )


def _zeros(function: NestFunction, program: Program) -> tuple[int, int] | None:
    """Returns the argument with the sizes of the one operand, and its last level, if its rows may have zeros."""
    if not function.step.zeros:
        return None
    (access,) = function.operands
    encoding = program.type_of(access.tensor).encoding
    assert encoding is not None
    return argument_count(encoding) - 1, len(encoding.level_types) - 1


def _once(step: Generic, program: Program) -> bool:
    """Returns whether loops come to some elements of a dense result, and to none of them again, to add to it there.

    The one sparse operand has each of its coordinates once. Where loops come to all elements, their code says so.
    """
    variables: set[Subscript] = set(step.target.subscripts)
    if not variables or set(step.loops[: len(variables)]) != variables or len(variables) < len(step.target.subscripts):
        return False
    from_nothing = step.mode is AccumulateMode.START and step.start is None and step.sampled is None
    if not from_nothing or step.frames:
        return False
    kinds = [(access, program.type_of(access.tensor).encoding) for access in step.operands]
    stored = [(access, kind) for access, kind in kinds if kind is not None]
    return len(stored) == 1 and _lists_once(*stored[0], variables)


def _lists_once(access: Access, kind: Encoding, variables: set[Subscript]) -> bool:
    """Returns whether an operand has each coordinate once, and of some variables not all that there are."""
    if not kind.is_permutation or not all(level.unique for level in kind.level_types):
        return False
    levels = zip(kind.level_order, kind.level_types, strict=True)
    return any(access.subscripts[dim] in variables and not level.functions.has_full_loop for dim, level in levels)


def _alike(function: NestFunction, program: Program) -> Iterator[int]:
    """Yields the arguments that are values of tensors whose values the way of the statement takes to be equal."""
    chosen, first = program.spec.rewriting, 0
    names = chosen.of_one_value if chosen is not None else ()
    for access in function.operands if names else ():
        encoding = program.type_of(access.tensor).encoding
        first += argument_count(encoding)
        if encoding is not None and access.tensor in names:
            yield first - 2  # the struct of sizes is behind them


def _slots(function: NestFunction, program: Program) -> Iterator[int]:
    """Yields the arguments that are positions of levels of one coordinate or none, which the dialect takes for lists.

    Arguments are counted as code has them, a buffer each: of each level positions and coordinates where it has them,
    values, and the struct of sizes.
    """
    views = {step.result: step.operand for step in program.steps if isinstance(step, LevelSpaceView)}
    first = 0
    for access in function.operands:
        encoding = program.type_of(access.tensor).encoding
        if encoding is not None and access.tensor in views:
            seen = program.type_of(views[access.tensor]).encoding
            assert seen is not None
            for level in _slot_levels(seen, encoding):
                yield first + buffer_numbers(encoding)[level, "positions"]
        first += argument_count(encoding)


def _slot_levels(seen: Encoding, encoding: Encoding) -> Iterator[int]:
    """Yields the levels whose positions are made of the coordinates as they are stored."""
    # Narrow coordinates have no sign.
    if encoding.crd_width not in (0, 32, 64):
        return
    for level, view in enumerate(seen.level_space().views):
        derived = view.positions is Buffer.DERIVED and view.coordinates is Buffer.STORED
        if derived and view.type.functions.has_gaps:
            yield level
