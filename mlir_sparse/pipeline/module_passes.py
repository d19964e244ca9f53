"""The passes that a user's module is compiled with."""

from __future__ import annotations

from mlir_sparse.pipeline.cpu_passes import cpu, real_functions
from mlir_sparse.pipeline.pass_values import Pass, Pipeline

__all__ = ["module_to_buffers", "module_to_llvm"]


def module_to_buffers(vector_length: int = 0) -> Pipeline:
    """Returns the passes of MLIR's `sparsifier` up to memory, in code-generation mode.

    Args:
        vector_length: lanes of the sparsifier's vector loops; 0 leaves loops scalar.
    """
    return Pipeline(
        (
            Pass("linalg-generalize-named-ops", "the sparsifier matches linalg.generic only", on_functions=True),
            Pass("copy-slices", "the sparsifier's loops over slices leave entries out"),
            Pass("lower-affine", "what affine maps divide, load and store is then looked at like all else"),
            Pass("check-assembled-tensors", "loops over buffers that lie read any memory"),
            Pass("check-accesses", "vectors and slices beyond their operands would read and write any memory"),
            Pass("generate-runtime-verification", "extents that differ would read and write beyond operands"),
            Pass("linalg-fuse-elementwise-ops", "one loop for operations one after the other", on_functions=True),
            Pass(
                "sparsification-and-bufferization",
                "co-iteration loops over level storage; `none`, because the strategies ignore iterator types",
                (
                    ("enable-gpu-libgen", False),
                    ("enable-simd-index32", False),  # of a user's tensors any size is possible
                    ("parallelization-strategy", "none"),
                    ("sparse-emit-strategy", "functional"),
                    ("vl", vector_length),
                ),
            ),
            Pass("sparse-storage-specifier-to-llvm", "level sizes and used lengths become a struct"),
            Pass("canonicalize", "dead conversions block the passes below", on_functions=True),
        )
    )


def module_to_llvm() -> Pipeline:
    """Returns the passes from memory to the LLVM dialect: those of this package's kernels that results need."""
    # A user's vectors may be read and written at any index.
    loops, *rest = (step for step in cpu(narrow_lanes=False).passes if not step.optional)
    divisors = Pass("check-divisors", "processors end the process where an integer is divided by zero")
    places = Pass("locate-assertions", "the call that an assertion ends says where it stands")
    return Pipeline((real_functions(), loops, divisors, places, *rest))
