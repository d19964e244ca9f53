"""The harness for tests of others tells right from wrong, on functions that are wrong in each way there is."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.foreign.expected import FOLDER, Entry, Expected
from dialect_tests.foreign.shadow import LeftOut, Outcome, Recorder, Shadow, Verdict, judged

ARRAY = np.array([[1.0, 0.0], [0.0, 4.0]])


def _raising(error: Exception) -> Callable[..., Any]:
    def call(*_: Any) -> Any:
        raise error

    return call


def _called(ours: Callable[..., Any], theirs: Callable[..., Any]) -> tuple[Outcome, str]:
    """Returns the one verdict on a call of both on an array, which is a tensor here."""
    recorder = Recorder(test="test")
    shadow = Shadow(lambda x: ms.tensor(x) if isinstance(x, np.ndarray) else x, lambda x: x, recorder)
    with contextlib.suppress(ArithmeticError):
        shadow.wrapped("call", theirs, ours, np.sqrt)(ARRAY)
    ((_, outcome, detail),) = recorder.counts
    return Outcome(outcome), detail


@pytest.mark.parametrize(
    ("ours", "theirs", "outcome", "detail"),
    [
        (np.sqrt, np.sqrt, Outcome.AGREED, ""),
        (_raising(ms.OperandError("no 5")), _raising(ArithmeticError()), Outcome.AGREED, ""),
        (np.sqrt, np.cbrt, Outcome.AS_NUMPY, "values"),
        (np.sqrt, _raising(ArithmeticError()), Outcome.AS_NUMPY, "raises ArithmeticError"),
        (_raising(LeftOut("out=")), np.sqrt, Outcome.LEFT_OUT, "out="),
        (_raising(ms.OperandError("no 5")), np.sqrt, Outcome.REFUSED, "OperandError: no N"),
        (lambda x: np.sqrt(x).astype(np.float32), np.sqrt, Outcome.DIFFERS, "dtype float32 for float64"),
        (_raising(KeyError("x")), np.sqrt, Outcome.UNNAMED, "KeyError: 'x'"),
        (_raising(KeyError("x")), _raising(ArithmeticError()), Outcome.UNNAMED, "KeyError: 'x'"),
        (np.sign, np.sqrt, Outcome.WRONG, "values"),
        (lambda x: np.sqrt(x)[0], np.sqrt, Outcome.WRONG, "shape"),
        (np.sign, _raising(ArithmeticError()), Outcome.WRONG, "values"),
    ],
)
def test_verdicts(ours: Any, theirs: Any, outcome: Outcome, detail: str) -> None:
    assert _called(ours, theirs) == (outcome, detail)


def test_the_library_goes_on_with_its_own_result_and_calls_inside_are_its_own() -> None:
    recorder = Recorder(test="test")
    shadow = Shadow(lambda x: x, lambda x: x, recorder, of_tensors=False)
    inner = shadow.wrapped("inner", np.sin, np.sin)
    outer = shadow.wrapped("outer", lambda x: inner(x) + 1, lambda x: x)
    assert np.array_equal(outer(ARRAY), np.sin(ARRAY) + 1)
    assert [operation for operation, _, _ in recorder.counts] == ["outer"]
    assert recorder.worst == {"test": Outcome.AS_NUMPY}


def test_calls_without_a_tensor_are_none_of_this_package() -> None:
    recorder = Recorder()
    shadow = Shadow(lambda x: x, lambda x: x, recorder)
    assert shadow.wrapped("sin", np.sin, np.cos)(1.0) == np.sin(1.0)
    assert list(recorder.counts) == [("sin", "left out", "no operand is a tensor")]


def test_a_library_that_changes_its_operands_changes_none_here() -> None:
    recorder = Recorder()

    def doubling(x: Any) -> Any:
        x *= 2
        return x

    array = ARRAY.copy()
    shadow = Shadow(lambda x: ms.tensor(x), lambda x: np.array(x), recorder)
    shadow.wrapped("double", doubling, lambda x: x * 2)(array)
    assert [outcome for _, outcome, _ in recorder.counts] == ["agreed"]


def test_rounding_is_no_difference_and_more_is() -> None:
    numpy = _raising(AssertionError("asked although both agree"))
    assert judged(1.0 + 1e-15, 1.0, numpy) == Verdict(Outcome.AGREED)
    assert judged(1.0 + 1e-11, 1.0, numpy, terms=10**6) == Verdict(Outcome.AGREED)
    assert judged(1.0 + 1e-11, 1.0, lambda: 1.0).outcome is Outcome.WRONG
    assert judged(np.float32(1.00001), np.float32(1), lambda: np.float32(1)) == Verdict(Outcome.AGREED)
    assert judged(np.array([np.nan, np.inf]), np.array([np.nan, np.inf]), numpy) == Verdict(Outcome.AGREED)
    assert judged(np.inf, -np.inf, lambda: -np.inf).outcome is Outcome.WRONG
    assert judged(10**15 + 1, 10**15, lambda: 10**15).outcome is Outcome.WRONG


def _call(outcome: Outcome, detail: str = "", operation: str = "add", count: int = 5) -> dict[str, Any]:
    return {"operation": operation, "outcome": outcome.value, "detail": detail, "count": count, "examples": ["x"]}


def _report(*calls: dict[str, Any], failed: int = 0) -> dict[str, Any]:
    return {"calls": list(calls), "tests": {"failed": failed}}


def test_lists_are_checked_both_ways() -> None:
    listed = Expected(5, 0, "1/1", (Entry(Outcome.REFUSED, "no sign", "DTypeError: .* uint", "add|sub"),))
    agreed, refused = _call(Outcome.AGREED), _call(Outcome.REFUSED, "DTypeError: got uintN, sorry")
    assert listed.faults(_report(agreed, refused)) == []
    assert "never seen" in listed.faults(_report(agreed))[0]
    assert listed.faults(_report(agreed), whole=False) == []
    for wrong in (
        _call(Outcome.REFUSED, "DTypeError: got uintN", "mul"),
        _call(Outcome.REFUSED, "RankError"),
        _call(Outcome.AS_NUMPY, "shape"),
        _call(Outcome.WRONG, "values"),
        _call(Outcome.UNNAMED, "DTypeError: got uintN"),
    ):
        assert len(listed.faults(_report(agreed, refused, wrong))) == 1
    assert "5 calls or more" in listed.faults(_report(_call(Outcome.AGREED, count=4), refused))[0]
    assert "tests or fewer" in listed.faults(_report(agreed, refused, failed=1))[0]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.toml")), ids=lambda path: path.stem)
def test_the_lists_can_be_read_and_say_why(path: Path) -> None:
    expected = Expected.of(path.stem)
    assert expected.agreed > 1000
    assert all(len(entry.why) > 10 for entry in expected.entries)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ('outcome = "wrong"\nwhy = "never"', "expected an outcome that can be excused"),
        ('outcome = "differs"\nwhy = "no words"', "expected the words of README.md"),
        ('outcome = "differs"\nwhy = "others"\ndocs = "words that are not there"', "expected words of README.md"),
    ],
)
def test_lists_excuse_nothing_wrong(tmp_path: Path, entry: str, message: str) -> None:
    (tmp_path / "suite.toml").write_text(f"agreed = 1\n[[entry]]\n{entry}\n")
    with pytest.raises(ValueError, match=message):
        Expected.of("suite", tmp_path)
