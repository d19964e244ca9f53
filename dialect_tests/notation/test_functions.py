from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.oracle import evaluate, result_dtype
from mlir_sparse.dtypes import DType
from mlir_sparse.notation import FUNCTIONS, Function

ALL = pytest.mark.parametrize("function", FUNCTIONS.values(), ids=lambda function: function.name)


def called(function: Function) -> str:
    return f"y = {function.name}({', '.join('abc'[: function.arity])})"


def zeros(function: Function) -> dict[str, object]:
    return dict.fromkeys("abc", 0.0 if "f" in function.kinds else 0)


@ALL
def test_zero_preservation_is_as_computed(function: Function) -> None:
    if function.zero_preserving is not None:
        assert (evaluate(called(function), zeros(function)) == 0) == function.zero_preserving  # type: ignore[arg-type]


@ALL
def test_one_zero_is_enough_where_the_table_says_so(function: Function) -> None:
    others = [-3, 1, 2, 5] if "f" not in function.kinds else [-3.0, 0.5, np.inf]
    for place in function.zero_at:
        for other in others:
            arguments = {name: 0 if n == place else other for n, name in enumerate("abc")}
            assert evaluate(called(function), arguments) == 0


@ALL
def test_integers_stay_integers_as_the_table_says(function: Function) -> None:
    kept = result_dtype(called(function), dict.fromkeys("abc", np.int32))
    if function.result == "cast":
        assert kept == DType(function.name).numpy
        return
    assert kept == (np.bool_ if function.gives_truth else np.int32 if function.keeps_integers else np.float64)


@ALL
def test_complex_numbers_give_reals_as_the_table_says(function: Function) -> None:
    if "c" in function.kinds and not function.gives_truth:
        kept = result_dtype(called(function), dict.fromkeys("abc", np.complex64))
        cast = DType(function.name).numpy if function.result == "cast" else np.complex64
        assert kept == (np.float32 if function.result == "real" else cast)


@ALL
def test_numpy_has_the_name_and_the_values(function: Function) -> None:
    here: dict[str, Any] = {"bf16": lambda x: x.astype(DType("bf16").numpy)}
    here |= {"relu": lambda x: np.maximum(x, 0), "stored": lambda x: x, "erf": None, "rsqrt": lambda x: 1 / np.sqrt(x)}
    reference = here[function.name] if function.name in here else getattr(np, function.numpy_name)
    if reference is None:
        pytest.importorskip("scipy")
        from scipy.special import erf

        reference = erf
    if "f" in function.kinds:
        arguments = {
            name: np.linspace(0.1, 0.9, 5) + shift for name, shift in zip("abc", (0.0, 0.05, 0.1), strict=True)
        }
    else:
        arguments = {"a": np.array([-9, 0, 3, 77, 1]), "b": np.array([1, 2, 5, 0, 3])}
    if function.name == "acosh":
        arguments["a"] = arguments["a"] + 1
    result = evaluate(_vector(function), arguments)
    np.testing.assert_allclose(result, reference(*(arguments[name] for name in "abc"[: function.arity])), rtol=1e-14)


def _vector(function: Function) -> str:
    return f"y(i) = {function.name}({', '.join(f'{name}(i)' for name in 'abc'[: function.arity])})"


@pytest.mark.parametrize("name", ["max", "min", "maximum", "minimum"])
def test_extremes_of_several_are_taken_two_at_a_time(name: str) -> None:
    short = name[:3]
    parsed = ms.parse(f"y(i) = {name}(a(i), b(i), c(i) * 2, 3)")
    assert str(parsed) == f"y(i) = {short}({short}({short}(a(i), b(i)), c(i) * 2), 3)"
    generator = np.random.default_rng(5)
    a, b, c = generator.normal(size=(3, 20)) * 3
    b[4] = np.nan
    ufunc = getattr(np, short + "imum")
    found = ms.evaluate(str(parsed), a=a, b=b, c=c)
    np.testing.assert_array_equal(found, ufunc.reduce([a, b, c * 2, np.full(20, 3.0)]))
    with pytest.raises(ms.NotationError, match="expected 2 arguments to max"):
        ms.parse("y(i) = max(a(i))")
