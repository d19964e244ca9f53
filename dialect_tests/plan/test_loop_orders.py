"""The search for an order of loops: what it shares between orders is what each would find for itself."""

from __future__ import annotations

from typing import Any

import pytest

import mlir_sparse as ms
from mlir_sparse.plan.cost import meeting_lengths, trip_counts
from mlir_sparse.plan.order import loop_order

MTTKRP = "M(a,r) = T(a,b,c,d,e) * B(b,r) * C(c,r) * D(d,r) * E(e,r)"


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("M(i,r) = T(i,j,k) * S(k,j,i) * A(i,r)", {"T": "f64[?,?,?] COO", "S": "f64[7,?,20] CSF", "A": "f64[?,?]"}),
        ("C(i,j) = T(i,j,k) * S(k,j,l) * A(l,i)",
         {"T": "f64[?,?,?] (i,j,k) -> (k : dense, i : compressed, j : compressed)", "S": "f64[?,?,?] CSF",
          "A": "f64[?,?] CSC"}),
        ("C(i,j) = A(i,j) + B(j,i)", {"A": "f64[?,?] BSR(2, 2)", "B": "f64[?,3] DCSC"}),
        ("C(i,k) = A(i,j) * B(j,k)", {"A": "f64[?,?] COO", "B": "f64[?,?] ELL"}),
    ],
)  # fmt: skip
def test_orders_share_the_counts_that_each_has(
    monkeypatch: pytest.MonkeyPatch, text: str, types: dict[str, str]
) -> None:
    found: list[tuple[Any, Any]] = []
    original = loop_order._Work.of

    def recorded(search: Any, converted: Any) -> Any:
        found.append((search.nest, original(search, converted)))
        return found[-1][1]

    monkeypatch.setattr(loop_order._Work, "of", recorded)
    ms.compile(text, tensors=types, out="dense", optimize="off").explain()
    assert any(work.conversions for _, work in found)
    for nest, work in found:
        loops = nest.variables + nest.reductions
        assert work.trip_counts == trip_counts(loops, work.payload, work.types)
        assert work.met == meeting_lengths(loops, work.payload, work.types)


def test_many_loops_are_counted_once_for_each_outermost_dimension(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []

    def counted(*arguments: Any) -> Any:
        calls.append(arguments)
        return trip_counts(*arguments)

    monkeypatch.setattr(loop_order, "trip_counts", counted)
    types = {"T": "f64[?,?,?,?,?] COO", **dict.fromkeys("BCDE", "f64[?,?]")}
    ms.compile(MTTKRP, tensors=types, optimize="off").explain()
    assert 0 < len(calls) <= 6 * 8  # as it stands and for each of five dimensions, in each of eight searches
