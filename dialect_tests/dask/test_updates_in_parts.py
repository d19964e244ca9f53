"""Statements that update their targets, or assign to slices of them, on Dask and in streams: equal to the whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import mlir_sparse as ms

da = pytest.importorskip("dask.array")
msd = pytest.importorskip("mlir_sparse.dask")

ROWS, COLUMNS = 12, 9
_OPS = ["+=", "*=", "max=", "min=", "or=", "and="]


def _matrix(seed: int, rows: int = ROWS, columns: int = COLUMNS) -> ms.SparseTensor:
    random = np.random.default_rng(seed)
    values = random.integers(-3, 4, (rows, columns)).astype(float)
    return ms.tensor(values * (random.random((rows, columns)) < 0.5), "CSR")


def _array(found: Any) -> np.ndarray:
    return found.to_numpy() if isinstance(found, ms.SparseTensor) else np.asarray(found)


def _of_the_whole(text: str, whole: ms.SparseTensor, named: dict[str, Any], **options: Any) -> Any:
    try:
        return ms.evaluate(text, A=whole, **named, **options)
    except ms.SparseError as error:
        return type(error)


def _check(text: str, whole: ms.SparseTensor, named: dict[str, Any], pieces: int, **options: Any) -> None:
    wanted = _of_the_whole(text, whole, named, **options)
    before = {name: np.array(value) for name, value in named.items()}
    A = msd.from_tensor(whole, pieces=pieces)
    for compute in (
        lambda: ms.evaluate(text, A=A, **named, **options).compute(scheduler="synchronous"),
        lambda: ms.stream(text, A=ms.source(whole), memory=2000, **named, **options),
    ):
        if isinstance(wanted, type):
            with pytest.raises(ms.SparseError):
                compute()
            continue
        found = _array(compute())
        assert found.dtype == _array(wanted).dtype
        np.testing.assert_allclose(found, _array(wanted), rtol=1e-12)
    for name, value in before.items():
        np.testing.assert_array_equal(named[name], value)


@pytest.mark.parametrize("op", _OPS)
@pytest.mark.parametrize("text", ["z(j) {} A(i,j)", "z(j) {} A(i,j) * w(i) * 2", "y(i) {} A(i,j)", "s {} A(i,j)"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_updates_are_those_of_the_whole(op: str, text: str, dtype: Any) -> None:
    random = np.random.default_rng(2)
    values = {"z": COLUMNS, "y": ROWS, "w": ROWS}
    named = {name: random.integers(-3, 4, size).astype(dtype) for name, size in values.items() if f"{name}(" in text}
    if text[0] == "s":
        named["s"] = dtype(2)
    _check(text.format(op), _matrix(1), named, pieces=4)


@settings(max_examples=40)
@given(st.data())
def test_slices_of_targets(data: Any) -> None:
    def subscript(variable: str) -> str:
        factor, added = data.draw(st.integers(1, 3)), data.draw(st.integers(-1, 4))
        return f"{factor}*{variable} + {added}".replace("+ -", "- ")

    indices = data.draw(st.sampled_from(["i", "j", "ij", "ji"]))
    op = data.draw(st.sampled_from(["=", "+=!", "max=!", *_OPS]))
    text = f"c({', '.join(map(subscript, indices))}) {op} A(i,j)"
    named = {}
    if op in _OPS:
        shape = [data.draw(st.integers(5, 50)) for _ in indices]
        dtype = data.draw(st.sampled_from([np.float64, np.float32, np.int64, np.bool_]))
        named["c"] = (np.random.default_rng(1).integers(-3, 4, shape) / 3).astype(dtype)
    rows = data.draw(st.sampled_from([0, 1, ROWS]))
    assume(rows or op in ("=", "+="))  # a maximum of nothing has no number
    whole = _matrix(3, rows).astype(data.draw(st.sampled_from(["f64", "f32"])))
    _check(text, whole, named, pieces=data.draw(st.integers(1, 5)))


def test_updates_under_a_semiring_and_of_sparse_targets() -> None:
    random = np.random.default_rng(4)
    w, z = random.random(ROWS), random.random(COLUMNS)
    _check("z(j) += A(i,j) * w(i)", _matrix(1), {"z": z, "w": w}, pieces=4, semiring="min_plus")
    whole, C = _matrix(1), ms.tensor(np.eye(COLUMNS), "CSR")
    wanted = np.eye(COLUMNS) + whole.to_numpy().T @ whole.to_numpy()
    A = msd.from_tensor(whole, pieces=4)
    found = ms.evaluate("C(j,k) += A(i,j) * B(i,k)", A=A, B=whole, C=C, out="CSR").compute(scheduler="synchronous")
    assert isinstance(found, ms.SparseTensor)
    np.testing.assert_allclose(found.to_numpy(), wanted)
    streamed = ms.stream("C(j,k) += A(i,j) * B(i,k)", A=ms.source(whole), B=whole, C=C, out="CSR", memory=2000)
    np.testing.assert_allclose(streamed.to_numpy(), wanted)


def test_an_update_reads_its_target_in_its_value_too() -> None:
    named = {"z": np.arange(float(COLUMNS)), "w": np.arange(float(ROWS))}
    _check("z(j) += A(i,j) * w(i) * z(j)", _matrix(1), named, pieces=4)


def test_streams_write_updates_to_an_array() -> None:
    whole, w, z = _matrix(1), np.arange(float(ROWS)), np.arange(float(COLUMNS))
    out, wanted = np.full(COLUMNS, 7.0), z + w @ whole.to_numpy()
    found = ms.stream("z(j) += A(i,j) * w(i)", A=ms.source(whole), w=w, z=z, out=out, memory=2000)
    assert found is out
    np.testing.assert_allclose(out, wanted)
    np.testing.assert_array_equal(z, np.arange(float(COLUMNS)))
    ms.stream("z(j) += A(i,j) * w(i)", A=ms.source(whole), w=w, z=z, out=z, memory=2000)
    np.testing.assert_allclose(z, wanted)


def test_what_cannot_be_cut_is_refused_with_reasons() -> None:
    whole, w, z = _matrix(1), np.arange(float(ROWS)), np.arange(float(COLUMNS))
    A, text = msd.from_tensor(whole, pieces=3), "z(j) += v(j) - A(i,j) * w(i)"
    for compute in (
        lambda **named: ms.evaluate(text, A=A, **named),
        lambda **named: ms.stream(text, A=ms.source(whole), **named),
    ):
        with pytest.raises(ms.UnsupportedError, match=r"i: v\(j\) lacks i: each piece would count it"):
            compute(w=w, z=z, v=z)
        with pytest.raises(ms.UnknownTensorError, match="expected data for tensor z, but got none"):
            compute(w=w, v=z)


@pytest.mark.parametrize("target", ["c(i + j)", "c(i + 1, i)", "c(5 - i)", "c(5)"])
def test_targets_that_are_no_slices_are_refused(target: str) -> None:
    with pytest.raises(ms.UnsupportedError, match="expected one index variable in each subscript of the target"):
        ms.evaluate(f"{target} = A(i,j)", A=msd.from_tensor(_matrix(1), pieces=3))


def test_slices_take_plus_times_and_arrays() -> None:
    A = msd.from_tensor(_matrix(1), pieces=3)
    with pytest.raises(ms.UnsupportedError, match="semiring=min_plus"):
        ms.evaluate("c(i + 1) = A(i,j)", A=A, semiring="min_plus")
    with pytest.raises(ms.UnsupportedError, match="expected an array for"):
        ms.evaluate("c(i + 1, j) = A(i,j)", A=A, out="CSR")


def test_explain_shows_updates_and_slices() -> None:
    A, w = msd.from_tensor(_matrix(1), pieces=3), np.ones(ROWS)
    told = msd.explain("z(j) += A(i,j) * w(i)", A=A, w=w, z=np.ones(COLUMNS)).splitlines()
    assert (told[0].partition(":")[0], told[-1]) == ("cut along i", "then z(j) += z_values(j)")
    told = msd.explain("c(i + 2) = A(i,j) * v(j)", A=A, v=np.ones(COLUMNS)).splitlines()
    assert (told[0].partition(":")[0], told[-1]) == ("cut along i", "then c(i + 2) = c_values(i)")
