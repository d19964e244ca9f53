"""The newest wheels of dependencies for each Python and platform: with hashes, or which are missing."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PINNED = ROOT / "scripts" / "pinned.txt"
NEWEST_PIP = ROOT / ".build" / "pip"  # older ones read metadata out of whole wheels, gigabytes of them for extras
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


@dataclass(frozen=True, slots=True)
class Platform:
    """A platform that wheels are built for.

    Args:
        tags: those of its wheels: pip takes the ones that it is given, and no older ones by itself.
        markers: what conditions in requirements ask for.
    """

    tags: tuple[str, ...]
    markers: dict[str, str]

    @property
    def condition(self) -> str:
        """What tells it from the others, as requirements say it."""
        names = ("sys_platform", "platform_machine")
        return "(" + " and ".join(f'{name} == "{self.markers[name]}"' for name in names) + ")"


def _linux(machine: str) -> Platform:
    tags = tuple(f"manylinux{tag}_{machine}" for tag in ("_2_28", "_2_27", "_2_17", "2014"))
    return Platform(tags, {"sys_platform": "linux", "platform_system": "Linux", "platform_machine": machine})


PLATFORMS = {
    "Linux x86-64": _linux("x86_64"),
    "Linux arm64": _linux("aarch64"),
    "macOS arm64": Platform(
        tuple(f"macosx_{version}_0_arm64" for version in (14, 13, 12, 11)),
        {"sys_platform": "darwin", "platform_system": "Darwin", "platform_machine": "arm64"},
    ),
}
# pip looks for another platform's wheels, but at conditions in requirements with this one's eyes.
PIP = """
import json, sys
from pip._vendor.packaging import markers

here, there = markers.default_environment(), json.loads(sys.argv.pop(1))
markers.default_environment = lambda: here | there
from pip._internal.cli.main import main

sys.exit(main(sys.argv[1:]))
"""
HEAD = """\
# Exact versions and hashes of the hard dependencies and of what they need, for every Python and platform that
# wheels are built for; a version that is not for all of them says for which. `scripts/setup` installs these, and takes
# the ranges of pyproject.toml where one is gone. Written by `scripts/pin --write`.
"""


def main() -> None:
    """Looks for wheels, prints what has none, and writes what was found if that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--extras", nargs="*", metavar="EXTRA", help="look for those of extras; of all by default")
    arguments = parser.parse_args()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    quiet = ("--quiet", "--disable-pip-version-check", "--upgrade")
    subprocess.run([sys.executable, "-m", "pip", "install", *quiet, "--target", NEWEST_PIP, "pip"], check=True)
    if arguments.extras is not None:
        sys.exit(check_extras(project["optional-dependencies"], arguments.extras))
    found_on: dict[tuple[str, str], dict[tuple[str, str], str]] = defaultdict(dict)
    failed = False
    for python in PYTHONS:
        for name, platform in PLATFORMS.items():
            found = wheels(python, platform, project["dependencies"])
            if isinstance(found, str):
                failed = True
                print(f"CPython {python}, {name}: {found}")
                continue
            print(f"CPython {python}, {name}: {', '.join(f'{one} {version}' for one, version, _ in found)}")
            for one, version, digest in found:
                found_on[one, version][python, name] = digest
    if failed:
        sys.exit(1)
    if arguments.write:
        PINNED.write_text(HEAD + pinned(found_on))


def pinned(found_on: Mapping[tuple[str, str], Mapping[tuple[str, str], str]]) -> str:
    """Returns the requirements of what was found, by name and version, on each Python and platform, with the hash.

    A version that is not for all says for which: the newest release of a dependency may have no wheels for the oldest
    Python, or not yet for one platform.
    """
    entries = []
    for (name, version), hashes in sorted(found_on.items()):
        condition = condition_of(hashes)
        words = [f"{name}=={version}{' ; ' if condition else ''}{condition}", *sorted(set(hashes.values()))]
        entries.append(" \\\n    ".join(words) + "\n")
    return "".join(entries)


def condition_of(places: Iterable[tuple[str, str]]) -> str:
    """Returns the condition that holds on these Pythons and platforms alone; none where they are all."""
    platforms_of: dict[str, set[str]] = {python: set() for python in PYTHONS}
    for python, platform in places:
        platforms_of[python].add(platform)
    pythons_of: dict[frozenset[str], list[str]] = defaultdict(list)
    for python, platforms in platforms_of.items():
        if platforms:
            pythons_of[frozenset(platforms)].append(python)
    terms = []
    for chosen, pythons in pythons_of.items():
        parts = [_any(f'python_version == "{python}"' for python in pythons)] if len(pythons) < len(PYTHONS) else []
        if len(chosen) < len(PLATFORMS):
            parts.append(_any(PLATFORMS[name].condition for name in PLATFORMS if name in chosen))
        terms.append(" and ".join(parts))
    return _any(terms) if all(terms) else ""


def _any(conditions: Iterable[str]) -> str:
    listed = list(conditions)
    return listed[0] if len(listed) == 1 else f"({' or '.join(listed)})"


def check_extras(extras: dict[str, list[str]], names: Sequence[str]) -> int:
    """Prints what extras have no wheels of, and returns the status of this script.

    All are asked for together, as they are to work together, and one by one where that fails.
    """
    unknown = set(names) - set(extras)
    if unknown:
        print(f"expected extras of pyproject.toml, but got {', '.join(sorted(unknown))}")
        return 2
    needed = sorted({one for name in names or extras for one in extras[name]})
    failed = 0
    for python in PYTHONS:
        for name, platform in PLATFORMS.items():
            found = wheels(python, platform, needed)
            if isinstance(found, str):
                failed = 1
                lines = list(missing_of(python, platform, needed)) or [f"not together: {found}"]
            else:
                lines = [f"{len(found)} wheels"]
            print(f"CPython {python}, {name}:", *lines, sep="\n  ", flush=True)
    return failed


def missing_of(python: str, platform: Platform, needed: Iterable[str]) -> Iterable[str]:
    """Yields each requirement that cannot be installed, with the reason."""
    for one in needed:
        found = wheels(python, platform, [one])
        if isinstance(found, str):
            yield f"{one}: {found}"


def wheels(python: str, platform: Platform, needed: Iterable[str]) -> list[tuple[str, str, str]] | str:
    """Returns name, version and hash of each wheel that would be installed, or why one is not there."""
    tags = [word for tag in platform.tags for word in ("--platform", tag)]
    markers = platform.markers | {"python_version": python, "python_full_version": f"{python}.0"}
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        # Nothing is installed: pip only says what it would take.
        command = [
            *(sys.executable, "-c", PIP, json.dumps(markers), "install", "--quiet", "--disable-pip-version-check"),
            *("--dry-run", "--ignore-installed", "--only-binary", ":all:", "--implementation", "cp"),
            *("--python-version", python, *tags, "--target", folder, "--report", str(report), *needed),
        ]
        environment = os.environ | {"PYTHONPATH": str(NEWEST_PIP)}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
            return (said or done.stderr.strip().splitlines() or ["pip failed"])[0].removeprefix("ERROR: ")
        items = json.loads(report.read_text())["install"]
    return [
        (
            item["metadata"]["name"],
            item["metadata"]["version"],
            f"--hash=sha256:{item['download_info']['archive_info']['hashes']['sha256']}",
        )
        for item in items
    ]


if __name__ == "__main__":
    main()
