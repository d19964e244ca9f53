"""Random kernels on operands large enough to be cut among threads as a user's are, with nothing set."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from dialect_tests.calls import Call, Results, Trial
from dialect_tests.generated import FAMILY, PLACES, KernelCase, extent_classes, gathered_classes, kernels, operands
from dialect_tests.test_kernel_properties import StoredCase, stored, trial
from mlir_sparse.notation import Access, IndexVar, Subscript, reads

__all__ = ["LEAST", "cases", "run"]

# With what rounding down leaves of it, more entries than two threads take at least: 65,536.
LEAST = 90_000
_THREADS = (1, 2, 3, 5)
# Points of the space that all variables span: what the oracle has in memory; others are of one element then.
_MOST_POINTS = 4_000_000


def _enlarged(case: StoredCase, seed: int) -> StoredCase:
    """Returns the same kernel in the same storage with one operand of LEAST elements and more."""
    kernel, random = case.kernel, np.random.default_rng(seed)
    leaders, fixed = extent_classes(kernel.assignment), gathered_classes(kernel.assignment)
    large = _large_classes(kernel, random) - fixed
    extents = {leader: int(random.integers(1, 5)) for leader in sorted(set(leaders.values()))}
    stretch = float(random.choice([1.0, 1.1, 1.3]))
    for leader in sorted(large):
        extents[leader] = LEAST
    while any(_elements(access, leaders, extents) > LEAST * stretch for access in reads(kernel.assignment.value)):
        longest = max(sorted(large), key=extents.__getitem__)
        extents[longest] = int(extents[longest] * 0.95)
    points = np.prod([float(extents[leader]) for leader in set(leaders.values())])
    if points > _MOST_POINTS:
        extents |= dict.fromkeys(extents.keys() - large, 1)
    sizes = {name: PLACES if leader in fixed else extents[leader] for name, leader in leaders.items()}
    data = operands(kernel.assignment, sizes, kernel.dtype, float(random.choice([1.0, 1.0, 0.9])), seed)
    storage = {name: encoding.with_widths(0, 0) for name, encoding in case.storage.items()}
    return replace(case, kernel=replace(kernel, tensors=data, extents=sizes), storage=storage)


def _large_classes(kernel: KernelCase, random: np.random.Generator) -> set[str]:
    """Returns the classes of variables along some operand, one of those of most dimensions."""
    leaders = extent_classes(kernel.assignment)
    reached = [_classes(access, leaders) for access in reads(kernel.assignment.value) if access.subscripts]
    most = max(map(len, reached), default=0)
    choices = [one for one in reached if len(one) == most]
    return set(choices[int(random.integers(len(choices)))]) if choices else set()


def _elements(access: Access, leaders: dict[str, str], extents: dict[str, int]) -> float:
    """Returns how many elements an operand has, about: a little more than its variables reach."""
    names = [index.name for one in access.subscripts for index in _variables(one)]
    return float(np.prod([float(extents[leaders[name]]) for name in names]))


def _variables(subscript: Subscript) -> tuple[IndexVar, ...]:
    return (subscript,) if isinstance(subscript, IndexVar) else Access("", (subscript,)).indices


def _classes(access: Access, leaders: dict[str, str]) -> set[str]:
    return {leaders[one.name] for one in access.subscripts if isinstance(one, IndexVar)}


@st.composite
def cases(draw: st.DrawFn) -> StoredCase:
    """Draws kernels of the literature on large operands in any storage."""
    types = st.sampled_from([np.dtype(name) for name in ("float64", "float32", "int64", "complex128", "int8")])
    kernel = draw(kernels(FAMILY, types).filter(lambda one: one.dtype.kind != "c"))
    return _enlarged(draw(stored(kernel, foreign=True)), draw(st.integers(0, 2**32)))


def run(case: StoredCase) -> None:
    """Evaluates a case on one thread and more, and compares each with the oracle.

    Raises:
        SparseError: for a case that is refused by name.
    """
    made = trial(case)
    made.run()
    for threads in _THREADS:
        _on(made, threads).run()


def _on(made: Trial, threads: int) -> Trial:
    def judge(results: Results) -> None:
        try:
            made.judge(results)
        except AssertionError as error:
            raise AssertionError(f"on {threads} threads: {error}") from error

    call: Call = replace(made.call, threads=threads)
    return Trial(call, judge)
