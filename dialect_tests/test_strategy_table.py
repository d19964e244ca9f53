"""The table of strategies: a format, a kernel and an element type each by what its remarks say."""

from __future__ import annotations

from support_table.strategies import table


def test_strategies_and_what_stands_in_their_way() -> None:
    head, rule, first, second, *rest = table("SpMV", 2, ("CSC", "COO"), ("f64", "c128")).splitlines()
    assert (head, rule) == ("| SpMV | f64 | c128 |", "|---|---|---|")
    assert first.startswith("| CSC | scatter-runs")
    assert "join-segments" in second
    reason = "scatter-runs: not applied to i, because it adds up c128, which vectors do not hold"
    assert f"- {reason} (CSC of c128)" in rest
