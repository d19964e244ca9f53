"""Tests on the newest release of each dependency, and says what differs from the environment of development."""

import os
import re
import subprocess
import sys
import tomllib
import venv
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
FRESH = ROOT / ".build" / "newest"
USUAL = ROOT / ".venv"
# Checkers gain rules with every release: what they find says nothing of users' environments.
LEFT_OUT = ("mypy", "ruff")


def main(options: Sequence[str]) -> int:
    """Installs, tests and compares; `options` are pytest's."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    tools = project["build-system"]["requires"]
    needed = [*project["project"]["dependencies"], *project["project"]["optional-dependencies"]["test"]]
    names = [name for one in needed if re.match(r"[\w.-]+", name := unbounded(one))[0] not in LEFT_OUT]
    venv.create(FRESH, clear=True, with_pip=True)
    pip = [str(FRESH / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run([*pip, "--upgrade", *map(unbounded, tools), *names, "cmake", "ninja"])
    path = os.pathsep.join((str(FRESH / "bin"), os.environ["PATH"]))
    build = ["--no-build-isolation", "--no-deps", "--editable", ".", "--config-settings=build-dir=.build/newest-native"]
    run([*pip, *build], PATH=path)
    changed = list(differences(versions(FRESH), versions(USUAL)))
    print(*(changed or ["no version differs from those of .venv"]), sep="\n", flush=True)
    failed = failures(FRESH, options)
    if not failed:
        print("newest: all tests pass")
        return 0
    old = failures(USUAL, failed)
    new = [test for test in failed if test not in old]
    print(f"newest: {len(failed)} tests fail, {len(new)} of them not in .venv:", *new, sep="\n")
    return 1 if new else 0


def unbounded(requirement: str) -> str:
    """Returns a requirement without its upper bound, so that the newest release is taken."""
    return re.sub(r",?\s*<=?\s*[\w.]+", "", requirement)


def run(command: Sequence[str], **changed: str) -> None:
    """Runs a command in the checkout, and ends this script with its status if it fails."""
    status = subprocess.run(command, cwd=ROOT, env=os.environ | changed, check=False).returncode
    if status:
        sys.exit(f"newest: {' '.join(command)} failed")


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
        sys.exit(f"newest: pytest did not run in {folder}")
    cases = ElementTree.parse(report).iter("testcase")
    return [name_of(case) for case in cases if case.find("failure") is not None or case.find("error") is not None]


def name_of(case: ElementTree.Element) -> str:
    """Returns the name by which pytest takes a test: file, class and function."""
    file, within = case.get("file", ""), case.get("classname", "").split(".")
    classes = within[len(Path(file).with_suffix("").parts) :]
    return "::".join([file, *classes, case.get("name", "")])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
