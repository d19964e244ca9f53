"""NumPy's functions on tensors with a fill value, beside NumPy's on arrays, for random data of each element type."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms

INF, NAN = np.inf, np.nan
FILLS: dict[str, tuple[Any, ...]] = {
    "f8": (INF, -INF, NAN, -0.0, 1.5, -2.0),
    "f4": (INF, NAN, -0.0, 0.1),
    "f2": (INF, 1.0),
    "c16": (1 + 2j, complex(INF, 0), complex(0, -0.0)),
    "c8": (-1j,),
    "i8": (1, -(2**63), 2**63 - 1),
    "i4": (-3, 2**31 - 1),
    "i2": (7,),
    "i1": (-128, 127),
    "u1": (255, 1),
    "u4": (2**32 - 1,),
    "u8": (2**64 - 1, 2),
    "?": (True,),
}
CASES = [(kind, fill) for kind, fills in FILLS.items() for fill in fills]
SHAPES = ((5,), (1,), (0,), (4, 6), (1, 1), (0, 3), (3, 0), (1, 5), (2, 3, 4), (2, 1, 3))
STORAGES = {1: ("SparseVector", None), 2: ("CSR", "CSC", "DCSR", "COO", "SoA-COO"), 3: ("CSF", "COO")}


def array_of(rng: np.random.Generator, kind: str, fill: Any, shape: tuple[int, ...]) -> Any:
    """Returns an array with the fill value nearly everywhere, and zeros, infinities and the like between."""
    dtype = np.dtype(kind)
    dense = np.full(shape, fill, dtype)
    odd: list[Any] = [0, 1, 2, 3]
    if dtype.kind in "fc":
        odd += [-1, -0.0, 2.5, INF, -INF, NAN]
    elif dtype.kind == "i":
        odd += [-1, -2]
    places = rng.random(shape) < rng.choice([0.0, 0.3, 0.3, 1.0])
    drawn = np.array([odd[at] for at in rng.integers(0, len(odd), int(places.sum()))] or [0]).astype(dtype)
    dense[places] = drawn[: int(places.sum())]
    return dense


def drawn(count: int, seed: int) -> Iterator[tuple[Any, Any, np.random.Generator]]:
    """Yields arrays, and tensors of them with a fill value."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        kind, fill = CASES[rng.integers(len(CASES))]
        shape = SHAPES[rng.integers(len(SHAPES))]
        dense = array_of(rng, kind, fill, shape)
        storages = STORAGES[len(shape)]
        yield dense, ms.tensor(dense, storages[rng.integers(len(storages))], fill_value=fill), rng


def dense_of(value: Any) -> Any:
    return value.to_numpy() if isinstance(value, ms.SparseTensor | ms.FilledTensor) else np.asarray(value)


def check(found: Any, wanted: Any, what: object) -> None:
    """Compares elements, shapes and types; signs of zeros too."""
    if isinstance(wanted, list | tuple):
        assert len(found) == len(wanted), what
        for one, other in zip(found, wanted, strict=True):
            check(one, other, what)
        return
    one, other = dense_of(found), np.asarray(wanted)
    assert (one.shape, one.dtype) == (other.shape, other.dtype), (what, found, wanted)
    rough = 1e-2 if other.dtype.itemsize == 2 else 2e-5
    np.testing.assert_allclose(one, other, rtol=rough, atol=1e-6, err_msg=str(what))


def same(function: Callable[..., Any], dense: tuple[Any, ...], tensors: tuple[Any, ...], what: object) -> None:
    """Compares a function of tensors with NumPy's of arrays; where NumPy refuses, this must."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            wanted = function(*dense)
        except (TypeError, ValueError, IndexError, np.exceptions.AxisError):
            with pytest.raises(ms.SparseError):
                function(*tensors)
            return
        check(function(*tensors), wanted, what)


def test_arrays_come_back() -> None:
    for dense, tensor, _ in drawn(150, 1):
        assert isinstance(tensor, ms.FilledTensor)
        found = tensor.to_numpy()
        assert found.dtype == dense.dtype
        np.testing.assert_array_equal(found, dense)
        if dense.dtype.kind in "fc":
            np.testing.assert_array_equal(np.signbit(found.real), np.signbit(dense.real))
        assert tensor.nse <= dense.size
        np.testing.assert_array_equal(np.asarray(tensor), dense)


_UNARY = (
    "negative positive absolute sign square sqrt exp expm1 log1p sin tanh floor ceil isnan isfinite isinf signbit "
    "conjugate reciprocal logical_not invert frexp modf spacing rint"
)
_BINARY = (
    "add subtract multiply divide floor_divide remainder power maximum minimum fmax fmin less less_equal equal "
    "not_equal greater logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor arctan2 hypot copysign "
    "divmod float_power left_shift logaddexp"
)
_REDUCTIONS = (
    "sum prod max min any all mean var std nansum nanprod nanmean nanmax nanmin nanvar nanstd argmax argmin "
    "count_nonzero median"
)
_UFUNCS = (np.add, np.multiply, np.maximum, np.fmin, np.logical_or, np.bitwise_xor, np.bitwise_and)


@pytest.mark.parametrize("name", _UNARY.split())
def test_functions_of_one_tensor(name: str) -> None:
    for dense, tensor, _ in drawn(20, 2):
        same(getattr(np, name), (dense,), (tensor,), (name, dense))


@pytest.mark.parametrize("name", _BINARY.split())
def test_functions_of_two(name: str) -> None:
    ufunc = getattr(np, name)
    for dense, tensor, rng in drawn(12, 3):
        for number in (2, 0, -1.5, True):
            if dense.dtype.kind == "u" and number == -1.5 and name == "left_shift":
                continue
            same(lambda x, n=number: ufunc(x, n), (dense,), (tensor,), (name, dense, number))
            same(lambda x, n=number: ufunc(n, x), (dense,), (tensor,), (name, number, dense))
        kind, fill = CASES[rng.integers(len(CASES))]
        shape = [dense.shape, dense.shape[-1:], (1,) * dense.ndim, (*dense.shape[:-1], 1)][rng.integers(4)]
        other = array_of(rng, kind, fill, shape)
        second = ms.tensor(other, fill_value=fill)
        what = (name, dense, other)
        same(ufunc, (dense, other), (tensor, second), what)
        same(ufunc, (dense, other), (tensor, other), what)
        same(ufunc, (other, dense), (other, tensor), what)
        same(ufunc, (dense, other), (tensor, ms.tensor(other)), what)
        same(ufunc, (other, dense), (ms.tensor(other), tensor), what)


def test_results_are_sparse_with_the_fill_value_of_the_function() -> None:
    A = ms.tensor([[INF, 2.0], [3.0, INF]], fill_value=INF)
    assert (A + 1).fill_value == INF
    assert isinstance(A + A, ms.FilledTensor)
    assert isinstance(1 / A, ms.SparseTensor)
    assert isinstance(A < INF, ms.SparseTensor)
    assert (A == INF).fill_value == np.True_
    assert (A == INF).nse == 2
    assert np.isnan((A - A).fill_value)
    assert (A * -0.0 + 1).shape == (2, 2)
    B = ms.tensor([[0.0, 2.0], [3.0, 0.0]])
    assert (A + B).fill_value == INF
    assert (B + A).fill_value == INF
    assert (B @ np.eye(2)).shape == (2, 2)


@pytest.mark.parametrize("name", _REDUCTIONS.split())
def test_reductions(name: str) -> None:
    function = getattr(np, name)
    for dense, tensor, _ in drawn(25, 4):
        if dense.dtype.kind == "c" and name in ("median", "nanmax", "nanmin", "max", "min", "argmax", "argmin"):
            continue
        if dense.dtype.kind == "c" and not np.isfinite(dense).all() and ("var" in name or "std" in name):
            continue
        if dense.dtype == np.float16 and name in ("prod", "nanprod", "var", "std", "nanvar", "nanstd"):
            continue
        if dense.size == 0 and name in ("nanmax", "nanmin", "median"):
            continue
        for axis in (None, *range(-1, dense.ndim), *([(0, 1)] if dense.ndim > 1 and name[:3] != "arg" else [])):
            for keep in (False, True):
                if name == "median" and isinstance(axis, tuple):
                    continue
                same(
                    lambda x, a=axis, k=keep: function(x, axis=a, keepdims=k), (dense,), (tensor,), (name, axis, dense)
                )


@pytest.mark.parametrize(
    "ufunc", [np.add, np.multiply, np.maximum, np.fmin, np.logical_or, np.bitwise_xor, np.bitwise_and]
)
def test_reductions_of_ufuncs(ufunc: np.ufunc) -> None:
    for dense, tensor, _ in drawn(25, 5):
        if dense.dtype.kind == "c" and not np.isfinite(dense).all():
            continue  # NumPy begins with 1 times the first element, or with that, by its layout
        for axis in (None, 0, -1):
            same(lambda x, a=axis: ufunc.reduce(x, axis=a), (dense,), (tensor,), (ufunc, axis, dense))
            if dense.dtype.kind not in "c":
                same(lambda x, a=axis: ufunc.reduce(x, axis=a, initial=1), (dense,), (tensor,), (ufunc, axis, dense))


def moves(rng: np.random.Generator, dense: Any) -> dict[str, Callable[[Any], Any]]:
    rank, axis = dense.ndim, int(rng.integers(dense.ndim))
    order = tuple(rng.permutation(rank).tolist())
    found: dict[str, Callable[[Any], Any]] = {
        "T": lambda x: x.T,
        "transpose": lambda x: np.transpose(x, order),
        "moveaxis": lambda x: np.moveaxis(x, 0, -1),
        "swapaxes": lambda x: x.swapaxes(0, -1),
        "reshape": lambda x: np.reshape(x, (-1,) if x.size else (0,)),
        "ravel": lambda x: x.ravel(),
        "reshape in columns": lambda x: np.reshape(x, (x.size,), order="F"),
        "squeeze": lambda x: np.squeeze(x[None]),
        "expand_dims": lambda x: np.expand_dims(x, axis),
        "flip": lambda x: np.flip(x, axis),
        "roll": lambda x: np.roll(x, 2, axis),
        "repeat": lambda x: np.repeat(x, 2, axis),
        "tile": lambda x: np.tile(x, 2),
        "take": lambda x: np.take(x, [0, 0], axis),
        "first": lambda x: x[0],
        "last": lambda x: x[..., -1],
        "slice": lambda x: x[1:],
        "strided": lambda x: x[..., ::-2],
        "new axis": lambda x: x[:, None],
        "listed": lambda x: x[[0, 0]],
        "mask": lambda x: x[x > 1] if x.dtype.kind != "c" else x[np.isnan(x)],
        "element": lambda x: x[(0,) * x.ndim],
        "broadcast_to": lambda x: np.broadcast_to(x, (2, *x.shape)),
        "atleast_3d": lambda x: np.atleast_3d(x),
        "split": lambda x: np.array_split(x, 2, axis),
        "concatenate": lambda x: np.concatenate([x, x], axis),
        "stack": lambda x: np.stack([x, x, x], axis),
        "vstack": lambda x: np.vstack([x, x]),
        "hstack": lambda x: np.hstack([x, x]),
        "append": lambda x: np.append(x, x),
        "cumsum": lambda x: np.cumsum(x, axis=axis),
        "diff": lambda x: np.diff(x, axis=axis),
        "copy": lambda x: np.copy(x),
        "unique": lambda x: np.unique(x, return_counts=True),
        "nonzero": lambda x: np.nonzero(x),
        "argwhere": lambda x: np.argwhere(x),
        "where": lambda x: np.where(x == 0, x, 1),
        "clip": lambda x: np.clip(x, 1, 3) if x.dtype.kind not in "c?" else x,
        "isclose": lambda x: np.isclose(x, 1),
        "nan_to_num": lambda x: np.nan_to_num(x),
        "real": lambda x: x.real,
        "imag": lambda x: x.imag if x.dtype.kind == "c" else x,
        "round": lambda x: np.round(x, 1) if x.dtype.kind != "?" else x,
        "sort": lambda x: np.sort(x, axis=axis) if x.dtype.kind != "c" else x,
        "sort all": lambda x: np.sort(x, axis=None) if x.dtype.kind != "c" else x,
        "argsort": lambda x: np.argsort(x, axis, kind="stable"),
        "isin": lambda x: np.isin(x, [1, 2]),
        "outer": lambda x: np.multiply.outer(x, x),
        "array_equal": lambda x: np.array_equal(x, x.copy(), equal_nan=x.dtype.kind != "?"),
        "allclose": lambda x: np.allclose(x, x, equal_nan=True) if x.dtype.kind != "?" else True,
    }
    if rank > 1:
        found |= {
            "diagonal": lambda x: np.diagonal(x, 1),
            "trace": lambda x: np.trace(x),
            "rot90": lambda x: np.rot90(x),
            "norm": lambda x: np.linalg.norm(x, axis=-1) if x.dtype.kind in "f" else 0,
            "column": lambda x: x[:, 0],
        }
    return found


def test_functions_that_move_elements() -> None:
    for dense, tensor, rng in drawn(40, 6):
        for name, function in moves(rng, dense).items():
            same(function, (dense,), (tensor,), (name, dense))


def test_element_types_change() -> None:
    for dense, tensor, rng in drawn(200, 7):
        target = ("f8", "f4", "c16", "i8", "?", "i2")[rng.integers(6)]
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                found = tensor.astype(np.dtype(target))
            except ms.DTypeError:
                fill = np.asarray(tensor.fill_value)
                lost = fill.astype(target)
                assert dense.dtype.kind == "c" or not np.isclose(lost, fill, atol=1), (fill, target)
                continue
            wanted = dense.astype(target)
        exact = np.isfinite(dense) & (np.abs(dense) < 100)
        np.testing.assert_array_equal(found.to_numpy()[exact], wanted[exact])


def test_functions_of_the_array_api() -> None:
    for dense, tensor, rng in drawn(20, 8):
        if dense.dtype == np.float16 or (dense.dtype.kind == "c" and not np.isfinite(dense).all()):
            continue
        axis = int(rng.integers(dense.ndim))
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            check(ms.xp.cumulative_sum(tensor, axis=axis), np.cumsum(dense, axis=axis), dense)
            longer = ms.xp.cumulative_prod(tensor, axis=axis, include_initial=True)
            check(longer[(slice(None),) * axis + (slice(1, None),)], np.cumprod(dense, axis=axis), dense)
            check(ms.xp.linalg.vecdot(tensor, tensor), np.linalg.vecdot(dense, dense), dense)
            if dense.dtype.kind == "f":
                norm = np.linalg.norm(dense.reshape(-1))
                np.testing.assert_allclose(ms.xp.linalg.vector_norm(tensor), norm, rtol=1e-5)
        assert ms.xp.empty_like(tensor).shape == dense.shape
        assert tensor.__array_namespace__() is ms.xp
