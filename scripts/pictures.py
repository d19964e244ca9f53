"""Writes a page with the storage of every preset drawn, for the documentation: python scripts/pictures.py FILE.html."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path

import numpy as np

import mlir_sparse as ms
from mlir_sparse.encoding import Preset

MATRIX = np.zeros((4, 6))
MATRIX[[0, 0, 1, 1, 3, 3, 3], [0, 1, 0, 1, 1, 3, 4]] = [5, 1, 7, 3, 8, 4, 9]
SQUARE = np.array([[5.0, 1, 0, 0], [7, 3, 2, 0], [0, 6, 4, 8], [0, 0, 0, 9]])
# What the examples above do not fit into.
EXAMPLES = {
    "Banded": SQUARE,
    "PackedLower": np.tril(SQUARE),
    "PackedUpper": np.triu(SQUARE),
    "Skyline": np.tril(SQUARE),
    "UpperSkyline": np.triu(SQUARE),
}
HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Storage formats drawn</title>
<style>body { font-family: sans-serif; margin: 2em; } svg { max-width: 100%; height: auto; }</style></head><body>
<h1>Storage formats drawn</h1>
<p>Each preset as <code>A.storage.draw("svg")</code> shows it. Filled boxes are in memory, dashed ones are
counted; positions stand above the boxes, at the left end of what they lead to.</p>"""


def main(arguments: list[str]) -> int:
    """Writes the page."""
    if len(arguments) != 1:
        print("usage: python scripts/pictures.py FILE.html", file=sys.stderr)
        return 2
    target = Path(arguments[0])
    target.parent.mkdir(parents=True, exist_ok=True)
    sections = [section(preset) for preset in ms.PRESETS.values()]
    target.write_text("\n".join([HEAD, *spy(), *sections, "</body></html>", ""]), encoding="utf-8")
    return 0


def section(preset: Preset) -> str:
    """Returns the picture of a preset, or why it has none."""
    heading = f"<h2>{escape(preset.name)}</h2>\n<p>{escape(preset.doc)}</p>"
    block = {"block": (2,) * preset.default_rank} if preset.parameter == "block" else {}
    try:
        storage = ms.tensor(example(preset.name, preset.default_rank), preset.name, **block).storage
        picture, text = storage.draw("svg", columns=32), escape(storage.draw(columns=32))
    except ms.SparseError as error:
        return f"{heading}\n<p>Has no picture: {escape(error.message)}.</p>"
    return f"{heading}\n{picture}<details><summary>in characters</summary><pre>{text}</pre></details>"


def example(name: str, rank: int) -> np.ndarray:
    """Returns entries that a preset has room for."""
    if name in EXAMPLES:
        return EXAMPLES[name]
    return {1: MATRIX[3], 2: MATRIX, 3: np.stack([MATRIX[:2, :3], MATRIX[2:, 2:5]])}[rank]


def spy() -> Iterator[str]:
    """Yields where the entries of the example are, if matplotlib is there to plot it."""
    try:
        picture = ms.tensor(MATRIX).spy()
    except ms.MissingPackageError:
        return
    yield "<h2>The entries of the matrix</h2>\n<p><code>A.spy()</code>:</p>"
    yield picture[picture.index("<svg") :]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
