"""`optimize=` of `compile` and `evaluate`, for the process and in the environment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms

TEXT = "y(i) = A(i,j) * B(j,k) * x(k)"
N = 3000


@pytest.fixture(scope="module")
def operands() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    places = rng.integers(0, N, (2, 40 * N))
    A, B = (ms.tensor((places, rng.integers(1, 4, 40 * N).astype(float)), "CSR", shape=(N, N)) for _ in "AB")
    return {"A": A, "B": B, "x": rng.integers(1, 4, N).astype(float)}


@pytest.fixture(autouse=True)
def default() -> Iterator[None]:
    ms.set_optimize(None)
    yield
    ms.set_optimize(None)


def is_rewritten(**options: Any) -> bool:
    return "rewritten: " in ms.compile(TEXT, **options).explain()


def test_statements_are_rewritten_for_data(operands: dict[str, Any]) -> None:
    explained = ms.compile(TEXT, **operands).explain()
    assert "algebra\n  rewritten: y(i) = sum(j : A(i,j) * y.part(j))\n" in explained
    assert "    with y.part(j) = sum(k : B(j,k) * x(k))\n  because: " in explained
    expected = operands["A"].to_scipy() @ (operands["B"].to_scipy() @ operands["x"])
    for optimize in ("auto", "off", None):
        np.testing.assert_array_equal(ms.evaluate(TEXT, **operands, optimize=optimize), expected)


def test_off_is_the_statement_as_written(operands: dict[str, Any]) -> None:
    types = {name: str(ms.compile(TEXT, **operands).spec.type_of(name)) for name in operands}
    assert ms.compile(TEXT, **operands, optimize="off").ir() == ms.compile(TEXT, **types).ir()
    assert not is_rewritten(**operands, optimize="off")
    assert not is_rewritten(**types)


def test_an_order_of_loops_is_followed(operands: dict[str, Any]) -> None:
    assert not is_rewritten(**operands, schedule="order=i,j,k")
    assert is_rewritten(**operands, schedule="lanes=0")


def test_semirings_are_as_they_are_written(operands: dict[str, Any]) -> None:
    assert not is_rewritten(**operands, semiring="min_plus")


def test_of_the_process(operands: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLIR_SPARSE_OPTIMIZE", "off")
    assert ms.get_optimize() == "off"
    assert not is_rewritten(**operands)
    ms.set_optimize("auto")
    assert is_rewritten(**operands)
    assert not is_rewritten(**operands, optimize="off")


@pytest.mark.parametrize("given", ["on", "AUTO", 1, True, np.ones(2)])
def test_other_names_are_refused(given: Any, operands: dict[str, Any]) -> None:
    message = "expected optimize= one of auto, off, but got"
    for call in (ms.compile, ms.evaluate):
        with pytest.raises(ms.UnsupportedError, match=message):
            call(TEXT, **operands, optimize=given)
    with pytest.raises(ms.UnsupportedError, match=message):
        ms.set_optimize(given)


def test_a_saved_kernel_computes_the_same(operands: dict[str, Any], tmp_path: Any) -> None:
    kernel = ms.compile(TEXT, **operands)
    expected = kernel(**operands)
    kernel.save(tmp_path / "kernel")
    loaded = ms.load(tmp_path / "kernel")
    np.testing.assert_array_equal(loaded(**operands), expected)
    assert "rewritten: " in loaded.explain()
