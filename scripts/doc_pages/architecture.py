"""The rooms of the package, what each owns, and where a change goes."""

from __future__ import annotations

from pathlib import Path

from doc_pages import markup

__all__ = ["SOURCE", "page"]

SOURCE = Path(__file__).with_suffix(".md")


def page() -> str:
    """Returns the page; it takes pdoc to read Markdown."""
    from pdoc.render_helpers import formatter, to_html

    text = SOURCE.read_text(encoding="utf-8").split("\n", 1)[1]  # the page has a title of its own
    return markup.document("architecture.html", [to_html(text)], formatter.get_style_defs())
