"""The ways to compute a statement on `dask.array`s: how it is cut, what each piece runs, and what is made once before.

Where the optimizer computes a statement in steps (`plan.cut_steps`), a cut that serves all of them makes a task a
piece, which runs the whole plan. Steps that are the same for all pieces are made once, by tasks of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import dask.array

from mlir_sparse.classes import dataclass
from mlir_sparse.compile.statement_pieces import compile_pieces, rewriting_of_pieces
from mlir_sparse.dask.array_chunks import nbytes_of, type_of_chunks
from mlir_sparse.dask.cut_choice import CutChoice, cut_choices
from mlir_sparse.dask.image_operands import TASK_NBYTES
from mlir_sparse.dask.operand_sketches import sketch_of_operand
from mlir_sparse.dask.partitioned import from_tensor
from mlir_sparse.dask.piece_graph import graph_of_pieces
from mlir_sparse.dtypes import WIDE_TYPES
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation import Assignment, AssignOp, Semiring, reads
from mlir_sparse.notation.laws import PLUS_TIMES
from mlir_sparse.plan.cut_steps import CutSteps, statement_with, steps_under
from mlir_sparse.spec import Part, Rewriting
from mlir_sparse.tensor import SparseTensor

__all__ = ["PiecedStatement", "in_chunks", "ways"]

_CHUNK = 16 << 20
"""About so many bytes of a tensor at hand are the piece of a part that is made first."""


@dataclass(frozen=True, slots=True, eq=False)
class MadeFirst:
    """A part that is made once, before the pieces that read it.

    Args:
        part: the part.
        array: the dask.array of it.
        choice: how it is cut.
    """

    part: Part
    array: Any
    choice: CutChoice


@dataclass(frozen=True, slots=True, eq=False)
class PiecedStatement:
    """A way to compute a statement.

    Args:
        statement: what the pieces compute: the statement, or one that reads what is made first.
        operands: its operands.
        choice: how it is cut.
        first: what is made first, in order.
        steps: how pieces compute it, which all do alike; None where each plans for its own data.
        repeated: the bytes of what every piece makes anew.
    """

    statement: Assignment
    operands: Mapping[str, Any]
    choice: CutChoice
    first: tuple[MadeFirst, ...] = ()
    steps: Rewriting | None = None
    repeated: float = 0.0

    @property
    def moved(self) -> float:
        """Returns the bytes that tasks move, or make without need."""
        first: int = sum(one.choice.moved + TASK_NBYTES * one.array.npartitions for one in self.first)
        return self.choice.moved + first + self.repeated

    def array(
        self, out: Any, ring: Semiring, optimize: str, threads: int | None, within: frozenset[str] = frozenset()
    ) -> dask.array.Array:
        """Returns the dask.array of the result.

        Args:
            out: its storage.
            ring: what `+` and `*` are.
            optimize: how pieces are optimized that plan for their own data.
            threads: the greatest number of threads of a task.
            within: the operands whose chunks are made by the pieces that read them, where each is read by one.
        """
        pieces = compile_pieces(
            self.choice.cuts, _types(self.operands), out, ring, steps=self.steps, optimize=optimize, threads=threads
        )
        return graph_of_pieces(self.statement, pieces, self.operands, self.choice.bounds, ring, within)

    def lines(self) -> Iterator[str]:
        """Yields how `explain` shows it."""
        for one in self.first:
            yield f"first, once: {one.part}"
            yield from (f"  {line}" for line in f"cut {one.choice}".split("\n"))
        yield f"cut {self.choice}"
        if self.steps is not None:
            parts = [f"{part}, then " for part in self.steps.parts]
            yield f"  each piece: {''.join(parts)}{self.statement.target} = {self.steps.value}"

    def __str__(self) -> str:
        after = [str(one.part.target) for one in self.first]
        return f"{self.choice}" + (f", after {' and '.join(after)} made once" if after else "")


def ways(
    statement: Assignment,
    operands: Mapping[str, Any],
    out: Any,
    ring: Semiring,
    along: Sequence[str] | None,
    optimize: str,
) -> tuple[list[PiecedStatement], list[str]]:
    """Returns the ways to compute a statement, from those that move the fewest bytes on, and why other cuts are none.

    Args:
        statement: one statement.
        operands: its operands by name, some of them dask.arrays.
        out: the storage of the result.
        ring: what `+` and `*` are.
        along: the variables to cut along, all of them at once; any by default.
        optimize: "auto", "off" or "algebra".

    Raises:
        SparseError: as `cut_choices` does.
    """
    choices, reasons = cut_choices(statement, operands, ring, along)
    rewriting = _rewriting(statement, operands, out, ring, optimize) if choices else None
    if rewriting is None:
        return [PiecedStatement(statement, operands, choice) for choice in choices], reasons
    found, before = list[PiecedStatement](), dict[tuple[Part, ...], PiecedStatement | None]()
    for choice in choices:
        steps = steps_under(choice.cuts, rewriting)
        if not isinstance(steps, CutSteps):
            found.append(PiecedStatement(statement, operands, choice))
        elif not steps.before:
            plan = replace(rewriting, parts=steps.within, value=steps.value)
            found.append(PiecedStatement(statement, operands, choice, steps=plan))
        else:
            if steps.before not in before:
                asked = rewriting, out, along, optimize
                before[steps.before] = _after(steps.before, choice, statement, operands, *asked)
            pieces = prod(len(ends) - 1 for ends in choice.bounds)
            made = sum(part.estimate.nbytes if part.estimate else 0.0 for part in steps.before)
            found.append(PiecedStatement(statement, operands, choice, repeated=made * (pieces - 1)))
    found += sorted((way for way in before.values() if way is not None), key=lambda way: way.moved)[:1]
    return sorted(found, key=lambda way: way.moved), reasons


def _types(operands: Mapping[str, Any]) -> dict[str, Any]:
    return {name: type_of_chunks(value) for name, value in operands.items()}


def _rewriting(
    statement: Assignment, operands: Mapping[str, Any], out: Any, ring: Semiring, optimize: str
) -> Rewriting | None:
    if ring is not PLUS_TIMES or optimize == "off":
        return None
    return rewriting_of_pieces(
        statement, _types(operands), out, lambda name: sketch_of_operand(operands[name]), optimize
    )


def _after(
    before: tuple[Part, ...],
    choice: CutChoice,
    statement: Assignment,
    operands: Mapping[str, Any],
    rewriting: Rewriting,
    out: Any,
    along: Sequence[str] | None,
    optimize: str,
) -> PiecedStatement | None:
    """Returns the best way to compute a statement of which parts are made first; None where one cannot be."""
    if not _are_of_one_type(operands) or any(part.dtype for part in before):
        return None  # a part would be rounded where the statement does not round it
    first, known = list[MadeFirst](), dict(operands)
    for part in before:
        try:
            made = _made(part, known, prod(len(ends) - 1 for ends in choice.bounds))
        except UnsupportedError:  # of a part alone; the statement is computed in other ways
            return None
        if made is None:
            return None
        first.append(made)
        known[part.target.tensor] = made.array
    rest = statement_with(statement, rewriting, before)
    if not {cut.variable for cut in choice.cuts.cuts} <= _variables(rest):
        return None  # it calls them otherwise
    read = {name: known[name] for name in rest.inputs}
    found, _ = ways(rest, read, out, PLUS_TIMES, along, optimize)
    if not found:
        return None
    best = found[0]
    return PiecedStatement(best.statement, best.operands, best.choice, (*first, *best.first), best.steps, best.repeated)


def _variables(statement: Assignment) -> set[str]:
    accesses = (statement.target, *reads(statement.value))
    return {index.name for access in accesses for index in access.indices}


def _are_of_one_type(operands: Mapping[str, Any]) -> bool:
    kinds = {kind.dtype for kind in _types(operands).values()}
    return len(kinds) == 1 and kinds <= set(WIDE_TYPES)


def _made(part: Part, operands: Mapping[str, Any], pieces: int) -> MadeFirst | None:
    statement = Assignment(part.target, AssignOp.ASSIGN, part.value)
    read = {name: operands[name] for name in statement.inputs}
    if not any(isinstance(value, dask.array.Array) for value in read.values()):
        largest = max((name for name in read if read[name].ndim), key=lambda name: nbytes_of(read[name]), default=None)
        if largest is None:
            return None
        read[largest] = in_chunks(read[largest], pieces)
    choices, _ = cut_choices(statement, read, PLUS_TIMES, None)
    if not choices:
        return None
    is_array = part.is_array or (part.estimate is not None and not part.estimate.is_sparse)
    compiled = compile_pieces(choices[0].cuts, _types(read), "dense" if is_array else None, PLUS_TIMES, optimize="off")
    made = graph_of_pieces(statement, compiled, read, choices[0].bounds, PLUS_TIMES)
    return MadeFirst(part, made, choices[0])


def in_chunks(value: Any, pieces: int) -> dask.array.Array:
    """Returns a tensor or an array at hand in chunks, so that pieces of a part may be made where they are read."""
    if isinstance(value, SparseTensor):
        return from_tensor(value, pieces=max(1, min(pieces, value.nbytes // _CHUNK)))
    return dask.array.from_array(value, chunks=-1)
