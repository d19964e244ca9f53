"""Neighbours: a script for each library that tensors work with, and what it prints.

`python -m doc_pages.neighbours [--write] [NAME...]`, as `scripts/neighbours`, runs them where their package is
installed, and compares what they print with what the page says; `--write` makes that what the page says.
"""

from __future__ import annotations

import difflib
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from doc_pages import markup

__all__ = ["SCRIPTS", "Script", "page"]

FOLDER = Path(__file__).resolve().parent / "neighbour_scripts"
LEAD = """Each script below runs as it stands, with what `pip install 'mlir-sparse[neighbours,dask,jax,torch]'`
installs. What it prints was printed by it: the tests run it again. `ms.tensor` imports none of the libraries to know
their arrays, and shares memory where levels agree."""


@dataclass(frozen=True, slots=True)
class Script:
    """A script of the page.

    Args:
        name: of its file, `with_NAME.py`; what it prints is in `with_NAME.txt`.
        package: what it imports.
        extra: what installs that.
    """

    name: str
    package: str
    extra: str

    @property
    def path(self) -> Path:
        """Where it is."""
        return FOLDER / f"with_{self.name}.py"

    @property
    def record(self) -> Path:
        """Where that is which it prints."""
        return self.path.with_suffix(".txt")

    @property
    def is_installed(self) -> bool:
        """Whether its package is."""
        return find_spec(self.package) is not None

    def printed(self) -> str:
        """Runs it, and returns what it prints.

        Raises:
            RuntimeError: when it fails or warns, with what it says.
        """
        command = [sys.executable, "-P", str(self.path)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"COLUMNS": "80"})
        if ran.returncode or ran.stderr:
            raise RuntimeError(f"{self.path.name} ended with status {ran.returncode}:\n{ran.stderr}")
        return ran.stdout


SCRIPTS = (
    Script("scipy", "scipy", "scipy"),
    Script("sklearn", "sklearn", "neighbours"),
    Script("torch", "torch", "torch"),
    Script("jax", "jax", "jax"),
    Script("xarray", "xarray", "neighbours"),
    Script("dask", "dask", "dask"),
    Script("networkx", "networkx", "neighbours"),
    Script("pydata_sparse", "sparse", "neighbours"),
    Script("graphblas", "graphblas", "neighbours"),
)


def page() -> str:
    """Returns the page."""
    parts = [markup.paragraph(LEAD)]
    for script in SCRIPTS:
        prose, code = script.path.read_text(encoding="utf-8").removeprefix('"""').split('"""\n', 1)
        title, _, told = prose.partition(": ")
        parts += [
            markup.anchor(title),
            *(markup.paragraph(one) for one in (told[0].upper() + told[1:]).split("\n\n")),
            markup.paragraph(f"`{script.path.name}`, with the extra `{script.extra}`:"),
            markup.pre(code.strip()),
            markup.pre(script.record.read_text(encoding="utf-8")),
        ]
    return markup.document("neighbours.html", parts)


def main(arguments: Sequence[str]) -> int:
    """Runs scripts, and compares or writes what they print."""
    write, names = "--write" in arguments, [one for one in arguments if one != "--write"]
    known = {script.name: script for script in SCRIPTS}
    if not set(names) <= set(known):
        print(f"usage: scripts/neighbours [--write] [{'|'.join(known)}]...", file=sys.stderr)
        return 2
    other = 0
    for script in (known[name] for name in names or known):
        if not script.is_installed:
            print(f"{script.name}: left out, as {script.package} is not installed (extra {script.extra})")
            continue
        try:
            printed = script.printed()
        except RuntimeError as error:
            print(error)
            other += 1
            continue
        if write:
            script.record.write_text(printed, encoding="utf-8")
        told = script.record.read_text(encoding="utf-8") if script.record.exists() else ""
        lines = list(difflib.unified_diff(told.splitlines(), printed.splitlines(), "the page", "now", lineterm="", n=0))
        print(f"{script.name}: " + ("\n".join(["not as on the page", *lines]) if lines else "as on the page"))
        other += bool(lines)
    return 1 if other else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
