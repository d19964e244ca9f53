"""Calls of another library's tests, made a second time with tensors of this package and judged.

The tests of others run as they are, on their own library, whose functions and methods are wrapped:
each outermost call is computed here first, on the same operands as tensors, then by the library, and
the two results are compared. Where they disagree, NumPy on dense arrays says who is right. The tests
go on with their library's result, so that a call refused here hides none of those after it.
"""

from __future__ import annotations

import functools
import re
import traceback
import warnings
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

import mlir_sparse as ms

Function = Callable[..., Any]

# Larger operands are not made dense, and so not compared.
MOST_ELEMENTS = 1 << 20
_PACKAGE = Path(ms.__file__).parent


class Outcome(Enum):
    """What came of a call, best first."""

    AGREED = "agreed"  # with the library
    AS_NUMPY = "as NumPy"  # and not as the library
    LEFT_OUT = "left out"  # nothing here is that call
    REFUSED = "refused"  # by a SparseError
    DIFFERS = "differs"  # in the element type or by accepting what both others refuse
    UNNAMED = "unnamed"  # another exception
    WRONG = "wrong"  # another value or shape


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a call, and how it shows."""

    outcome: Outcome
    detail: str = ""


@dataclass(slots=True)
class Recorder:
    """Counts verdicts by operation, with the first tests that showed each."""

    test: str = ""
    counts: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    examples: dict[tuple[str, str, str], list[str]] = field(default_factory=dict)
    worst: dict[str, Outcome] = field(default_factory=dict)
    calls: int = 0

    def add(self, operation: str, verdict: Verdict, shown: str) -> None:
        key = (operation, verdict.outcome.value, verdict.detail)
        self.counts[key] += 1
        examples = self.examples.setdefault(key, [])
        if len(examples) < 3:
            examples.append(f"{self.test}: {shown}"[:1500])
        ranks = list(Outcome)
        before = self.worst.get(self.test, Outcome.AGREED)
        self.worst[self.test] = max(before, verdict.outcome, key=ranks.index)

    def pick(self, choices: list[Any]) -> Any:
        """Returns one of several, another for each call of a test, the same in each run."""
        self.calls += 1
        return choices[zlib.crc32(f"{self.test} {self.calls}".encode()) % len(choices)]


@dataclass(slots=True)
class Shadow:
    """Wraps a library's functions.

    Args:
        to_ours: an operand of the library as this package takes it; anything else as it is.
        to_dense: likewise as a NumPy array.
        recorder: what came of each call.
        of_tensors: whether a call without any tensor is none of this package's.
    """

    to_ours: Function
    to_dense: Function
    recorder: Recorder
    of_tensors: bool = True
    inside: bool = False

    def wrapped(
        self,
        operation: str,
        theirs: Function,
        ours: Function | None,
        by_numpy: Function | None = None,
        *,
        errors_only: bool = False,
    ) -> Function:
        """Returns the library's function, its outermost calls judged.

        Args:
            operation: what it is called in the report.
            theirs: the function.
            ours: what it means on tensors; None where nothing here does.
            by_numpy: what it means on NumPy's arrays, the same where absent.
            errors_only: whether results are of another kind, so that only refusals are compared.
        """
        meant = Meaning(operation, ours, by_numpy or ours, errors_only)

        @functools.wraps(theirs, assigned=("__name__", "__doc__", "__module__", "__qualname__"), updated=())
        def call(*given: Any, **options: Any) -> Any:
            if self.inside:
                return theirs(*given, **options)
            self.inside = True
            try:
                judge = self._judge_of(meant, given, options)
                found, error = None, None
                try:
                    found = theirs(*given, **options)
                except Exception as raised:
                    error = raised
                judge(found, error)
            finally:
                self.inside = False
            if error is not None:
                raise error
            return found

        return call

    def _judge_of(self, meant: Meaning, given: tuple[Any, ...], options: dict[str, Any]) -> Function:
        """Computes a call here, before the library may change its operands; returns what compares it with theirs."""
        if meant.ours is None:
            return lambda found, error: self.recorder.add(meant.name, Verdict(Outcome.LEFT_OUT), "")
        try:
            dense = _mapped(self.to_dense, given), _mapped(self.to_dense, options)
        except TooLarge:
            return lambda found, error: self.recorder.add(meant.name, Verdict(Outcome.LEFT_OUT, "too large"), "")
        # The library writes to its own out=, and this package to a copy.
        ours = {**options, "out": dense[1]["out"]} if isinstance(options.get("out"), np.ndarray) else options
        made = _result(lambda: self._made(meant, given, ours), _as_array)
        terms = max((value.size for value in _arrays_in(dense[0])), default=1)
        shown = f"{_shown(dense[0])} {_shown(dense[1])}"

        def judge(found: Any, error: Exception | None) -> None:
            if found is NotImplemented:
                return self.recorder.add(meant.name, Verdict(Outcome.LEFT_OUT, "the other operand's method"), "")
            theirs = error if error is not None else _result(lambda: found, self.to_dense)
            if isinstance(theirs, TooLarge):
                return self.recorder.add(meant.name, Verdict(Outcome.LEFT_OUT, "too large"), "")
            if meant.errors_only and not any(isinstance(one, Exception) for one in (made, theirs)):
                verdict = Verdict(Outcome.AGREED)
            else:
                verdict = judged(
                    made, theirs, lambda: _result(lambda: meant.by_numpy(*dense[0], **dense[1]), _as_array), terms
                )
            self.recorder.add(meant.name, verdict, f"{shown}\n  here   {_shown(made)}\n  theirs {_shown(theirs)}")

        return judge

    def _made(self, meant: Meaning, given: tuple[Any, ...], options: dict[str, Any]) -> Any:
        operands = _mapped(self.to_ours, given), _mapped(self.to_ours, options)
        if self.of_tensors and not holds_tensor(operands):
            raise LeftOut("no operand is a tensor")
        return meant.ours(*operands[0], **operands[1])


@dataclass(frozen=True, slots=True)
class Meaning:
    """What an operation means on tensors and on NumPy's arrays (see `Shadow.wrapped`)."""

    name: str
    ours: Any
    by_numpy: Any
    errors_only: bool


class TooLarge(Exception):  # noqa: N818 - no error
    """Is raised for operands that would not fit as dense arrays."""


class LeftOut(Exception):  # noqa: N818 - no error
    """Is raised for operands that no tensor here stands for, such as those with another fill value than zero."""


def _mapped(convert: Function, value: Any) -> Any:
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        return type(value)(_mapped(convert, item) for item in value)
    if type(value) is dict:
        return {key: _mapped(convert, item) for key, item in value.items()}
    return convert(value)


def holds_tensor(value: Any) -> bool:
    """Returns whether operands, in lists and dicts too, have a tensor among them."""
    if isinstance(value, dict):
        return any(map(holds_tensor, value.values()))
    return isinstance(value, ms.SparseTensor) or (isinstance(value, list | tuple) and any(map(holds_tensor, value)))


def _arrays_in(value: Any) -> list[np.ndarray[Any, Any]]:
    if isinstance(value, list | tuple):
        return [array for item in value for array in _arrays_in(item)]
    return [value] if isinstance(value, np.ndarray) else []


def _result(compute: Function, convert: Function) -> Any:
    """Returns dense results, or the exception."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return _mapped(convert, compute())
        except Exception as error:
            return error


def _as_array(value: Any) -> Any:
    return value.to_numpy() if isinstance(value, ms.SparseTensor) else value


def judged(ours: Any, theirs: Any, by_numpy: Function, terms: int = 1) -> Verdict:
    """Returns the verdict on a result or exception, given the library's and what computes NumPy's.

    Args:
        ours: this package's.
        theirs: the library's.
        by_numpy: computes NumPy's, where these two disagree.
        terms: how many may have been summed to one element.
    """
    if isinstance(ours, LeftOut):
        return Verdict(Outcome.LEFT_OUT, str(ours))
    if isinstance(ours, Exception) and not isinstance(ours, ms.SparseError) and not _is_of_python(ours):
        return Verdict(Outcome.UNNAMED, _head(ours))
    if isinstance(ours, Exception):
        return Verdict(Outcome.AGREED) if isinstance(theirs, Exception) else Verdict(Outcome.REFUSED, _head(ours))
    if not isinstance(theirs, Exception) and difference(ours, theirs, terms) is None:
        return Verdict(Outcome.AGREED)
    numpy = by_numpy()
    if not isinstance(numpy, Exception) and difference(ours, numpy, terms) is None:
        return Verdict(Outcome.AS_NUMPY, _against(ours, theirs))
    if isinstance(numpy, Exception) and isinstance(theirs, Exception):
        return Verdict(Outcome.DIFFERS, f"taken, where others raise {type(theirs).__name__}")
    parts = [difference(ours, other, terms) for other in (theirs, numpy) if not isinstance(other, Exception)]
    only_type = next((part for part in parts if part is not None and part.startswith("dtype")), None)
    return Verdict(Outcome.WRONG, parts[0] or "") if only_type is None else Verdict(Outcome.DIFFERS, only_type)


def _is_of_python(error: Exception) -> bool:
    """Returns whether a call was refused before this package saw it: by Python or NumPy, for its arguments."""
    frames = traceback.walk_tb(error.__traceback__)
    return not any(Path(frame.f_code.co_filename).is_relative_to(_PACKAGE) for frame, _ in frames)


def _against(ours: Any, theirs: Any) -> str:
    return f"raises {type(theirs).__name__}" if isinstance(theirs, Exception) else difference(ours, theirs) or ""


def _head(error: Exception) -> str:
    """Returns an exception's class and the beginning of its words, numbers aside, as one kind of refusal."""
    text = re.sub(r"\d+", "N", " ".join(str(error).split()))
    return f"{type(error).__name__}: {text[:150]}"


def difference(ours: Any, theirs: Any, terms: int = 1) -> str | None:
    """Returns how two results differ: in number, shape, values or element type; None where they agree.

    >>> difference(np.ones(2), np.ones(2)), difference(np.ones(2), np.ones((1, 2))), difference(1.0, 2.0)
    (None, 'shape', 'values')
    >>> difference(np.array([0, 1], np.int8), np.array([False, True])), difference((1, 2), (1,))
    ('dtype int8 for bool', 'number of results')
    """
    if isinstance(ours, list | tuple) or isinstance(theirs, list | tuple):
        if not (isinstance(ours, list | tuple) and isinstance(theirs, list | tuple)) or len(ours) != len(theirs):
            return "number of results"
        return next((d for a, b in zip(ours, theirs, strict=True) if (d := difference(a, b, terms)) is not None), None)
    a, b = np.asarray(ours), np.asarray(theirs)
    if a.shape != b.shape:
        return "shape"
    if not _same_values(a, b, terms):
        return "values"
    # The order of bytes is how elements are stored, and no other type.
    return None if a.dtype.newbyteorder("=") == b.dtype.newbyteorder("=") else f"dtype {a.dtype} for {b.dtype}"


def _same_values(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], terms: int) -> bool:
    if a.dtype.kind not in "biufc" or b.dtype.kind not in "biufc":
        return bool(np.all(a == b))
    if a.dtype.kind in "biu" and b.dtype.kind in "biu":
        return bool(np.array_equal(a, b))
    floats = [x.dtype for x in (a, b) if x.dtype.kind in "fc"]
    tolerance = max(float(np.finfo(kind).eps) for kind in floats) * (256 + terms)
    scale = np.max(np.abs(b[np.isfinite(b)]), initial=0)
    with np.errstate(all="ignore"):
        return bool(np.allclose(a, b, rtol=tolerance, atol=tolerance * float(min(scale, 1e300)), equal_nan=True))


def _shown(value: Any) -> str:
    if isinstance(value, Exception):
        return f"{type(value).__name__}: {str(value)[:300]}"
    try:
        text = " ".join(repr(value).split())
    except Exception:
        # NumPy prints no datetime without a unit.
        text = type(value).__name__
    return text if len(text) < 400 else f"{text[:400]}..."
