"""Whole statements by this package: as they are optimized, as they are written, and by hand."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import mlir_sparse as ms
from benchmarks.libraries import Call, Calls, Prepare
from benchmarks.libraries.own import taken
from benchmarks.programs import WORKLOADS
from benchmarks.programs.steps import KernelSteps, is_one_step
from benchmarks.programs.workload import Plan, Workload

__all__ = ["AUTO", "BY_HAND", "OFF", "declared", "plan_of"]

# The difference of two times that are least of fewer is mostly noise.
_TIMES = 20


def _auto(workload: Workload, operands: Mapping[str, Any]) -> Call:
    tensors, step = declared(workload, operands), KernelSteps(workload.optimize)
    return lambda: workload.run(step, **tensors)


def _off(workload: Workload, operands: Mapping[str, Any]) -> Call:
    tensors, step = declared(workload, operands), KernelSteps("off")
    if workload.written is not None:
        return partial(workload.written, step, **tensors)
    return lambda: workload.run(step, **tensors)


def _by_hand(workload: Workload, operands: Mapping[str, Any]) -> Mapping[str, Call]:
    """Returns all the plans, of which the fastest counts: that may differ by the number of threads."""
    tensors = _tensors(operands)
    return {
        f"plan {number}": partial(plan, KernelSteps(), **tensors) for number, plan in enumerate(workload.by_hand, 1)
    }


def _tensors(operands: Mapping[str, Any]) -> dict[str, Any]:
    return {name: taken(operand) for name, operand in operands.items()}


def declared(workload: Workload, operands: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the tensors that a statement reads: inputs, and what is declared over them."""
    tensors = _tensors(operands)
    if not workload.definitions:
        return tensors
    for name, definition in workload.definitions.items():
        over = {key: tensor for key, tensor in tensors.items() if re.search(rf"\b{key}\b", definition)}
        shape = (None, int(tensors["D"].shape[0])) if " if " in definition else None
        tensors[name] = ms.define(definition, tensors=over, shape=shape)
    return {name: tensors[name] for name in ms.parse(workload.text).inputs}


def plan_of(name: str, operands: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what `explain()` says of a workload's algebra, how long planning takes, and what runs the same code.

    The time is that of `compile` on tensors whose sketches are there, less that without optimization.
    """
    workload = WORKLOADS[name]
    code = _code(workload, declared(workload, operands), workload.optimize)
    found = {"as_written": _is_as_written(workload, operands, code), "as_by_hand": _same(workload, operands, code)}
    if workload.loop is not None or workload.text.startswith("def "):
        return {"algebra": [], "milliseconds": None, **found}
    tensors = declared(workload, operands)
    kernel = ms.compile(workload.text, tensors=tensors, out=workload.out, optimize=workload.optimize)
    section = re.search(r"^algebra\n((?:  .*\n)+)", kernel.explain(), re.MULTILINE)
    taken_by = {
        optimize: min(_compiled(workload, tensors, optimize, number) for number in range(_TIMES))
        for optimize in (workload.optimize, "off")
    }
    algebra = [line[2:] for line in section[1].splitlines()] if section else []
    milliseconds = 1e3 * (taken_by[workload.optimize] - taken_by["off"])
    return {"algebra": algebra, "milliseconds": milliseconds, **found}


_Code = list[tuple[type, str]]


def _code(workload: Workload, tensors: Mapping[str, Any], optimize: str) -> _Code:
    """Returns the kinds and specifications of the kernels that a workload runs; none where they are not known."""
    if workload.loop is None:
        kernel = ms.compile(workload.text, tensors=tensors, out=workload.out, optimize=optimize)
        return [(type(kernel), kernel.ir())]
    step = KernelSteps(optimize)
    workload.run(step, **tensors)
    return step.code


def _is_as_written(workload: Workload, operands: Mapping[str, Any], code: _Code) -> bool:
    """Returns whether the plan is the statement as it is written, so that the two run the same code."""
    if not code or workload.written is not None:
        return False
    return code == _code(workload, declared(workload, operands), "off")


def _same(workload: Workload, operands: Mapping[str, Any], code: _Code) -> list[str]:
    """Returns the plans by hand that run the same code on the same operands, and nothing else."""
    plans = enumerate(workload.by_hand, 1)
    return [f"plan {number}" for number, plan in plans if code and _runs(plan, workload, _tensors(operands), code)]


def _runs(plan: Plan, workload: Workload, tensors: Mapping[str, Any], code: _Code) -> bool:
    if plan is not workload.loop and not is_one_step(plan, tensors):
        return False
    step = KernelSteps()
    plan(step, **tensors)
    return step.code == code


def _compiled(workload: Workload, tensors: Mapping[str, Any], optimize: str, number: int) -> float:
    """Returns the seconds to compile a statement under names that no cache knows."""
    names = {name: f"{name}{number}{optimize}" for name in tensors}
    text = re.sub(r"[A-Za-z]\w*", lambda found: names.get(found[0], found[0]), workload.text)
    renamed = {names[name]: tensor for name, tensor in tensors.items()}
    start = time.thread_time()
    ms.compile(text, tensors=renamed, out=workload.out, optimize=optimize)
    return time.thread_time() - start


def _prepared(prepare: Callable[[Workload, Mapping[str, Any]], Calls]) -> dict[str, Prepare]:
    return {name: partial(prepare, workload) for name, workload in WORKLOADS.items()}


AUTO, OFF, BY_HAND = _prepared(_auto), _prepared(_off), _prepared(_by_hand)
