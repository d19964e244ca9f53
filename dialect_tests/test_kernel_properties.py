"""Any kernel on any storage: right, or an error with a name; never wrong, and never the end of the process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import mlir_sparse as ms
from dialect_tests import entries_cases, oracle
from dialect_tests.calls import Call, Results, Trial, densified
from dialect_tests.compile import test_comprehension_programs as programs
from dialect_tests.crossing import examples
from dialect_tests.entries_oracle import entries_of
from dialect_tests.generated import (
    FAMILY,
    PLACES,
    WITH_INDICES,
    KernelCase,
    assignments,
    encodings,
    extent_classes,
    gathered_classes,
    kernels,
    operands,
)
from dialect_tests.kernel_cases import check_storage
from mlir_sparse.encoding import Encoding
from mlir_sparse.notation import Assignment, is_index_vector, reads

# Slices are views, and a batch is of rank 3: neither can be drawn and packed for every rank.
WITHOUT = ("CSR_SLICE",)


@dataclass(frozen=True)
class StoredCase:
    """A kernel, its data, how the operands are stored and how the result is to be."""

    kernel: KernelCase
    storage: Mapping[str, Encoding]
    out: Encoding | str | None

    def __str__(self) -> str:
        stored = ", ".join(f"{name}: {encoding}" for name, encoding in self.storage.items())
        shapes = {name: array.shape for name, array in self.kernel.tensors.items()}
        return f"{self.kernel.assignment} {self.kernel.dtype} {shapes} [{stored}] -> {self.out}"

    def on_other_data(self, seed: int) -> StoredCase:
        """Returns the same kernel in the same storage on operands of other extents, from empty to full."""
        assignment, random = self.kernel.assignment, np.random.default_rng(seed)
        leaders = extent_classes(assignment)
        one = len(set(self.kernel.extents.values())) == 1  # as it must be where a tensor's dimensions are mixed up
        drawn = {name: int(random.integers(0, 9)) for name in sorted(set(leaders.values()))}
        first = next(iter(drawn.values()), 0)
        extents = {name: first if one else drawn[leader] for name, leader in leaders.items()}
        extents |= {name: PLACES for name, leader in leaders.items() if leader in gathered_classes(assignment)}
        data = operands(assignment, extents, self.kernel.dtype, float(random.choice([0.0, 0.2, 0.5, 1.0])), seed)
        return replace(self, kernel=replace(self.kernel, tensors=data, extents=extents))


@st.composite
def stored(draw: st.DrawFn, kernel: KernelCase, foreign: bool = False) -> StoredCase:
    """Draws the storage of every operand and of the result; `foreign` as for `encodings`."""
    storage = {}
    for name, array in kernel.tensors.items():
        if array.ndim and draw(st.integers(0, 2)):
            storage[name] = draw(encodings(array.ndim, WITHOUT, foreign))
    rank = len(kernel.assignment.target.subscripts)
    choices: list[st.SearchStrategy[Any]] = [st.just(None), st.just("dense")]
    if rank and not kernel.assignment.op.reads_target:
        choices.append(encodings(rank, WITHOUT, foreign))
    return StoredCase(kernel, storage, draw(st.one_of(choices)))


def cases() -> st.SearchStrategy[StoredCase]:
    """Draws kernels of the literature, and some on positions, in any storage of the dialect."""
    return kernels((*FAMILY, *WITH_INDICES)).flatmap(stored)


def foreign_cases() -> st.SearchStrategy[StoredCase]:
    """Draws kernels of the literature, in any storage at all."""
    return kernels().flatmap(lambda kernel: stored(kernel, foreign=True))


def _has_extents(assignment: Assignment) -> bool:
    """Returns whether an operand gives the extent of each of the target's variables."""
    given = (access for access in reads(assignment.value) if not is_index_vector(access.tensor))
    read = {index for access in given for index in access.indices}
    return read >= set(assignment.target.indices)


@st.composite
def unusual_cases(draw: st.DrawFn) -> StoredCase:
    """Draws expressions that nobody would write, in any storage; one extent for all variables."""
    assignment = draw(assignments(depth=2).filter(_has_extents))
    extent, dtype = draw(st.integers(0, 4)), draw(st.sampled_from([np.dtype(np.int64), np.dtype(np.float64)]))
    extents = {index.name: extent for index in assignment.indices}
    data = operands(assignment, extents, dtype, 0.4, draw(st.integers(0, 9)))
    return draw(stored(KernelCase(assignment, data, extents, dtype)))


# What is fuzzed (`scripts/fuzz`): strategies of cases that `run` takes, by name.
STRATEGIES: dict[str, Callable[[], st.SearchStrategy[Any]]] = {
    "kernels": cases,
    "foreign storage": foreign_cases,
    "expressions": unusual_cases,
    "comprehensions": programs.cases,
    "entries": entries_cases.cases,
}


def trial(case: StoredCase) -> Trial:
    """Returns the call that a case is, and the oracle's judgement of it."""
    kernel = case.kernel
    tensors: dict[str, Any] = dict(kernel.tensors)
    for name, encoding in case.storage.items():
        tensors[name] = ms.tensor(tensors[name], encoding)

    def judge(results: Results) -> None:
        # Storage of dense levels only is an array, with an entry everywhere.
        stored = {name: entries_of(tensors[name]).present for name, kept in case.storage.items() if not kept.is_dense}
        expected = oracle.evaluate(kernel.assignment, kernel.tensors, stored=stored)
        (result,) = results
        if isinstance(result, ms.SparseTensor):
            check_storage(result)
        oracle.assert_close(densified(result), expected, terms=kernel.terms)

    return Trial(Call(kernel.assignment, tensors, case.out), judge)


def run(case: StoredCase | programs.Case | entries_cases.Case) -> None:
    """Evaluates a case and compares with the oracle.

    Raises:
        SparseError: for a case that is refused by name; never from within the compiler.
    """
    if isinstance(case, programs.Case):
        programs.run(case)
    elif isinstance(case, entries_cases.Case):
        entries_cases.run(case)
    else:
        trial(case).run()


def check(case: StoredCase) -> None:
    """Runs a case: right, or refused by name before the compiler saw it."""
    try:
        run(case)
    except ms.CompileError as error:
        raise AssertionError(f"{case}: {error}") from error
    except ms.SparseError:
        pass


SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]


@examples(50, suppress_health_check=SLOW)
@given(cases())
def test_kernels_in_any_storage(case: StoredCase) -> None:
    check(case)


@examples(30, suppress_health_check=SLOW)
@given(unusual_cases())
def test_any_expression_in_any_storage(case: StoredCase) -> None:
    check(case)


@pytest.mark.parametrize(
    ("text", "storage", "out"),
    [
        # Blocked along one dimension only: a segmentation fault in the sparsifier.
        ("C(i,j) = A(i,j) * B(i,j)", {"A": "BSR(3, 1)"}, "dense"),
        ("y(i) = A(i,j) + x(i)", {"A": "(i, j) -> (j floordiv 2 : dense, i : compressed, j mod 2 : dense)"}, None),
        ("C(i,j) = A(i,j) + B(i,j) + D(i,j)", {"A": "DBSR(3, 1)", "B": "COO"}, "dense"),
        # A part of logic, computed beforehand, in the type of truth instead of its own.
        ("y(j,i) = t & (B(j,i) & D(i,i))", {"B": "CSR"}, None),
        # A choice whose sides are unlike: planned as one of more sparse parts than a nest takes.
        (
            "y = -where(A(k,i), t, z(i))",
            {"A": "ModeGeneric(3, 1)", "z": "(i) -> (i : compressed(nonordered))"},
            "dense",
        ),
        # A result variable that only stands in a sum of subscripts.
        ("y(i) = x(i + k) * w(k)", {"w": "SparseVector"}, "SparseVector"),
        # A pick from an input that needs the places that another pick gives.
        ("y(i) = A(I(i),i) + A(i,I(I(i)))", {"I": "DenseVector"}, None),
        # The one row of a vector has no coordinates.
        ("s = argmin(i : x(i))", {"x": "SparseVector"}, None),
    ],
)
def test_cases_that_failed_once(text: str, storage: dict[str, str], out: str | None) -> None:
    assignment = ms.parse(text)
    extents = {"i": 4, "j": 5, "k": 3}
    data = operands(assignment, extents, np.dtype(np.float64), 0.5)
    encodings_ = {name: ms.encoding(asked) for name, asked in storage.items()}
    run(StoredCase(KernelCase(assignment, data, extents, np.dtype(np.float64)), encodings_, out))
