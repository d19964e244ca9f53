"""All that is fuzzed, by target and name: a new one is a line here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dialect_tests import (
    assign_cases,
    entries_cases,
    file_cases,
    large_cases,
    object_cases,
    rounding_cases,
    storage_cases,
    test_kernel_properties,
    wide_cases,
    written_cases,
)
from dialect_tests.calls import Trial
from dialect_tests.compile import test_comprehension_programs as test_programs
from dialect_tests.test_kernel_properties import STRATEGIES, StoredCase, run
from fuzzing.subject import Subject

__all__ = ["NAMES", "subject"]


def _on_other_data(case: Any, count: int) -> Iterator[Any]:
    """Yields a case and, where it can be had on other data, that: compiling takes longer than running many."""
    yield case
    if isinstance(case, StoredCase):
        yield from (case.on_other_data(number) for number in range(1, count))


def _on_other_numbers(case: rounding_cases.Case, count: int) -> Iterator[Any]:
    """Yields a case and others on numbers of other magnitudes, of which few meet: more of them than of other data."""
    yield case
    yield from (case.on_other_data(number) for number in range(1, 3 * count))


def _trial(case: Any) -> Trial | None:
    match case:
        case StoredCase():
            return test_kernel_properties.trial(case)
        case entries_cases.Case():
            return entries_cases.trial(case)
        case rounding_cases.Case():
            return rounding_cases.trial(case)
        case written_cases.Case():
            return written_cases.trial(case)
        case test_programs.Case():
            return test_programs.trial(case)
    return None


_ON_CPU: Mapping[str, Subject] = {
    **{name: Subject(cases, run, _on_other_data, _trial) for name, cases in STRATEGIES.items()},
    "rounding": Subject(rounding_cases.cases, rounding_cases.run, _on_other_numbers, _trial),
    "many variables": Subject(wide_cases.cases, run, trial=_trial, share=0.05),
    "written": Subject(written_cases.cases, written_cases.run, trial=_trial),
    "large": Subject(large_cases.cases, large_cases.run, share=0.05),
    "assigned parts": Subject(assign_cases.cases, assign_cases.run),
    "files": Subject(file_cases.cases, file_cases.run),
    "storage": Subject(storage_cases.cases, storage_cases.run),
    "objects": Subject(object_cases.cases, object_cases.run),
}
# A GPU's kernels, which an emulator runs, are of one statement.
NAMES: Mapping[str, tuple[str, ...]] = {"cpu": tuple(_ON_CPU), "cuda": ("kernels", "foreign storage", "expressions")}


def subject(target: str, name: str) -> Subject:
    """Returns what is fuzzed for a target under a name."""
    if target == "cpu":
        return _ON_CPU[name]
    from dialect_tests.gpu import properties  # loads a compiler, of an extra

    return Subject(properties.STRATEGIES[name], properties.run, _on_other_data)
