"""What a strategy says of a kernel, for vectors of one kind whatever machine the tests run on."""

from __future__ import annotations

from importlib import import_module
from unittest.mock import patch

import mlir_sparse as ms
from mlir_sparse import pipeline
from mlir_sparse.compile.cpu_build import Build
from mlir_sparse.compile.cpu_kernel import Kernel
from mlir_sparse.pipeline import Pipeline

__all__ = ["ADD", "MASKED", "NARROW", "SPMM", "SPMV", "TRANSPOSED", "said_by"]

SPMV, TRANSPOSED = "y(i) = A(i,j) * x(j)", "y(j) = A(i,j) * x(i)"
SPMM, ADD = "C(i,j) = A(i,k) * B(k,j)", "C(i,j) = A(i,j) + B(i,j)"
MASKED = (("bits", 512), ("masks", True), ("fma", True))
NARROW = (("bits", 256), ("masks", False), ("fma", True))
# Strategies that are passes of their own: their code is what the pass changes.
PASSES_ALONE = {
    *(
        "array-sums",
        "fibre-workspace",
        "flatten-rows",
        "fuse-fill",
        "join-segments",
        "leapfrog-lists",
        "nontemporal-stores",
        "one-value",
        "prefetch-gathers",
        "prefetch-rows",
        "prefetch-streams",
        "read-slots",
        "rows-apart",
    ),
    *("scatter-runs", "share-equal-nests", "slot-rows", "split-merges", "sum-rows", "sum-runs", "unroll-blocks"),
}
RANKS = {**dict.fromkeys("bvwxz", 1), **dict.fromkeys("TU", 3)}


def said_by(
    strategy: str,
    text: str,
    out: str | None = None,
    dtype: str = "f64",
    options: object = MASKED,
    semiring: str | None = None,
    **storage: str,
) -> list[str]:
    """Returns what a strategy says of the loops of a kernel: `applied to j`, or `j: ` and why not.

    What says that it was applied must have changed the code.

    Args:
        strategy: its name.
        text: the assignment.
        out: the storage of the result.
        dtype: the element type of all operands.
        options: the vectors of the machine.
        semiring: what sums and products are.
        storage: of each operand; "" for a dense array.
    """
    types = {
        name: f"{dtype}[{','.join('?' * RANKS.get(name, 2))}] {stored}".strip() for name, stored in storage.items()
    }
    spec = ms.compile(text, out=out, tensors=types, optimize="off", semiring=semiring).spec
    kernel = Kernel(spec)  # not the one that was found out about before
    passes = import_module("mlir_sparse.pipeline.sparsifier_passes")
    with patch.object(passes, "vector_options", lambda: options), patch.object(pipeline, "vector_lanes", lambda: 0):
        said = [one for one in kernel.remarks() if one.strategy == strategy]
        if strategy in PASSES_ALONE:
            assert changes(strategy, kernel._declared) == any(one.applied for one in said)
    return [f"applied to {one.loop}" if one.applied else f"{one.loop}: {one.reason}".lstrip(": ") for one in said]


def changes(name: str, build: Build) -> bool:
    """Returns whether a pass changes the module of a build."""
    passes = build.passes.passes
    at = next(place for place, step in enumerate(passes) if step.name == name)
    before, after = (build.compile(Pipeline(passes[:end]), as_text=True) for end in (at, at + 1))
    return before != after
