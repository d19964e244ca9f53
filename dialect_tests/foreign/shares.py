"""Shares of a suite's tests, each run by pytest in a process of its own, and their reports as one."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 3600

Report = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Share:
    """One part of several of a suite's tests, chosen by the checksums of their names.

    >>> str(Share.parse("3/8")), Share(1, 8).is_all, [str(part) for part in Share(2, 3).parts(2)]
    ('3/8', False, ['2/6', '5/6'])
    """

    part: int = 1
    of: int = 1

    @classmethod
    def parse(cls, text: str) -> Self:
        """Returns the share that a text such as `1/8` means."""
        part, of = map(int, text.split("/"))
        if not 1 <= part <= of:
            raise ValueError(f"expected a part from 1 to {of}, but got {part}")
        return cls(part, of)

    def __str__(self) -> str:
        return f"{self.part}/{self.of}"

    @property
    def is_all(self) -> bool:
        """Whether these are all tests."""
        return self.of == 1

    def parts(self, count: int) -> list[Share]:
        """Returns shares that have these tests together."""
        return [Share(self.part + self.of * at, self.of * count) for at in range(count)]

    def has(self, checksum: int) -> bool:
        """Returns whether the test with a checksum is one of these."""
        return checksum % self.of == self.part - 1


@dataclass(frozen=True, slots=True)
class Run:
    """What came of one share: its report, or how it ended without one."""

    seconds: float
    report: Report | None
    fault: str = ""


def run(suite: str, share: Share, folder: Path) -> Run:
    """Runs a share of a suite; processes that are given one folder share what they compile."""
    module = importlib.import_module(f"dialect_tests.foreign.{suite}")
    own = folder / f"{suite}-{share.part}"
    own.mkdir()
    report, test = own / "report.json", own / "test"
    environment = os.environ | {
        "FOREIGN_SUITE": suite,
        "FOREIGN_SHARE": str(share),
        "FOREIGN_REPORT": str(report),
        "FOREIGN_TEST": str(test),
        # Nothing that an earlier run compiled.
        "MLIR_SPARSE_CACHE": str(folder / "cache"),
        "PYTHONPATH": str(ROOT),
        # NumPy's tests that need more are skipped.
        "NPY_AVAILABLE_MEM": "1 GB",
    }
    settings = ["-q", "-c", str(Path(__file__).with_name("pytest.ini")), f"--rootdir={own}", "-p", "no:cacheprovider"]
    plugin = ["-p", "dialect_tests.foreign.plugin"]
    command = [sys.executable, "-m", "pytest", *settings, *plugin, *module.OPTIONS, "--pyargs", *module.TESTS]
    started = time.perf_counter()
    status = _status_of(command, environment, own)
    seconds = time.perf_counter() - started
    if report.exists():
        return Run(seconds, json.loads(report.read_text()))
    last = test.read_text() if test.exists() else "none"
    shown = (own / "output").read_text(errors="replace")[-5000:]
    return Run(seconds, None, f"share {share} ended without a report after {status}, in the test {last}\n{shown}")


def _status_of(command: Sequence[str], environment: dict[str, str], folder: Path) -> str:
    """Runs a command, its output to a file of a folder, and returns how it ended."""
    with (folder / "output").open("w") as output:
        try:
            ran = subprocess.run(
                command, env=environment, cwd=folder, timeout=SECONDS, stdout=output, stderr=output, check=False
            )
        except subprocess.TimeoutExpired:
            return f"{SECONDS} s"
    return f"status {ran.returncode}"


def merged(reports: Sequence[Report]) -> Report:
    """Returns one report of all.

    >>> call = {"operation": "add", "outcome": "agreed", "detail": "", "count": 2, "examples": ["x"]}
    >>> one = {"calls": [call], "tests": {"passed": 1, "failed": 0, "skipped": 0}, "worst": {"a": "agreed"}}
    >>> both = merged([one, one | {"worst": {"b": "wrong"}}])
    >>> both["calls"][0]["count"], both["tests"]["passed"], both["worst"]
    (4, 2, {'a': 'agreed', 'b': 'wrong'})
    """
    calls: dict[tuple[str, ...], dict[str, Any]] = {}
    for call in (call for report in reports for call in report["calls"]):
        key = call["operation"], call["outcome"], call["detail"]
        before = calls.setdefault(key, call | {"count": 0, "examples": []})
        before["count"] += call["count"]
        before["examples"] = [*before["examples"], *call["examples"]][:3]
    tests = {name: sum(report["tests"][name] for report in reports) for name in ("passed", "failed", "skipped")}
    worst = {test: outcome for report in reports for test, outcome in report["worst"].items()}
    return {"calls": [call for _, call in sorted(calls.items())], "tests": tests, "worst": worst}
