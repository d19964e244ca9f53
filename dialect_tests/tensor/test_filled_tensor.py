"""Tensors with a fill value: how they are made, stored, shown, copied, and what they refuse."""

from __future__ import annotations

import pickle
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse.tensor.create import tensor_with_zeros

DENSE = np.full((3, 4), np.inf)
DENSE[0, 1], DENSE[2, 3], DENSE[2, 0] = 2.0, 0.0, -1.0
WITHOUT_PADDING = ("CSR", "CSC", "DCSR", "DCSC", "COO", "SoA-COO", "CSR(unordered)")


@pytest.mark.parametrize("storage", WITHOUT_PADDING)
def test_dense_sources_store_what_is_no_fill_value(storage: str) -> None:
    A = ms.tensor(DENSE, storage, fill_value=np.inf)
    assert isinstance(A, ms.FilledTensor)
    assert not isinstance(A, ms.SparseTensor)
    assert (A.nse, A.fill_value, A.shape, A.dtype) == (3, np.inf, (3, 4), np.dtype("f8"))
    np.testing.assert_array_equal(A.to_numpy(), DENSE)
    np.testing.assert_array_equal(A.convert("COO").to_numpy(), DENSE)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(A)).to_numpy(), DENSE)


def test_every_preset_keeps_elements_or_refuses() -> None:
    dense = np.full((4, 4), 7.0)
    dense[1], dense[2, 2] = 0.0, 1.0
    taken = []
    for name in ms.PRESETS:
        for parameters in ({}, {"block": (2, 2)}):
            try:
                A = ms.tensor(dense, name, fill_value=7.0, **parameters)
            except ms.SparseError:
                continue
            np.testing.assert_array_equal(A.to_numpy(), dense, err_msg=name)
            np.testing.assert_array_equal((A + 1).to_numpy(), dense + 1, err_msg=name)
            np.testing.assert_array_equal(A.T.to_numpy(), dense.T, err_msg=name)
            np.testing.assert_array_equal(A.sum(axis=0), dense.sum(axis=0), err_msg=name)
            taken.append(name)
    assert {"CSR", "CSC", "COO", "DCSR"} <= set(taken)
    for name in ("BSR", "DIA", "dense", "NV_24"):
        with pytest.raises(ms.SparseError):
            ms.tensor(dense, name, fill_value=7.0, **({"block": (2, 2)} if name == "BSR" else {}))


def test_sparse_sources_keep_their_entries() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    S = sparse.csr_array(np.array([[0.0, 2.0], [3.0, 0.0]]))
    for A in (ms.tensor(S, fill_value=-1), ms.tensor(S).with_fill(-1), ms.tensor(S.tocoo(), fill_value=-1)):
        assert A.to_numpy().tolist() == [[-1.0, 2.0], [3.0, -1.0]]
    assert np.shares_memory(ms.tensor(S, fill_value=-1).stored.storage.values, S.data)
    pair = ms.tensor(([[0, 0, 1], [0, 0, 1]], [1.0, 2.0, -1.0]), shape=(2, 2), fill_value=-1)
    assert (pair.to_numpy().tolist(), pair.nse) == ([[3.0, -1.0], [-1.0, -1.0]], 2)
    blocks = ms.tensor(np.eye(4), "BSR", block=(2, 2))
    with pytest.raises(ms.UnsupportedError, match="told from padding for fill value 2"):
        blocks.with_fill(2)
    assert blocks.with_fill(0) is blocks
    assert blocks.fill_value == 0.0


def test_zero_is_no_fill_value_and_minus_zero_is_one() -> None:
    assert isinstance(ms.tensor(np.eye(2), fill_value=0), ms.SparseTensor)
    assert isinstance(ms.tensor(np.eye(2), fill_value=False), ms.SparseTensor)
    A = ms.tensor(np.array([0.0, -0.0, 1.0]), fill_value=-0.0)
    assert (A.nse, np.signbit(A.fill_value)) == (2, True)
    assert np.signbit(A.to_numpy()).tolist() == [False, True, False]
    assert isinstance(A.astype("i64"), ms.SparseTensor)
    assert isinstance(A + 0.0, ms.SparseTensor)
    assert np.signbit((-ms.tensor(np.eye(2), fill_value=1)).fill_value)


@pytest.mark.parametrize(
    ("dtype", "fill", "held"),
    [
        ("i8", 127, True),
        ("i8", 128, False),
        ("u8", -1, False),
        ("i64", 2**63 - 1, True),
        ("i64", 2**63, False),
        ("u64", 2**64 - 1, True),
        ("i64", 2**70, False),
        ("i32", 1.5, False),
        ("i32", 2.0, True),
        ("i32", np.nan, False),
        ("i32", np.inf, False),
        ("bool", True, True),
        ("bool", 2, False),
        ("f32", 0.1, True),
        ("f32", 1e300, False),
        ("f16", 70000, False),
        ("f64", 1j, False),
        ("c64", 1j, True),
        ("f64", complex(1, 0), False),
        ("bf16", np.inf, True),
        ("f8e5m2", 1.5, True),
        ("f64", "1", False),
        ("f64", None, True),
        ("f64", [1.0], False),
        ("f64", np.ones(1), False),
        ("f64", object(), False),
        ("f64", np.float32(2), True),
    ],
)
def test_fill_values_are_held_or_refused(dtype: str, fill: Any, held: bool) -> None:
    array = np.ones((2, 2), np.int8)
    if not held:
        with pytest.raises((ms.DTypeError, ms.OperandError), match="fill value"):
            ms.tensor(array, dtype=dtype, fill_value=fill)
        return
    A = ms.tensor(array, dtype=dtype, fill_value=fill)
    assert A.fill_value == np.asarray(0 if fill is None else fill).astype(A.dtype)
    assert (A.to_numpy() == 1).all()


def test_types_of_ml_dtypes() -> None:
    for kind in (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2):
        dense = np.full((3, 4), 2.0).astype(kind)
        dense[0, 1] = kind(0)
        A = ms.tensor(dense, fill_value=2)
        assert (A.nse, A.dtype) == (1, np.dtype(kind))
        np.testing.assert_array_equal(A.to_numpy().astype("f4"), dense.astype("f4"))
        np.testing.assert_array_equal((A * A).to_numpy().astype("f4"), (dense * dense).astype("f4"))
        np.testing.assert_array_equal(A.T.to_numpy().astype("f4"), dense.T.astype("f4"))
        assert float(A.max()) == 2.0


def test_own_fill_values_are_kept() -> None:
    A = ms.tensor(DENSE, fill_value=np.inf)
    assert ms.tensor(A, fill_value=np.inf) is A
    for source in (A, A.stored):
        with pytest.raises(ms.OperandError, match=r"as the source has, but got 5: A\.with_fill\(5\)"):
            ms.tensor(source, fill_value=5)
    assert A.with_fill(np.inf).to_numpy().tolist() == DENSE.tolist()
    assert A.with_fill(0) is A.stored
    with pytest.raises(ms.UnsupportedError, match="for a test, but got fill value inf"):
        tensor_with_zeros(A, "a test")


@pytest.mark.parametrize("options", [{"drop_zeros": True}, {"prune": True}, {"sum_duplicates": False}])
def test_options_about_zeros_are_refused(options: dict[str, bool]) -> None:
    with pytest.raises(ms.OperandError, match="fill_value="):
        ms.tensor(DENSE, fill_value=np.inf, **options)
    if "sum_duplicates" not in options:
        with pytest.raises(ms.UnsupportedError, match="drop_zeros and prune, but got fill value inf"):
            ms.tensor(ms.tensor(DENSE, fill_value=np.inf), **options)


def test_implicit_values_contradict_it() -> None:
    text = "#sparse_tensor.encoding<{ map = (i, j) -> (i : dense, j : compressed), implicitVal = 0.0 : f64 }>"
    with pytest.raises(ms.OperandError, match="expected no implicitVal beside fill value 1"):
        ms.tensor(np.eye(2), text, fill_value=1)
    text = "#sparse_tensor.encoding<{ map = (i, j) -> (i : dense, j : compressed), explicitVal = 1.0 : f64 }>"
    A = ms.tensor((np.array([[0], [1]]), np.ones(1)), text, shape=(2, 2)).with_fill(3)
    assert (A * 2).to_numpy().tolist() == [[6.0, 2.0], [6.0, 6.0]]


def test_slices_and_repeats_are_made_plain() -> None:
    whole = ms.tensor(np.arange(12.0).reshape(3, 4))
    part = whole.slice(slice(1, 3), slice(0, 4, 2)).with_fill(-1)
    assert part.to_numpy().tolist() == [[4.0, 6.0], [8.0, 10.0]]
    loose = "(i, j) -> (i : compressed(nonunique), j : singleton(nonunique))"
    twice = ms.tensor(([[0, 0], [1, 1]], [1.0, 2.0]), loose, shape=(2, 2), sum_duplicates=False)
    assert (twice.nse, twice.with_fill(9).to_numpy().tolist()) == (2, [[9.0, 3.0], [9.0, 9.0]])


def test_full_stores_nothing_where_asked() -> None:
    A = ms.full((10**5, 10**5), np.inf, stored=False)
    assert (A.nse, A.fill_value, A.min()) == (0, np.inf, np.inf)
    assert np.minimum(A, ms.full((10**5, 10**5), 3, stored=False)).fill_value == 3.0
    assert isinstance(ms.full((2, 2), 0, stored=False), ms.SparseTensor)
    assert ms.full((2, 2), 5, stored=False, encoding="COO").to_numpy().tolist() == [[5, 5], [5, 5]]
    assert ms.full((), 5, stored=False) == 5
    assert (A[7, 8], A.sum(), (np.inf == A).sum()) == (np.inf, np.inf, 10**10)


def test_it_shows_its_fill_value() -> None:
    A = ms.tensor(DENSE, fill_value=np.inf)
    assert repr(A) == "<FilledTensor of inf: f64[3,4] (i, j) -> (i : dense, j : compressed), 3 entries, 52 B>"
    assert str(A).splitlines()[0].startswith("FilledTensor of inf: f64[3,4]")
    page = A._repr_html_()
    assert "FilledTensor" in page
    assert "fill value" in page
    assert "SparseTensor" not in page
    assert "3 entries" in str(A.spy())


def test_dense_copies_are_warned_of() -> None:
    A = ms.full((2000, 2000), 1.0, encoding="DCSR", stored=False)
    with pytest.warns(ms.DenseCopyWarning, match="a fill value"):
        assert np.asarray(A).shape == (2000, 2000)
    with pytest.raises(ms.StorageError, match="copy=False"):
        np.array(A, copy=False)
    with pytest.raises(ms.TooLargeError):
        ms.full((10**6, 10**6), 1.0, encoding="DCSR", stored=False).to_numpy()


def test_numbers_and_keys() -> None:
    one = ms.tensor([[5.0]], fill_value=5)
    assert (float(one), int(one), bool(one), one.item(), complex(one), len(one)) == (5.0, 5, True, 5.0, 5 + 0j, 1)
    A = ms.tensor(DENSE, fill_value=np.inf)
    with pytest.raises(ms.OperandError, match=r"A\.any\(\) or A\.all\(\)"):
        bool(A)
    with pytest.raises(ms.RankError):
        A.item()
    with pytest.raises(ms.UnsupportedError, match="an assignment"):
        A[0, 0] = 1
    with pytest.raises(TypeError):
        hash(A)
    with pytest.raises(ms.OperandError, match="to make a FilledTensor"):
        ms.FilledTensor(A)
    assert A != "text"
    assert (A == None) is False  # noqa: E711
    assert 2.0 in A
    with pytest.raises(ms.IndexRangeError):
        A[7, 0]
