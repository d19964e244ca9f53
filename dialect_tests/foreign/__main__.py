"""Runs suites that others wrote, and says what is not as listed: `scripts/foreign [--share 1/8] [suite ...]`."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from dialect_tests.foreign.expected import Expected
from dialect_tests.foreign.shadow import Outcome

ROOT = Path(__file__).resolve().parents[2]
SUITES = ("numpy_einsum", "pydata_sparse", "scipy_sparse")
SECONDS = 1500


def main() -> int:
    """Returns 1 where a suite shows what is not listed."""
    suites, share = asked(sys.argv[1:])
    return int(any([_run(suite, share) for suite in suites]))  # noqa: C419 - each is run


def asked(words: Sequence[str]) -> tuple[tuple[str, ...], str | None]:
    """Returns the suites to run, all where none is named, and which share of their tests, if not the lists'.

    >>> asked([]), asked(["--share", "1/8", "scipy_sparse"])
    ((('numpy_einsum', 'pydata_sparse', 'scipy_sparse'), None), (('scipy_sparse',), '1/8'))
    """
    parser = argparse.ArgumentParser(prog="scripts/foreign", description=__doc__)
    parser.add_argument("suites", nargs="*", metavar="suite", help=f"some of {', '.join(SUITES)}; all where absent")
    parser.add_argument("--share", help="which part of the tests, such as 1/8; that of the list where absent")
    given = parser.parse_args(words)
    unknown = sorted(set(given.suites) - set(SUITES))
    if unknown:
        parser.error(f"expected suites among {', '.join(SUITES)}, but got {', '.join(unknown)}")
    return tuple(given.suites) or SUITES, given.share


def _run(suite: str, share: str | None) -> bool:
    module, expected = importlib.import_module(f"dialect_tests.foreign.{suite}"), Expected.of(suite)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="foreign-") as folder:
        report = Path(folder, "report.json")
        environment = os.environ | {
            "FOREIGN_SUITE": suite,
            "FOREIGN_SHARE": share or expected.share,
            "FOREIGN_REPORT": str(report),
            # Nothing that an earlier run compiled, but the same for each process of this one.
            "MLIR_SPARSE_CACHE": str(Path(folder, "cache")),
            "PYTHONPATH": str(ROOT),
        }
        ini = Path(__file__).with_name("pytest.ini")
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-c",
            str(ini),
            f"--rootdir={folder}",
            "-p",
            "no:cacheprovider",
        ]
        options = ["-p", "dialect_tests.foreign.plugin", *module.OPTIONS, "--pyargs", *module.TESTS]
        ran = subprocess.run(
            [*command, *options],
            env=environment,
            cwd=folder,
            timeout=SECONDS,
            capture_output=True,
            text=True,
            check=False,
        )
        if not report.exists():
            print(ran.stdout[-5000:], ran.stderr[-5000:], sep="\n", file=sys.stderr)
            return True
        found = json.loads(report.read_text())
    faults = expected.faults(found, whole=share in (None, expected.share))
    packages = ", ".join(f"{name} {version(name)}" for name in module.PACKAGES)
    print(f"{suite} ({packages}), part {share or expected.share}: {time.perf_counter() - started:.0f} s")
    print(f"  tests {found['tests']}; by their worst call {dict(Counter(found['worst'].values()))}")
    by_outcome = Counter({outcome.value: 0 for outcome in Outcome})
    for call in found["calls"]:
        by_outcome[call["outcome"]] += call["count"]
    print(f"  calls {dict(by_outcome)}")
    for fault in faults:
        print(f"  not as listed: {fault}")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
