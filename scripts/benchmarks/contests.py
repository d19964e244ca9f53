"""The contests: kernels with their inputs and bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["CONTESTS", "GAIN", "GROUPS", "MANY", "WORST", "Contest", "Group"]

WORST = 1.25  # no single input of a group with a bound may be worse
GAIN = 1.7  # the required speedup of two threads on inputs of more than MANY entries
MANY = 1_000_000


@dataclass(frozen=True, slots=True)
class Contest:
    """A kernel on one input.

    Args:
        kernel: a name in KERNELS.
        source: a name in INPUTS.
        group: its group, if any.
        bound: the greatest allowed time relative to the fastest library's; None to report only.
        gain: the required speedup of two threads; None to report only.
    """

    kernel: str
    source: str
    group: str = ""
    bound: float | None = None
    gain: float | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """A kernel on all its inputs.

    Args:
        bound: for the geometric mean of the ratios to the best library.
        aside: bounds for the mean against libraries that are compared separately.
    """

    bound: float | None
    aside: Mapping[str, float] | None = None


_GRID, _SPACE, _POWER, _CIRCUIT = "5-point grid 1000^2", "7-point grid 148^2 x 58", "power law 1M", "circuit 171k"
_FEM, _UNIFORM_20, _UNIFORM_8 = "FEM 62k", "uniform 1e5 x 20", "uniform 1e5 x 8"
_ALL = (_GRID, _SPACE, _POWER, _CIRCUIT, _FEM, _UNIFORM_20, _UNIFORM_8)
_WIDE = (_GRID, _POWER, _CIRCUIT, _FEM, _UNIFORM_20, _UNIFORM_8)
_SMALL = (_CIRCUIT, _FEM, _UNIFORM_20, _UNIFORM_8)
_SOME = (_GRID, _POWER, _FEM, _UNIFORM_20)
_ADDED = (_GRID, _POWER, _CIRCUIT, _FEM, _UNIFORM_8)
_TENSORS = ("social 0.7M", "knowledge 8M")
_LARGE = {_GRID, _SPACE, _POWER, _FEM, _UNIFORM_20, "knowledge 8M"}  # more than MANY entries

# For each kernel its bound and its inputs.
_BOUNDS: Mapping[str, tuple[Group, tuple[str, ...]]] = {
    "SpMV CSR": (Group(1.0, {"MKL optimized": 1.15}), _ALL),
    "residual": (Group(1.0), _ALL),
    "SpMV COO": (Group(1.0), (_GRID, _POWER, _CIRCUIT, _UNIFORM_20)),
    "SpMV BSR 3 x 3": (Group(1.0), ("grid of 3 x 3 blocks",)),
    "SpMV BSR 4 x 4": (Group(1.0), (_FEM,)),
    "SpMV ELL": (Group(1.0), (_GRID, _SPACE, _UNIFORM_20)),
    "SpMV DIA": (Group(1.0), (_GRID, _SPACE)),
    "mattransmul CSR": (Group(0.9), _SOME),
    "mattransmul CSC": (Group(0.9), _SOME),
    "SpMM k = 8": (Group(None), _WIDE),
    "SpMM k = 32": (Group(1.0), _WIDE),
    "SpMM k = 128": (Group(1.0), _SMALL),
    "SDDMM k = 64": (Group(0.8), _SMALL),
    "SpGEMM": (Group(0.9), (_UNIFORM_8, _CIRCUIT, _POWER)),
    "A + B": (Group(0.8), _ADDED),
    "A + B + C": (Group(0.8), (_GRID, _CIRCUIT, _FEM, _UNIFORM_8)),
    **{f"{name} {storage}": (Group(0.75), _TENSORS) for name in ("TTV", "TTM") for storage in ("CSF", "COO")},
    **{f"MTTKRP {storage}": (Group(0.8), _TENSORS) for storage in ("CSF", "COO")},
    "INNERPROD": (Group(0.8), _TENSORS),
    "plus2": (Group(0.8), _TENSORS),
    "plus3": (Group(0.8), _TENSORS),
}
GROUPS: Mapping[str, Group] = {name: group for name, (group, _) in _BOUNDS.items()}

# Kernels, inputs, bounds and gains beside the table: name, kernel, input, bound, gain.
_MANY_20, _SMALL_GRID = "uniform 250k x 20", "5-point grid 500^2"
_FURTHER: tuple[tuple[str, str, str, float | None, float | None], ...] = (
    ("call overhead, SpMV 8 x 8, out=", "call overhead", "8 x 8", 1.0, None),
    ("SpMV straight from COO", "SpMV COO by way of CSR", _MANY_20, 1.0, None),
    ("pack sorted COO to CSR", "pack-sorted", _MANY_20, 1.0, 1.0),
    ("pack unsorted COO to CSR", "pack", _MANY_20, 1.0, 1.0),
    ("pack sorted COO to CSC", "pack-sorted-csc", _MANY_20, 1.0, 1.0),
    ("pack unsorted COO to CSC", "pack-csc", _MANY_20, 1.0, 1.0),
    ("pack unsorted COO to hash tables", "pack-hashed", _UNIFORM_20, None, 1.0),
    ("convert sorted COO to CSR", "coo-to-csr", _MANY_20, 1.0, 1.0),
    ("convert sorted COO to CSC", "coo-to-csc", _MANY_20, 1.0, 1.0),
    ("convert CSR to CSC", "to-csc", _MANY_20, 1.0, 1.0),
    ("convert CSR to CSC, Poisson", "to-csc", _GRID, 1.0, 1.0),
    # These only copy memory, which one thread does as fast as two.
    ("convert CSR to COO", "to-coo", _MANY_20, 1.0, None),
    ("convert CSR to BSR 4 x 4", "to-bsr", _GRID, 1.0, 1.0),
    ("convert CSR to DIA", "to-dia", _GRID, 1.0, 1.0),
    ("convert CSR to ELL", "to-ell", _MANY_20, 1.0, 1.0),
    ("convert DIA to CSR", "dia-to-csr", _GRID, 1.0, 1.0),
    ("convert BSR 4 x 4 to CSR", "bsr-to-csr", _GRID, 1.0, 1.0),
    ("convert ELL to CSR", "ell-to-csr", _MANY_20, 1.0, 1.0),
    ("validate CSR, 5 M entries", "validate", _MANY_20, None, None),
    ("A + B, uniform 1e5 x 10", "A + B of others", "uniform 1e5 x 10", 1.0, None),
    ("A + B, one structure, Poisson", "A + B of one structure", _SMALL_GRID, None, None),
    ("A + B + C, uniform 1e5 x 10", "A + B + C of others", "uniform 1e5 x 10", 1.0, None),
    ("SpGEMM, others, uniform 1e5 x 8", "SpGEMM of others", _UNIFORM_8, 1.0, None),
    ("SpGEMM, Poisson 500 x 500", "SpGEMM", _SMALL_GRID, 1.0, None),
    ("SpGEMM, power law 1e5", "SpGEMM", "power law 1e5", 1.0, None),
    ("SpGEMM, values only, uniform 1e5 x 8", "SpGEMM, values only", _UNIFORM_8, 1.0, None),
    ("triangles, power law 1e5", "triangles", "power law 1e5", 1.0, None),
    ("triangles, grid 400 x 400", "triangles", "triangles 400^2", 1.0, None),
    ("SDDMM, 20000 x 20000, k = 32, 2e5 entries", "SDDMM k = 32", "uniform 20k x 10", None, None),
    ("SDDMM, 20000 x 20000, k = 32, 8e5 entries", "SDDMM k = 32", "uniform 20k x 40", None, None),
)


def _grouped(name: str, source: str) -> Contest:
    bound = None if GROUPS[name].bound is None else WORST
    return Contest(name, source, name, bound, GAIN if bound and source in _LARGE else None)


CONTESTS: Mapping[str, Contest] = {
    **{f"{name}, {source}": _grouped(name, source) for name, (_, sources) in _BOUNDS.items() for source in sources},
    **{name: Contest(kernel, source, "", bound, gain) for name, kernel, source, bound, gain in _FURTHER},
}
