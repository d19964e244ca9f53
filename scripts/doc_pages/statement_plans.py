"""Plans of whole statements: two walked through, what they change in numbers, how to see, choose and refuse them.

All code of the page is run for it, and all that it prints is on it; the times are those of the benchmark's last run.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

from doc_pages import markup

__all__ = ["page"]

_RESULTS = Path(__file__).resolve().parents[1] / "benchmarks" / "results"

LEAD = """A statement says what is computed, not in which order. `y(j) = beta * A(i,j) * A(i,k) * x(k)` may be one nest
of loops over each pair of entries in a row, or two products of a matrix by a vector. With data at hand the cheapest way
by estimate is taken, wherever the parentheses stand: products are made in another order, sums are taken before
products, equal parts are made once, a sum in parentheses is multiplied out or a common factor taken out of it, and
functions are computed once for each element of an array. Estimates go by a few numbers about each tensor, which are
counted once and kept with it: extents, entries, and how entries spread over rows and columns. They decide which way is
taken, never what it computes."""

DATA = """
import numpy as np, scipy.sparse
import mlir_sparse as ms

def drawn(rows, per_row, seed=0):
    rng = np.random.default_rng(seed)
    places = np.repeat(np.arange(rows), per_row), rng.integers(0, rows, rows * per_row)
    return ms.tensor(scipy.sparse.csr_array((rng.random(rows * per_row), places), shape=(rows, rows)))

def plan_of(kernel):
    return kernel.explain().split("\\nalgebra\\n")[1].split("\\n\\n")[0]
"""

BATAX = """
A, x = drawn(20_000, per_row=40), np.ones(20_000)
text = "y(j) = beta * A(i,j) * A(i,k) * x(k)"
batax = ms.compile(text, beta=1.5, A=A, x=x)
print(plan_of(batax))
"""

BATAX_WHY = """The statement is `beta * A' * A * x`. As it is written, its loops take each pair of entries `A(i,j)` and
`A(i,k)` of a row: with 40 entries a row, 1,600 steps. The plan makes `y.part(i)` first, the product of row `i` and `x`,
and then goes over the entries of `A` once more: 80 steps a row. So what it gains grows with the length of the rows."""

SAME = """
y = batax(beta=1.5, A=A, x=x)
S = A.to_scipy()
print(np.allclose(y, 1.5 * (S.T @ (S @ x))))
"""

CYCLES = """
G = drawn(3000, per_row=15, seed=1)
cycles = ms.compile("s = A(i,j) * A(j,k) * A(k,l) * A(l,i)", A=G)
print(plan_of(cycles))
"""

CYCLES_WHY = """Closed walks of four steps: `s` adds up the products around each. Four factors have many orders. Good
plans make the walks of two steps once, a sparse matrix, and close them: the other two steps are the same product at
other variables, so the part is read once more, transposed; or the part is the mask of the other product, which is then
formed at the entries of the part alone. Parts stay below the memory that they may take: that of the operands, or
64 MiB."""

ALTERNATIVES = """
ways = cycles.alternatives()
for way in ways[:4]:
    print(way.milliseconds, *way.lines(), sep="\\n  ")
"""

PICK = """
counts = [float(ms.evaluate(way, A=G)) for way in ways[:3]]
print(np.allclose(counts, counts[0]))
"""

PICK_WHY = """Each way that was considered is a value: `ms.compile` and `ms.evaluate` take it in place of the text and
compute in just that way, whatever the data."""

NUMBERS = """Sums and products of floating-point numbers are rounded in another order than in the text, as in
`numpy.einsum(optimize=True)` or BLAS: a result differs by at most some units in the last place of the sum of its terms'
absolute values. Integers, truth values and the semirings that do not round give the same bits. What could lose more is
not done, unless it is asked for:"""

LICENCES = [
    ("rewriting", "done by <code>auto</code>", "because"),
    (
        "<code>(a * b) * c</code> to <code>a * (b * c)</code>, sums before products",
        "yes",
        "each term is rounded a few times more or less",
    ),
    (
        "<code>(a + b) * c</code> to <code>a * c + b * c</code>, and back",
        "yes",
        "the terms are the same, and none cancels another",
    ),
    (
        "<code>(a - b) * c</code> to <code>a * c - b * c</code>",
        "no",
        "where <code>a</code> and <code>b</code> are near each other, their difference is exact, that of products not",
    ),
    (
        "<code>(a - b)**2</code> to <code>a**2 - 2*a*b + b**2</code>",
        "no",
        "near zero nothing is left of it, as below",
    ),
    ("anything across <code>max</code>, comparisons, your own operators", "no", "they have no such laws"),
]

CANCELS = """
rng = np.random.default_rng(0)
U, V = np.zeros((2000, 8)), np.zeros((2000, 8))
U[:40], V[:40] = rng.random((40, 8)), rng.random((40, 8))
X = ms.tensor(scipy.sparse.csr_array((1 + 1e-12) * U @ V.T))
loss = "s = sum(i, j : (X(i,j) - sum(k : U(i,k) * V(j,k)))**2)"
auto = float(ms.evaluate(loss, X=X, U=U, V=V))
algebra = float(ms.evaluate(loss, X=X, U=U, V=V, optimize="algebra"))
print(f"{auto:.3g} {algebra:.3g}")
"""

CANCELS_WHY = """`optimize="algebra"` multiplies out differences and squares too, and cancels equal terms: the loss
below then takes the products of `U` and `V` with themselves, and one pass over the entries of `X`. Near zero, as after
the last steps of a factorisation, no right digit of it is left:"""

OFF = """
written = ms.compile(text, beta=1.5, A=A, x=x, optimize="off")
print("algebra" in written.explain(), np.allclose(written(beta=1.5, A=A, x=x), y))
"""

OFF_WHY = """`optimize="off"` computes the statement as it is written, and emits the same IR as for types alone.
`ms.set_optimize("off")` says so for the process, and `MLIR_SPARSE_OPTIMIZE=off` for all that it starts. A schedule with
an order of loops means it too."""


def page() -> str:
    """Returns the page."""
    names: dict[str, Any] = {}
    parts = [
        markup.paragraph(LEAD),
        _session(DATA, names),
        markup.anchor("BATAX"),
        _session(BATAX, names),
        markup.paragraph(BATAX_WHY),
        _session(SAME, names),
        *_gains(),
        markup.anchor("4-cycles"),
        _session(CYCLES, names),
        markup.paragraph(CYCLES_WHY),
        *_times("4-cycles"),
        markup.anchor("Other ways"),
        _session(ALTERNATIVES, names),
        markup.paragraph(PICK_WHY),
        _session(PICK, names),
        markup.anchor("What it changes in numbers"),
        markup.paragraph(NUMBERS),
        markup.table(LICENCES),
        markup.paragraph(CANCELS_WHY),
        _session(CANCELS, names),
        markup.anchor("As it is written"),
        markup.paragraph(OFF_WHY),
        _session(OFF, names),
    ]
    return markup.document("statement_plans.html", parts)


def _session(code: str, names: dict[str, Any]) -> str:
    """Runs code, and returns it with what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.parse(code), "<page>", "exec"), names)
    return markup.pre(code.strip()) + (markup.pre(printed.getvalue()) if printed.getvalue() else "")


def _rows() -> tuple[Mapping[str, Any], list[Mapping[str, Any]]]:
    """Returns the benchmark's last run: where it ran, and its rows on one thread."""
    record = json.loads(max(_RESULTS.glob("*-programs.json")).read_text())
    return record["machine"], [row for row in record["results"] if row["threads"] == 1]


def _gains() -> Iterator[str]:
    """Yields how much BATAX gains, by the length of the rows, drawn and as a table."""
    machine, rows = _rows()
    found = {
        int(row["name"].split(",")[-1].split()[0]): row["seconds"]
        for row in rows
        if row["name"].startswith("programs, BATAX")
    }
    gains = {length: seconds["off"] / seconds["mlir_sparse"] for length, seconds in sorted(found.items())}
    yield markup.paragraph(f"As it is written over as it is planned, on one thread of {machine['processor']}:")
    yield _bars({f"{length} a row": gain for length, gain in gains.items()})


def _times(name: str) -> Iterator[str]:
    """Yields a table of the times of a workload."""
    machine, rows = _rows()
    (seconds,) = (row["seconds"] for row in rows if row["name"] == f"programs, {name}")
    names = {"mlir_sparse": "as it is planned", "off": "as it is written", "by hand": "by hand, in steps"}
    cells = [("on one thread of " + escape(machine["processor"]), "ms")]
    cells += [(names.get(who, who), f"{1e3 * least:.3g}") for who, least in seconds.items()]
    yield markup.table(cells)


def _bars(values: Mapping[str, float]) -> str:
    """Returns a bar for each value."""
    largest, lines = max(values.values()), []
    for number, (name, value) in enumerate(values.items()):
        top, width = 26 * number, 420 * value / largest
        lines += [
            f'<text x="110" y="{top + 16}" text-anchor="end">{escape(name)}</text>',
            f'<rect x="120" y="{top + 2}" width="{width:.1f}" height="20" fill="#0969da"></rect>',
            f'<text x="{128 + width:.1f}" y="{top + 16}">{value:.1f} times</text>',
        ]
    size = f'width="660" height="{26 * len(values) + 4}"'
    return f'<div class="wide"><svg {size} font-size="13" role="img">{"".join(lines)}</svg></div>'
