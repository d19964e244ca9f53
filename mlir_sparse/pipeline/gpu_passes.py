"""The passes from sparsified loops to kernels, to NVVM and to PTX."""

from __future__ import annotations

from mlir_sparse.errors import UnsupportedError
from mlir_sparse.pipeline.pass_values import Pass, Pipeline
from mlir_sparse.pipeline.sparsifier_passes import sparsifier

__all__ = ["BY_HAND", "CHIPS", "gpu", "module_to_gpu", "nvvm", "ptx"]

# For each chip the first version of PTX with it; later drivers accept this.
CHIPS = {"sm_80": 70, "sm_86": 71, "sm_87": 74, "sm_89": 78, "sm_90": 80}
BY_HAND = 71
"""The version of PTX for kernels of a user's: the first with all that tensor cores of sm_80 do."""
_THREADS = 1024  # of the one block that `sparse-gpu-codegen` launches
_ASSEMBLY = "assemble-sparse-results"
_SHARING = Pass("share-structure", "entries of a result are where an operand has its own; threads cannot append")
_TIDY = (
    Pass("canonicalize", "what the mapping made constant"),
    Pass("cse", "coordinates are read where several loops read them"),
    Pass("loop-invariant-code-motion", "sizes and strides are the same in all iterations"),
)


def gpu(*, in_place: bool) -> Pipeline:
    """Returns the passes from `linalg.generic` to kernels in the gpu dialect.

    Args:
        in_place: whether some sparse results are written into the structure of an operand.
    """
    loops = sparsifier(0, "compute" if in_place else None, tile=0, filled=True)
    return Pipeline(tuple(_SHARING if step.name == _ASSEMBLY else step for step in loops.passes)).then(
        Pipeline(
            (
                Pass(
                    "convert-linalg-to-loops", "fills and dense generics are mapped as sparse ones", on_functions=True
                ),
                Pass("canonicalize", "counters of results that share a structure have no use", on_functions=True),
                Pass("map-loops-to-gpu", "loops to blocks and threads as the plan says; upstream maps one block"),
                *_TIDY,
            )
        )
    )


def nvvm() -> Pipeline:
    """Returns the passes from kernels in the gpu dialect to NVVM."""
    return Pipeline(
        (
            Pass("pass-gpu-addresses", "a launch hands over an address and not five numbers for each buffer"),
            Pass("convert-complex-to-standard", "complex arithmetic to pairs", on_kernels=True),
            Pass("memref-expand", "what memory cannot do atomically compares and swaps", on_kernels=True),
            Pass("expand-strided-metadata", "views of arrays to addresses", on_kernels=True),
            Pass("lower-affine", "indices of views", on_kernels=True),
            Pass("arith-expand", "operations without an LLVM equivalent", on_kernels=True),
            Pass("convert-scf-to-cf", "structured loops to branches", on_kernels=True),
            Pass("convert-gpu-to-nvvm", "ids, shuffles, memory and arithmetic", on_kernels=True),
            Pass("reconcile-unrealized-casts", "casts that two conversions left facing each other", on_kernels=True),
        )
    )


def module_to_gpu() -> Pipeline:
    """Returns the passes from a user's module to NVVM: each outer loop whose iterations are apart is a kernel.

    Kernels, the copies of their operands and their launches are those of MLIR's `sparse-gpu-codegen`.
    """
    threads = (("num-threads", _THREADS), ("enable-runtime-library", False))
    parallel = (("enable-gpu-libgen", False), ("parallelization-strategy", "none"))
    return Pipeline(
        (
            Pass("linalg-generalize-named-ops", "the sparsifier matches linalg.generic only", on_functions=True),
            Pass("copy-slices", "the sparsifier's loops over slices leave entries out"),
            Pass("sparsification-and-bufferization", "loops over level storage", parallel),
            Pass("sparse-storage-specifier-to-llvm", "level sizes and used lengths become a struct"),
            Pass("canonicalize", "dead conversions block the passes below", on_functions=True),
            Pass(
                "parallelize-apart-loops", "the sparsifier's own strategies ignore iterator types: threads would race"
            ),
            Pass("sparse-gpu-codegen", "a kernel for each parallel loop, and copies of its operands", threads),
            Pass("expect-kernels", "a module without any is refused by name"),
            Pass("strip-debuginfo", "kernels are translated without", on_kernels=True),
            Pass("affine-expand-index-ops", "indices taken apart by shapes", on_kernels=True),
            Pass("convert-complex-to-standard", "complex arithmetic to pairs", on_kernels=True),
            Pass("convert-vector-to-scf", "transfers of more than one dimension", on_kernels=True),
            Pass("memref-expand", "what memory cannot do atomically compares and swaps", on_kernels=True),
            Pass("expand-strided-metadata", "views of arrays to addresses", on_kernels=True),
            Pass("lower-affine", "indices of views", on_kernels=True),
            Pass("arith-expand", "operations without an LLVM equivalent", on_kernels=True),
            Pass("convert-scf-to-cf", "structured loops to branches", on_kernels=True),
            Pass("convert-vector-to-llvm", "vectors of kernels by hand", on_kernels=True),
            Pass("convert-nvgpu-to-nvvm", "products of tensor cores", on_kernels=True),
            Pass("convert-gpu-to-nvvm", "ids, shuffles, memory and arithmetic", on_kernels=True),
            Pass("convert-arith-to-llvm", "what the conversions above made", on_kernels=True),
            Pass("reconcile-unrealized-casts", "casts that two conversions left facing each other", on_kernels=True),
        )
    )


def ptx(chip: str, least: int = 0) -> Pipeline:
    """Returns the pass from NVVM to PTX.

    Args:
        chip: the GPU's architecture, such as sm_90.
        least: the version of PTX that instructions of kernels need, ten times as large.

    Raises:
        UnsupportedError: for a chip that is not in CHIPS.
    """
    version = max(ptx_version(chip), least)
    options = (("chip", chip), ("features", f"+ptx{version}"))
    return Pipeline((Pass("gpu-to-ptx", "by llvmlite, for the bindings have no backend for GPUs", options),))


def ptx_version(chip: str) -> int:
    """Returns the version of PTX to write for a chip, ten times as large.

    Raises:
        UnsupportedError: for a chip that is not in CHIPS.
    """
    if chip not in CHIPS:
        raise UnsupportedError(
            f"expected a GPU of {', '.join(CHIPS)}, but got {chip!r}: write cuda:sm_90, or target='cpu'"
        )
    return CHIPS[chip]
