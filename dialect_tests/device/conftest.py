"""A machine with two devices that are none: see `fake`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mlir_sparse as ms
from dialect_tests.conditions import LLVMLITE
from dialect_tests.device.fake import Gpu, compile_fakes, compiler, launches_of
from mlir_sparse.compile.gpu_kernel import GpuKernel


@pytest.fixture(scope="session")
def fakes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    if compiler() is None:
        pytest.skip("no C compiler for the stand-ins of CUDA's libraries")
    return compile_fakes(tmp_path_factory.mktemp("fakes"))


@pytest.fixture
def gpu(fakes: dict[str, Path]) -> Iterator[Gpu]:
    made = Gpu(fakes)
    made.open()
    yield made
    made.close()


@pytest.fixture
def emulate(gpu: Gpu) -> Any:
    """Compiles kernels whose code the stand-in runs by the emulation."""
    pytest.importorskip("llvmlite", reason=LLVMLITE)
    from dialect_tests.gpu.emulator import Emulated

    def compiled(text: str, **given: Any) -> GpuKernel:
        made: GpuKernel = ms.compile(text, target="cuda", via="codegen", **given)
        build = made._declared
        emulated = Emulated(build.llvm_ir)
        for one in launches_of(build.launches):
            gpu.kernel(
                one.kernel,
                lambda grid, block, slots, name=one.kernel: emulated.launch(name, grid, block, slots),
                len(one.parameters),
            )
        return made

    return compiled
