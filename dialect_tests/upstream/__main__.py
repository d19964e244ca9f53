"""Runs MLIR's own tests, and says which fail and why: `scripts/upstream [suite ...]`.

Suites: `entry` runs the integration programs by `mlir-sparse run FILE --entry main`; `codegen` runs their own RUN lines
that are for code generation, `library` those for the runtime library, with LLVM's in the folder MLIR_RUNNER_LIBRARIES;
`dialect` runs the tests of passes; `migrated` runs the integration programs of an older release after
`mlir-sparse migrate`. With `--tools`, LLVM's own mlir-opt, mlir-runner and FileCheck run the commands: what passes
there has to pass here with bindings of the same release, which MLIR_SPARSE_BINDINGS names.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

from dialect_tests.upstream.expected import causes_of
from dialect_tests.upstream.run_lines import RunLine
from dialect_tests.upstream.suites import (
    Shell,
    Verdict,
    by_entry,
    by_migration,
    by_run_lines,
    dialect_files,
    made_shell,
    programs,
    tools_shell,
)
from mlir_sparse._mlir.provider import bindings_name

SUITES = ("entry", "codegen", "library", "dialect", "migrated")


def verdicts(
    suite: str, folder: Path, names: str, share: tuple[int, int], jobs: int, tools: str | None
) -> list[Verdict]:
    """Runs a suite; `names` is a part of the names of the tests to run, of which each `share[1]`-th from `share[0]`."""
    files = [path for path in (dialect_files if suite == "dialect" else programs)(folder) if names in path.name]
    if not files:
        called = f" with {names!r} in their names" if names else ""
        raise SystemExit(
            f"upstream: expected tests of {suite}{called} below {folder}, but there are none: name the folder mlir/test"
        )
    files = files[share[0] - 1 :: share[1]]
    with tempfile.TemporaryDirectory(prefix="upstream-") as made, ThreadPoolExecutor(jobs) as pool:
        scratch = Path(made)
        with nullcontext(tools_shell(scratch, tools)) if tools else made_shell(scratch) as shell:
            return [
                one
                for several in pool.map(lambda path: _ran(suite, path, folder, scratch, shell), files)
                for one in several
            ]


def _ran(suite: str, path: Path, folder: Path, scratch: Path, shell: Shell) -> list[Verdict]:
    if suite == "entry":
        return list(by_entry(path, folder, scratch, shell))
    if suite == "migrated":
        return list(by_migration(path, folder, scratch, shell))
    if suite == "dialect":
        return list(by_run_lines(path, folder, scratch, shell))

    def is_wanted(line: RunLine) -> bool:
        return ("enable-runtime-library=true" in line.options) == (suite == "library")

    return list(by_run_lines(path, folder, scratch, shell, is_wanted))


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/upstream", description=__doc__)
    parser.add_argument("suites", nargs="*", default=["entry"], choices=SUITES)
    parser.add_argument("--tests", default=os.environ.get("MLIR_UPSTREAM_TESTS"), help="the folder mlir/test")
    parser.add_argument("--names", default="", help="a part of the names of the tests to run")
    parser.add_argument("--share", default="1/1", help="which part of the tests to run, as 2/4")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--tools", help="folders of LLVM's mlir-opt, mlir-runner and FileCheck, to run in our place")
    given = parser.parse_args()
    if given.tools and {"entry", "migrated"} & set(given.suites):
        parser.error("expected --tools with codegen, library or dialect, which run LLVM's programs")
    if not given.tests:
        parser.error("expected the folder mlir/test of a release of LLVM in MLIR_UPSTREAM_TESTS or --tests")
    failed = 0
    first, step = map(int, given.share.split("/"))
    print(f"upstream: with {given.tools or f'mlir-sparse on {bindings_name()}'}")
    for suite in given.suites:
        expected = causes_of(suite, "llvm" if given.tools else bindings_name())
        found = []
        for one in verdicts(suite, Path(given.tests), given.names, (first, step), given.jobs, given.tools):
            found.append(one)
            known = expected.get(f"{one.test} [{one.configuration}]") or expected.get(one.test)
            if one.cause:
                print(f"{one.line}{f' (as listed: {known})' if known else ''}", flush=True)
        bad = [one for one in found if one.cause]
        failed += len(bad)
        files = {one.test for one in found}
        whole = len(files) - len({one.test for one in bad})
        print(f"{suite}: {len(found) - len(bad)} of {len(found)} commands pass, all of {whole} of {len(files)} tests")
        for configuration, count in sorted(Counter(one.configuration for one in found).items()):
            if suite == "entry":
                good = count - sum(one.configuration == configuration for one in bad)
                print(f"  {configuration}: {good} of {count}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
