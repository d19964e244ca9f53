"""The machine's vectors, as far as the pipelines depend on them."""

from __future__ import annotations

import os

from mlir_sparse.machine import cpu_features, cpu_info, machine_profile
from mlir_sparse.process import settings

__all__ = [
    "arithmetic_options",
    "machine_name",
    "machine_options",
    "scalar_asked",
    "scatters_fast",
    "store_options",
    "vector_lanes",
    "vector_options",
]


def machine_name() -> str:
    """Returns the kind of this machine: machines of one kind share measurements."""
    info = cpu_info()
    model = info.get("model name") or info.get("CPU part") or "unknown processor"
    return f"{os.uname().machine}, {model}, {os.cpu_count()} processors"


def vector_lanes() -> int:
    """Returns the number of lanes of the sparsifier's own vector loops, masked and with gathers; 0 for none.

    None by default: strategies write vectors that are as fast or faster on every make, and leave loops with such lanes
    alone. Measured on f64 with 32-bit coordinates, theirs take 0.4 to 0.6 of the time on AMD's AVX-512, where gathers
    are slow. On Intel's SpMV takes 0.85 to 1.05, with most rows empty 0.55, transposed 1.0 to 1.1, sums of columns
    0.6 to 0.9.
    MLIR_SPARSE_VECTOR_LANES, a number, decides otherwise.
    """
    return settings.VECTOR_LANES.value or 0


def scatters_fast() -> bool:
    """Returns whether this host scatters eight elements by one instruction, and plans go by a profile where that pays.

    It does on Intel's AVX-512, and takes several times as long on AMD's.
    """
    return "avx512f" in cpu_features() and bool(machine_profile().number("scatters"))


def machine_options(*names: str) -> tuple[tuple[str, int], ...]:
    """Returns choices that the profile of this process decides, as options of passes.

    Args:
        names: the choices, by their names in `machine.CHOICES`.
    """
    profile = machine_profile()
    return tuple((name, profile.number(name)) for name in names)


def scalar_asked() -> bool:
    """Returns whether MLIR_SPARSE_VECTOR_LANES sets scalar loops."""
    return settings.VECTOR_LANES.value == 0


def vector_options() -> tuple[tuple[str, bool | int], ...]:
    """Returns what vectors this host has, as options of `register-tile`."""
    bits, fuses = arithmetic_options()
    return bits, ("masks", bits == ("bits", 512)), fuses


def arithmetic_options() -> tuple[tuple[str, bool | int], ...]:
    """Returns how wide this host's registers are, and whether it multiplies and adds at once, as options of passes."""
    features, machine = cpu_features(), os.uname().machine
    masks = machine == "x86_64" and {"avx512f", "avx512vl", "avx512bw", "avx512dq"} <= features
    bits = 512 if masks else 256 if machine == "x86_64" and "avx2" in features else 128
    return ("bits", bits), ("fma", machine in ("aarch64", "arm64") or "fma" in features)


def store_options() -> tuple[tuple[str, bool], ...]:
    """Returns whether this host stores single floats past the caches, as an option of `nontemporal-stores`."""
    return (("floats", os.uname().machine == "x86_64" and "sse4a" in cpu_features()),)
