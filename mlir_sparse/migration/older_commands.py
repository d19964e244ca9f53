"""The commands of lit's RUN lines: programs, passes and libraries that have other names today."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mlir_sparse.text.edits import Edit
from mlir_sparse.text.source_text import Span

__all__ = ["command_edits"]

_MARKS = ("RUN:", "DEFINE:", "REDEFINE:")
_WORD = re.compile(r"""[^\s|;&"'=,]+""")
_PROGRAMS = {"mlir-cpu-runner": "mlir-runner"}
_PASSES = {
    "sparse-compiler": "sparsifier",
    "convert-memref-to-llvm": "finalize-memref-to-llvm",
    "convert-scf-to-std": "convert-scf-to-cf",
    "convert-std-to-llvm": "convert-func-to-llvm",
}
_LIBRARIES = {
    f"%mlir_{folder}/lib{name}%shlibext": f"%{name}"
    for folder in ("lib_dir", "native_utils_lib_dir", "integration_test_dir")
    for name in ("mlir_c_runner_utils", "mlir_runner_utils")
}


def command_edits(text: str, start: int) -> Iterator[Edit]:
    """Yields the edits of the commands in a part of a file.

    Args:
        text: the whole file.
        start: where the part starts, which goes to the end.

    >>> [edit.text for edit in command_edits("// RUN: mlir-opt %s --sparse-compiler=vl=2 | mlir-cpu-runner -e x", 0)]
    ['--sparsifier', 'mlir-runner']
    """
    at = start
    for line in text[start:].splitlines(keepends=True):
        stripped = line.lstrip()
        if stripped.startswith("//") and stripped[2:].lstrip().startswith(_MARKS):
            yield from _words(line, at)
        at += len(line)


def _words(line: str, at: int) -> Iterator[Edit]:
    for found in _WORD.finditer(line):
        now = _today(found[0])
        if now is not None:
            yield Edit(Span(at + found.start(), at + found.end()), now)


def _today(word: str) -> str | None:
    bare = word.lstrip("-")
    if word.startswith("-") and bare in _PASSES:
        return f"--{_PASSES[bare]}"
    return _PROGRAMS.get(word) or _LIBRARIES.get(word)
