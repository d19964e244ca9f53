"""`optimize=` of `compile` and `evaluate`, for the process and in the environment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse.compile.known_plan import KnownPlan
from mlir_sparse.compile.statement_optimizer import sketches_of_values

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
    part = "    with y.part(j) = sum(k : B(j,k) * x(k)): dense, 3,000 entries, 0.024 MB\n"
    assert f"{part}  because: " in explained
    assert " ms by estimate; " in explained
    assert " ms as written\n  rules: sums of sums, associativity of *, sums into products\n" in explained
    expected = operands["A"].to_scipy() @ (operands["B"].to_scipy() @ operands["x"])
    for optimize in ("auto", "off", None):
        np.testing.assert_array_equal(ms.evaluate(TEXT, **operands, optimize=optimize), expected)


def test_off_is_the_statement_as_written(operands: dict[str, Any]) -> None:
    types = {name: str(ms.compile(TEXT, **operands).spec.type_of(name)) for name in operands}
    assert ms.compile(TEXT, **operands, optimize="off").ir() == ms.compile(TEXT, **types, optimize="off").ir()
    assert not is_rewritten(**operands, optimize="off")
    assert not is_rewritten(**types, optimize="off")


def test_an_order_of_loops_is_followed(operands: dict[str, Any]) -> None:
    assert not is_rewritten(**operands, schedule="order=i,j,k")
    assert is_rewritten(**operands, schedule="lanes=0")


def test_semirings_that_round_or_lack_laws_are_as_they_are_written(operands: dict[str, Any]) -> None:
    for ring in ("plus_pair", "max_times", "min_first", "any_pair"):
        assert not is_rewritten(**operands, semiring=ring)


def test_least_sums_of_integers_wrap_and_are_as_they_are_written(operands: dict[str, Any]) -> None:
    given = {name: one.astype(np.int8) for name, one in operands.items()}
    assert not is_rewritten(**given, semiring="min_plus")


@pytest.mark.parametrize("ring", ["or_and", "and_or", "min_max", "max_min"])
def test_semirings_that_do_not_round_are_rewritten(operands: dict[str, Any], ring: str) -> None:
    explained = ms.compile(TEXT, **operands, semiring=ring).explain()
    add, multiply = ring.split("_")
    assert f"  rewritten: y(i) = {add}(j : {multiply}(A(i,j), y.part(j)))\n" in explained
    expected = ms.evaluate(TEXT, **operands, semiring=ring, optimize="off")
    np.testing.assert_array_equal(ms.evaluate(TEXT, **operands, semiring=ring), expected)


def test_of_the_process(operands: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLIR_SPARSE_OPTIMIZE", "off")
    assert ms.get_optimize() == "off"
    assert not is_rewritten(**operands)
    ms.set_optimize("auto")
    assert is_rewritten(**operands)
    assert not is_rewritten(**operands, optimize="off")


@pytest.mark.parametrize("given", ["on", "AUTO", 1, True, np.ones(2)])
def test_other_names_are_refused(given: Any, operands: dict[str, Any]) -> None:
    message = "expected optimize= one of auto, off, algebra, but got"
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


def test_a_variable_of_the_result_alone(operands: dict[str, Any]) -> None:
    """It has the extent of `out=`, without which the statement is refused as it is written."""
    text = "y(l) = A(i,j) * B(j,k) * x(k)"
    expected = ms.evaluate("s = A(i,j) * B(j,k) * x(k)", **operands)
    np.testing.assert_array_equal(ms.evaluate(text, **operands, out=np.zeros(3)), [expected] * 3)
    with pytest.raises(ms.ExtentError, match="expected index l to have an extent"):
        ms.evaluate(text, **operands)


def test_known_plans_are_for_numbers_too() -> None:
    plan = KnownPlan(None, sketches_of_values([np.zeros(100), np.asarray(0.5)]))
    for number in (0.5, 2, np.float64(3.0), np.asarray(1.0)):
        assert plan.is_for((np.zeros(100), number))
    assert not plan.is_for((np.zeros(5000), 0.5))
    assert not plan.is_for((np.zeros(100), "0.5"))
