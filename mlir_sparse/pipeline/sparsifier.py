"""From `linalg.generic` on encoded tensors to loops over level storage."""

from __future__ import annotations

from mlir_sparse.pipeline.passes import Pass, Pipeline

__all__ = ["sparsifier"]


def sparsifier(vector_length: int = 0) -> Pipeline:
    """Returns the pipeline that sparsifies and bufferizes, in code-generation mode.

    Args:
        vector_length: lanes of the vectorised innermost loop; 0 leaves loops scalar.
    """
    return Pipeline(
        (
            Pass("linalg-generalize-named-ops", "the sparsifier matches linalg.generic only", on_functions=True),
            Pass(
                "sparsification-and-bufferization",
                "co-iteration loops over level storage; `none`, because the strategies ignore iterator types",
                (
                    ("enable-gpu-libgen", False),
                    ("enable-simd-index32", True),
                    ("parallelization-strategy", "none"),
                    ("sparse-emit-strategy", "functional"),
                    ("vl", vector_length),
                ),
            ),
            Pass("sparse-storage-specifier-to-llvm", "level sizes and used lengths become a struct"),
            Pass("canonicalize", "dead conversions block the passes below", on_functions=True),
            Pass("cse", "address computations are repeated a level", on_functions=True),
        )
    )
