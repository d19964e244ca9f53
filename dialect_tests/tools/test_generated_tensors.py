"""Tensors made on request."""

from __future__ import annotations

import numpy as np
import pytest

from mlir_sparse.dtypes import DTYPES, DType
from mlir_sparse.errors import OperandError, TooLargeError
from mlir_sparse.tools.generated_tensors import KINDS, Generator


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("kind", [*KINDS, "2.5"])
def test_every_kind_in_every_type(kind: str, dtype: DType) -> None:
    array = Generator.parse(kind).dense((3, 4), dtype.numpy)
    assert array.shape == (3, 4)
    assert array.dtype == dtype.numpy
    assert np.isfinite(array.astype(np.complex128)).all()


def test_values() -> None:
    assert Generator.parse("arange").dense((2, 2), np.dtype("f8")).tolist() == [[0, 1], [2, 3]]
    assert Generator.parse("-1.5").dense((), np.dtype("f8")).tolist() == -1.5
    assert Generator.parse("1+2j").dense((1,), np.dtype("c16")).tolist() == [1 + 2j]
    assert Generator.parse("ones").sparse((2, 3), np.dtype("i4"))[1].tolist() == [1]


def test_a_seed_repeats_and_another_does_not() -> None:
    first, again, other = (Generator.parse(f"random:seed={s}").dense((50,), np.dtype("f8")) for s in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    ("shape", "density", "count"), [((40, 50), 0.1, 200), ((10,), 1, 10), ((0, 5), 0.5, 0), ((3,), 0, 1)]
)
def test_sparse_entries_are_distinct_ordered_and_as_many_as_asked(
    shape: tuple[int, ...], density: float, count: int
) -> None:
    coordinates, values = Generator.parse(f"uniform:density={density}").sparse(shape, np.dtype("f8"))
    assert len(values) == count
    assert all(
        len(column) == count and (column < extent).all() for column, extent in zip(coordinates, shape, strict=True)
    )
    entries = list(zip(*coordinates, strict=True))
    assert entries == sorted(set(entries))


def test_large_and_sparse_needs_no_large_array() -> None:
    coordinates, _ = Generator.parse("random:density=1e-12").sparse((10**7, 10**7), np.dtype("f8"))
    assert len(coordinates[0]) == 100


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("randon", "expected -g NAME= one of random, uniform, ones, zeros, arange or a number, but got 'randon'"),
        ("random:seed=x", "expected seed=INTEGER and density=0..1 after 'random:', but got 'seed=x'"),
        ("random:sed=1", "expected seed=INTEGER and density=0..1 after 'random:', but got 'sed=1'"),
        ("ones:density=2", "expected seed=INTEGER and density=0..1 after 'ones:', but got 'density=2'"),
        ("ones:density=nan", "expected seed=INTEGER and density=0..1 after 'ones:', but got 'density=nan'"),
    ],
)
def test_bad_text_is_refused(text: str, message: str) -> None:
    with pytest.raises(OperandError) as error:
        Generator.parse(text)
    assert str(error.value) == message


def test_what_would_not_fit_is_refused() -> None:
    with pytest.raises(
        TooLargeError, match="at most 2147483648 generated values, but got 10000000000 for 100000 x 100000"
    ):
        Generator.parse("ones").dense((100_000, 100_000), np.dtype("f8"))
