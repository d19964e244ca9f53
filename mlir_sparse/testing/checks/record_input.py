"""A program that stands for FileCheck while runs are recorded: it keeps its arguments and standard input.

It is run by its path, since a test has one for each RUN line and the package takes longer to load than the test.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

__all__ = ["FOLDER", "record"]

FOLDER = "MLIR_SPARSE_RECORD_CHECKS"
"""The variable that names the folder."""


def record() -> None:
    """Keeps what FileCheck would have been given in a file of its own."""
    folder = Path(os.environ[FOLDER])
    content = {"arguments": sys.argv[1:], "input": sys.stdin.buffer.read().decode(errors="surrogateescape")}
    number = len(list(folder.glob("*.json")))
    (folder / f"{number:04d}.json").write_text(json.dumps(content))


if __name__ == "__main__":
    record()
