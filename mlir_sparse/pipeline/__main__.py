"""Runs a reproducer: `python -m mlir_sparse.pipeline FILE` (or `-` for standard input)."""

from __future__ import annotations

import sys
from pathlib import Path

from mlir_sparse.pipeline.reproducer import FUNCTIONS_MARK, PIPELINE_MARK
from mlir_sparse.pipeline.run_passes import run_here


def main(path: str) -> int:
    """Lowers the module of a reproducer in this process, if wanted to machine code; prints it or MLIR's diagnostics."""
    text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
    pipeline, functions = (_marked(text, mark) for mark in (PIPELINE_MARK, FUNCTIONS_MARK))
    if pipeline is None:
        print(f"expected a line `{PIPELINE_MARK}...` in {path}, but got none", file=sys.stderr)
        return 2
    outcome = run_here(text, pipeline, as_text=True)
    if outcome.module is None:
        print(outcome.diagnostics, file=sys.stderr)
        return 1
    print(outcome.module.decode(), end="")
    if functions is not None:
        run_here(outcome.module, "builtin.module()", functions=tuple(functions.split()))
    return 0


def _marked(text: str, mark: str) -> str | None:
    return next((line.removeprefix(mark) for line in text.splitlines() if line.startswith(mark)), None)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m mlir_sparse.pipeline FILE.mlir")
    sys.exit(main(sys.argv[1]))
