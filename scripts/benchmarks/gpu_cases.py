"""The cases measured on a GPU: kernels, their data, other libraries' calls, and the bytes to move."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial

from benchmarks import gpu_data, gpu_inputs
from benchmarks.gpu_data import Loaded

__all__ = ["CASES", "KERNELS", "Case", "types_of"]

SPMV, SPMM = "y(i) = A(i,j) * x(j)", "C(i,j) = A(i,k) * B(k,j)"
SDDMM = "C(i,j) = S(i,j) * A(i,k) * B(k,j)"
SDDMM_BY_ROWS = "C(i,j) = S(i,j) * A(i,k) * B(j,k)"


@dataclass(frozen=True)
class KernelText:
    """A kernel to compile, for types with `T` for the element type."""

    text: str
    types: Mapping[str, str]
    out: str | None = None
    vias: tuple[str, ...] = ("codegen", "library")  # those that there are, of these


_SDDMM = {"S": "T[?,?] CSR", "A": "T[?,?]", "B": "T[?,?]"}
_MTTKRP = {"A": "T[?,?,?] CSF", "B": "T[?,?]", "C": "T[?,?]"}
KERNELS: Mapping[str, KernelText] = {
    "SpMV": KernelText(SPMV, {"A": "T[?,?] CSR", "x": "T[?]"}),
    "SpMM": KernelText(SPMM, {"A": "T[?,?] CSR", "B": "T[?,?]"}),
    "SDDMM": KernelText(SDDMM, _SDDMM),
    "SDDMM by rows": KernelText(SDDMM_BY_ROWS, _SDDMM),
    "SpGEMM": KernelText(SPMM, {"A": "T[?,?] CSR", "B": "T[?,?] CSR"}),
    "MTTKRP": KernelText(gpu_data.MTTKRP, _MTTKRP, out="dense", vias=("codegen",)),
    "MTTKRP on the CPU": KernelText(gpu_data.MTTKRP, _MTTKRP, out="dense", vias=()),
    "2:4 SpMM": KernelText(SPMM, {"A": "T[?,?] NV_24", "B": "T[?,?]"}, vias=("library",)),
}


def types_of(kernel: str, dtype: str) -> dict[str, str]:
    """Returns the types of a kernel's operands."""
    return {operand: kind.replace("T[", f"{dtype}[") for operand, kind in KERNELS[kernel].types.items()}


@dataclass(frozen=True)
class Case:
    """One measurement: a kernel, an element type, and its data, made by `load`.

    Args:
        kernel: of KERNELS.
        dtype: the element type.
        load: makes the data.
        must: whether a bound depends on it: it is then measured before the others.
        seconds: about how long it takes, data and all.
    """

    kernel: str
    dtype: str
    load: Callable[[str], Loaded]
    must: bool = False
    seconds: float = 5.0


# Of each matrix about how many million entries, and whether bounds are checked by it.
MATRICES: Mapping[str, tuple[Callable[[], gpu_inputs.Matrix], int, bool]] = {
    "5-point grid 1000^2, 5M": (partial(gpu_inputs.grid, 1000, 1000), 5, True),
    "power law 1M, 3M": (partial(gpu_inputs.power_rows, 1_000_000, 3_000_000), 3, True),
    "uniform 1M x 20": (partial(gpu_inputs.uniform, 1_000_000, 20), 20, False),
    "power law 4M, 40M": (partial(gpu_inputs.power_rows, 4_000_000, 40_000_000), 40, True),
    "7-point grid 200^3, 56M": (partial(gpu_inputs.grid, 200, 200, 200), 56, True),
    "5-point grid 4500^2, 101M": (partial(gpu_inputs.grid, 4500, 4500), 101, True),
    "power law 10M, 100M": (partial(gpu_inputs.power_rows, 10_000_000, 100_000_000), 100, False),
}
_SMALLER = ("5-point grid 1000^2, 5M", "power law 1M, 3M", "uniform 1M x 20")
_TINY = {
    "tiny grid": (partial(gpu_inputs.grid, 12, 11), 0, False),
    "tiny uniform": (partial(gpu_inputs.uniform, 90, 4), 0, False),
}


@lru_cache(maxsize=1)
def _matrix(name: str) -> gpu_inputs.Matrix:
    return {**MATRICES, **_TINY}[name][0]()


def _cases() -> dict[str, Case]:
    """Returns the cases; those of one matrix follow each other, since it is made once for all of them."""
    made: dict[str, Case] = {}
    for name, (_, millions, must) in {**MATRICES, **_TINY}.items():
        matrix, seconds = partial(_matrix, name), 4 + 0.15 * millions
        for dtype in ("f32", "f64"):
            made[f"SpMV {dtype}, {name}"] = Case("SpMV", dtype, partial(gpu_data.spmv, matrix), must, seconds)
        if name not in (*_SMALLER, *_TINY):
            continue
        for columns in (128, 32):
            load = partial(gpu_data.spmm, matrix, columns)
            for dtype in ("f32", "f64"):
                bound = columns == 128 and dtype == "f32"
                made[f"SpMM k={columns} {dtype}, {name}"] = Case("SpMM", dtype, load, bound, seconds)
        for kernel in ("SDDMM", "SDDMM by rows"):
            load = partial(gpu_data.sddmm, matrix, 64, kernel == "SDDMM by rows")
            made[f"{kernel} k=64 f32, {name}"] = Case(kernel, "f32", load, True, seconds)
        made[f"SpGEMM f32, {name}"] = Case("SpGEMM", "f32", partial(gpu_data.spgemm, matrix), False, seconds)
    for name in (*_SMALLER, "tiny grid"):
        matrix = partial(_matrix, name)
        made[f"SpMV f16, {name}"] = Case("SpMV", "f16", partial(gpu_data.spmv, matrix))
        made[f"SpMM k=128 f16, {name}"] = Case("SpMM", "f16", partial(gpu_data.spmm, matrix, 128))
        made[f"SDDMM k=64 f16, {name}"] = Case("SDDMM", "f16", partial(gpu_data.sddmm, matrix, 64, False))
    return {**made, **_others()}


def _others() -> dict[str, Case]:
    """Returns the cases whose operands are no such matrices."""
    made: dict[str, Case] = {}
    for shape, entries in (((2000, 500, 5000), 1_000_000), ((12092, 9184, 28818), 8_000_000), ((9, 11, 13), 200)):
        label = f"{'tiny ' if entries < 1000 else ''}{' x '.join(map(str, shape))}, {entries}"
        seconds = 4 + 2e-6 * entries
        for dtype in ("f32", "f64", "f16"):
            load = partial(gpu_data.mttkrp, shape, entries, 32)
            must = dtype == "f32"
            made[f"MTTKRP rank 32 {dtype}, {label}"] = Case("MTTKRP", dtype, load, must, seconds)
        load = partial(gpu_data.mttkrp_on_cpu, shape, entries, 32)
        made[f"MTTKRP on the CPU f32, {label}"] = Case("MTTKRP on the CPU", "f32", load, True, seconds)
    for size in (4096, 8192, 32):
        made[f"2:4 SpMM f16, {'tiny ' if size < 100 else ''}{size}^3"] = Case(
            "2:4 SpMM", "f16", partial(gpu_data.two_of_four, size), True
        )
    return made


CASES: Mapping[str, Case] = _cases()
