"""Passes of this package among MLIR's: the same syntax, the same place in a pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from mlir_sparse._mlir import bindings
from mlir_sparse.pipeline.assembly import assemble_sparse_results
from mlir_sparse.pipeline.copies import share_copies
from mlir_sparse.pipeline.gpu import assemble_kernels, map_loops, pass_addresses, share_structure
from mlir_sparse.pipeline.rows import prefetch_rows
from mlir_sparse.pipeline.split import split_merges
from mlir_sparse.pipeline.streams import prefetch_streams
from mlir_sparse.pipeline.tiling import (
    bound_rows,
    join_segments,
    read_slots,
    register_tile,
    scatter_runs,
    start_rows,
    sum_rows,
    take_factors,
    write_blocks_out,
)

__all__ = ["OWN_PASSES", "run_passes"]

# What each does to a module, given its options.
OWN_PASSES: Mapping[str, Callable[[Any, Mapping[str, str]], None]] = {
    "assemble-sparse-results": assemble_sparse_results,
    "bound-rows": bound_rows,
    "gpu-to-ptx": assemble_kernels,
    "join-segments": join_segments,
    "map-loops-to-gpu": map_loops,
    "pass-gpu-addresses": pass_addresses,
    "prefetch-rows": prefetch_rows,
    "prefetch-streams": prefetch_streams,
    "read-slots": read_slots,
    "register-tile": register_tile,
    "scatter-runs": scatter_runs,
    "share-copies": share_copies,
    "share-structure": share_structure,
    "split-merges": split_merges,
    "start-rows": start_rows,
    "sum-rows": sum_rows,
    "take-factors": take_factors,
    "write-blocks-out": write_blocks_out,
}
_ANCHOR = "builtin.module("


def run_passes(module: Any, pipeline: str) -> None:
    """Runs a pipeline on a module, in place.

    Args:
        module: a Module of the current Context.
        pipeline: passes in MLIR's syntax, those of OWN_PASSES among them.

    Raises:
        ValueError: for a pipeline that does not parse, or a module that a pass of ours does not take.
        MLIRError: when a pass of MLIR's fails, or leaves a module that is none.
    """
    manager = bindings().module("passmanager").PassManager
    stretches = [*_stretches(pipeline), (False, "")]
    for (own, passes), (follows, _) in pairwise(stretches):
        if own:
            name, _, options = passes.partition("{")
            pairs = (option.partition("=") for option in options.removesuffix("}").split())
            OWN_PASSES[name](module, {key: value for key, _, value in pairs})
        else:
            stretch = manager.parse(passes)
            stretch.enable_verifier(False)  # after each pass it takes as long as most passes
            stretch.run(module.operation)
        if not follows:
            module.operation.verify()  # before passes of MLIR's, and in the end


def _stretches(pipeline: str) -> Iterator[tuple[bool, str]]:
    """Yields the pipeline in pieces: passes of ours one by one, and what stands between them as pipelines."""
    if not (pipeline.startswith(_ANCHOR) and pipeline.endswith(")")):
        yield False, pipeline
        return
    held: list[str] = []
    for item in _items(pipeline[len(_ANCHOR) : -1]):
        if item.partition("{")[0] not in OWN_PASSES:
            held.append(item)
            continue
        if held:
            yield False, f"{_ANCHOR}{','.join(held)})"
        held = []
        yield True, item
    if held:
        yield False, f"{_ANCHOR}{','.join(held)})"


def _items(text: str) -> Iterator[str]:
    """Yields what commas divide, those inside brackets apart."""
    depth, start = 0, 0
    for at, character in enumerate(text):
        depth += (character in "({[") - (character in ")}]")
        if character == "," and depth == 0:
            yield text[start:at]
            start = at + 1
    if text:
        yield text[start:]
