"""Explains a build for the processor: its plan, where it runs, and what strategies did with its loops."""

from __future__ import annotations

from collections.abc import Sequence

from mlir_sparse import runtime
from mlir_sparse.compile.cpu_build import Build
from mlir_sparse.errors import SparseError
from mlir_sparse.plan.schedule import STATIC
from mlir_sparse.process.forks import importing

__all__ = ["explained"]


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
    where = f"runs on: cpu, {many}{kept}{lanes}{asked}{_strategies(build)}"
    with importing():
        from mlir_sparse.plan.explain import explain  # loads what plans, which kernels from the disk do without

    return f"{explain(build.program, algebra=account)}\n\n{where}"


def _strategies(build: Build) -> str:
    """Returns the remarks on the loops of each step as text; "" if there are no loops."""
    try:
        remarks = build.remarks
    except SparseError as error:  # the plan is still worth printing
        return f"\n\nstrategies\n  unknown: {str(error).splitlines()[0]}"
    parts = [f"\n\nstrategies of {function}" for function in dict.fromkeys(one.function for one in remarks)]
    return "".join(
        "\n  ".join([part, *(str(one) for one in remarks if part.endswith(f" {one.function}"))]) for part in parts
    )
