"""Probes of bindings in processes of their own: what dies there, or is imported there, is not here."""

from __future__ import annotations

import os
import signal
import subprocess

from mlir_sparse._mlir.kept_probes import Probe
from mlir_sparse.process.compiler_interpreter import command, environment, interpreter

__all__ = ["ENDED", "STEP", "UNFIT", "death_in_probe", "probe_elsewhere"]

UNFIT = 94
"""The exit status of a process whose bindings cannot compile kernels; its last line says why."""
STEP = "probe: "
"""What a line about a step that begins starts with: the last one is where a process died."""
ENDED = "ended"
"""The step after the last one."""

_LONGEST = 120.0  # seconds; a disk that was never read takes most of it


def probe_elsewhere(name: str) -> Probe:
    """Probes bindings of a name in a new process, about a second; processes after it know what it found.

    Raises:
        SettingError: for a setting of this package that has no meaning.
    """
    try:
        done = subprocess.run(
            command(interpreter(), name, "mlir_sparse._mlir.bindings_probe", None),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env=environment(name),
            cwd=os.sep,
            timeout=_LONGEST,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Probe((), f"a process that loads it: {error}", lasting=False)
    if done.returncode == 0:
        return Probe(tuple(done.stdout.splitlines()), "", lasting=False)
    missing = death_in_probe(done.returncode, done.stderr)
    said = f"a process that ended with status {done.returncode}: {done.stderr.strip()}"
    return Probe(tuple(done.stdout.splitlines()), missing or said, lasting=False)


def death_in_probe(status: int, said: str) -> str | None:
    """Returns what bindings lack, or how they failed, that ended a process; None where it ended for another reason.

    Args:
        status: the exit status of the process; negative for the signal that killed it.
        said: what it wrote to its standard error.
    """
    last = (said.strip().splitlines() or [""])[-1]
    if status == UNFIT:
        return last
    steps = [line for line in said.splitlines() if line.startswith(STEP)]
    if not steps or steps[-1] == f"{STEP}{ENDED}":
        return None
    how = f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}: {last}"
    return f"{steps[-1].removeprefix(STEP)} ended its process {how}"
