"""The table of level formats: `mlir_sparse.encoding.LEVEL_FUNCTIONS`."""

from __future__ import annotations

from doc_pages import markup
from mlir_sparse.encoding import level_table

__all__ = ["page"]

LEAD = """<p>An encoding gives each level of a tensor a level format. What a format can do, promises and stores is one
table in the code, <code>mlir_sparse.encoding.LEVEL_FUNCTIONS</code>, and this page prints it. Capabilities and
properties are those of Chou, Kjolstad and Amarasinghe, <i>Format Abstraction for Sparse Tensor Algebra Compilers</i>
(OOPSLA 2018), section 3; parsing, verification, storage, planning and these pages ask the table.</p>"""

COLUMNS = {
    "iterates": "by value: coordinates are counted, and each gives its position; by position: positions are counted, "
    "and each gives its coordinate.",
    "locates": "a coordinate leads to its position without a search through the others.",
    "assembles": "insert: entries go in in any order, each where its coordinate says; append: one after another.",
    "full": "all coordinates are there.",
    "ordered": "coordinates below one parent ascend.",
    "unique": "none stands twice below one parent.",
    "branchless": "each parent has exactly one coordinate.",
    "compact": "every position has a coordinate: stored zeros count; room, and empty places of a table, do not.",
}


def page() -> str:
    """Returns the page."""
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in level_table().splitlines())
    cells = [head, *([markup.inline(cell) for cell in row] for row in rows)]
    storage = head.index("is")
    parts = [LEAD, "<h2>Capabilities and properties</h2>", markup.table(row[:storage] for row in cells)]
    parts += [markup.table([("column", "says"), *COLUMNS.items()])]
    parts += ["<h2>Storage</h2>", markup.table([row[0], *row[storage:]] for row in cells)]
    return markup.document("level_formats.html", parts)
