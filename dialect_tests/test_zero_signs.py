"""The sign of zero of the larger and the smaller of two zeros, with whatever bindings there are."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse._mlir import mlir_context, older_passes, parse_module
from mlir_sparse.pipeline.own_passes import run_passes

ZEROS = list(product((0.0, -0.0), repeat=2))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("length", [1, 3, 64])
def test_zeros_are_ordered_by_their_signs(dtype: type, length: int) -> None:
    a, b = (np.array([pair[side] for pair in ZEROS] * length, dtype) for side in (0, 1))
    larger = ms.evaluate("y(p) = max(a(p), b(p))", a=a, b=b)
    smaller = ms.evaluate("y(p) = min(a(p), b(p))", a=a, b=b)
    np.testing.assert_array_equal(np.signbit(larger), np.signbit(a) & np.signbit(b))
    np.testing.assert_array_equal(np.signbit(smaller), np.signbit(a) | np.signbit(b))


@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize("kind", ["f16", "f32", "f64", "vector<4xf64>", "vector<2x3xf32>"])
def test_no_bindings_compare_zeros(kind: str, forced: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if forced:  # whether or not these bindings need it
        monkeypatch.setattr(older_passes, "_expands_extrema", lambda: True)
    text = f"""func.func @p(%x: {kind}, %y: {kind}) -> {kind} {{
      %a = arith.maximumf %x, %y : {kind}
      %b = arith.minimumf %a, %y : {kind}
      %c = arith.maxnumf %a, %b : {kind}
      %d = arith.minnumf %c, %b : {kind}
      return %d : {kind}
    }}"""
    with mlir_context():
        made = parse_module(text)
        run_passes(made, "builtin.module(func.func(arith-expand),convert-to-llvm)")
        found = str(made)
    assert all(f"llvm.intr.{name}" in found for name in ("maximum", "minimum", "maxnum", "minnum"))
    assert "fcmp" not in found
