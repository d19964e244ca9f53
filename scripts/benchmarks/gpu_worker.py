"""Runs cases in a separate process, so that one that breaks or hangs it does not end the others."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.gpu_cases import CASES
from benchmarks.gpu_checks import CHECKS
from benchmarks.gpu_data import CPU_KERNELS
from benchmarks.gpu_head import header, overhead, small_operands
from benchmarks.gpu_measure import Result, check, measure
from benchmarks.gpu_prepare import Kernels, read
from mlir_sparse import device
from mlir_sparse.errors import SparseError

__all__ = ["Plan", "apart", "here"]

_MARK = "\x1e"
_LONGEST = 150.0  # seconds without a word, after which a process hangs
_MOST_IN_VAIN = 3  # processes after one another in which nothing succeeds, after which none is started any more


@dataclass(frozen=True)
class Plan:
    """What to do.

    Args:
        kernels: the file of compiled kernels.
        names: of checks and cases, in order.
        seconds: of each measurement.
        tune: whether to time every way that our kernels may take.
        until: when to be done, by the clock.
        head: whether to measure what the machine can do first.
    """

    kernels: str
    names: tuple[str, ...]
    seconds: float
    tune: bool
    until: float
    head: bool = True


def here(plan: Plan) -> Iterator[dict[str, Any]]:
    """Runs a plan in this process, and yields the events."""
    held = read(Path(plan.kernels))
    if held.cpu:
        with tempfile.NamedTemporaryFile(delete=False) as file:
            file.write(held.cpu)
        CPU_KERNELS[:] = [Path(file.name)]
    if plan.head:
        yield {"starts": "the head"}
        head = header(held.commit, plan.seconds)
        yield {"head": head}  # what a failing call must not take along
        yield {"head": {**head, "missing": held.missing, "call, us": _call_cost(held)}}
    for name in plan.names:
        yield {"starts": name}
        yield {"result": asdict(_result(name, plan, held))}
        if (said := _broken()) is not None:
            yield {"broken": said}
            return


def _call_cost(held: Kernels) -> dict[str, float] | None:
    kernel = held.kernels.get(("SpMV", "f64", "codegen"))
    try:
        return None if kernel is None else overhead(kernel, small_operands())
    except SparseError as error:  # the cases say more
        print(f"not measured: {error}", flush=True)
        return None


def _result(name: str, plan: Plan, held: Kernels) -> Result:
    if name.startswith("check "):
        number = next(at for at, one in enumerate(CHECKS) if f"check {one}" == name)
        return check(CHECKS[number], held.checks[number])
    case = CASES[name]
    if time.time() + case.seconds > plan.until:
        return Result(name, verdict="not run: too little time is left")
    return measure(name, case, held.kernels, plan.seconds, tune=plan.tune)


def _broken() -> str | None:
    """Returns what the device says when nothing can be run on it any more; None while it works."""
    try:
        device.synchronize()
    except SparseError as error:
        return str(error)
    return None


def apart(plan: Plan, tell: Callable[[dict[str, Any]], None]) -> None:
    """Runs a plan in another process, and in a new one if that ends early or hangs.

    Args:
        plan: what to do.
        tell: receives the events; the case that ended a process gets a result that says so.
    """
    in_vain = 0
    while plan.names and time.time() < plan.until and in_vain < _MOST_IN_VAIN:
        left, at = list(plan.names), "the start"
        in_vain += 1
        process = _started(plan)
        for event in _events(process, plan.until + 5):
            at = event.get("starts", at)
            if "result" in event:
                left.remove(event["result"]["name"])
                in_vain = 0 if event["result"]["verdict"] == "ok" else in_vain
            tell(event)
        process.kill()
        code = process.wait()
        if at in left:
            left.remove(at)
            tell({"result": asdict(Result(at, verdict=f"the process ended, or hung: {code}"))})
        elif left == list(plan.names):
            tell({"broken": f"the process ended at {at}: {code}"})
        plan = replace(plan, names=tuple(left), head=False)
    why = "the time was used up" if in_vain < _MOST_IN_VAIN else "nothing succeeds any more"
    for name in plan.names:
        tell({"result": asdict(Result(name, verdict=f"not run: {why}"))})


def _started(plan: Plan) -> subprocess.Popen[str]:
    command = [sys.executable, "-P", "-m", "benchmarks.gpu_worker", json.dumps(asdict(plan))]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def _events(process: subprocess.Popen[str], until: float) -> Iterator[dict[str, Any]]:
    """Yields the events of a process, until it ends, hangs, or the time is up."""
    lines: queue.Queue[str | None] = queue.Queue()

    def take() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=take, daemon=True).start()
    while (wait := min(_LONGEST, until - time.time())) > 0:
        try:
            line = lines.get(timeout=wait)
        except queue.Empty:
            return
        if line is None:
            return
        if line.startswith(_MARK):
            yield json.loads(line.removeprefix(_MARK))
        else:
            print(line, end="", flush=True)


def _main(arguments: Sequence[str]) -> None:
    plan = Plan(**json.loads(arguments[0]))
    for event in here(replace(plan, names=tuple(plan.names))):
        print(_MARK + json.dumps(event), flush=True)


if __name__ == "__main__":
    _main(sys.argv[1:])
