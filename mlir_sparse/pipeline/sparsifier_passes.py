"""From `linalg.generic` on encoded tensors to loops over level storage."""

from __future__ import annotations

from typing import Literal

from mlir_sparse.pipeline.machine_vectors import machine_options, vector_options
from mlir_sparse.pipeline.pass_values import Pass, Pipeline

__all__ = ["Results", "sparsifier"]

# How sparse results are written: laid out, or as values into a structure that is given; None without such results.
Results = Literal["assemble", "compute"] | None

_STRATEGIES = (("parallelization-strategy", "none"), ("sparse-emit-strategy", "functional"))
_GENERALIZE = Pass("linalg-generalize-named-ops", "the sparsifier matches linalg.generic only", on_functions=True)
_CLEANING = (
    Pass("sparse-storage-specifier-to-llvm", "level sizes and used lengths become a struct"),
    Pass("canonicalize", "dead conversions block the passes below", on_functions=True),
    Pass("cse", "address computations are repeated a level", on_functions=True),
)
_JOINING = Pass(
    "join-segments", "entries of a list one by one: no end of a run of equal coordinates to foresee", optional=True
)
_BOUNDS = Pass("bound-rows", "pieces of a result end where they do, also where rows stand below diagonals")
_ONE_VALUE = Pass("one-value", "values that calls find to be equal are read once", optional=True)
_STARTS = Pass("start-rows", "rows that leave elements out have a zero among what is accumulated")
_SLOTS = Pass("read-slots", "one coordinate or none needs no begin and end", optional=True)
_ARRAY_SUMS = Pass("array-sums", "sums over arrays are values of loops, which vectors add up", optional=True)
_WORKSPACE = Pass(
    "fibre-workspace", "factors that entries of a fibre share are multiplied by their sum once", optional=True
)
_FLATTEN = Pass("flatten-rows", "what is made of all entries sees no ends of rows", optional=True)
_FUSE_FILL = Pass("fuse-fill", "results are written once, not filled, read and written", optional=True)


def sparsifier(
    vector_length: int = 0,
    results: Results = None,
    *,
    tile: int | None = None,
    tile_lanes: int = 0,
    filled: bool = False,
    scatters: bool = False,
) -> Pipeline:
    """Returns the pipeline that sparsifies and bufferizes, in code-generation mode.

    Args:
        vector_length: lanes of the vectorised innermost loop; 0 leaves loops scalar.
        results: how sparse results are written, where there are any.
        tile: elements of a dense innermost loop held in registers across the sparse loops around it; 0 for none,
            None for what pays.
        tile_lanes: lanes of the vectors that hold them; 0 for as many as a register of this machine has.
        filled: whether results are filled before the loops, for threads that share their elements.
        scatters: whether vectors of a row may be scattered: its coordinates are distinct, and the machine does it fast.
    """
    # Threads of a GPU are given loops as the sparsifier makes them.
    sums, spaces = ((), ()) if filled or tile == 0 else ((_ARRAY_SUMS,), (_WORKSPACE,))
    shaping = () if filled else (_ONE_VALUE, *sums, _BOUNDS, _STARTS, _SLOTS, *spaces, _FUSE_FILL, _JOINING, _FLATTEN)
    tiling = (*shaping, *_tiling(tile, tile_lanes, vector_length, scatters))
    if results is not None:
        return Pipeline((_GENERALIZE, *_with_sparse_results(vector_length, results), *_CLEANING, *tiling))
    # What is tiled has vectors already; the rest is vectorised as `sparsification-and-bufferization` would, but later.
    vectors = _vectorization(vector_length)
    whole = Pass(
        "sparsification-and-bufferization",
        "co-iteration loops over level storage; `none`, because the strategies ignore iterator types",
        (("enable-gpu-libgen", False), ("enable-simd-index32", True), *_STRATEGIES),
    )
    return Pipeline((_GENERALIZE, whole, *_CLEANING, *tiling, *vectors, *(_CLEANING[1:] if vectors else ())))


def _tiling(tile: int | None, lanes: int, vector_length: int, scatters: bool) -> tuple[Pass, ...]:
    if tile == 0:
        return ()
    options = (("lanes", lanes), ("tile", tile or 0), *vector_options(), *machine_options("rows", "local"))
    # Without masks selections stand for them, which pays for short rows, and for long ones of narrow elements.
    every = vector_length == 0 and ("masks", True) in options
    long = vector_length == 0 and not every and ("bits", 256) in options
    return (
        Pass("register-tile", "rows of dense results stay in registers across sparse loops", options, optional=True),
        Pass(
            "sum-rows",
            "vectors of entries are added up: where rows end is a mask, no branch",
            (("every", every), ("long", long), *machine_options("far", "near", "held")),
            optional=True,
        ),
        Pass(
            "sum-runs",
            "entries of a row in a list are added to its element several at a time",
            machine_options("far"),
            optional=True,
        ),
        Pass(
            "slot-rows",
            "slots of rows side by side are vectors, and a block of rows has all its slots added up",
            (("every", every), *machine_options("far")),
            optional=True,
        ),
        Pass("rows-apart", "no entry waits for those of the row before, as with one sum of all", optional=True),
        Pass(
            "scatter-runs",
            "entries side by side are added to a result as vectors",
            (("every", every), ("scatters", scatters), *machine_options("far")),
            optional=True,
        ),
    )


def _vectorization(lanes: int) -> tuple[Pass, ...]:
    options = (("vl", lanes), ("enable-simd-index32", True))
    return (Pass("sparse-vectorization", "innermost loops of dense results", options, optional=True),) if lanes else ()


def _with_sparse_results(vector_length: int, results: Literal["assemble", "compute"]) -> tuple[Pass, ...]:
    """Returns the passes of `sparsification-and-bufferization` one by one, with ours where insertions are seen."""
    boundaries = (
        ("bufferize-function-boundaries", True),
        ("function-boundary-type-conversion", "identity-layout-map"),
    )
    return (
        Pass("pre-sparsification-rewrite", "casts and trivial generics that loops need not be made of"),
        Pass("empty-tensor-to-alloc-tensor", "the result that is inserted into", on_functions=True),
        Pass("sparse-reinterpret-map", "subscripts become those of levels"),
        Pass("sparsification", "co-iteration loops; `none`, because the strategies ignore iterator types", _STRATEGIES),
        Pass("lower-sparse-ops-to-foreach", "extents of sparse tensors become those of their levels"),
        Pass(
            "assemble-sparse-results",
            "insertions become stores to buffers of the caller's; code generation would grow its own by calls",
            (("mode", results),),
        ),
        Pass("loop-invariant-code-motion", "what only outer loops change is read there", optional=True),
        *_vectorization(vector_length),
        Pass("sparse-tensor-codegen", "operands become their buffers"),
        # Not canonicalised: a copy of one array into another would become the first array.
        Pass("trivial-dce", "what is left of tensors has no use", on_functions=True),
        Pass("one-shot-bufferize", "dense tensors become buffers", boundaries),
    )
