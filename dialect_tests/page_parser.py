"""Reads pages as browsers do, and sees what makes them guess."""

from __future__ import annotations

import base64
import gzip
import re
from html.parser import HTMLParser

__all__ = ["PageParser", "parsed", "unpacked"]

VOID = {"meta", "br", "hr", "input", "link", "img", "wbr"}
# What phrasing content may hold: nothing that is a block.
BLOCKS = {"div", "p", "details", "section", "ul", "ol", "pre", "h1", "h2", "h3", "header", "main", "footer", "nav"}
PHRASING = {"p", "pre", "h1", "h2", "h3", "span", "code", "i", "b", "button", "ins", "del", "a", "kbd"}
REFERENCE = re.compile(r"(?:https?:|//|data:|url\(|@import|<link|<img|<iframe|fetch\(|XMLHttpRequest)", re.IGNORECASE)


class PageParser(HTMLParser):
    """Collects the text of each stage, the parts and the faults of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.stack: list[str] = []
        self.faults: list[str] = []
        self.ids: list[str] = []
        self.parts: dict[str, set[str]] = {}  # number of a part to its texts
        self.linked: list[tuple[set[str], str]] = []  # lines that come from parts
        self.names: list[str] = []  # passes, in order
        self._text: list[str] = []
        self._boxes: list[list[str]] = []
        self._inside = 0  # of a box
        self._open: list[tuple[int, str, dict[str, str | None], list[str]]] = []

    @property
    def text(self) -> str:
        """Returns all text of the page."""
        return "".join(self._text)

    @property
    def listings(self) -> list[str]:
        """Returns what boxes of code show, without what a pass took away."""
        return ["".join(box) for box in self._boxes]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if len(given) != len(attrs):
            self.faults.append(f"{tag} has an attribute twice")
        if any(name.startswith("on") for name in given):
            self.faults.append(f"{tag} has a handler")
        for name in ("src", "href", "action", "srcset"):
            value = given.get(name)
            if value is not None and not value.startswith("#"):
                self.faults.append(f"{tag} refers to {value}")
        if tag in BLOCKS and any(around in PHRASING for around in self.stack):
            self.faults.append(f"{tag} in {'/'.join(self.stack)}")
        if tag == "button" and "button" in self.stack:
            self.faults.append("button in button")
        if (found := given.get("id")) is not None:
            self.ids.append(found)
        if tag not in VOID:
            self.stack.append(tag)
            if (given.get("class") or "").split()[:1] == ["code"]:
                self._boxes.append([])
                self._inside = len(self.stack)
            self._open.append((len(self.stack), tag, given, []))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if "svg" not in self.stack:
            self.faults.append(f"{tag} ends itself")

    def handle_endtag(self, tag: str) -> None:
        if not self.stack or self.stack[-1] != tag:
            self.faults.append(f"/{tag} in {'/'.join(self.stack)} at {self.getpos()}")
            return
        self.stack.pop()
        if len(self.stack) < self._inside:
            self._inside = 0
        _, _, given, texts = self._open.pop()
        text, classes = "".join(texts), (given.get("class") or "").split()
        if "part" in classes:
            self.parts.setdefault(given["data-n"] or "", set()).add(text)
        if "data-p" in given:
            self.linked.append((set((given["data-p"] or "").split()), text))
        if "name" in classes or (tag == "code" and self.stack[-1:] == ["li"]):
            self.names.append(text)
        if self._open and tag not in ("style", "script"):
            self._open[-1][3].append(text)

    def handle_data(self, data: str) -> None:
        if self._open:
            self._open[-1][3].append(data)
        self._text.append(data)
        if self._inside and not {"del", "summary"} & set(self.stack[self._inside :]):
            self._boxes[-1].append(data)


def unpacked(page: str) -> str:
    """Returns a page as its script leaves it: with its content, where that is compressed."""
    found = re.search(r'<main>.*?</main>\n<script type="application/gzip" id=packed>(.*?)</script>', page, re.DOTALL)
    if found is None:
        return page
    content = gzip.decompress(base64.b64decode(found[1], validate=True)).decode()
    return f"{page[: found.start()]}<main>{content}</main>{page[found.end() :]}"


def parsed(page: str) -> PageParser:
    """Returns a page read, whose faults are none.

    Raises:
        AssertionError: for tags that do not nest, references to elsewhere, handlers, numbers of parts that are none.
    """
    parser = PageParser()
    page = unpacked(page)
    parser.feed(page)
    parser.close()
    assert page.startswith("<!doctype html>")
    assert parser.faults == []
    assert parser.stack == []
    assert len(parser.ids) == len(set(parser.ids))
    assert "xmlns" not in page
    style, script = (re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL) for tag in ("style", "script"))
    assert style is not None
    assert script is not None
    assert REFERENCE.findall(style[1]) == REFERENCE.findall(script[1]) == []
    assert page.count("<script") == page.count("</script") == 1  # nobody's text is one
    assert set().union(*(numbers for numbers, _ in parser.linked)) <= set(parser.parts)
    return parser
