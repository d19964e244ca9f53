"""Any kernel on any storage for a GPU, as `scripts/fuzz --target cuda` does; and what such runs have found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import mlir_sparse as ms
from dialect_tests.conditions import CONTEXTS, HAS_CONTEXTS, LLVMLITE
from dialect_tests.crossing import examples
from dialect_tests.generated import KernelCase, operands
from dialect_tests.test_kernel_properties import SLOW, StoredCase

pytest.importorskip("llvmlite", reason=LLVMLITE)
from dialect_tests.gpu import properties

if not HAS_CONTEXTS:
    pytest.skip(CONTEXTS, allow_module_level=True)


def case_of(text: str, storage: dict[str, str], dtype: type = np.int64) -> StoredCase:
    assignment = ms.parse(text)
    extents = {name: extent for name, extent in zip("ijklr", (5, 4, 6, 3, 7), strict=True) if name in text}
    data = operands(assignment, extents, np.dtype(dtype), 0.5)
    encodings = {name: ms.encoding(asked) for name, asked in storage.items()}
    return StoredCase(KernelCase(assignment, data, extents, np.dtype(dtype)), encodings, "dense")


def check(case: StoredCase) -> None:
    """Runs a case: right, or refused by name and not by the compiler."""
    try:
        properties.run(case)
    except ms.CompileError as error:
        raise AssertionError(f"{case}: {error}") from error
    except ms.SparseError:
        pass


@examples(30, suppress_health_check=SLOW)
@given(properties.STRATEGIES["kernels"]())
def test_kernels_in_any_storage(case: StoredCase) -> None:
    check(case)


@examples(30, suppress_health_check=SLOW)
@given(properties.STRATEGIES["expressions"]())
def test_any_expression_in_any_storage(case: StoredCase) -> None:
    check(case)


@pytest.mark.parametrize(
    ("text", "storage"),
    [
        ("a = x(r) * (x(r) != x(r))", {"x": "SparseVector"}),
        ("a = x(r) * (z(r) != z(r))", {"x": "SparseVector"}),
        ("a = A(i,j) & 0", {"A": "CSR"}),
        ("a = A(i,j) * (1 < 0)", {"A": "COO"}),
        ("y(i) = A(i,j) * (1 < 0)", {"A": "CSR"}),
        ("y(j) = A(i,j) * (1 < 0)", {"A": "CSR"}),
        ("y(i) = x(i) * sum(r : z(r) * (w(r) != w(r)))", {"x": "SparseVector", "z": "SparseVector"}),
        ("C(i,k) = A(i,j) * B(j,k) * (1 < 0)", {"A": "COO"}),
        ("y += x(i) * (1 < 0)", {"x": "SparseVector"}),
    ],
)
def test_loops_that_fold_to_nothing_run(text: str, storage: dict[str, str]) -> None:
    """The compiler finds out that all terms are 0, and no loop is left that a plan has given to threads."""
    properties.run(case_of(text, storage))


@pytest.mark.parametrize(
    ("text", "storage"),
    [
        ("C(i,j) = A(i,k) * B(k,l) * D(l,j)", {"B": "DBSR(2,2)", "D": "UnorderedCOO"}),
        ("C(i,j) = T(i,k,l) * D(l,j) * E(k,j)", {"D": "DBSR(2,2)"}),
    ],
)
def test_loops_without_a_mapping_are_refused(text: str, storage: dict[str, str]) -> None:
    """What only the loops tell that the sparsifier made is no failure of the compiler."""
    with pytest.raises(ms.UnsupportedError, match=r"^expected .*: .*or use target='cpu'$"):
        properties.run(case_of(text, storage, np.float64))


@pytest.mark.parametrize("extreme", ["max", "min"])
@pytest.mark.parametrize(("kept", "reduced"), ["ij", "ji"])
@pytest.mark.parametrize("least", [-3, 0, 3])
def test_extremes_of_truth_start_from_a_truth_value(extreme: str, kept: str, reduced: str, least: int) -> None:
    properties.run(case_of(f"y({kept}) = {extreme}({reduced} : stored(A(i,j) >= {least}))", {"A": "CSR"}))
