"""The plugin of pytest that wraps a suite's library before its tests are collected, and writes what came of the calls.

The environment names the suite (`FOREIGN_SUITE`), the report (`FOREIGN_REPORT`), a file for the name of the
test that runs (`FOREIGN_TEST`), and which share of the tests to run (`FOREIGN_SHARE`, such as `1/4`).
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import zlib
from pathlib import Path
from typing import Any

from dialect_tests.foreign.shadow import Recorder
from dialect_tests.foreign.shares import Share

MEMORY = 16 << 30

_recorder = Recorder()
_tests = {"passed": 0, "failed": 0, "skipped": 0}


def _name_of(item: Any) -> str:
    """Returns a test's file and name, the same wherever the library is installed and the suite is run."""
    return f"{item.path.name}::{item.nodeid.partition('::')[2]}"


def _suite() -> Any:
    return importlib.import_module(f"dialect_tests.foreign.{os.environ['FOREIGN_SUITE']}")


def pytest_configure(config: Any) -> None:
    """Wraps the library of the suite, in a process whose memory is bounded."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    _suite().install(_recorder)


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Keeps one share of the tests, and prepares their modules."""
    share = Share.parse(os.environ["FOREIGN_SHARE"])
    kept = [item for item in items if share.has(zlib.crc32(_name_of(item).encode()))]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    items[:] = kept
    prepare = getattr(_suite(), "prepare", None)
    for module in {item.module for item in kept} if prepare is not None else ():
        prepare(module)


def pytest_runtest_setup(item: Any) -> None:
    """Says whose calls those to come are."""
    _recorder.test = _name_of(item)
    _recorder.calls = 0
    # What a process that dies or hangs leaves behind.
    Path(os.environ["FOREIGN_TEST"]).write_text(_recorder.test)


def pytest_runtest_logreport(report: Any) -> None:
    """Counts the tests, to see that the library still passes its own."""
    if report.when == "call" or report.outcome != "passed":
        _tests[report.outcome] += 1


def pytest_sessionfinish(session: Any, exitstatus: int) -> None:
    """Writes the report."""
    rows = [
        {"operation": operation, "outcome": outcome, "detail": detail, "count": count}
        | {"examples": _recorder.examples[operation, outcome, detail]}
        for (operation, outcome, detail), count in sorted(_recorder.counts.items())
    ]
    worst = {test: outcome.value for test, outcome in _recorder.worst.items()}
    Path(os.environ["FOREIGN_REPORT"]).write_text(
        json.dumps({"calls": rows, "tests": _tests, "worst": worst}, indent=1)
    )
