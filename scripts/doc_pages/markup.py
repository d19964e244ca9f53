"""What all pages share: head, style, navigation, and text as HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

__all__ = ["anchor", "code", "contents", "document", "inline", "paragraph", "pre", "table"]

# name of the page to its title, in the order of the navigation; templates/module.html.jinja2 lists the same
TITLES = {
    "mlir_sparse.html": "Reference",
    "guide.html": "Guide",
    "architecture.html": "Architecture",
    "user_modules.html": "Modules of your own",
    "exploring.html": "What every pass does",
    "statement_plans.html": "Plans of whole statements",
    "gradients.html": "Gradients",
    "graphblas.html": "GraphBLAS",
    "neighbours.html": "Neighbours",
    "wants.html": "What is asked for most",
    "pictures.html": "Storage formats drawn",
    "level_formats.html": "Level formats",
    "level_space.html": "Rewriting to level space",
}

STYLE = """
:root { --ink: #1f2328; --faint: #59636e; --line: #d1d9e0; --soft: #f6f8fa; --blue: #0969da; --amber: #fff8e5; }
* { box-sizing: border-box; }
body { color: var(--ink); font: 16px/1.55 system-ui, sans-serif; margin: 0 auto; max-width: 84rem;
       padding: 0 1.5rem 4rem; }
nav { border-bottom: 1px solid var(--line); display: flex; flex-wrap: wrap; gap: .4rem 1.4rem; margin-bottom: 2rem;
      padding: .9rem 0; }
a { color: var(--blue); text-decoration: none; } a:hover { text-decoration: underline; }
nav [aria-current] { color: var(--ink); font-weight: 600; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 1rem; }
h2 { border-top: 1px solid var(--line); margin: 2.6rem 0 .4rem; padding-top: 1.4rem; }
h3 { color: var(--faint); font-size: .95rem; margin: 1.4rem 0 .4rem; }
p { max-width: 52rem; }
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: .84rem; }
:not(pre) > code { background: var(--soft); border-radius: 4px; padding: .1em .3em; }
pre { background: var(--soft); border: 1px solid var(--line); border-radius: 6px; line-height: 1.45;
      margin: .4rem 0 1rem; overflow-x: auto; padding: .8rem 1rem; }
pre .note { color: var(--faint); } pre .key { color: #8250df; font-weight: 600; }
.why { background: var(--amber); border-left: 4px solid #d4a72c; border-radius: 4px; padding: .6rem 1rem; }
.wide { overflow-x: auto; } .wide svg { display: block; }
.pair { align-items: start; display: grid; gap: 1.5rem; grid-template-columns: minmax(0, 1fr) 14rem; }
.pair svg { height: auto; max-width: 100%; } .pair > .wide > svg { max-width: none; }
@media (max-width: 56rem) { .pair { grid-template-columns: minmax(0, 1fr); } }
ul.contents { columns: 16rem; padding-left: 1.2rem; }
table { border-collapse: collapse; display: block; font-size: .88rem; margin: 1rem 0; overflow-x: auto; }
th, td { border: 1px solid var(--line); padding: .35rem .6rem; text-align: left; vertical-align: top; }
th { background: var(--soft); }
summary { color: var(--blue); cursor: pointer; margin: .4rem 0; }
"""


def document(page: str, parts: Iterable[str], style: str = "") -> str:
    """Returns a whole page.

    Args:
        page: its file name, one of `TITLES`.
        parts: HTML, what stands below the title.
        style: more CSS.
    """
    links = []
    for name, title in TITLES.items():
        here = ' aria-current="page"' if name == page else ""
        links.append(f'<a href="{name}"{here}>{escape(title)}</a>')
    title = escape(TITLES[page])
    head = (
        f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title} - mlir_sparse</title>'
    )
    lines = ["<!doctype html>", f'<html lang="en"><head>{head}<style>{STYLE}{style}</style></head><body>']
    lines += [f"<nav>{''.join(links)}</nav>", f"<h1>{title}</h1>", *parts, "</body></html>", ""]
    return "\n".join(lines)


def anchor(name: str) -> str:
    """Returns the heading of a section, which can be linked to."""
    return f'<h2 id="{escape(name)}">{escape(name)}</h2>'


def contents(names: Iterable[str]) -> str:
    """Returns links to sections."""
    items = "".join(f'<li><a href="#{escape(name)}">{escape(name)}</a></li>' for name in names)
    return f'<ul class="contents">{items}</ul>'


def code(text: str) -> str:
    """Returns text in the font of code."""
    return f"<code>{escape(text)}</code>"


def inline(text: str) -> str:
    """Returns Markdown's code spans as HTML, all else as it is."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))


def paragraph(text: str) -> str:
    """Returns a paragraph of Markdown, of which only code spans are more than text."""
    return f"<p>{inline(text)}</p>"


def pre(text: str) -> str:
    """Returns a block of code, comments faint and the names of encodings in colour."""
    lines = []
    for line in escape(text.rstrip("\n"), quote=False).splitlines():
        if line.startswith("//"):
            lines.append(f'<span class="note">{line}</span>')
        else:
            lines.append(re.sub(r"#sparse\d*\b(?!_)", r'<span class="key">\g<0></span>', line))
    return "<pre>" + "\n".join(lines) + "</pre>"


def table(rows: Iterable[Iterable[str]]) -> str:
    """Returns a table of cells that are HTML, the first row its head."""
    head, *body = rows
    lines = ["<tr>" + "".join(f"<th>{cell}</th>" for cell in head) + "</tr>"]
    lines += ["<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in body]
    return "<table>" + "\n".join(lines) + "</table>"
