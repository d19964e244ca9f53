"""The page of a kernel's passes: one file, which needs no network, and no script unless it is large.

The content of a large page is compressed, for passes repeat what those before them left: a script inflates it.
"""

from __future__ import annotations

import gzip
from base64 import b64encode
from functools import cache
from html import escape
from pathlib import Path

from mlir_sparse import _native
from mlir_sparse._mlir import bindings
from mlir_sparse.compile.exploring.page_sections import changed_passes, section_html, time_text
from mlir_sparse.compile.exploring.passes_value import Passes, PassSection

__all__ = ["page"]

# A browser then refuses what a page must not have: anything from elsewhere.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
_MOST_PLAIN = 1_000_000  # characters that a page shows without a script
_KEYS = (
    "<kbd>Tab</kbd> goes from part to part, <kbd>Enter</kbd> marks, <kbd>n</kbd> and <kbd>p</kbd> go to the next "
    "marked line and back, <kbd>Esc</kbd> ends. Bars below the passes compare their times."
)


def page(passes: Passes) -> str:
    """Returns the page."""
    titles = [section.title for section in passes.sections]
    title = titles[0] if len(titles) == 1 else f"{len(titles)} statements"
    sections = [
        section_html(number, section, titled=len(titles) > 1) for number, section in enumerate(passes.sections, 1)
    ]
    # One statement is its own heading, with its parts.
    alone = len(titles) == 1 and passes.sections[0].source == title
    heading = "" if alone else f"<h1>{escape(title)}</h1>"
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"><title>{escape(title)}: passes</title>'
        f"<style>{_beside('page.css')}</style>"
    )
    return "\n".join(
        [
            "<!doctype html>",
            f'<html lang="en"><head>{head}</head><body>',
            f"<header><p class=brand>mlir_sparse explorer</p>{heading}{_meta(passes)}</header>",
            _contents(titles),
            *_main("\n".join(sections)),
            f'<footer class="foot">{_KEYS}</footer>',
            f"<script>{_beside('page.js')}</script></body></html>",
            "",
        ]
    )


def _main(content: str) -> tuple[str, ...]:
    """Returns the content of a page: as it is, or compressed, for a script to put in its place."""
    if len(content) <= _MOST_PLAIN:
        return "<main>", content, "</main>"
    packed = b64encode(gzip.compress(content.encode(), mtime=0)).decode()
    return (
        "<main><noscript>This page is compressed: it needs JavaScript.</noscript></main>",
        f'<script type="application/gzip" id=packed>{packed}</script>',
    )


@cache
def _beside(name: str) -> str:
    """Returns the style or the script, which stand beside this module."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _meta(passes: Passes) -> str:
    found = bindings()
    targets = ", ".join(dict.fromkeys(section.target for section in passes.sections))
    ran = sum(max(0, len(section.trace) - 1) for section in passes.sections)
    changed = sum(map(changed_passes, passes.sections))
    seconds = sum(map(_seconds, passes.sections))
    facts = (
        f"for <b>{escape(targets)}</b>",
        f"<b>{ran}</b> passes, of which <b>{changed}</b> changed the module",
        f"<b>{time_text(seconds)}</b> in passes",
        f"mlir_sparse {escape(_native.__version__)}, MLIR of {escape(found.name)} {escape(found.version)}",
    )
    return f"<ul class=meta>{''.join(f'<li>{fact}</li>' for fact in facts)}</ul>"


def _seconds(section: PassSection) -> float:
    return sum(snapshot.seconds for snapshot in section.trace)


def _contents(titles: list[str]) -> str:
    if len(titles) == 1:
        return ""
    items = "".join(f'<li><a href="#s{number}">{escape(title)}</a></li>' for number, title in enumerate(titles, 1))
    return f'<nav aria-label="statements"><ol>{items}</ol></nav>'
