"""The fuzzer finds what it is to find: variants of calls that do not give the same are told, with a script."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from fuzzing.tally import DECLINED, Tally, report
from fuzzing.variants import VARIANTS, again
from fuzzing.variants.names import NAMES, renamed
from fuzzing.variants.variant import Variant, assert_same_bits
from hypothesis import example, given
from hypothesis import strategies as st

import mlir_sparse as ms
from dialect_tests import oracle, wide_cases
from dialect_tests.calls import Call, Results, Trial
from mlir_sparse.notation import Assignment

TEXT = "y(i) = A(i,j) * x(j) + z(i)"
DENSE = {"A": np.array([[0.0, 2.0, 1.0], [3.0, 0.0, 0.0]]), "x": np.array([1.0, 2.0, 5.0]), "z": np.array([0.5, 0.25])}


def made(*vectors: str) -> Trial:
    sparse = {name: ms.tensor(DENSE[name], "SparseVector") for name in vectors}
    call = Call(ms.parse(TEXT), {**DENSE, "A": ms.tensor(DENSE["A"], "CSR"), **sparse})
    return Trial(call, lambda results: oracle.assert_close(results[0], oracle.evaluate(TEXT, DENSE)))


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_gives_the_same(name: str) -> None:
    trial = made("x") if name == "vectors in other storage" else made()
    plain = trial.run()
    # Some draw the plain call itself, or storage that cannot hold the data.
    assert any(VARIANTS[name].check(trial, plain, f"seed {number}") is True for number in range(9))


def _scaled(factor: float) -> Callable[[Call, Random], Results]:
    return lambda call, random: tuple(result * factor for result in call.results())


def test_a_variant_that_gives_something_else_is_told_with_a_script_that_runs() -> None:
    trial = made()
    wrong = Variant("wrong", _scaled(2.0))
    with pytest.raises(AssertionError, match="variant 'wrong'") as caught:
        wrong.check(trial, trial.run(), "a seed")
    _, _, script = str(caught.value).partition("<<'END'\n")
    lines = script.split("\nfrom fuzzing", maxsplit=1)[0]
    scope: dict[str, Any] = {}
    exec(lines, scope)
    text, tensors, options = (scope[name] for name in ("text", "tensors", "options"))
    assert ms.evaluate(text, tensors=tensors, **options).tolist() == [9.5, 3.25]
    assert again("read-only", text, tensors, options, "a seed")[0].tolist() == [9.5, 3.25]


def _refused(call: Call, random: Random) -> Results:
    raise ms.StorageError("expected one entry, but got two")


def test_a_refusal_is_counted_by_its_error_and_wrong_unless_the_variant_may_be_refused_with_it() -> None:
    trial, tally = made(), Tally()
    outcome = Variant("other", _refused, may_refuse=(ms.StorageError,)).check(trial, trial.run(), "a seed")
    assert isinstance(outcome, ms.StorageError)
    assert not tally.add(DECLINED, "a case", f"other: {type(outcome).__name__}")
    assert "variants refused: 1 other: StorageError" in report(tally, 0.0)
    assert not tally.counts
    for allowed in ((), (ms.UnsupportedError,), (ms.SparseError,)):
        with pytest.raises(AssertionError, match="refused: StorageError: expected one entry"):
            Variant("other", _refused, may_refuse=allowed).check(trial, trial.run(), "a seed")


def test_a_last_bit_counts_where_bits_are_promised() -> None:
    trial = made()
    near = Variant("near", _scaled(1 + 2**-52), same_bits=True)
    with pytest.raises(AssertionError, match="expected the bits of"):
        near.check(trial, trial.run(), "a seed")
    with pytest.raises(AssertionError, match="expected the bits of"):
        assert_same_bits((np.array([0.0]),), (np.array([-0.0]),))
    assert_same_bits((np.array([np.nan]),), (np.array([-np.nan]),))


def test_names_are_changed_everywhere() -> None:
    program = ms.parse("y(i) += A(I(i),2*j + 1) * sum(k : exp(B(k,j)))")
    assert isinstance(program, Assignment)
    names = {"y": "p", "A": "sum", "I": "max", "B": "t", "i": "d0", "j": "変", "k": "lambda"}
    other = renamed(program, names)
    assert str(other) == "p(d0) += sum[max[d0],2*変 + 1] * sum(lambda : exp(t(lambda,変)))"
    assert ms.parse(str(other)) == other
    assert len(NAMES) > 150


def test_results_of_other_storage_are_not_the_same_bits() -> None:
    trial = made()
    dense = trial.run()
    with pytest.raises(AssertionError):
        assert_same_bits((ms.tensor(dense[0], "SparseVector"),), dense)
    assert replace(trial.call, out="SparseVector").options == {"out": "SparseVector"}


@given(st.integers(0, 2**32))
@example(127)  # y = T0 * T0 * T0: no index variable whose extent could be zero
def test_statements_of_many_variables_are_drawn_from_every_seed(seed: int) -> None:
    case = wide_cases.case_of(seed).kernel
    assert set(case.tensors) == set(case.assignment.inputs)


@pytest.mark.parametrize("number", range(20))
def test_zeros_of_arrays_stay_terms_beside_what_is_not_finite(number: int) -> None:
    x = np.array([0.0, 0.0, -9.0])
    trial = made()
    operands = {**trial.call.operands, "A": ms.tensor(np.array([[np.inf, 0.0, 1.0]]), "Dense"), "x": x, "z": np.ones(1)}
    call = replace(trial.call, operands=operands)
    with np.errstate(invalid="ignore"):
        (expected,) = call.results()
    assert np.isnan(expected).all()
    assert np.isnan(again("operands stored otherwise", TEXT, call.operands, {}, f"seed {number}")[0]).all()
