"""Code on a page: listings whose lines are linked with parts of the source, and what a pass changed of them.

A pass has one listing: what it took away and what it added, and what it left, of which long stretches are folded.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from mlir_sparse.classes import dataclass
from mlir_sparse.compile.exploring.highlighted_lines import highlighted
from mlir_sparse.compile.exploring.passes_value import Language, SourcePart
from mlir_sparse.pipeline import Snapshot
from mlir_sparse.text.line_places import LinePlace

__all__ = ["Change", "Links", "code_box", "lines_of", "listing", "plain_lines", "source_lines"]

_CONTEXT = 3
_SHORTEST_FOLD = 6  # lines that are left, of which fewer are not worth folding
_HUES = 8
_MOST_STRIPES = 2  # colours beside one line: a signature comes from all of the text

Numbers = tuple[int, ...]


class Links:
    """The numbers of the source's parts, by their places.

    Args:
        parts: the parts.
    """

    def __init__(self, parts: Sequence[SourcePart]) -> None:
        self._exact = {place: number for number, part in enumerate(parts) for place in part.places}
        lines = [place for part in parts for place in part.places if not place.start]
        self._lines: Mapping[tuple[str, int], int] = {(place.text, place.line): self._exact[place] for place in lines}

    def of(self, places: Sequence[LinePlace]) -> Numbers:
        """Returns the numbers of the parts at places, each once."""
        found = (self._exact.get(place, self._lines.get((place.text, place.line))) for place in places)
        return tuple(dict.fromkeys(number for number in found if number is not None))


@dataclass(frozen=True, slots=True)
class Change:
    """What a pass did to the text of a module.

    Args:
        html: its listing.
        added: the number of lines that it added.
        removed: likewise.
    """

    html: str
    added: int
    removed: int


def listing(before: Snapshot | None, after: Snapshot, links: Links) -> Change:
    """Returns what a pass made of a module; the whole module where there is none before it."""
    new, places = lines_of(after.text), _linked(after, links)
    if before is None:
        return Change("".join(_lines(new, places, "span")), 0, 0)
    old, old_places = lines_of(before.text), _linked(before, links)
    html, added, removed = list[str](), 0, 0
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for tag, first, last, start, end in matcher.get_opcodes():
        if tag == "equal":
            html += _left(new[start:end], places[start:end], start == 0, end == len(new))
            continue
        html += _lines(old[first:last], old_places[first:last], "del")
        html += _lines(new[start:end], places[start:end], "ins")
        added, removed = added + end - start, removed + last - first
    return Change("".join(html), added, removed)


def lines_of(text: str) -> list[str]:
    """Returns the lines of a text, as MLIR counts them."""
    return text.rstrip("\n").split("\n")


def _linked(snapshot: Snapshot, links: Links) -> list[Numbers]:
    lines = len(lines_of(snapshot.text))
    found = [links.of(places) for places in snapshot.places]
    return (found + [()] * lines)[:lines]


def _left(lines: Sequence[str], places: Sequence[Numbers], first: bool, last: bool) -> Iterator[str]:
    """Yields lines that a pass left, those far from its changes folded."""
    begin, end = 0 if first else _CONTEXT, len(lines) if last else len(lines) - _CONTEXT
    if end - begin < _SHORTEST_FOLD:
        yield from _lines(lines, places, "span")
        return
    yield from _lines(lines[:begin], places[:begin], "span")
    yield f"<details class=fold><summary>{end - begin} lines left as they are</summary>"
    yield from _lines(lines[begin:end], places[begin:end], "span")
    yield "</details>"
    yield from _lines(lines[end:], places[end:], "span")


def _lines(lines: Sequence[str], places: Sequence[Numbers], element: str) -> Iterator[str]:
    for line, numbers in zip(lines, places, strict=True):
        yield _line(highlighted(line, Language.MLIR), numbers, element)


def _line(html: str, numbers: Numbers, element: str) -> str:
    stripes = numbers if len(numbers) <= _MOST_STRIPES else ()
    classes = " ".join(["l", *(f"{side}{number % _HUES}" for side, number in zip("xy", stripes, strict=False))])
    linked = f' data-p="{" ".join(map(str, numbers))}"' if numbers else ""
    quoted = f'"{classes}"' if " " in classes else classes
    return f"<{element} class={quoted}{linked}>{html}\n</{element}>"


def code_box(html: str, label: str) -> str:
    """Returns a box that code scrolls in.

    Args:
        html: the lines.
        label: what it is, for those who do not see it.
    """
    return f'<div class=code tabindex=0 role=region aria-label="{escape(label)}">{html}</div>'


def plain_lines(text: str, language: Language) -> str:
    """Returns a text as lines that are linked with nothing."""
    return "".join(f"<span class=l>{highlighted(line, language)}\n</span>" for line in lines_of(text))


def source_lines(text: str, parts: Sequence[SourcePart]) -> str:
    """Returns the text of a module, its linked lines as parts."""
    numbers = {place.line: number for number, part in enumerate(parts) for place in part.places}
    found = []
    for line, content in enumerate(lines_of(text), 1):
        html = highlighted(content, Language.MLIR)
        number = numbers.get(line)
        if number is None:
            found.append(_line(html, (), "span"))
        else:
            found.append(
                f'<span class="l part x{number % _HUES}" data-n={number} tabindex=0 role=button aria-pressed=false>'
                f"{html}\n</span>"
            )
    return "".join(found)
