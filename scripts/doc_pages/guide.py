"""The README as a page."""

from __future__ import annotations

import re
from pathlib import Path

from doc_pages import markup
from doc_pages.screenshots import data_of

__all__ = ["page"]

README = Path(__file__).resolve().parents[2] / "README.md"


def page() -> str:
    """Returns the page; it takes pdoc to read Markdown."""
    from pdoc.render_helpers import formatter, to_html

    text = README.read_text(encoding="utf-8").split("\n", 1)[1]  # the page has a title of its own
    return markup.document("guide.html", [_with_pictures(to_html(text))], formatter.get_style_defs())


def _with_pictures(html: str) -> str:
    """Returns a page whose pictures are in it, not in files that a repository has."""
    return re.sub(
        r'src="[^"]*/screenshots/(\w+)\.webp"', lambda found: f'style="max-width:100%" src="{data_of(found[1])}"', html
    )
