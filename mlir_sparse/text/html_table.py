"""Values as HTML for notebooks: on light and dark pages, and on a phone."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["html_columns", "html_folded", "html_rows", "html_text"]

_TABLE = "border-collapse:collapse;max-width:100%;color:inherit;background:transparent"
_CELL = "text-align:left;vertical-align:top;padding:.15em .9em .15em 0;white-space:normal"
_CODE = "font-family:monospace;overflow-wrap:anywhere"
# As `html.escape` has it, whose module takes more than a millisecond of each import.
_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})
_BESIDE = "display:flex;flex-wrap:wrap;gap:1em;align-items:flex-start;max-width:100%;overflow-x:auto;color:inherit"


def html_rows(title: str, rows: Iterable[tuple[str, str]], *, beside: str = "", below: str = "") -> str:
    """Returns a table of names and values.

    Args:
        title: what stands above, as text.
        rows: names and values, as text.
        beside: HTML that stands beside the table, or below it where there is no room.
        below: HTML that stands below both.

    >>> '<td' in html_rows("A", [("name", "<script>")]), "<script>" in html_rows("A", [("name", "<script>")])
    (True, False)
    """
    lines = [_caption(title)]
    for name, value in rows:
        lines.append(f'<tr><th style="{_CELL};font-weight:600">{name.translate(_ESCAPED)}</th>')
        lines.append(f'<td style="{_CELL};{_CODE}">{_broken(value)}</td></tr>')
    table = f'<table style="{_TABLE}">{"".join(lines)}</table>'
    return f'<div style="{_BESIDE}"><div style="min-width:0">{table}</div>{beside}</div>{below}'


def html_columns(title: str, head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Returns a table with a head, which is moved sideways where it is wider than the page; all cells are text."""
    cells = "".join(f'<th style="{_CELL};font-weight:600">{name.translate(_ESCAPED)}</th>' for name in head)
    lines = [_caption(title), f"<tr>{cells}</tr>"]
    for row in rows:
        lines.append("<tr>" + "".join(f'<td style="{_CELL};{_CODE}">{_broken(cell)}</td>' for cell in row) + "</tr>")
    table = f'<table style="{_TABLE}">{"".join(lines)}</table>'
    return f'<div style="max-width:100%;overflow-x:auto;color:inherit">{table}</div>'


def html_folded(title: str, text: str, *, is_open: bool = False) -> str:
    """Returns text as it is, which a click on its title shows."""
    return (
        f'<details{" open" if is_open else ""}><summary style="cursor:pointer">{title.translate(_ESCAPED)}</summary>'
        f"{html_text(text)}</details>"
    )


def html_text(text: str) -> str:
    """Returns text as it is, line by line.

    >>> html_text("a < b").endswith(">a &lt; b</pre>")
    True
    """
    style = "max-width:100%;overflow-x:auto;color:inherit;background:transparent"
    return f'<pre style="{style}">{text.translate(_ESCAPED)}</pre>'


def _caption(title: str) -> str:
    style = "caption-side:top;text-align:left;font-weight:600;color:inherit"
    return f'<caption style="{style}">{title.translate(_ESCAPED)}</caption>'


def _broken(text: str) -> str:
    return text.translate(_ESCAPED).replace("\n", "<br>")
