"""Work in a fork: that it ends with the process that waits for it."""

from __future__ import annotations

import math
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from mlir_sparse.process.child_process import in_child

ENDLESS = """
import os, sys, time
from mlir_sparse.process.child_process import in_child

def work():
    print(os.getpid(), flush=True)
    while True:
        pass

in_child(work)
"""


def _runs(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel tells children of their parent's end on Linux alone")
@pytest.mark.parametrize("ends_by", [signal.SIGKILL, signal.SIGTERM])
def test_an_endless_child_ends_with_its_parent(ends_by: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert _runs(child)
        parent.send_signal(ends_by)
        parent.wait()
        end = time.monotonic() + 20
        while _runs(child) and time.monotonic() < end:
            time.sleep(0.01)
        alive = _runs(child)
        if alive:
            os.kill(child, signal.SIGKILL)
    assert not alive


def test_other_threads_may_end_while_a_child_works() -> None:
    found: list[bytes] = []

    def wait_for_child() -> None:
        found.append(in_child(lambda: (time.sleep(0.3), (0, b"done"))[1]).content)

    started = threading.Thread(target=wait_for_child)
    other = threading.Thread(target=lambda: None)
    started.start()
    other.start()
    other.join()
    started.join()
    assert found == [b"done"]
    assert in_child(lambda: (3, b"")).status == 3


@pytest.mark.parametrize("timeout", [math.inf, 1e400, 1e12])
def test_timeouts_may_have_no_end(timeout: float) -> None:
    end = in_child(lambda: (0, b"done"), timeout)
    assert (end.content, end.timed_out) == (b"done", False)


def test_descriptors_above_1023() -> None:
    """select() takes none of them, and a server has many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 1200:
        pytest.skip(f"expected 1200 descriptors, but the system allows {hard}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1200), hard))
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        assert in_child(lambda: (0, b"done"), 60).content == b"done"
    finally:
        for descriptor in opened:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
