"""Every preset drawn: its level tree and where its entries are."""

from __future__ import annotations

from html import escape

import mlir_sparse as ms
from doc_pages import markup
from doc_pages.examples import stored
from mlir_sparse.encoding import Preset

__all__ = ["page", "section"]

LEAD = """<p>Each preset as <code>A.storage.draw()</code> shows it, and where its entries are, as
<code>A.spy()</code> does. Filled boxes are in memory, dashed ones are counted; positions stand above the boxes, at
the left end of what they lead to. <code>_</code> is room that nothing uses. Batches have a tree each.</p>"""


def page() -> str:
    """Returns the page."""
    sections = [section(preset) for preset in ms.PRESETS.values()]
    return markup.document("pictures.html", [LEAD, markup.contents(ms.PRESETS), *sections])


def section(preset: Preset) -> str:
    """Returns the pictures of a preset."""
    tensor = stored(preset)
    tree, text = tensor.storage.draw(columns=32).svg(), escape(str(tensor.storage.draw(columns=32)))
    reason = tensor.encoding.foreign_reason
    extra = f" Beyond the dialect: {markup.inline(reason)}." if reason else ""
    return "\n".join(
        [
            markup.anchor(preset.name),
            f"<p>{escape(preset.doc[:1].upper() + preset.doc[1:])}.{extra}</p>",
            markup.pre(str(tensor.encoding.with_widths(0, 0))),
            f'<div class="pair"><div class="wide">{tree}</div><div class="spy">{tensor.spy().svg()}</div></div>',
            f"<details><summary>in characters</summary><pre>{text}</pre></details>",
        ]
    )
