"""The iteration graph of a loop nest as SVG: a column for each loop, a line for each operand through its levels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import escape
from itertools import pairwise

from mlir_sparse.plan.order.loop_graph import GraphPath, LoopGraph

__all__ = ["graph_picture"]

_LETTER = 7.4  # width of a character at 12 px in common monospaced fonts
_COLUMN, _ROW, _TOP, _MARGIN, _LINE = 84, 46, 50, 10, 13


def graph_picture(graph: LoopGraph, hues: Mapping[str, int]) -> str:
    """Returns the picture; "" where storage has other variables than loops.

    Args:
        graph: the graph.
        hues: the numbers of accesses' colours.
    """
    columns = {loop.variable: at for at, loop in enumerate(graph.loops)}
    if not columns or any(variable not in columns for path in graph.paths for variable in path.variables):
        return ""
    left = _MARGIN * 2 + max(max(len(path.access), 6) for path in graph.paths) * _LETTER
    levels = [_levels(loop.levels) for loop in graph.loops]
    longest = max(len(text) for found in levels for text in found)
    wide, top = max(_COLUMN, longest * _LETTER * 0.85 + 12), _TOP + _LINE * max(map(len, levels))
    width, height = left + wide * len(columns) + _MARGIN, top + _ROW * len(graph.paths)
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    parts = [f'<svg class=graph {size} role="img" aria-label="{escape(_spoken(graph))}">']
    for loop, at in columns.items():
        x = left + wide * (at + 0.5)
        parts.append(f'<line class="rail" x1="{x:g}" y1="{top - 10:g}" x2="{x:g}" y2="{height - 8:g}"/>')
        parts.append(_text(x, 14, loop, "loop"))
        parts.append(_text(x, 28, "reduction" if graph.loops[at].is_reduction else "parallel", "kind"))
        parts += [_text(x, 43 + _LINE * line, text, "levels") for line, text in enumerate(levels[at])]
    for number, path in enumerate(graph.paths):
        points = [(left + wide * (columns[variable] + 0.5)) for variable in path.variables]
        parts.append(f"<g{_coloured(hues.get(path.access))}>")
        parts += _path(path, points, top + _ROW * (number + 0.4))
        parts.append("</g>")
    return "".join([*parts, "</svg>"])


def _path(path: GraphPath, points: list[float], y: float) -> Iterator[str]:
    kind = "stored" if path.formats else "array"
    yield f'<text class=access x="{_MARGIN}" y="{y + 4:g}">{escape(path.access)}</text>'
    if path.is_result:
        yield f'<text class=kind x="{_MARGIN}" y="{y + 17:g}">result</text>'
    for here, there in pairwise(points):
        # Against the order of the loops a path bends: such an operand is converted, or looked up.
        bend = y if there > here else y - 16
        if path.formats:
            yield f'<path class=edge d="M{here:g} {y:g}Q{(here + there) / 2:g} {bend:g} {there:g} {y:g}"/>'
    for at, x in enumerate(points):
        yield f'<circle class="node {kind}" cx="{x:g}" cy="{y:g}" r="6"/>'
        yield _text(x, y + 20, path.formats[at] if path.formats else "array", "levels")


def _levels(text: str) -> list[str]:
    """Returns the levels that a loop runs over, a line each."""
    return re.sub(r" ([&|]) ", r"\n\1 ", text).split("\n") if text else ["whole extent"]


def _coloured(hue: int | None) -> str:
    return "" if hue is None else f" class=x{hue}"


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class={kind} x="{x:g}" y="{y:g}" text-anchor="middle">{escape(text)}</text>'


def _spoken(graph: LoopGraph) -> str:
    loops = ", ".join(f"{loop.variable} ({'reduction' if loop.is_reduction else 'parallel'})" for loop in graph.loops)
    paths = "; ".join(f"{path.access}: {' to '.join(path.variables) or 'no loop'}" for path in graph.paths)
    return f"loops {loops}; {paths}"
