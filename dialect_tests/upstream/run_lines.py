"""The RUN lines of lit's tests, as commands of a shell: substitutions that a file defines, and lit's own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_LINE = re.compile(r"\s*//\s*(RUN|DEFINE|REDEFINE):(.*)")
_DEFINED = re.compile(r"\s*(%\{[\w-]+\})\s*=(.*)", re.DOTALL)
_ONLY_IF = re.compile(r"\s*%if\s+(\S+)\s+%\{(.*)%\}\s*$", re.DOTALL)
_OPTIONS = re.compile(r"--(?:sparsifier|sparse-compiler)=(\"[^\"]*\"|[^\s\"]+)")
_SET = re.compile(r"\bTENSOR\d+=\S+")
_ENTRY = re.compile(r"\s-e\s+(\w+)")
_MOST_NESTED = 10


@dataclass(frozen=True)
class RunLine:
    """A command of a test.

    Args:
        number: its place among the commands of the file, from 1.
        text: what a shell runs.
        settings: the file's substitutions for it, with what they stand for.
    """

    number: int
    text: str
    settings: Mapping[str, str]

    @property
    def options(self) -> str:
        """Returns the options of the sparsifier."""
        if "%{sparsifier_opts}" in self.settings:
            return expanded(self.settings["%{sparsifier_opts}"], self.settings)
        found = _OPTIONS.search(self.text)
        return found[1].strip('"') if found else ""

    @property
    def environment(self) -> str:
        """Returns what the command sets for the program that it runs, as words of a shell."""
        if environment := self.settings.get("%{env}", ""):
            return expanded(environment, self.settings)
        return " ".join(_SET.findall(self.text))

    @property
    def entry(self) -> str | None:
        """Returns the function that it runs; None if it runs none, as in LLVM 16's sparse_transpose.mlir."""
        found = _ENTRY.search(self.text)
        return found[1] if found else None

    @property
    def check(self) -> str:
        """Returns the command that checks what is printed."""
        place = self.text.find("FileCheck")
        return self.text[place:] if place >= 0 else f"FileCheck {self.settings['%s']}"


def run_lines(
    path: Path, substitutions: Mapping[str, str], features: frozenset[str] = frozenset()
) -> Iterator[RunLine]:
    """Yields the commands of a test in order, those for features that are not there left out.

    Args:
        path: the test.
        substitutions: what stands for `%s` and so on.
        features: those that are there.
    """
    defined: dict[str, str] = {}
    number = 0
    for kind, text in _lines(path.read_text()):
        if kind != "RUN":
            found = _DEFINED.match(text)
            assert found is not None, f"{path}: {text}"
            defined[found[1]] = found[2].strip()
            continue
        condition = _ONLY_IF.match(text)
        if condition is not None:
            if condition[1] not in features:
                continue
            text = condition[2]
        number += 1
        settings = {**defined, **substitutions}
        yield RunLine(number, expanded(text.strip(), settings), settings)


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Yields kind and text of each line of lit's; one that ends with a backslash goes on in the next."""
    kind, whole = "", ""
    for line in text.splitlines():
        found = _LINE.match(line)
        if found is None:
            continue
        kind = kind or found[1]
        part = found[2].rstrip()
        whole += part.removesuffix("\\")
        if not part.endswith("\\"):
            yield kind, whole
            kind, whole = "", ""


def expanded(text: str, settings: Mapping[str, str]) -> str:
    """Returns a text with everything in it that stands for something replaced, however deep."""
    names = sorted(settings, key=len, reverse=True)
    for _ in range(_MOST_NESTED):
        before = text
        for name in names:
            text = text.replace(name, settings[name])
        if text == before:
            return text
    raise ValueError(f"expected substitutions that end, but got {text}")
