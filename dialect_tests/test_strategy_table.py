"""The table of strategies: a format, a kernel and an element type each by what its remarks say."""

from __future__ import annotations

from support_table.strategies import table


def test_strategies_and_what_stands_in_their_way() -> None:
    # Of what applies on processors with masked vectors and without.
    head, rule, first, second, *rest = table("SpMV", 2, ("CSR", "COO"), ("f64", "c128")).splitlines()
    assert (head, rule) == ("| SpMV | f64 | c128 |", "|---|---|---|")
    assert first.startswith("| CSR | fuse-fill, ")
    assert second.startswith("| COO | join-segments, sum-runs | join-segments")
    reason = "sum-runs: not applied to j, because it adds up c128, which vectors do not hold"
    assert f"- {reason} (COO of c128)" in rest
