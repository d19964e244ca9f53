"""The table of strategies: a format, a kernel and an element type each by what its remarks say."""

from __future__ import annotations

from support_table.strategies import table


def test_strategies_and_what_stands_in_their_way() -> None:
    head, rule, first, second, *rest = table("SpMV, transposed", 2, ("CSC", "COO"), ("f64", "i32")).splitlines()
    assert (head, rule) == ("| SpMV, transposed | f64 | i32 |", "|---|---|---|")
    assert first.startswith("| CSC | start-rows")
    assert "join-segments" in second
    reason = "sum-rows: not applied to i, because its sum is of i32: vectors of entries are of f32 and f64 only"
    assert f"- {reason} (CSC of i32)" in rest
