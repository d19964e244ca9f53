"""Kernels compiled on one machine for a run on another, where no MLIR is: one file holds all of them."""

from __future__ import annotations

import json
import pickle
import re
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import mlir_sparse as ms
from benchmarks.gpu_cases import CASES, KERNELS, types_of
from benchmarks.gpu_checks import CHECKS, Check
from benchmarks.machine import commit
from mlir_sparse.compile import entry_points
from mlir_sparse.compile.gpu_kernel import GpuKernel
from mlir_sparse.plan.mapping import map_trees
from mlir_sparse.runtime.device.run_launches import DeviceProgram

__all__ = ["CHUNKS", "Kernels", "compiled", "kept", "read"]

Key = tuple[str, str, str]
# Entries that a thread takes one after another: the static choice is compared with these.
CHUNKS = (4, 16, 32)
# What loops are compiled to; of the rest of a processor's flags they need nothing.
_VECTORS = ("avx", "avx2", "fma", "bmi1", "bmi2", "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")


@dataclass
class Kernels:
    """What was compiled.

    Args:
        commit: of the checkout that compiled it.
        kernels: by name, element type and way, such as `codegen` or `codegen, chunks of 4`.
        checks: the kernels of CHECKS, in their order; None where there is none.
        cpu: the CPU's kernel, as `Kernel.save` writes it; empty where it is compiled when it is needed.
        missing: what is not compiled, and why.
    """

    commit: str
    kernels: dict[Key, GpuKernel]
    checks: list[GpuKernel | None]
    cpu: bytes
    missing: dict[str, str]


def read(path: Path) -> Kernels:
    """Returns what another machine compiled; the file holds code, so load only what you trust."""
    found = pickle.loads(path.read_bytes())
    assert isinstance(found, Kernels)
    return found


def kept(path: Path, chip: str) -> int:
    """Compiles all kernels to a file; returns its size."""
    found = compiled(chip)
    found.cpu = _saved_for_cpu()
    path.write_bytes(pickle.dumps(found))
    return path.stat().st_size


def compiled(chip: str) -> Kernels:
    """Compiles all kernels for a chip; for that of the device where none is named."""
    target = f"cuda:{chip}" if chip else "cuda"
    found = Kernels(commit(), {}, [], b"", {})
    for name, dtype in dict.fromkeys((case.kernel, case.dtype) for case in CASES.values()):
        types = types_of(name, dtype)
        for via in KERNELS[name].vias:
            try:
                found.kernels[name, dtype, via] = _kernel(name, types, target, via)
            except ms.UnsupportedError as error:
                found.missing[f"{name} {dtype} via {via}"] = str(error)
        if name in ("SpMV", "SDDMM", "SDDMM by rows") and dtype != "f16":
            for chunk in CHUNKS if dtype == "f32" else CHUNKS[:-1]:  # what a block may share is 48 KiB
                with _chunks_of(chunk):
                    made = _kernel(name, types, target, "codegen")
                found.kernels[name, dtype, f"codegen, chunks of {chunk}"] = made
        if name == "SpMV":
            found.kernels[name, dtype, "codegen, 8 blocks"] = _crowded(found.kernels[name, dtype, "codegen"])
    for check in CHECKS:
        try:
            found.checks.append(_checked(check, target))
        except ms.UnsupportedError as error:
            found.checks.append(None)
            found.missing[str(check)] = str(error)
    return found


def _kernel(name: str, types: dict[str, str], target: str, via: str) -> GpuKernel:
    kernel = KERNELS[name]
    made: GpuKernel = ms.compile(kernel.text, target=target, via=via, out=kernel.out, tensors=types)
    return made.compile_for(*(types[operand] for operand in made.parameters))


def _checked(check: Check, target: str) -> GpuKernel:
    made: GpuKernel = ms.compile(check.text, target=target, via=check.via, out=check.out, tensors=check.types)
    return made.compile_for(*(check.types[operand] for operand in made.parameters))


def _crowded(kernel: GpuKernel) -> GpuKernel:
    """Returns a kernel whose blocks that share memory take few enough registers for eight of them at once."""
    bound = r"\1.maxntid 256, 1, 1\n.minnctapersm 8\n{"
    programs = {}
    for types, one in kernel._programs.items():
        text = re.sub(r"(\.entry kernel_staged\w*\([^)]*\)\n)\{", bound, one.program.ptx)
        programs[types] = DeviceProgram(replace(one.program, ptx=text), one.operands, one._label)
    made = pickle.loads(pickle.dumps(kernel))
    made._programs = programs
    assert isinstance(made, GpuKernel)
    return made


@contextmanager
def _chunks_of(size: int) -> Iterator[None]:
    before = map_trees.CHUNK
    map_trees.CHUNK = size
    entry_points._compiled.cache_clear()  # what was compiled before is not what is asked for
    try:
        yield
    finally:
        map_trees.CHUNK = before
        entry_points._compiled.cache_clear()


def _saved_for_cpu() -> bytes:
    """Returns the kernel of the CPU that GPUs are compared with, for processors that have this one's vectors."""
    with tempfile.TemporaryDirectory() as folder:
        path, target = Path(folder, "kernel"), Path(folder, "portable")
        ms.compile(KERNELS["MTTKRP"].text, tensors=types_of("MTTKRP", "f32"), out="dense").save(path)
        with zipfile.ZipFile(path) as source, zipfile.ZipFile(target, "w") as made:
            for name in source.namelist():
                held = source.read(name)
                if name.endswith(".json"):
                    index = json.loads(held)
                    index["features"] = [one for one in index["features"] if one in _VECTORS]
                    held = json.dumps(index).encode()
                made.writestr(name, held)
        return target.read_bytes()
