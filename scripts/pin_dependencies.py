"""The newest wheels of the hard dependencies for each Python and platform, with hashes."""

import argparse
import json
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PINNED = ROOT / "scripts" / "pinned.txt"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
# pip takes the tags that it is given, and no older ones by itself.
PLATFORMS = {
    "Linux x86-64": [f"manylinux{tag}_x86_64" for tag in ("_2_28", "_2_27", "_2_17", "2014")],
    "Linux arm64": [f"manylinux{tag}_aarch64" for tag in ("_2_28", "_2_27", "_2_17", "2014")],
    "macOS arm64": [f"macosx_{version}_0_arm64" for version in (14, 13, 12, 11)],
}
HEAD = """\
# Exact versions and hashes of the hard dependencies and of what they need, for every Python and platform that
# wheels are built for. `scripts/setup` installs these, and takes the ranges of pyproject.toml where one is gone.
# Written by `scripts/pin --write`.
"""


def main() -> None:
    """Looks for wheels, prints what has none, and writes what was found if that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    write = parser.parse_args().write
    hashes: dict[tuple[str, str], set[str]] = defaultdict(set)
    failed = False
    for python in PYTHONS:
        for platform, tags in PLATFORMS.items():
            found = wheels(python, tags)
            if isinstance(found, str):
                failed = True
                print(f"CPython {python}, {platform}: {found}")
                continue
            print(f"CPython {python}, {platform}: {', '.join(f'{name} {version}' for name, version, _ in found)}")
            for name, version, digest in found:
                hashes[name, version].add(digest)
    several = {name for name, _ in hashes if sum(other == name for other, _ in hashes) > 1}
    if several:
        print(f"expected one version for all, but got several of {', '.join(sorted(several))}: narrow its range")
    if failed or several:
        sys.exit(1)
    if write:
        lines = [f"{name}=={version} {' '.join(sorted(found))}" for (name, version), found in sorted(hashes.items())]
        PINNED.write_text(HEAD + "".join(line.replace(" --hash", " \\\n    --hash") + "\n" for line in lines))


def wheels(python: str, tags: list[str]) -> list[tuple[str, str, str]] | str:
    """Returns name, version and hash of each wheel that would be installed, or why one is not there."""
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    platforms = [word for tag in tags for word in ("--platform", tag)]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        # Nothing is installed: pip only says what it would take.
        command = [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--dry-run"),
            *("--ignore-installed", "--only-binary", ":all:", "--implementation", "cp", "--python-version", python),
            *(*platforms, "--target", folder, "--report", str(report), *needed),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return done.stderr.strip().splitlines()[-1]
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
