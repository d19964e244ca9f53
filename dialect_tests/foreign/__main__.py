"""Runs suites that others wrote, and says what is not as listed: `scripts/foreign [--share 1/8] [suite ...]`."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

from dialect_tests.foreign.expected import Expected
from dialect_tests.foreign.shadow import Outcome
from dialect_tests.foreign.shares import Run, Share, merged, run

SUITES = ("numpy_arrays", "numpy_einsum", "pydata_sparse", "scipy_sparse")


def main() -> int:
    """Returns 1 where a suite shows what is not listed."""
    given = asked(sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="foreign-") as folder, ThreadPoolExecutor(given.jobs) as pool:
        shares = [(suite, part) for suite in given.suites for part in given.share.parts(_parts_of(suite))]
        started = {key: pool.submit(run, *key, Path(folder)) for key in shares}
        runs = {suite: [started[key].result() for key in shares if key[0] == suite] for suite in given.suites}
    # Each suite is told about, whatever the ones before have shown.
    return int(any([_has_faults(suite, runs[suite], given.share) for suite in given.suites]))  # noqa: C419


def asked(words: Sequence[str]) -> argparse.Namespace:
    """Returns the suites to run, all where none is named, which share of their tests, and how many processes.

    >>> given = asked(["--share", "1/8", "scipy_sparse"])
    >>> given.suites, str(given.share), asked([]).suites == SUITES, str(asked([]).share)
    (['scipy_sparse'], '1/8', True, '1/1')
    """
    parser = argparse.ArgumentParser(prog="scripts/foreign", description=__doc__)
    parser.add_argument("suites", nargs="*", metavar="suite", help=f"some of {', '.join(SUITES)}; all where absent")
    parser.add_argument("--share", type=Share.parse, default="1/1", help="which part of the tests, such as 1/8")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 8), help="processes at a time")
    given = parser.parse_args(words)
    unknown = sorted(set(given.suites) - set(SUITES))
    if unknown:
        parser.error(f"expected suites among {', '.join(SUITES)}, but got {', '.join(unknown)}")
    given.suites = given.suites or SUITES
    return given


def _parts_of(suite: str) -> int:
    return int(importlib.import_module(f"dialect_tests.foreign.{suite}").PARTS)


def _has_faults(suite: str, runs: Sequence[Run], share: Share) -> bool:
    module, expected = importlib.import_module(f"dialect_tests.foreign.{suite}"), Expected.of(suite)
    report = merged([one.report for one in runs if one.report is not None])
    dead = [one.fault for one in runs if one.report is None]
    whole = share.is_all and not dead
    packages = ", ".join(f"{name} {version(name)}" for name in module.PACKAGES)
    print(f"{suite} ({packages}), part {share}: {sum(one.seconds for one in runs):.0f} s of one process")
    print(f"  tests {report['tests']}; by their worst call {dict(Counter(report['worst'].values()))}")
    by_outcome = Counter({outcome.value: 0 for outcome in Outcome})
    for call in report["calls"]:
        by_outcome[call["outcome"]] += call["count"]
    print(f"  calls {dict(by_outcome)}")
    faults = [*dead, *expected.faults(report, whole=whole)]
    for fault in faults:
        print(f"  not as listed: {fault}")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
