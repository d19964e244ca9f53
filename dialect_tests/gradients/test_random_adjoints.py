"""Adjoints of random statements beside numeric differences: any nesting, repeated operands, odd names and extents."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mlir_sparse as ms
from dialect_tests.adjoint_numbers import greatest_error

NAMES = ["A", "dA", "dy", "at_A", "on_A", "same_j", "all_j", "out", "threads", "ß"]
SMOOTH = ["tanh({})", "exp(0.3 * {})", "square({})", "({}) ** 3", "1.0 / (2.0 + square({}))", "sin({})", "-({})"]


@st.composite
def statements(draw: st.DrawFn) -> tuple[str, dict[str, Any], int]:
    matrix, vector, scalar = draw(st.permutations(NAMES))[:3]
    extent = draw(st.sampled_from([1, 2, 3, 4]))
    leaves = [f"{matrix}[i,j]", f"{matrix}[j,i]", f"{vector}[j]", f"{vector}[i]", scalar, "1.5", f"{matrix}[i,i]"]

    def expression(depth: int) -> str:
        if depth == 0:
            return draw(st.sampled_from(leaves))
        kind = draw(st.sampled_from(["+", "-", "*", "call", "sum", "max"]))
        left = expression(depth - 1)
        if kind == "call":
            return draw(st.sampled_from(SMOOTH)).format(left)
        if kind in ("sum", "max"):
            bound = draw(st.sampled_from(["k", "l"]))
            return (
                f"{kind}({bound} : ({left}) * {vector}[{bound}] + {matrix}[i,{bound}])" if bound not in left else left
            )
        return f"({left}) {kind} ({expression(depth - 1)})"

    text = f"y(i) = {expression(draw(st.integers(1, 3)))}"
    seed = draw(st.integers(0, 99))
    rng = np.random.default_rng(seed)
    values = rng.uniform(0.2, 1.2, (extent, extent))
    storage = draw(st.sampled_from(["CSR", "CSC", "COO", None]))
    stored = ms.tensor(np.where(rng.random(values.shape) < 0.6, values, 0)).convert(storage) if storage else values
    operands = {matrix: stored, vector: rng.uniform(0.2, 1.2, extent), scalar: np.asarray(0.7)}
    return text, {name: value for name, value in operands.items() if name in text}, seed


def _read(text: str, operands: dict[str, Any]) -> dict[str, Any]:
    parsed = ms.parse(text)
    return {name: operands[name] for name in parsed.inputs}


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(statements())
def test_random_statements(drawn: tuple[str, dict[str, Any], int]) -> None:
    text, operands, seed = drawn
    operands = _read(text, operands)
    sized = any(np.ndim(value) for value in operands.values() if isinstance(value, np.ndarray)) or any(
        isinstance(value, ms.SparseTensor) for value in operands.values()
    )
    if ("[i" not in text and ",i]" not in text) or not sized:
        return  # nothing gives i an extent
    try:
        error = greatest_error(text, operands, 1, np.random.default_rng(seed))
    except ms.UnsupportedError:
        return  # the plan has no loops for it, or it is constant
    assert error < 1e-4, text
