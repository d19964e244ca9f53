"""Tests on the newest or the oldest release of each dependency, and says what differs from the usual environment."""

import os
import re
import subprocess
import sys
import tomllib
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
USUAL = ROOT / ".venv"
# Checkers gain rules with every release: what they find says nothing of users' environments.
LEFT_OUT = ("mypy", "ruff")
# What the package itself uses where it is there; the rest of `test` are tools.
USED = ("scipy", "dask", "files")
# Releases of a day, which do not stay.
PASSING = ("torch-mlir",)


def main(which: str, options: Sequence[str]) -> int:
    """Installs, tests and compares; `which` is `newest` or `oldest`, `options` are pytest's."""
    fresh = ROOT / ".build" / which
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    tools, names = project["build-system"]["requires"], needed(project["project"], which)
    venv.create(fresh, clear=True, with_pip=True)
    pip = [str(fresh / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run([*pip, "--upgrade", *map(unbounded, tools), *names, "cmake", "ninja"])
    path = os.pathsep.join((str(fresh / "bin"), os.environ["PATH"]))
    folder = f"--config-settings=build-dir=.build/{which}-native"
    run([*pip, "--no-build-isolation", "--no-deps", "--editable", ".", folder], PATH=path)
    changed = list(differences(versions(fresh), versions(USUAL)))
    print(*(changed or ["no version differs from those of .venv"]), sep="\n", flush=True)
    failed = failures(fresh, options)
    if not failed:
        print(f"{which}: all tests pass")
        return 0
    old = failures(USUAL, failed)
    new = [test for test in failed if test not in old]
    print(f"{which}: {len(failed)} tests fail, {len(new)} of them not in .venv:", *new, sep="\n")
    return 1 if new else 0


def needed(project: dict[str, Any], which: str) -> list[str]:
    """Returns what is installed: the dependencies and those of the tests, at one end of their ranges."""
    extras = project["optional-dependencies"]
    tested = [*project["dependencies"], *extras["test"]]
    if which == "newest":
        return [unbounded(one) for one in tested if name_in(one) not in LEFT_OUT]
    used = {name_in(one) for one in (*project["dependencies"], *(one for extra in USED for one in extras[extra]))}
    return [
        lowest(one) if name_in(one) in used.difference(PASSING) else one
        for one in tested
        if name_in(one) not in LEFT_OUT
    ]


def name_in(requirement: str) -> str:
    """Returns the name of a requirement, without its extras."""
    return re.match(r"[\w.-]+", requirement)[0]


def unbounded(requirement: str) -> str:
    """Returns a requirement without its upper bound, so that the newest release is taken."""
    return re.sub(r",?\s*<=?\s*[\w.]+", "", requirement)


def lowest(requirement: str) -> str:
    """Returns a requirement of its lower bound itself."""
    return unbounded(requirement).replace(">=", "==")


def run(command: Sequence[str], **changed: str) -> None:
    """Runs a command in the checkout, and ends this script with its status if it fails."""
    status = subprocess.run(command, cwd=ROOT, env=os.environ | changed, check=False).returncode
    if status:
        sys.exit(f"expected {' '.join(command)} to succeed, but it failed")


def versions(folder: Path) -> dict[str, str]:
    """Returns the versions of what an environment holds."""
    command = [str(folder / "bin" / "python"), "-m", "pip", "list", "--format=freeze", "--disable-pip-version-check"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return dict(line.split("==", 1) for line in text.splitlines() if "==" in line)


def differences(fresh: dict[str, str], usual: dict[str, str]) -> list[str]:
    """Returns a line for each package of another version."""
    return [
        f"{name} {version}, not {usual[name]}" for name, version in fresh.items() if usual.get(name, version) != version
    ]


def failures(folder: Path, options: Sequence[str]) -> list[str]:
    """Runs tests in an environment, and returns those that fail there, as pytest takes them."""
    report = ROOT / ".build" / f"{folder.name}.xml"
    report.unlink(missing_ok=True)
    command = [
        str(folder / "bin" / "python"),
        "-m",
        "pytest",
        "-q",
        f"--junit-xml={report}",
        "-o",
        "junit_family=xunit1",
    ]
    subprocess.run([*command, *options], cwd=ROOT, check=False)
    if not report.exists():
        sys.exit(f"expected pytest to run in {folder}, but it left no report")
    cases = ElementTree.parse(report).iter("testcase")
    return [name_of(case) for case in cases if case.find("failure") is not None or case.find("error") is not None]


def name_of(case: ElementTree.Element) -> str:
    """Returns the name by which pytest takes a test: file, class and function."""
    file, within = case.get("file", ""), case.get("classname", "").split(".")
    classes = within[len(Path(file).with_suffix("").parts) :]
    return "::".join([file, *classes, case.get("name", "")])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
