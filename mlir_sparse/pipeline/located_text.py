"""The text of a module, and for each line where its operations come from, by their debug locations."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.text.line_places import LinePlace

__all__ = ["LocatedText", "located_text"]

_STRING = r'"(?:[^"\\]|\\.)*"'
_INSIDE = rf'(?:[^()"]|{_STRING}|\((?:[^()"]|{_STRING})*\))*'
_LOCATION = re.compile(rf" ?\bloc\(({_INSIDE})\)")
_ALIAS = re.compile(rf"(#loc\d*) = loc\(({_INSIDE})\)$")
_PLACE = re.compile(rf"({_STRING}):(\d+):(\d+)(?: to (?:(\d+))?:(\d+))?|(#loc\d*)")

Places = tuple[LinePlace, ...]


@dataclass(frozen=True, slots=True)
class LocatedText:
    """A module's text as MLIR prints it.

    Args:
        text: the text.
        places: for each line the places that it comes from.
    """

    text: str
    places: tuple[Places, ...] = ()


def located_text(module: ir.Module, known: LocatedText) -> LocatedText:
    """Returns the text of a module with its places.

    The first line and the last of an operation with regions come from where the operation does.

    Args:
        module: the module.
        known: its text before the last pass: where that changed nothing, locations are not read again.
    """
    plain = str(module)
    if plain == known.text:
        return known
    printed = module.operation.get_asm(enable_debug_info=True)
    aliases, lines = _without_aliases(printed)
    read: dict[str, Places] = {}
    texts, places = [], []
    for line in lines:
        found = [_read(one[1], aliases, read) for one in _LOCATION.finditer(line)]
        texts.append(_LOCATION.sub("", line))
        places.append(tuple(dict.fromkeys(place for one in found for place in one)))
    # A string of the module may look like a location: its lines are then not linked, and the text is right.
    if texts != plain.rstrip("\n").split("\n"):
        return LocatedText(plain)
    return LocatedText(plain, tuple(_with_first_lines(texts, places)))


def _without_aliases(printed: str) -> tuple[dict[str, str], list[str]]:
    """Returns the locations by name, and the lines that define none."""
    aliases, lines = {}, []
    for line in printed.rstrip("\n").split("\n"):
        named = _ALIAS.match(line)
        if named:
            aliases[named[1]] = named[2]
        else:
            lines.append(line)
    while lines and not lines[-1]:
        lines.pop()
    return aliases, lines


def _read(text: str, aliases: dict[str, str], known: dict[str, Places]) -> Places:
    """Returns the places of a location: those of all parts of a fused one."""
    if text not in known:
        known[text] = ()  # what refers to itself ends here
        known[text] = tuple(dict.fromkeys(_places(text, aliases, known)))
    return known[text]


def _places(text: str, aliases: dict[str, str], known: dict[str, Places]) -> Iterator[LinePlace]:
    for found in _PLACE.finditer(text):
        text, line, start, end_line, end, alias = found.groups()
        if alias:
            yield from _read(aliases.get(alias, ""), aliases, known)
        elif int(line):
            yield LinePlace(text[1:-1], int(line), int(start), int(end) if end and not end_line else 0)


def _with_first_lines(texts: list[str], places: list[Places]) -> Iterator[Places]:
    """Yields the places of each line; MLIR prints the location of an operation with regions behind its last."""
    found, opened = list(places), list[int]()
    for number, text in enumerate(texts):
        bare = text.strip()
        first = opened.pop() if bare.startswith("}") and opened else number
        if first != number:
            found[first] = tuple(dict.fromkeys((*found[first], *places[number])))
        if bare.endswith("{"):
            opened.append(first)
    yield from found
