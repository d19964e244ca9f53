"""The passes from loops over level storage to the LLVM dialect, for the CPU."""

from __future__ import annotations

from mlir_sparse.dtypes import ROUNDED
from mlir_sparse.pipeline.machine_vectors import arithmetic_options, machine_options, store_options
from mlir_sparse.pipeline.pass_values import Pass, Pipeline

__all__ = ["cpu", "real_functions"]


def cpu(*, narrow_lanes: bool = True) -> Pipeline:
    """Returns the pipeline from sparsified code to the LLVM dialect.

    Args:
        narrow_lanes: whether positions in vectors are of 32 bits, which all that this package's kernels look at are.
    """
    vector_to_llvm = (("force-32bit-vector-indices", narrow_lanes), ("reassociate-fp-reductions", False))
    return Pipeline(
        (
            Pass(
                "share-equal-nests",
                "what either of two operands has alone is copied by one nest, not by one for each",
                optional=True,
            ),
            Pass(
                "leapfrog-lists",
                "where all operands must meet, each catches up with the others by a loop of its own",
                optional=True,
            ),
            Pass(
                "split-merges", "the processor foresees how operands meet, before loops lose their shape", optional=True
            ),
            Pass(
                "unroll-blocks",
                "small blocks are no loops, their rows of the result are values",
                machine_options("far"),
                optional=True,
            ),
            real_functions(),
            Pass(
                "prefetch-rows",
                "rows that entries ahead will name are asked for: no processor foresees them",
                machine_options("rows"),
                optional=True,
            ),
            Pass(
                "prefetch-gathers",
                "elements that entries ahead will name are asked for, where they lie apart: rows end unforeseen",
                machine_options("gathers", "local"),
                optional=True,
            ),
            Pass(
                "prefetch-streams",
                "entries far ahead are asked for, which processors do not foresee by themselves",
                machine_options("far", "alone"),
                optional=True,
            ),
            Pass(
                "nontemporal-stores",
                "no line of a large result is read to be written, as entries fill it",
                (*machine_options("few"), *store_options()),
                optional=True,
            ),
            Pass("convert-linalg-to-loops", "fills and dense generics", on_functions=True),
            Pass("convert-vector-to-scf", "transfers of more than one dimension", on_functions=True),
            Pass("expand-realloc", "growth of output buffers becomes alloc, copy, free", on_functions=True),
            Pass("convert-scf-to-cf", "structured loops to branches", on_functions=True),
            Pass("expand-strided-metadata", "subviews of level buffers to offsets"),
            Pass("lower-affine", "affine.min of the vector loops"),
            Pass("convert-vector-to-llvm", "before functions: masks and gathers", vector_to_llvm),
            Pass("convert-complex-to-standard", "complex arithmetic to pairs", on_functions=True),
            Pass(
                "arith-emulate-unsupported-floats",
                "arithmetic in bf16 is in f32, and rounded",
                (("source-types", ROUNDED.mlir), ("target-type", ROUNDED.accumulated_in.mlir)),
                on_functions=True,
            ),
            Pass(
                "arith-expand",
                "operations without an LLVM equivalent, and rounding to bf16: processors that have it lose subnormals",
                (("include-bf16", True),),
                on_functions=True,
            ),
            Pass("convert-math-to-funcs", "integer powers, which no library has"),
            Pass("convert-math-to-llvm", "functions that are LLVM intrinsics", on_functions=True),
            Pass("convert-math-to-libm", "functions that are not"),
            Pass("convert-complex-to-libm", "complex functions"),
            Pass("convert-vector-to-llvm", "what the expansions above made", vector_to_llvm),
            Pass("convert-to-llvm", "functions, memrefs, arithmetic, control flow"),
            Pass("reconcile-unrealized-casts", "casts that two conversions left facing each other"),
        )
    )


def real_functions() -> Pass:
    """Returns the pass that writes functions of real numbers as arithmetic."""
    return Pass(
        "expand-functions",
        "functions of real numbers are arithmetic, which vectors have: libraries take elements one by one",
        arithmetic_options(),
        optional=True,
    )
