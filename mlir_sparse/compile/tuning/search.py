"""The search: storage first, if wanted, then lanes and tiles, then loop orders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from math import ceil
from typing import Any

import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.compile.compiled_kernel import Result
from mlir_sparse.compile.cpu_kernel import Kernel
from mlir_sparse.compile.entry_points import compile as compile_kernel
from mlir_sparse.compile.tuning.agreement import agree
from mlir_sparse.compile.tuning.schedule_candidates import (
    Candidate,
    Variants,
    inner_schedules,
    order_schedules,
    thread_numbers,
)
from mlir_sparse.compile.tuning.storage_candidates import Formats, combinations
from mlir_sparse.compile.tuning.timed_race import LATE, Contestant, Prepared, Watch, race
from mlir_sparse.compile.tuning.tuning_table import TuningRow
from mlir_sparse.encoding import Encoding
from mlir_sparse.errors import SparseError
from mlir_sparse.runtime import get_num_threads, operand_check
from mlir_sparse.spec import KernelSpec, infer_extents
from mlir_sparse.tensor import SparseTensor

__all__ = ["Search", "kernel_of"]

Array = np.ndarray[Any, Any]
Value = Array | SparseTensor
Store = Callable[[Value, Encoding | None], Value]

# A faster candidate must win by this factor; smaller differences are noise.
_GAIN = 0.03
# The number of finalists besides the plan's choice: earlier measurements may have been disturbed.
_FINALISTS = 3
# The fractions of the budget after which the search ends for storage, lanes and tiles, loop orders, lanes and tiles
# again, and threads.
_ENDS = (0.4, 0.6, 0.75, 0.8, 0.9)


def kernel_of(base: Kernel, candidate: Candidate) -> Kernel:
    """Returns the kernel of a candidate, with the same storage of the result."""
    stored = dict(candidate.encodings)
    types = {name: replace(kind, encoding=stored[name]) if name in stored else kind for name, kind in base.spec.inputs}
    kernel = compile_kernel(
        base.spec.assignment,
        tensors=types,
        out=base.spec.output,
        schedule=candidate.schedule,
        threads=candidate.threads or base.threads,
        deterministic=base.deterministic,
    )
    assert isinstance(kernel, Kernel), "what a kernel was compiled from compiles to one"
    return kernel


@dataclass(frozen=True, slots=True)
class _Stored:
    """An operand in another storage, and the seconds of its conversion."""

    value: Value
    seconds: float


class Search:
    """One tuning.

    Args:
        base: the kernel of the plan's choice.
        values: its operands, by name.
        watch: the clock and the budget.
        store: converts a tensor to another storage.
        given: the operands as calls are given them; those of `values` that calls make are not among them.
    """

    def __init__(
        self, base: Kernel, values: Mapping[str, Value], watch: Watch, store: Store, given: Mapping[str, Any]
    ) -> None:
        self._base = base
        self._given = dict(given)
        self._values = dict(values)
        self._watch = watch
        self._store = store
        self._stored: dict[tuple[str, Encoding | None], _Stored] = {}
        self._seconds: dict[tuple[str, Encoding | None], float] = {}
        self._bytes: dict[Candidate, int] = {}
        self._reference: Value | None = None
        self._known: dict[tuple[str, bytes, int | None], Candidate] = {}
        self._output: Array | None = None
        self._contestants: list[Contestant] = []
        self._first = self._contestant(Candidate())
        self._history: list[float] = []
        self._refused: dict[Candidate, str] = {}

    def run(self, formats: Formats) -> Contestant:
        """Returns the fastest contestant; the first one is the plan's choice on the given operands."""
        first = self._first
        first.begin(self._watch)
        self._watch.start()
        to_formats, to_inner, to_orders, to_again, to_end = _ENDS
        stored = {name: self._values[name] for name in self._base.parameters if name in self._values}
        best = self._stage(first, (Candidate(encodings=e) for e in combinations(stored, formats)), to_formats)
        self._forget(best.what)
        best = self._inside(best, to_inner)
        order, variants = best, self._variants(best.what)
        orders = (
            replace(one, lanes=best.what.schedule.lanes, tile=best.what.schedule.tile)
            for one in order_schedules(variants)
        )
        best = self._stage(best, [replace(best.what, schedule=one) for one in orders], to_orders)
        self._refused |= {replace(best.what, schedule=one): why for one, why in variants.refused.items()}
        if best is not order:
            best = self._inside(best, to_again)
        if self._base.threads is None and self._is_cut(best.what):
            numbers = thread_numbers(get_num_threads())
            best = self._stage(best, [replace(best.what, threads=number) for number in numbers], to_end)
        return self._final(best)

    def values(self, candidate: Candidate) -> dict[str, Value]:
        """Returns the operands in a candidate's storage."""
        changed = {name: self._in(name, encoding) for name, encoding in candidate.encodings}
        return {name: changed.get(name, value) for name, value in self._values.items()}

    def rows(self) -> Iterator[TuningRow]:
        """Yields the measurements of each candidate."""
        self._first.samples = self._history
        seconds = self._first.seconds
        as_given = min(one.ratio for one in self._contestants if not one.what.encodings)
        for one in self._contestants:
            yield self._row(one, one.ratio * seconds, as_given * seconds)
        for candidate, why in self._refused.items():
            yield TuningRow(str(candidate), note=why.partition("\n")[0])

    # -- stages --------------------------------------------------------------------------------------------------

    def _inside(self, best: Contestant, until: float) -> Contestant:
        """Returns the fastest lanes and tiles with the loop order of the best so far."""
        schedules = inner_schedules(self._variants(best.what), best.what.schedule)
        return self._stage(best, [replace(best.what, schedule=one) for one in schedules], until)

    def _stage(self, best: Contestant, candidates: Iterable[Candidate], until: float) -> Contestant:
        """Returns the fastest of some candidates, the best so far, and the plan's choice."""
        before = list(dict.fromkeys((self._first, best)))
        known = {one.what for one in self._contestants}
        others = [self._contestant(one) for one in candidates if one not in known]
        if self._history and (self._watch.spent >= until or (not others and len(before) < 2)):
            for one in others:
                one.note = LATE
            return best
        race([*before, *others], self._watch, until)
        self._history += self._first.samples
        return _winner([*before, *others])

    def _final(self, best: Contestant) -> Contestant:
        """Returns the winner of a final race of the fastest candidates."""
        rivals = (one for one in self._contestants if one.call is not None and one.ratio < 1 - _GAIN)
        fastest = sorted(rivals, key=lambda one: one.ratio)[:_FINALISTS]
        everyone = list(dict.fromkeys((self._first, best, *fastest)))
        if len(everyone) < 2 or self._watch.spent >= 1:
            return best
        race(everyone, self._watch, 1)
        self._history += self._first.samples
        return _winner(everyone)

    def _contestant(self, candidate: Candidate) -> Contestant:
        contestant = Contestant(candidate, self._prepared)
        self._contestants.append(contestant)
        return contestant

    def _variants(self, candidate: Candidate) -> Variants:
        values, spec = self.values(candidate), self._base.spec
        types = tuple((name, operand_check.type_of(value)) for name, value in values.items())
        output = replace(spec.output, shape=(None,) * spec.output.rank)
        extents = infer_extents(spec.assignment, {name: tuple(v.shape) for name, v in values.items()}, None)
        return Variants(KernelSpec(spec.assignment, types, output), extents)

    def _prepared(self, contestant: Contestant) -> Prepared | None:
        """Compiles a candidate and checks its result against the first one's."""
        if self._reference is None:
            return self._checked(contestant.what)
        try:
            return self._checked(contestant.what)
        except (SparseError, MemoryError) as error:
            contestant.note = str(error).partition("\n")[0]
            return None

    def _checked(self, candidate: Candidate) -> Prepared:
        values = self.values(candidate)
        kernel = kernel_of(self._base, candidate)
        operands = tuple(values.get(name, self._given[name]) for name in kernel.parameters)
        _, _, build = kernel._ready(values, None)  # compiled before the clock runs
        code = build.identity, build.executable.module.object_file(), candidate.threads
        if self._known.setdefault(code, candidate) is not candidate:
            raise _NoCandidateError(f"compiles to the machine code of {self._known[code]}")
        results: list[Result] = []
        seconds = self._watch.seconds(lambda: results.append(kernel(*operands)))
        result = results[0]
        assert isinstance(result, np.ndarray | SparseTensor), "tuning runs on the processor"
        if self._reference is None:
            self._reference = result
        elif not agree(self._reference, result):
            raise _NoCandidateError("its result differs from that of the plan's choice: please report this")
        self._bytes[candidate] = sum(value.nbytes for value in (*operands, result))
        if isinstance(result, np.ndarray) and self._base.spec.assignment.target.tensor not in values:
            if self._output is None:
                self._output = np.empty_like(result)
            return Prepared(partial(kernel, *operands, out=self._output), seconds)
        return Prepared(partial(kernel, *operands), seconds)

    def _is_cut(self, candidate: Candidate) -> bool:
        """Returns whether calls can be cut into chunks for threads."""
        _, _, build = kernel_of(self._base, candidate)._ready(self.values(candidate), None)
        return bool(build.steps.cuts)

    # -- storage -------------------------------------------------------------------------------------------------

    def _in(self, name: str, encoding: Encoding | None) -> Value:
        key = name, encoding
        if key not in self._stored:
            found: list[Value] = []
            seconds = self._watch.seconds(lambda: found.append(self._store(self._values[name], encoding)))
            self._stored[key] = _Stored(found[0], seconds)
            self._seconds[key] = seconds
        return self._stored[key].value

    def _forget(self, candidate: Candidate) -> None:
        """Frees operands in a storage that lost."""
        self._stored = {key: stored for key, stored in self._stored.items() if key in candidate.encodings}

    def _row(self, one: Contestant, seconds: float, as_given: float) -> TuningRow:
        candidate = one.what
        if not one.timed:
            return TuningRow(str(candidate), note=one.note)
        convert = sum(self._seconds[key] for key in candidate.encodings) if candidate.encodings else None
        gain = as_given - seconds
        after = ceil(convert / gain - 1e-6) if convert is not None and gain > _GAIN * as_given else None
        rate = self._bytes[candidate] / seconds / 1e9 if seconds > 0 else None
        return TuningRow(str(candidate), seconds, rate, one.timed, convert, after, one.note)


class _NoCandidateError(SparseError):
    """A candidate that repeats another, or computes another result."""


def _winner(contestants: Iterable[Contestant]) -> Contestant:
    """Returns the fastest of those timed to the end; of nearly equal ones the earliest."""
    winner, *others = (one for one in contestants if one.call is not None and one.samples)
    for one in others:
        if one.ratio < (1 - _GAIN) * winner.ratio:
            winner = one
    return winner
