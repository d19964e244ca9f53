"""Every way that a call of a kernel may take, each by itself: what a static choice is compared with."""

from __future__ import annotations

import copy
import threading
from dataclasses import replace
from typing import Any

from mlir_sparse.compile.gpu_kernel import GpuKernel
from mlir_sparse.program.launch_program import LaunchProgram
from mlir_sparse.program.launch_values import Choice, Launch, Work
from mlir_sparse.program.size_values import Whole, Within
from mlir_sparse.runtime.device.run_launches import DeviceProgram

__all__ = ["resized", "taken", "ways"]


def ways(kernel: GpuKernel) -> dict[str, GpuKernel]:
    """Returns a kernel for each case of the choices that a call of this one makes, by what is launched last."""
    programs = kernel._programs
    count = max((_cases(one.program) for one in programs.values()), default=1)
    found: dict[str, GpuKernel] = {}
    for number in range(count if count > 1 else 0):
        made = _with(kernel, {types: _only(one, number) for types, one in programs.items()})
        found.setdefault(_label(next(iter(made._programs.values())).program), made)
    return found


def resized(kernel: GpuKernel, factor: float) -> GpuKernel | None:
    """Returns a kernel that launches blocks of more rows of threads, or fewer; None where there are no such blocks."""
    programs = {}
    for types, one in kernel._programs.items():
        steps = [_taller(step, factor) for step in one.program.steps]
        if any(step is None for step in steps):
            return None
        programs[types] = _over(one, replace(one.program, steps=tuple(steps)))
    return _with(kernel, programs)


def taken(kernel: GpuKernel) -> str:
    """Returns what the call launches that was prepared last, as `ways` calls it; empty for a library's."""
    launches = getattr(list(kernel._prepared.values())[-1], "launches", ())
    if not launches:
        return ""
    function, _, block, _ = launches[-1]
    names = [name for one in kernel._programs.values() for name, held in one._functions.items() if held is function]
    return _named(names[0], block) if names else ""


def _cases(program: LaunchProgram) -> int:
    return max((len(step.cases) for step in program.steps if isinstance(step, Choice)), default=1)


def _only(one: DeviceProgram, number: int) -> DeviceProgram:
    steps: list[Launch | Choice] = []
    for step in one.program.steps:
        if not isinstance(step, Choice):
            steps.append(step)
            continue
        tests, launches = step.cases[min(number, len(step.cases) - 1)]
        needs = tuple(test for test in tests if isinstance(test, Whole))
        # What is not right for all operands is made of those only that it is right for.
        steps += [Choice(((needs, launches), _always(step)))] if needs else launches
    return _over(one, replace(one.program, steps=tuple(steps)))


def _always(step: Choice) -> tuple[tuple[Within | Whole, ...], tuple[Launch, ...]]:
    """Returns the case of a choice that is right whatever the operands are."""
    return next(case for case in step.cases if not case[0])


def _over(one: DeviceProgram, program: LaunchProgram) -> DeviceProgram:
    """Returns other launches of the kernels that were loaded for one."""
    made = DeviceProgram(program, one.operands, one._label)
    made.__dict__.update(_module=one._module, _functions=one._functions)
    return made


def _with(kernel: GpuKernel, programs: dict[Any, DeviceProgram]) -> GpuKernel:
    made = copy.copy(kernel)
    made._programs, made._prepared, made._lock = programs, {}, threading.Lock()
    return made


def _taller(step: Launch | Choice, factor: float) -> Launch | Choice | None:
    if isinstance(step, Choice):
        (tests, launches), *others = step.cases
        made = [_taller(one, factor) for one in launches]
        known = tuple(one for one in made if isinstance(one, Launch))
        # Of a kernel that was to take the way that it has; of others all cases would have to change.
        forced = all(isinstance(test, Whole) for test in tests) and len(known) == len(made)
        return Choice(((tests, known), *others)) if forced else None
    if "staged" in step.kernel or step.kernel.endswith("_fill"):
        return step  # as many threads as it was compiled for
    (x, y, z), (width, height, depth) = step.grid, step.block
    tall = int(height * factor)
    per_block = x.per_block * tall // height if x.counts else x.per_block
    if "adjacent" in step.kernel and factor > 1:
        return None  # registers are divided among as many threads as it was compiled for
    if not 1 <= width * tall * depth <= 1024 or width * tall % 32 or (x.counts and per_block < 1):
        return None
    return Launch(step.kernel, (Work(x.counts, per_block), y, z), (width, tall, depth), step.parameters)


def _label(program: LaunchProgram) -> str:
    last = program.steps[-1]
    if isinstance(last, Choice):
        *_, last = last.cases[0][1]
    return _named(last.kernel, last.block)


def _named(kernel: str, block: tuple[int, int, int]) -> str:
    return f"{kernel.removeprefix('kernel_')} {block[0]}x{block[1]}"
