"""Explains a build for the processor: its plan, where it runs, and what strategies did with its loops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from mlir_sparse import runtime
from mlir_sparse.compile.cpu_build import Build
from mlir_sparse.errors import SparseError
from mlir_sparse.machine import CHOICES, machine_profile
from mlir_sparse.plan.schedule import STATIC
from mlir_sparse.process.forks import importing

if TYPE_CHECKING:
    from mlir_sparse.loops.remarks import Remark

__all__ = ["explained", "pass_of"]

# The passes of strategies that are none of their own.
_PASSES = {"inner-sums": "register-tile", "several-entries": "register-tile"}


def pass_of(strategy: str) -> str:
    """Returns the name of the pass that a strategy is in."""
    return _PASSES.get(strategy, strategy)


def explained(build: Build, threads: int | None, account: Sequence[str], *, deterministic: bool) -> str:
    """Returns the explanation of a build.

    Args:
        build: the build.
        threads: the greatest number of threads of a call; None for the process' limit.
        account: how its statement is rewritten and why, a line each.
        deterministic: whether results are the same for any number of threads.
    """
    lanes = f", {build.lanes} lanes a vector" if build.lanes else "" if build.tiles else ", scalar loops"
    asked = f"\nschedule: {build.schedule}" if build.schedule != STATIC else ""
    shared = bool(build.steps.cuts) or build.steps.calls_blas
    most = (threads or runtime.get_num_threads()) if shared else 1
    many = f"up to {most} threads" if most > 1 else "1 thread"
    kept = ", the same results for any number of them" if deterministic else ""
    where = f"runs on: cpu, {many}{kept}{lanes}{asked}{_strategies(build, most)}"
    with importing():
        from mlir_sparse.plan.explain import explain  # loads what plans, which kernels from the disk do without

    return f"{explain(build.program, algebra=account)}\n\n{where}"


def _strategies(build: Build, threads: int) -> str:
    """Returns the remarks on the loops of each step as text, and what the machine decided; "" if there are no loops."""
    try:
        remarks = build.remarks
    except SparseError as error:  # the plan is still worth printing
        return f"\n\nstrategies\n  unknown: {str(error).splitlines()[0]}"
    parts = [f"\n\nstrategies of {function}" for function in dict.fromkeys(one.function for one in remarks)]
    said = "".join(
        "\n  ".join([part, *(str(one) for one in remarks if part.endswith(f" {one.function}"))]) for part in parts
    )
    return said + _machine(dict.fromkeys(_choices(build, remarks, threads)))


def _machine(names: Iterable[str]) -> str:
    """Returns choices that the machine decided as text, with the figures; "" if there are none."""
    profile = machine_profile()
    lines = [str(profile.choices[name]) for name in CHOICES if name in names]
    return "\n  ".join([f"\n\nby the profile {profile.name}", *lines]) if lines else ""


def _choices(build: Build, remarks: Sequence[Remark], threads: int) -> Iterator[str]:
    """Yields the names of the choices by the machine that a build depends on."""
    applied = {pass_of(one.strategy) for one in remarks if one.applied}
    for step in build.passes.passes:
        if step.name in applied:
            yield from (name for name, _ in step.options)
    if threads > 1 and build.steps.cuts:
        yield "chunk"
        if build.inserts:
            yield "joined_chunk"
    if build.steps.blocks is not None:
        yield "block"
    if threads > 1 and build.steps.calls_blas:
        yield from ("blas", "blas_by_vector")
