"""What the strategies promise, and that they reach every case worth testing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import find, given
from hypothesis import strategies as st

from dialect_tests.generated import DTYPES, FAMILY, KernelCase, dense_data, encodings, kernels, operands, places
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.notation import parse


@given(kernels())
def test_kernels_come_with_all_operands_in_one_type(case: KernelCase) -> None:
    assert set(case.tensors) == set(case.assignment.inputs)
    integers = places(case.assignment)
    assert {array.dtype for name, array in case.tensors.items() if name not in integers} == {case.dtype}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_data_is_exact_in_every_type(dtype: np.dtype[np.generic]) -> None:
    data = dense_data((20, 30), dtype, 0.4, 7)
    assert data.dtype == dtype
    assert 0.3 < np.count_nonzero(data) / data.size < 0.5
    np.testing.assert_array_equal(data.astype(np.complex128), dense_data((20, 30), dtype, 0.4, 7).astype(np.complex128))


def test_operands_are_as_large_as_their_subscripts_reach() -> None:
    assignment = parse("y(i) = x(2*i + k - 1) * w(k) + A(i,i)")
    data = operands(assignment, {"i": 3, "k": 2}, np.dtype(np.int32))
    assert {name: array.shape for name, array in data.items()} == {"x": (5,), "w": (2,), "A": (3, 3)}


def test_the_edges_are_reached() -> None:
    assert find(kernels(), lambda case: 0 in case.extents.values())
    assert find(kernels(), lambda case: bool(case.extents) and set(case.extents.values()) == {1})


def test_the_family_has_no_kernel_twice() -> None:
    assert len({str(parse(text)) for text in FAMILY}) == len(FAMILY)


@given(st.integers(1, 4).flatmap(lambda rank: st.tuples(st.just(rank), encodings(rank))))
def test_encodings_have_the_rank_asked_for(drawn: tuple[int, Encoding]) -> None:
    rank, encoding = drawn
    assert encoding.dim_rank == rank
