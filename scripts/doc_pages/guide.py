"""The README as a page."""

from __future__ import annotations

from pathlib import Path

from doc_pages import markup

__all__ = ["page"]

README = Path(__file__).resolve().parents[2] / "README.md"


def page() -> str:
    """Returns the page; it takes pdoc to read Markdown."""
    from pdoc.render_helpers import formatter, to_html

    text = README.read_text(encoding="utf-8").split("\n", 1)[1]  # the page has a title of its own
    return markup.document("guide.html", [to_html(text)], formatter.get_style_defs())
