"""Comments of a module's text that say which diagnostics it must give: `--verify-diagnostics`, as MLIR has it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from mlir_sparse.classes import dataclass
from mlir_sparse.pipeline.process_messages import Diagnostic

__all__ = ["diagnostic_faults"]

_EXPECTED = re.compile(
    r"expected-(?P<severity>error|warning|remark|note)(?P<pattern>-re)?"
    r"\s*(?:@(?P<place>[+-]\d+|above|below|unknown))?\s*\{\{(?P<text>.*)\}\}\s*$"
)


@dataclass(frozen=True, slots=True)
class _Expected:
    """A diagnostic that must be given: on a line, or anywhere for 0."""

    severity: str
    text: str
    is_pattern: bool
    line: int
    comment: int  # the line that says so

    def fits(self, one: Diagnostic) -> bool:
        """Returns whether a diagnostic is meant."""
        if self.severity != one.severity or (self.line and self.line != one.line):
            return False
        return _matches(self.text, one.message) if self.is_pattern else self.text in one.message


def _matches(text: str, message: str) -> bool:
    """Returns whether a message has a text, in which `{{...}}` are regular expressions."""
    parts = re.split(r"\{\{(.*?)\}\}", text)
    pattern = "".join(part if at % 2 else re.escape(part) for at, part in enumerate(parts))
    return re.search(pattern, message) is not None


def diagnostic_faults(text: str, given: Sequence[Diagnostic]) -> Iterator[tuple[int, str]]:
    """Yields the line and a message for each diagnostic that was not expected, or not given.

    Args:
        text: the module's.
        given: what MLIR said of it; notes count for themselves.

    >>> list(diagnostic_faults("// expected-error@+1 {{bad}}", [Diagnostic("error", "bad luck", 2)]))
    []
    >>> list(diagnostic_faults("", [Diagnostic("error", "bad", 2)]))
    [(2, 'unexpected error: bad')]
    """
    left = list(_expected(text))
    for one in _flat(given):
        match = next((wanted for wanted in left if wanted.fits(one)), None)
        if match is not None:
            left.remove(match)
        elif one.severity != "note":
            yield one.line, f"unexpected {one.severity}: {one.message}"
    for wanted in left:
        yield wanted.comment, f'expected {wanted.severity} "{wanted.text}" was not produced'


def _flat(given: Sequence[Diagnostic]) -> Iterator[Diagnostic]:
    for one in given:
        yield one
        yield from _flat(one.notes)


def _expected(text: str) -> Iterator[_Expected]:
    lines = text.splitlines()
    saying = [_EXPECTED.search(line) is not None for line in lines]
    for at, line in enumerate(lines):
        found = _EXPECTED.search(line)
        if found is not None:
            target = _target(found["place"], at, saying) + 1
            yield _Expected(found["severity"], found["text"], bool(found["pattern"]), target, at + 1)


def _target(place: str | None, at: int, saying: Sequence[bool]) -> int:
    """Returns the line that is meant, from 0; -1 for any."""
    if place is None:
        return at
    if place == "unknown":
        return -1
    if place in ("above", "below"):
        step = -1 if place == "above" else 1
        at += step
        while 0 <= at < len(saying) and saying[at]:  # lines that only say so are passed over
            at += step
        return at
    return at + int(place)
