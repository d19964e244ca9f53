"""The harness for tests of others tells right from wrong, on functions that are wrong in each way there is."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.foreign import matrices, numpy_arrays, numpy_einsum, scipy_sparse
from dialect_tests.foreign.expected import FOLDER, Entry, Expected
from dialect_tests.foreign.shadow import LeftOut, Outcome, Recorder, Shadow, Verdict, difference, judged
from dialect_tests.foreign.shares import Share, run

ARRAY = np.array([[1.0, 0.0], [0.0, 4.0]])


def _raising(error: Exception) -> Callable[..., Any]:
    def call(*_: Any) -> Any:
        raise error

    return call


def _inside(error: Exception) -> Callable[..., Any]:
    """Returns a function that raises an error as code of this package does, by the file of its frame."""
    names: dict[str, Any] = {"error": error}
    exec(compile("def call(*_):\n    raise error\n", str(Path(ms.__file__).parent / "inside.py"), "exec"), names)
    return names["call"]  # type: ignore[no-any-return]


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
        (_inside(KeyError("x")), np.sqrt, Outcome.UNNAMED, "KeyError: 'x'"),
        (_inside(KeyError("x")), _raising(ArithmeticError()), Outcome.UNNAMED, "KeyError: 'x'"),
        # Python or NumPy refuses a call that this package never sees.
        (_raising(TypeError("no 5")), np.sqrt, Outcome.REFUSED, "TypeError: no N"),
        (_raising(TypeError("no 5")), _raising(ArithmeticError()), Outcome.AGREED, ""),
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
    listed = Expected(5, 0, (Entry(Outcome.REFUSED, "no sign", "DTypeError: .* uint", "add|sub"),))
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


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("np.einsum('i,i', np.ones(3), np.ones(3))", ""),
        ("os.abort()", "share 1/1 ended without a report after status -6, in the test test_it.py::test_it"),
    ],
)
def test_a_process_that_dies_is_a_fault_and_names_its_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, fault: str
) -> None:
    test = tmp_path / "test_it.py"
    test.write_text(f"import os\n\nimport numpy as np\n\n\ndef test_it():\n    {body}\n")
    monkeypatch.setattr(numpy_einsum, "TESTS", [str(test)])
    found = run("numpy_einsum", Share(), tmp_path)
    if fault:
        assert found.report is None
        assert found.fault.startswith(fault)
    else:
        assert found.report is not None
        assert found.report["tests"] == {"passed": 1, "failed": 0, "skipped": 0}
        assert [(call["outcome"], call["count"]) for call in found.report["calls"]] == [("agreed", 1)]


def test_shares_have_each_test_once() -> None:
    parts = [part for whole in (Share(1, 3), Share(2, 3), Share(3, 3)) for part in whole.parts(4)]
    assert all(sum(part.has(checksum) for part in parts) == 1 for checksum in range(100))
    with pytest.raises(ValueError, match="expected a part from 1 to 8, but got 9"):
        Share.parse("9/8")


def test_results_of_matrices_keep_two_dimensions() -> None:
    # SciPy's matrices differ from its arrays as NumPy's matrices from NumPy's arrays.
    array, tensor = np.asmatrix(ARRAY), ms.tensor(ARRAY)
    of_matrices = matrices.methods(scipy_sparse.METHODS)
    for name, given in (
        ("__getitem__", [0]),
        ("__getitem__", [(slice(None), 1)]),
        ("__getitem__", [([1, 0], [0, 1])]),
        ("__getitem__", [(slice(None), 1, ...)]),
        ("__getitem__", [(..., 1)]),
        ("__getitem__", [(1, ...)]),
        ("__getitem__", [(1, 1)]),
        ("__mul__", [np.ones((2, 1))]),
        ("__mul__", [3]),
        ("__pow__", [3]),
        ("sum", [0]),
        ("sum", [None]),
        ("max", [1]),
    ):
        expected, found = getattr(array, name)(*given), of_matrices[name](tensor, *given)
        assert difference(found.to_numpy() if isinstance(found, ms.SparseTensor) else found, expected) is None, name


def test_modules_of_numpys_tests_get_arrays_and_functions_that_are_judged() -> None:
    recorder = Recorder(test="test")
    numpy_arrays.install(recorder)
    module: Any = ModuleType("tests")
    module.np, module.multiply = np, np.multiply
    numpy_arrays.prepare(module)
    array = module.np.array([[1.0, 0.0], [0.0, 2.0]])
    assert array[0].tolist() == [1, 0]
    assert (array + array).tolist() == [[2, 0], [0, 4]]
    assert module.multiply(array, 2).tolist() == [[2, 0], [0, 4]]
    assert module.np.add.reduce(array).tolist() == [1, 2]
    assert float(module.np.sum(array)) == 3
    assert module.np.pi is np.pi
    judged_calls = {operation: outcome for operation, outcome, _ in recorder.counts}
    assert judged_calls == dict.fromkeys(["__getitem__", "__add__", "multiply", "add.reduce", "sum"], "agreed")
