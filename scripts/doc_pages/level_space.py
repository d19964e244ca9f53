"""Level-space rewriting: text, reason, plan and IR of every preset that the sparsifier has no loops for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

import numpy as np

import mlir_sparse as ms
from doc_pages import markup
from doc_pages.examples import preset_encoding, stored
from mlir_sparse.encoding import Preset

__all__ = ["Rewriting", "page", "rewritings"]

# The product with a vector, by rank.
KERNELS = {1: "y = A(i) * x(i)", 2: "y(i) = A(i,j) * x(j)", 3: "Y(i,j) = A(i,j,k) * x(k)"}

LEAD = """<p>The <code>sparse_tensor</code> dialect has no words for some storage, and the sparsifier makes no loops of
some that it has words for. Such a tensor is <i>rewritten to level space</i>: its buffers are, as they stand, a plain
tensor with a dimension for each <i>level</i>, and the inverse of the map says where the other operands are read. All
below is what the program prints for the product with a vector; each was run, and its result compared with NumPy's.</p>
"""


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A preset that is read in level space.

    Args:
        preset: which.
        encoding: its encoding.
        refusal: why there is no text for MLIR; None where MLIR takes it.
        kernel: the product with a vector.
    """

    preset: Preset
    encoding: ms.Encoding
    refusal: str | None
    kernel: ms.Kernel


def rewritings() -> Iterator[Rewriting]:
    """Yields every preset that MLIR refuses, or that the plan reads in level space."""
    for preset in ms.PRESETS.values():
        encoding, rank = preset_encoding(preset), preset.default_rank
        kernel = ms.compile(KERNELS[rank], A=ms.TensorType(ms.DType("f64"), (None,) * rank, encoding), x="f64[?]")
        try:
            encoding.mlir_text()
            refusal = None
        except ms.UnsupportedError as error:
            refusal = error.message
        if refusal is not None or "over its levels" in kernel.explain():
            yield Rewriting(preset, encoding, refusal, kernel)


def page() -> str:
    """Returns the page."""
    found = list(rewritings())
    rows = [("preset", "map", "the dialect", "over its levels")]
    for one in found:
        link = f'<a href="#{escape(one.preset.name)}">{escape(one.preset.name)}</a>'
        space = one.encoding.level_space().encoding.map_text()
        takes = "refuses the text" if one.refusal else "has the text, but no loops"
        rows.append((link, markup.code(one.encoding.map_text()), takes, markup.code(space)))
    return markup.document("level_space.html", [LEAD, markup.table(rows), *map(section, found)])


def section(one: Rewriting) -> str:
    """Returns what is to be seen of a preset."""
    refusal = one.refusal or (
        "MLIR takes this text, but the sparsifier cannot lower it; see the reason in the plan below"
    )
    heading = "Why <code>mlir_text()</code> refuses it" if one.refusal else "What <code>mlir_text()</code> says"
    doc = one.preset.doc[:1].upper() + one.preset.doc[1:]
    return "\n".join(
        [
            markup.anchor(one.preset.name),
            f'<p>{escape(doc)}. <a href="pictures.html#{escape(one.preset.name)}">Drawn</a></p>',
            "<h3>Encoding</h3>",
            markup.pre(str(one.encoding)),
            f"<h3>{heading}</h3>",
            f'<p class="why">{markup.inline(refusal)}</p>',
            f"<h3><code>explain()</code> of {markup.code(KERNELS[one.preset.default_rank])}</h3>",
            markup.pre(one.kernel.explain()),
            '<h3><code>ir("linalg")</code></h3>',
            markup.pre(one.kernel.ir("linalg")),
            "<h3>Run</h3>",
            markup.pre(run(one)),
        ]
    )


def run(one: Rewriting) -> str:
    """Returns the result for the pictures' example, after comparing it with NumPy's.

    Raises:
        ArithmeticError: if they differ.
    """
    tensor = stored(one.preset)
    x = np.arange(1.0, tensor.shape[-1] + 1)
    result, expected = np.asarray(one.kernel(tensor, x)), tensor.to_numpy() @ x
    if not np.array_equal(result, expected):
        raise ArithmeticError(f"expected {expected} of {one.preset.name}, but got {result}")
    return f"{tensor}\nx = {x}\n{KERNELS[tensor.ndim]}\ny = {result}"
