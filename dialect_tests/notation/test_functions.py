from __future__ import annotations

import numpy as np
import pytest

from dialect_tests.oracle import evaluate, result_dtype
from mlir_sparse.notation import FUNCTIONS, Function

ALL = pytest.mark.parametrize("function", FUNCTIONS.values(), ids=lambda function: function.name)


def called(function: Function) -> str:
    return f"y = {function.name}({', '.join('abc'[: function.arity])})"


@ALL
def test_zero_preservation_is_as_computed(function: Function) -> None:
    at_zero = evaluate(called(function), dict.fromkeys("abc", 0.0))
    if function.zero_preserving is not None:
        assert (at_zero == 0) == function.zero_preserving


@ALL
def test_integers_stay_integers_as_the_table_says(function: Function) -> None:
    kept = result_dtype(called(function), dict.fromkeys("abc", np.int32))
    assert (kept == np.int32) == function.keeps_integers


@ALL
def test_numpy_has_the_name_and_the_values(function: Function) -> None:
    here = {"relu": lambda x: np.maximum(x, 0), "erf": None, "max": np.maximum, "min": np.minimum, "atan2": np.arctan2}
    reference = here[function.name] if function.name in here else getattr(np, function.name)
    if reference is None:
        pytest.importorskip("scipy")
        from scipy.special import erf

        reference = erf
    arguments = {name: np.linspace(0.1, 0.9, 5) + shift for name, shift in zip("abc", (0.0, 0.05, 0.1), strict=True)}
    if function.name == "acosh":
        arguments["a"] = arguments["a"] + 1
    result = evaluate(_vector(function), arguments)
    np.testing.assert_allclose(result, reference(*(arguments[name] for name in "abc"[: function.arity])), rtol=1e-14)


def _vector(function: Function) -> str:
    return f"y(i) = {function.name}({', '.join(f'{name}(i)' for name in 'abc'[: function.arity])})"
