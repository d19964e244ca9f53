"""Which kernels are measured on which shapes, in which sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from benchmarks.contests import Contest
from benchmarks.shapes import SECTION
from benchmarks.shapes.element_types import TYPES
from benchmarks.shapes.shape_inputs import named

__all__ = ["DEFAULT_SIZE", "FEW_PEERS", "LARGE", "STREAMING", "WORST_CASE", "contests"]

DEFAULT_SIZE = 1_000_000  # entries
WORST_CASE = 1.10  # no case may take longer than so many times the best peer's time
LARGE = 30_000_000  # entries, from which on only what streams is measured, beside few: memory is short
FEW_PEERS = ("C",)

_FLAT, _SPACE, _SOLID, _SHELL = "5-point grid", "7-point grid", "FEM of 3", "FEM of 6"
_CIRCUIT, _WEB, _SOCIAL, _UNIFORM, _UNIFORM_8, _BANDS = (
    *("circuit", "web", "social"),
    *("uniform", "uniform of 8", "bands"),
)
_SHORT, _LONG, _SKEWED = "short fibres", "long fibres", "skewed"
_ALL = (_FLAT, _SPACE, _SOLID, _SHELL, _CIRCUIT, _WEB, _SOCIAL, _UNIFORM, _BANDS)
_SOME = (_FLAT, _SOLID, _WEB, _UNIFORM)
_THREE = (_FLAT, _SOLID, _WEB)

_SHAPES: Mapping[str, Sequence[str]] = {
    "SpMV CSR": _ALL,
    "SpMV COO": _SOME,
    "SpMV ELL": (_FLAT, _SOLID, _UNIFORM),
    "SpMV BSR 3 x 3": (_SOLID,),
    "SpMV BSR 6 x 6": (_SHELL,),
    "SpMV DCSR, few rows": (_UNIFORM,),
    "residual": (_FLAT, _SOLID, _UNIFORM),
    "mattransmul CSR": _THREE,
    "SpMM k = 4": _SOME,
    "SpMM k = 32": _SOME,
    "SDDMM k = 8": (_SOLID, _WEB, _UNIFORM),
    "SDDMM k = 64": (_SOLID, _WEB, _UNIFORM),
    "SpGEMM": (_FLAT, _CIRCUIT, _UNIFORM_8),
    "SpGEMM, any order": (_FLAT, _CIRCUIT, _UNIFORM_8),
    "min-plus SpMV": _THREE,
    "row maxima": _THREE,
    "row sums": _THREE,
    "column sums": _THREE,
    "total sum": (_UNIFORM,),
    "A + B": _SOME,
    "A .* B .* C": _THREE,
    "TTV CSF": (_SHORT, _LONG, _SKEWED),
    "TTV COO": (_SHORT, _LONG, _SKEWED),
    "TTM chain": (_LONG, _SKEWED),
    **{f"SpMV CSR {name}": (_SOLID, _UNIFORM) for name in TYPES if name != "f64"},
    **{f"SpMM k = 32 {name}": (_SOLID,) for name in TYPES if name != "f64"},
}
# What reads its operands once and computes little: it is held against the bandwidth of memory.
STREAMING: Mapping[str, Sequence[str]] = {
    "SpMV CSR": (_FLAT, _SPACE),
    "row sums": _THREE,
    "residual": (_FLAT,),
    "A + B": (_FLAT,),
}
# Packing and conversion of few entries: the rest is in the tables of other sections.
_SMALL, _SMALL_SIZE = ("pack", "pack-sorted", "coo-to-csr", "to-csc"), 10_000


def contests(sizes: Sequence[int]) -> Mapping[str, Contest]:
    """Returns the contests of the section by name, with inputs of about so many entries each."""
    made = {}
    for kernel, source in _pairs(sizes):
        made[f"{SECTION}, {kernel}, {source}"] = Contest(kernel, source, kernel, WORST_CASE)
    return made


def _pairs(sizes: Sequence[int]) -> Iterator[tuple[str, str]]:
    for size in sizes:
        table = STREAMING if size >= LARGE else _SHAPES
        yield from ((kernel, named(shape, size)) for kernel, shapes in table.items() for shape in shapes)
    yield from ((kernel, named(_UNIFORM, _SMALL_SIZE)) for kernel in _SMALL)
