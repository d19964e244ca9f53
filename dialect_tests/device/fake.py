"""Stand-ins for the CUDA driver and its libraries: small C libraries, compiled when first needed.

They keep a record of calls, fail when told to, compute on the host, and count what is alive.
"""

from __future__ import annotations

import ctypes
import gc
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mlir_sparse import _cuda
from mlir_sparse.compile.comprehension.comprehension_build import _kernel
from mlir_sparse.compile.entry_points import _compiled
from mlir_sparse.program.launch_program import LaunchProgram
from mlir_sparse.program.launch_values import Choice, Launch
from mlir_sparse.runtime.device.library_kernels import _function

FAKES = Path(__file__).parent / "fakes"
OUT_OF_MEMORY = 2
ILLEGAL_ADDRESS = 700
_KERNEL = ctypes.CFUNCTYPE(
    None, ctypes.POINTER(ctypes.c_uint), ctypes.POINTER(ctypes.c_uint), ctypes.POINTER(ctypes.c_void_p)
)


def compiler() -> str | None:
    return shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def compile_fakes(folder: Path) -> dict[str, Path]:
    """Returns the libraries by name, compiled into a folder."""
    made = {}
    for name in ("libcuda", "libcusparse", "libcusparseLt"):
        made[name] = folder / f"{name}.so"
        command = [compiler() or "cc", "-shared", "-fPIC", "-O1", "-std=gnu11", "-fvisibility=hidden"]
        subprocess.run([*command, "-o", str(made[name]), str(FAKES / f"{name}.c")], check=True)
    return made


class Library:
    """One stand-in, as a test steers it."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.loaded = ctypes.CDLL(self.path)
        self.loaded.fake_record.restype = ctypes.c_char_p

    @property
    def calls(self) -> list[str]:
        return str(self.loaded.fake_record().decode()).splitlines()

    def names(self) -> list[str]:
        return [call.split()[0] for call in self.calls]

    def clear(self) -> None:
        self.loaded.fake_clear()

    def fail(self, name: str, code: int, after: int = 0) -> None:
        """Lets a call fail once, after it succeeded a number of times."""
        self.loaded.fake_fail(name.encode(), code, after)


class Gpu:
    """The driver and libraries of a machine with two devices."""

    def __init__(self, paths: dict[str, Path]) -> None:
        self.driver = Library(paths["libcuda"])
        self.sparse = Library(paths["libcusparse"])
        self.structured = Library(paths["libcusparseLt"])
        self._kernels: list[Any] = []

    def open(self) -> None:
        self.configure()
        for library in (self.driver, self.sparse, self.structured):
            library.clear()
            library.fail("", 0)
        _cuda.load_driver([self.driver.path])
        _cuda.load_sparse([self.sparse.path])
        _cuda.load_structured([self.structured.path])

    def configure(self, memory: int = 1 << 30, pools: bool = True, devices: int = 2, capability: int = 90) -> None:
        self.driver.loaded.fake_configure(ctypes.c_size_t(memory), int(pools), devices, capability)
        self.driver.loaded.fake_reset()

    def close(self) -> None:
        """Checks that nothing is left on the devices but what the process keeps, which is given back."""
        _compiled.cache_clear()
        _kernel.cache_clear()
        _function.cache_clear()
        if _cuda.live_allocations():
            gc.collect()
        self.driver.fail("", 0)
        alive = {
            what: self.driver.loaded.fake_alive(at)
            for at, what in enumerate(("allocations", "streams", "events", "modules", "contexts"))
        }
        alive["descriptors"] = self.sparse.loaded.fake_alive(0)
        alive["structured"] = self.structured.loaded.fake_alive(0) + self.structured.loaded.fake_alive(1)
        _cuda.forget()
        assert not any(alive.values()), alive
        assert _cuda.live_allocations() == 0

    def kernel(
        self, name: str, run: Callable[[tuple[int, ...], tuple[int, ...], Sequence[int]], None], parameters: int
    ) -> None:
        """Registers what a kernel does: a function of grid, block and the first 8 bytes of each parameter."""

        def call(grid: Any, block: Any, slots: Any) -> None:
            values = [ctypes.c_int64.from_address(slots[at]).value for at in range(parameters)]
            run(tuple(grid[:3]), tuple(block[:3]), values)

        self._kernels.append(_KERNEL(call))
        self.driver.loaded.fake_kernel(name.encode(), self._kernels[-1])


def view(pointer: int, shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    """Returns memory of a stand-in's device as an array: it is the host's."""
    kind = np.dtype(dtype)
    count = int(np.prod(shape)) * kind.itemsize
    buffer = (ctypes.c_char * max(count, 1)).from_address(pointer) if count else b""
    return np.frombuffer(buffer, kind, int(np.prod(shape))).reshape(shape)


def launches_of(made: LaunchProgram) -> list[Launch]:
    """Returns every launch that a call of a program may make."""
    all_steps = (*made.steps, *(made.assembled.steps if made.assembled is not None else ()))
    steps = [step.cases if isinstance(step, Choice) else (((), (step,)),) for step in all_steps]
    return [one for cases in steps for _, found in cases for one in found]
