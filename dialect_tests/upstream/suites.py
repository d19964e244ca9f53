"""How upstream's suites are run: with shims of MLIR's programs on the path of a shell, which are this package's."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from served import Programs

from dialect_tests.upstream.run_lines import RunLine, run_lines
from mlir_sparse.process.installed_programs import find_program

_SECONDS = 120
_LIBRARIES = ("%mlir_c_runner_utils", "%mlir_runner_utils")
_LANES = re.compile(r"\bvl=(\d+)")


@dataclass(frozen=True)
class Verdict:
    """What became of a command: of which test, in which configuration; no cause if it passed."""

    test: str
    configuration: str
    cause: str = ""

    @property
    def line(self) -> str:
        """Returns the verdict as a line of a list."""
        return f"{self.test} [{self.configuration}]: {self.cause}"


class Shell:
    """Runs commands with MLIR's names for this package's programs.

    Args:
        folder: where the shims are made.
        programs: the command of `mlir-sparse` and of FileCheck; or of `mlir-opt` and others of LLVM's own.
    """

    def __init__(self, folder: Path, programs: Mapping[str, Sequence[str]]) -> None:
        self._folder = folder
        made = dict(programs)
        if mlir_sparse := programs.get("mlir-sparse"):
            made |= {"mlir-opt": [*mlir_sparse, "opt"], "mlir-runner": [*mlir_sparse, "runner"]}
        for name, command in made.items():
            path = folder / name
            path.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
            path.chmod(0o755)
        (folder / "not").write_text('#!/bin/sh\n"$@" && exit 1\nexit 0\n')
        (folder / "not").chmod(0o755)

    def run(self, text: str) -> str:
        """Runs a command; returns why it failed, in a line, or nothing."""
        script = f"set -o pipefail; PATH={shlex.quote(str(self._folder))}:$PATH; {text}"
        try:
            ran = subprocess.run(
                ["bash", "-c", script], capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return f"ran past {_SECONDS} s"
        return "" if ran.returncode == 0 else _cause(ran.stderr) or f"status {ran.returncode}"


def tools_shell(folder: Path, places: str) -> Shell:
    """Makes a shell with LLVM's own programs.

    Args:
        folder: where the shims are made.
        places: folders that have them, as in PATH.
    """
    found = {name: shutil.which(name, path=places) for name in ("mlir-opt", "mlir-runner", "FileCheck")}
    missing = [name for name, path in found.items() if path is None]
    if missing:
        raise SystemExit(f"upstream: expected {', '.join(missing)} in the folders {places}, but they are not there")
    return Shell(folder, {name: [path] for name, path in found.items() if path is not None})


@contextmanager
def made_shell(folder: Path) -> Iterator[Shell]:
    """Makes a shell whose programs start in milliseconds, as children of a process that has loaded them."""
    server = Programs()
    try:
        check = find_program("FileCheck")
        checks = [check] if check else server.command("filecheck")
        yield Shell(folder, {"mlir-sparse": server.command("mlir-sparse"), "FileCheck": checks})
    finally:
        server.end()


def _cause(said: str) -> str:
    """Returns the line of an output that says most."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    for word in ("mlir-sparse: error:", "error:", "Error", "unexpected"):
        found = next((line for line in lines if word in line), None)
        if found is not None:
            return found[:300]
    return lines[-1][:300] if lines else ""


def programs(folder: Path) -> list[Path]:
    """Returns the integration programs for the processor."""
    return sorted((folder / "Integration" / "Dialect" / "SparseTensor" / "CPU").glob("*.mlir"))


def dialect_files(folder: Path) -> list[Path]:
    """Returns the tests of passes and of the parser."""
    return sorted((folder / "Dialect" / "SparseTensor").rglob("*.mlir"))


def substitutions(path: Path, folder: Path, scratch: Path) -> dict[str, str]:
    """Returns lit's substitutions for a test."""
    home = folder.parent  # `mlir`, of which `folder` is the tests
    libraries = {name: _library(name.removeprefix("%")) for name in _LIBRARIES}
    temporary = str(scratch / path.stem)
    return {"%s": str(path), "%t": temporary, "%mlir_src_dir": str(home), "%S": str(path.parent), **libraries}


def _library(name: str) -> str:
    """Returns a library of MLIR's runner: the file in the folder MLIR_RUNNER_LIBRARIES, else one that is not there."""
    installed = Path(os.environ.get("MLIR_RUNNER_LIBRARIES", "")).glob(f"lib{name}.so*")
    return next((str(path) for path in sorted(installed)), f"{name}.so")


def by_entry(path: Path, folder: Path, scratch: Path, shell: Shell) -> Iterator[Verdict]:
    """Runs a program by `mlir-sparse run FILE --entry main`, in each configuration of code generation that it names."""
    done = set()
    for line in run_lines(path, substitutions(path, folder, scratch)):
        if "FileCheck" not in line.text or "enable-runtime-library=true" in line.options:
            continue
        lanes = _LANES.search(line.options)
        configuration = f"lanes={lanes[1]}" if lanes else "scalar"
        if configuration in done:
            continue
        done.add(configuration)
        yield _checked(path, line, configuration, shell)
    if not done:
        first = next(run_lines(path, substitutions(path, folder, scratch)))
        yield _checked(path, first, "scalar", shell)


def by_migration(path: Path, folder: Path, scratch: Path, shell: Shell) -> Iterator[Verdict]:
    """Migrates a program of an older release by `mlir-sparse migrate`, and runs what it writes as `by_entry` does."""
    today = scratch / path.name
    cause = shell.run(f"mlir-sparse migrate {path} -o {today}")
    if cause:
        yield Verdict(path.name, "migrate", cause)
    if today.exists():
        yield from by_entry(today, folder, scratch, shell)


def _checked(path: Path, line: RunLine, configuration: str, shell: Shell) -> Verdict:
    before = f"env {line.environment} " if line.environment else ""
    lanes = f" --lanes {configuration.removeprefix('lanes=')}" if "=" in configuration else ""
    entry = line.entry or ("entry" if "func.func @entry()" in path.read_text() else "main")
    command = f"{before}mlir-sparse run {path} --entry {entry}{lanes} --timeout 60 | {line.check}"
    return Verdict(path.name, configuration, shell.run(command))


def by_run_lines(
    path: Path, folder: Path, scratch: Path, shell: Shell, wanted: Callable[[RunLine], bool] = lambda _: True
) -> Iterator[Verdict]:
    """Runs the commands of a test as they are."""
    for line in run_lines(path, substitutions(path, folder, scratch)):
        if wanted(line):
            name = str(path.relative_to(folder))
            yield Verdict(name, f"{line.number} {line.options}".strip(), shell.run(line.text))
