"""This package's passes beside MLIR's, with the same syntax in a pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby

from mlir_sparse._mlir import ir, pass_manager
from mlir_sparse._mlir.float_swaps import swap_bits
from mlir_sparse._mlir.older_passes import keep_zero_signs
from mlir_sparse.assembly import assemble_sparse_results
from mlir_sparse.gpu import (
    assemble_kernels,
    expect_kernels,
    map_loops,
    parallelize_loops,
    pass_addresses,
    share_structure,
)
from mlir_sparse.loops.operation_index import Seen
from mlir_sparse.loops.read_nests import remark_other_loops
from mlir_sparse.loops.remarks import Remarks
from mlir_sparse.loops.strategy import run_strategy
from mlir_sparse.pipeline.bound_rows import bound_rows
from mlir_sparse.pipeline.check_accesses import check_accesses
from mlir_sparse.pipeline.check_assembled import check_assembled_tensors
from mlir_sparse.pipeline.check_divisors import check_divisors
from mlir_sparse.pipeline.copy_slices import copy_slices
from mlir_sparse.pipeline.functions import expand_functions
from mlir_sparse.pipeline.locate_assertions import locate_assertions
from mlir_sparse.pipeline.pass_values import pass_items
from mlir_sparse.pipeline.start_rows import start_rows
from mlir_sparse.strategies import STRATEGIES

__all__ = ["OWN_PASSES", "run_own_pass", "run_passes"]

_Pass = Callable[[Seen, Mapping[str, str]], bool]


def _anywhere(change: Callable[[ir.Module, Mapping[str, str]], None]) -> _Pass:
    """Returns a pass from a function that walks and changes a module."""

    def run(seen: Seen, options: Mapping[str, str]) -> bool:
        change(seen.module, options)
        return True

    return run


# The function of each pass, given its options; it returns whether it may have changed anything.
OWN_PASSES: Mapping[str, _Pass] = {
    "assemble-sparse-results": assemble_sparse_results,
    "bound-rows": bound_rows,
    "check-accesses": check_accesses,
    "check-assembled-tensors": check_assembled_tensors,
    "check-divisors": check_divisors,
    "copy-slices": copy_slices,
    "expand-functions": expand_functions,
    "expect-kernels": _anywhere(expect_kernels),
    "locate-assertions": locate_assertions,
    "gpu-to-ptx": _anywhere(assemble_kernels),
    "parallelize-apart-loops": _anywhere(parallelize_loops),
    "map-loops-to-gpu": _anywhere(map_loops),
    "pass-gpu-addresses": _anywhere(pass_addresses),
    "share-structure": _anywhere(share_structure),
    "start-rows": start_rows,
    **{strategy.name: partial(run_strategy, strategy) for strategy in STRATEGIES},
}
# The operations that a pass of MLIR's changes: it is skipped in a module without them.
_ABOUT: Mapping[str, tuple[str, ...]] = {
    "convert-complex-to-libm": ("complex.",),
    "convert-complex-to-standard": ("complex.",),
    "convert-math-to-funcs": ("math.", "complex."),  # complex absolute values become square roots, for example
    "convert-math-to-libm": ("math.", "complex."),
    "convert-math-to-llvm": ("math.", "complex."),
    "convert-vector-to-llvm": ("vector.",),
    "convert-vector-to-scf": ("vector.",),
    "expand-realloc": ("memref.realloc",),
}
# Passes that produce operations of earlier passes: calls of math libraries take elements of vectors one by one.
_EXPANDED = ("math.", "complex.")
_ANCHOR = "builtin.module("
_FUNCTIONS = "func.func("


def run_passes(module: ir.Module, pipeline: str, remarks: Remarks | None = None) -> None:
    """Runs a pipeline on a module, in place.

    Args:
        module: a Module of the current Context.
        pipeline: passes in MLIR's syntax, those of OWN_PASSES among them.
        remarks: collects the remarks of strategies.

    Raises:
        ValueError: for a pipeline that does not parse, or a module that one of our passes refuses.
        MLIRError: if a pass of MLIR's fails, or one of ours leaves an invalid module.
    """
    if not (pipeline.startswith(_ANCHOR) and pipeline.endswith(")")):
        _run_theirs(pipeline, module)
    else:
        seen, named = Seen(module, remarks), False
        for own, passes in groupby(pass_items(pipeline[len(_ANCHOR) : -1]), _is_own):
            if own:
                if not named:  # now the loops exist, unchanged since MLIR built them
                    seen.remarks.name_loops(module)
                    remark_other_loops(seen)
                    named = True
                _run_ours(passes, seen)
                module.operation.verify()  # before passes of MLIR's
            else:
                _run_theirs(f"{_ANCHOR}{','.join(_wanted(list(passes), seen))})", module)
                seen.forget()


def _is_own(item: str) -> bool:
    return item.partition("{")[0] in OWN_PASSES


def _run_ours(passes: Iterable[str], seen: Seen) -> None:
    for item in passes:
        run_own_pass(seen, item)


def run_own_pass(seen: Seen, item: str) -> None:
    """Runs one pass of OWN_PASSES, in MLIR's syntax with its options, on a module in place.

    Raises:
        ValueError: for a module that the pass refuses.
    """
    name, _, options = item.partition("{")
    pairs = (option.partition("=") for option in options.removesuffix("}").split())
    seen.remarks.strategy = name
    if OWN_PASSES[name](seen, {key: value for key, _, value in pairs}):
        seen.forget()


def _run_theirs(pipeline: str, module: ir.Module) -> None:
    keep_zero_signs(module, pipeline)
    stretch = pass_manager(pipeline)
    stretch.enable_verifier(False)  # verification takes as long as most passes
    stretch.run(module.operation)
    swap_bits(module, pipeline)


def _wanted(passes: Sequence[str], seen: Seen) -> Iterator[str]:
    """Yields the passes with operations to change in a module."""
    about = [_ABOUT.get(item.removeprefix(_FUNCTIONS).partition("{")[0].rstrip(")")) for item in passes]
    names = seen.whole.by_name if any(about) else ()
    for place, (item, prefixes) in enumerate(zip(passes, about, strict=True)):
        wanted = _EXPANDED if prefixes and item in passes[:place] else prefixes
        if wanted is None or any(name.startswith(wanted) for name in names):
            yield item
