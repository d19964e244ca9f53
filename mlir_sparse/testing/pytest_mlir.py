"""A pytest plugin: files of MLIR with RUN lines are tests, beside those in Python.

It is asked for, since it changes what pytest collects: `pytest -p mlir_sparse.testing.pytest_mlir`, or in a
`conftest.py`::

    pytest_plugins = ["mlir_sparse.testing.pytest_mlir"]

Each `.mlir` and `.test` file that has a RUN line is run by lit with the configuration of its suite, a `lit.cfg.py` in
its folder or one above (`mlir-sparse lit-init FOLDER` writes it). REQUIRES and UNSUPPORTED skip, XFAIL is expected.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

__all__ = ["MlirFile", "MlirTest", "pytest_collect_file"]

_SUFFIXES = (".mlir", ".test")
_CONFIGURATIONS = ("lit.cfg.py", "lit.site.cfg.py", "lit.cfg", "lit.site.cfg")
_RUN = re.compile(r"\bRUN:")
_VERDICT = re.compile(r"^(PASS|FAIL|XFAIL|XPASS|UNSUPPORTED|UNRESOLVED|TIMEOUT|FLAKYPASS): ", re.MULTILINE)
_REASON = re.compile(r"^(?:Test requires|Test does not support|Skipping).*$", re.MULTILINE)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> MlirFile | None:
    """Collects files of MLIR that have a RUN line."""
    if file_path.suffix not in _SUFFIXES or not _RUN.search(file_path.read_text(errors="replace")):
        return None
    found: MlirFile = MlirFile.from_parent(parent, path=file_path)
    return found


class MlirFile(pytest.File):
    """A file with RUN lines, which are one test."""

    def collect(self) -> Iterator[MlirTest]:
        """Yields the test."""
        test: MlirTest = MlirTest.from_parent(self, name="RUN")
        yield test


class _FailedError(Exception):
    """What lit said of a test that failed."""


class MlirTest(pytest.Item):
    """The RUN lines of a file, run by lit."""

    def runtest(self) -> None:
        """Runs them.

        Raises:
            UsageError: without lit, or a configuration of the suite.
        """
        if importlib.util.find_spec("lit") is None:
            raise pytest.UsageError(f"expected the package lit to run {self.path.name}, but got none: pip install lit")
        if not any((folder / name).exists() for folder in self.path.parents for name in _CONFIGURATIONS):
            raise pytest.UsageError(
                f"expected a lit.cfg.py beside {self.path.name} or above, but got none: "
                f"mlir-sparse lit-init {self.path.parent}"
            )
        ran = subprocess.run(
            [sys.executable, "-c", "from lit.main import main; main()", "-a", str(self.path)],
            capture_output=True,
            text=True,
            check=False,
        )
        found = _VERDICT.search(ran.stdout)
        match found[1] if found else "":
            case "PASS" | "FLAKYPASS":
                return
            case "UNSUPPORTED":
                reason = _REASON.search(ran.stdout)
                pytest.skip(reason[0] if reason else "lit says that it is unsupported here")
            case "XFAIL":
                pytest.xfail("the file says XFAIL")
            case _:
                raise _FailedError(ran.stdout + ran.stderr)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *arguments: Any, **options: Any) -> Any:
        """Returns what lit printed where a test failed, or what it lacks to run one."""
        if isinstance(excinfo.value, _FailedError | pytest.UsageError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, *arguments, **options)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Returns the file, and its name as that of the test."""
        return self.path, 0, self.path.name
