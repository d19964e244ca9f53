"""Products, reductions, shapes and NumPy's functions on sparse tensors, against NumPy on the arrays they store."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import mlir_sparse as ms
from dialect_tests.arrays.numpy_cases import Case, agree, arrays, cases
from dialect_tests.crossing import crossed, examples

Array = np.ndarray[Any, Any]

QUIET = examples(25, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


# -- products -----------------------------------------------------------------------------------------------

_PRODUCTS = [((2, 3), (3,)), ((3,), (3, 2)), ((3,), (3,)), ((2, 3), (3, 4)), ((2, 2, 3), (3, 2)), ((3,), (2, 3, 2))]
_STACKS = [((2, 2, 3), (2, 3, 2)), ((1, 2, 3), (2, 3, 2)), ((2, 3), (2, 3, 2)), ((0, 3), (3, 2)), ((2, 0), (0, 2))]


@QUIET
@given(st.data(), st.sampled_from(_PRODUCTS + _STACKS), st.sampled_from(["left", "right", "both"]))
def test_matmul(data: st.DataObject, shapes: tuple[tuple[int, ...], tuple[int, ...]], which: str) -> None:
    left, right = (data.draw(cases(shape=shape)) for shape in shapes)
    a = left.tensor if which != "right" else left.array
    b = right.tensor if which != "left" else right.array
    expected = left.array @ right.array
    agree(a @ b, expected)
    if expected.ndim:
        agree(np.matmul(a, b, out=np.empty_like(expected)), expected)


def test_other_products() -> None:
    random = np.random.default_rng(0)
    matrix, cube, vector = (random.integers(-2, 3, shape).astype(float) for shape in [(3, 3), (2, 3, 3), (3,)])
    a, c, v = ms.tensor(matrix), ms.tensor(cube), ms.tensor(vector)
    for function in (
        lambda m, t, x: np.dot(m, m),
        lambda m, t, x: m.dot(x),
        lambda m, t, x: np.dot(t, m),
        lambda m, t, x: np.dot(m, 3.0),
        lambda m, t, x: np.inner(t, x),
        lambda m, t, x: np.outer(x, m),
        lambda m, t, x: np.vdot(m, m),
        lambda m, t, x: np.tensordot(t, m, axes=1),
        lambda m, t, x: np.tensordot(t, t, axes=([0, 1], [0, 2])),
        lambda m, t, x: np.tensordot(m, x, axes=0),
        lambda m, t, x: np.kron(m, m),
        lambda m, t, x: np.kron(x, m),
        lambda m, t, x: np.einsum("...ij,ij->...", t, m),
        lambda m, t, x: np.einsum(m, [0, 1], x, [1]),
        lambda m, t, x: np.linalg.vector_norm(m),
        lambda m, t, x: np.linalg.matrix_norm(t, ord=1),
        lambda m, t, x: np.vecdot(m, m + 1j * m),
        lambda m, t, x: np.matvec(t, x),
        lambda m, t, x: np.vecmat(x, m),
        lambda m, t, x: np.linalg.multi_dot([m, m, m, x]),
        lambda m, t, x: np.linalg.matrix_power(m, 5),
    ):
        agree(function(a, c, v), function(matrix, cube, vector), exact=False)
    path, text = np.einsum_path("ij,jk,k->i", a, a, v)
    assert path[0] == "einsum_path"
    assert "loop nest" in text


@pytest.mark.parametrize(
    ("mistake", "error"),
    [
        (lambda a: a @ 2.0, ms.RankError),
        (lambda a: a @ np.ones(4), ms.ExtentError),
        (lambda a: np.tensordot(a, a, axes=3), ms.RankError),
        (lambda a: np.tensordot(a, a, axes=([0], [2])), ms.RankError),
        (lambda a: np.tensordot(a, np.ones((3, 2)), axes=([0], [0])), ms.ExtentError),
        (lambda a: a.sum(axis=2), ms.RankError),
        (lambda a: a.sum(axis=(0, 0)), ms.RankError),
        (lambda a: a[:0].max(), ms.ExtentError),
        (lambda a: a.reshape(5), ms.ExtentError),
        (lambda a: a.reshape(-1, -1), ms.ExtentError),
        (lambda a: a.transpose(0, 0), ms.RankError),
        (lambda a: a.squeeze(0), ms.ExtentError),
        (lambda a: np.concatenate([a, np.ones((2, 3))]), ms.ExtentError),
        (lambda a: np.stack([a, a[1:]]), ms.ExtentError),
        (lambda a: np.linalg.svd(a), ms.OperandError),
        (lambda a: np.piecewise(a, [a > 1], [1]), ms.OperandError),
        (lambda a: np.split(a, 3), ms.ExtentError),
        (lambda a: np.vsplit(a[0], 2), ms.RankError),
        (lambda a: np.repeat(a, [1, 2, 3], axis=0), ms.ExtentError),
        (lambda a: np.sum(a, initial=3), ms.OperandError),
        (lambda a: np.linalg.norm(a, 2), ms.UnsupportedError),
        (lambda a: np.linalg.matrix_power(a, -1), ms.UnsupportedError),
    ],
)
def test_mistakes(mistake: Callable[[Any], Any], error: type[ms.SparseError]) -> None:
    with pytest.raises(error, match="expected"):
        mistake(ms.tensor(np.eye(2)))


# -- reductions ---------------------------------------------------------------------------------------------

_REDUCTIONS = ("sum", "prod", "max", "min", "any", "all", "mean", "var", "std", "argmax", "argmin", "count_nonzero")


@examples(60, QUIET)
@given(cases(), st.sampled_from(_REDUCTIONS), st.data(), st.booleans())
def test_reductions(case: Case, name: str, data: st.DataObject, keepdims: bool) -> None:
    rank = case.array.ndim
    axes: list[Any] = [None, *range(-rank, rank)]
    if rank > 1 and not name.startswith("arg"):
        axes += [(0, 1), (-1, 0), ()]
    axis = data.draw(st.sampled_from(axes))
    function = getattr(np, name)
    try:
        expected = function(case.array, axis=axis, keepdims=keepdims)
    except ValueError:
        with pytest.raises(ms.ExtentError, match="expected an element or more"):
            function(case.tensor, axis=axis, keepdims=keepdims)
        return
    found = function(case.tensor, axis=axis, keepdims=keepdims)
    agree(found, expected, exact=name not in ("mean", "var", "std"), what=name)
    if np.ndim(expected) == 0 and not keepdims and name != "count_nonzero":  # an int in older NumPy
        assert type(found) is type(expected)


@crossed(
    name=["max", "min", "any", "all"],
    axis=[0, 1, (0, 1), None],
    dtype=["f64", "f32", "f16", "i8", "i32", "i64", "bool"],
    stored=["CSR", "CSC", "COO", "BSR(2, 2)"],
)
def test_extremes_and_logic_of_rows_full_and_not(name: str, axis: Any, dtype: str, stored: str) -> None:
    rng = np.random.default_rng(0)
    for density in (0.0, 0.3, 1.0):
        dense = np.where(rng.random((30, 20)) < density, rng.integers(-5, 6, (30, 20)), 0)
        dense[3], dense[:, 4] = 1, (-2, 1)[dtype == "bool"]
        array = dense.astype(ms.DType(dtype).numpy)
        agree(getattr(ms.tensor(array, stored), name)(axis=axis), getattr(array, name)(axis=axis))


def test_reductions_see_not_a_number_and_infinities() -> None:
    array = np.array([[np.nan, 0.0, 1.0], [0.0, -np.inf, 0.0], [np.inf, 2.0, 3.0]])
    tensor = ms.tensor(array)
    for name in ("max", "min", "argmax", "argmin", "sum", "any", "all"):
        for axis in (None, 0, 1):
            agree(getattr(np, name)(tensor, axis=axis), getattr(np, name)(array, axis=axis), what=name)


@pytest.mark.parametrize("ord", [None, "fro", 1, -1, np.inf, -np.inf, 0, 2, 3])
def test_norms(ord: Any) -> None:
    array = np.array([[0.0, -2.0, 1.0], [0.0, 4.0, 0.0]])
    if ord in (None, "fro", 1, -1, np.inf, -np.inf):
        agree(np.linalg.norm(ms.tensor(array), ord), np.linalg.norm(array, ord), exact=False)
    if ord != "fro" and ord != -1:
        agree(np.linalg.norm(ms.tensor(array), ord, axis=1), np.linalg.norm(array, ord, axis=1), exact=False)
        agree(np.linalg.norm(ms.tensor(array[0]), ord), np.linalg.norm(array[0], ord), exact=False)


# -- shapes -------------------------------------------------------------------------------------------------

_SHAPES: dict[str, Callable[[Any], Any]] = {
    "T": lambda a: a.T,
    "transpose": lambda a: a.transpose((*range(1, a.ndim), 0)),
    "np.transpose": np.transpose,
    "moveaxis": lambda a: np.moveaxis(a, 0, -1),
    "ravel": np.ravel,
    "ravel in columns": lambda a: a.ravel("F"),
    "expand": lambda a: np.expand_dims(a, (0, -1)),
    "squeeze": lambda a: np.squeeze(np.expand_dims(a, 1), 1),
    "flip": np.flip,
    "flip rows": lambda a: np.flip(a, 0),
    "roll": lambda a: np.roll(a, 2),
    "roll rows": lambda a: np.roll(a, -1, axis=0),
    "stretch": lambda a: np.broadcast_to(a, (2, *a.shape)),
    "stretch one": lambda a: np.broadcast_to(a[:1], (3, *a[:1].shape[1:])) if a.shape[0] else a,
    "concatenate": lambda a: np.concatenate([a, a]),
    "concatenate flat": lambda a: np.concatenate([a, a], axis=None),
    "stack": lambda a: np.stack([a, a], axis=-1),
    "vstack": lambda a: np.vstack([a, a]),
    "hstack": lambda a: np.hstack([a, a]),
    "dstack": lambda a: np.dstack([a, a]),
    "column_stack": lambda a: np.column_stack([a, a]) if a.ndim < 3 else a,
    "append": lambda a: np.append(a, a, axis=0),
    "atleast_3d": np.atleast_3d,
    "take": lambda a: np.take(a, [0, 0, -1], axis=a.ndim - 1) if a.shape[-1] else a,
    "copy": np.copy,
    "zeros_like": np.zeros_like,
    "ones_like": lambda a: np.ones_like(a, dtype=np.int32),
    "full_like": lambda a: np.full_like(a, 3),
    "real": np.real,
    "imag": np.imag,
    "clip": lambda a: np.clip(a.real, -1, 2),
    "clip below": lambda a: a.real.clip(1),
    "round": lambda a: np.round(a * 0.4, 0),
    "nonzero": lambda a: np.stack(np.nonzero(a)),
    "argwhere": np.argwhere,
    "flatnonzero": np.flatnonzero,
    "where": lambda a: np.where(a != 0, a, 7),
    "where some": lambda a: np.where(a == 1, a, 0),
    "isclose": lambda a: np.isclose(a, 1),
    "nan_to_num": np.nan_to_num,
    "nan_to_num of place": lambda a: np.nan_to_num(a, True, 5.0),
    "angle": np.angle,
    "angle in degrees": lambda a: np.angle(a, True),
    "size": lambda a: np.array([a.size, a.ndim, np.size(a), np.ndim(a), *np.shape(a)]),
    "split": lambda a: np.array_split(a, 2)[1],
    "split at": lambda a: np.split(a, [1, 2], axis=-1)[1],
    "hsplit": lambda a: np.hsplit(a, 1)[0],
    "diff": lambda a: np.diff(a, axis=0),
    "diff twice": lambda a: np.diff(a, 2),
    "tile": lambda a: np.tile(a, (2, 1, 3)),
    "repeat": lambda a: np.repeat(a, 2, axis=0),
    "repeat each": lambda a: np.repeat(a, np.arange(a.size)),
    "rot90": lambda a: np.rot90(a) if a.ndim > 1 else a,
    "rot270": lambda a: np.rot90(a, 3, (1, 0)) if a.ndim > 1 else a,
    "outer sum": lambda a: np.add.outer(a, a) if a.ndim < 2 else a,
}


@examples(100, QUIET)
@given(cases(), st.sampled_from(sorted(_SHAPES)))
def test_shapes(case: Case, name: str) -> None:
    agree(_SHAPES[name](case.tensor), _SHAPES[name](case.array), what=name)


@pytest.mark.parametrize("extent", [0, 1, 2, 5])
def test_differences_of_tensors_whose_levels_are_all_dense(extent: int) -> None:
    array = np.arange(extent) ** 2.0
    agree(np.diff(ms.tensor(array, "(i) -> (i : dense)"), 2), np.diff(array, 2))


@pytest.mark.parametrize("storage", ["Dense", "CSR", "COO"])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (4, 5)])
def test_differences_of_truth_values(storage: str, shape: tuple[int, int]) -> None:
    array = np.random.default_rng(0).random(shape) < 0.5
    for n in (0, 1, 2, 3):
        for axis in (0, -1):
            agree(np.diff(ms.tensor(array, storage), n, axis), np.diff(array, n, axis))


@examples(25, QUIET)
@given(cases(ranks=(2, 3)), st.integers(-3, 3))
def test_diagonals_and_triangles(case: Case, k: int) -> None:
    for function in (
        lambda a: a.diagonal(k),
        lambda a: np.diagonal(a, k, -1, 0),
        lambda a: a.trace(k),
        lambda a: np.tril(a, k),
        lambda a: np.triu(a, k),
        lambda a: np.diag(a, k) if a.ndim == 2 else a,
        lambda a: np.diag(a.ravel()[:4], k),
        lambda a: a.mT,
        lambda a: a.swapaxes(0, -1),
    ):
        agree(function(case.tensor), function(case.array))


@QUIET
@given(cases(), st.data())
def test_reshape(case: Case, data: st.DataObject) -> None:
    size = case.array.size
    shape = data.draw(
        st.sampled_from([(-1,), (1, -1), (-1, 1, 1)] if size else [(0, 3), (2, 0)])
        | st.sampled_from([n for n in range(1, size + 1) if size % n == 0] or [1]).map(lambda n: (size // n, n))
    )
    if size == 0 and -1 not in shape and 0 not in shape:
        return
    order = data.draw(st.sampled_from("CF"))
    agree(case.tensor.reshape(shape, order=order), case.array.reshape(shape, order=order))


def test_transposes_share_buffers() -> None:
    array = np.arange(24.0).reshape(4, 6) * (np.arange(24).reshape(4, 6) % 3 == 0)
    for name in ("CSR", "CSC", "DCSR", "COO", "BSR(2, 2)", "DIA", "ELL", "HashedRows", "CompressedDense"):
        tensor = ms.tensor(array, name)
        for moved in (tensor.T, tensor.T.T):
            for mine, theirs in zip(tensor.storage.buffers(), moved.storage.buffers(), strict=True):
                assert np.shares_memory(mine, theirs) or mine.size == 0
        agree(tensor.T, array.T)
        agree(tensor.T @ np.ones(4), array.T @ np.ones(4))
        assert tensor.T.T.encoding == tensor.encoding
    assert ms.tensor(array).T.encoding.preset == "CSC"
    cube = np.arange(24.0).reshape(2, 3, 4)
    agree(ms.tensor(cube).transpose(2, 0, 1), cube.transpose(2, 0, 1))


def test_comparisons_of_whole_tensors() -> None:
    array = np.array([[0.0, 2.0], [3.0, 0.0]])
    tensor = ms.tensor(array)
    assert np.array_equal(tensor, ms.tensor(array, "CSC"))
    assert not np.array_equal(tensor, array[:1])
    assert not np.array_equal(tensor, array + 1)
    assert np.allclose(tensor, array + 1e-9)
    assert not np.allclose(tensor, 2 * tensor)
    assert np.result_type(tensor, np.float32(1)) == np.float64
    huge = ms.tensor(([[5], [7]], [1.0]), "COO", shape=(10**8, 10**8))
    assert np.allclose(huge, huge)
    assert np.array_equal(huge, huge)


# -- indexing -----------------------------------------------------------------------------------------------


@st.composite
def indices(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Draws an index that NumPy takes."""
    parts: list[Any] = []
    axis = 0
    length = draw(st.integers(1, 3))
    while axis < len(shape):
        extent = shape[axis]
        kind = draw(st.sampled_from(["slice", "slice", "new", "array", "mask", *(["integer"] * (extent > 0))]))
        if kind == "new":
            parts.append(None)
            if len(parts) > 5:
                break
            continue
        if kind == "slice":
            bound = st.none() | st.integers(-extent - 2, extent + 2)
            parts.append(slice(draw(bound), draw(bound), draw(st.sampled_from([None, 1, 2, 3, -1, -2]))))
        elif kind == "integer":
            parts.append(draw(st.integers(-extent, extent - 1)))
        elif kind == "mask":
            mask = np.arange(extent) % 2 == draw(st.integers(0, 1))
            # Masks are arrays as long as they have true elements, which must broadcast with the others.
            parts.append(mask if draw(st.booleans()) else mask.tolist() if extent else mask)
        else:
            size = (length,) if draw(st.booleans()) else draw(st.sampled_from([(1,), (2, length), (1, 1)]))
            if not extent:
                size = (0,)
            parts.append(np.random.default_rng(draw(st.integers(0, 99))).integers(-extent, max(extent, 1), size))
        axis += 1
    if draw(st.booleans()):
        cut = draw(st.integers(0, len(parts)))
        rest = sum(part is not None for part in parts[cut:])
        parts = [*parts[:cut], Ellipsis, *(parts[cut:] if draw(st.booleans()) and rest else [])]
    return tuple(parts)


@examples(150, QUIET)
@given(st.data(), cases())
def test_indexing(data: st.DataObject, case: Case) -> None:
    key = data.draw(indices(case.array.shape))
    try:
        expected = case.array[key]
    except IndexError:
        with pytest.raises(ms.SparseError, match="expected"):
            case.tensor[key]
        return
    found = case.tensor[key]
    agree(found, expected, what=str(key))
    assert isinstance(found, ms.SparseTensor) or np.ndim(expected) == 0


def test_an_ellipsis_for_no_axis_keeps_arrays_apart() -> None:
    array = np.arange(6.0).reshape(2, 3)
    for key in ((None, slice(None), ..., [0, 1]), (None, 0, ..., [0, 1]), (0, [0, 1], ...), (0, None, [0, 1])):
        agree(ms.tensor(array)[key], array[key], what=str(key))


@QUIET
@given(st.data(), cases(ranks=(1, 2, 3)))
def test_masks_of_the_whole_tensor(data: st.DataObject, case: Case) -> None:
    mask = data.draw(arrays(case.array.shape, np.dtype(np.int8))) > 0
    agree(case.tensor[mask], case.array[mask])
    agree(case.tensor[ms.tensor(mask)], case.array[mask])
    agree(case.tensor[case.tensor.real > 0], case.array[case.array.real > 0])


@pytest.mark.parametrize(
    ("key", "error", "text"),
    [
        (5, ms.CoordinatesError, "an index from -2 to 1 for axis 0, but got 5"),
        ((0, 0, 0), ms.RankError, "at most 2 subscripts, but got 3"),
        ((..., ...), ms.RankError, "one ellipsis"),
        (1.5, ms.OperandError, r"but got 1.5 \(axis 0\)"),
        ("a", ms.OperandError, "integers, slices, None"),
        (slice(1.5), ms.OperandError, "slice of integers"),
        ([0, 2], ms.CoordinatesError, "but got 2"),
        ([0.5], ms.OperandError, "but got float64"),
        (np.ones(3, bool), ms.ExtentError, "a mask of extent 2 for axis 0, but got 3"),
        (([0, 1], [0, 1, 1]), ms.ExtentError, r"\(2,\) and \(3,\)"),
        (True, ms.UnsupportedError, "but got True"),
    ],
)
def test_bad_indices(key: Any, error: type[ms.SparseError], text: str) -> None:
    with pytest.raises(error, match=text):
        ms.tensor(np.eye(2))[key]


def test_indexing_of_huge_tensors_looks_at_rows_alone() -> None:
    rows = 10**6
    tensor = ms.tensor((np.tile(np.arange(rows), (2, 1)), np.arange(rows, dtype=float)), "CSR", shape=(rows, rows))
    assert tensor[70, 70] == 70.0
    assert tensor[-1].to_coo()[0].tolist() == [[rows - 1]]
    assert tensor[10:20, ::2].sum() == 10 + 12 + 14 + 16 + 18


# -- arguments that NumPy takes, and those that it does not ---------------------------------------------------

_CUBE = np.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize("shift", [1, -7, (1, 2), [3], np.array([1, 2]), 2**70, [[0, 1]], 1.5, "x", (1, 2, 3)])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1), (1, 1), 3, (0, 9), "x"])
def test_roll_by_one_shift_or_several(shift: Any, axis: Any) -> None:
    tensor = ms.tensor(_CUBE)
    try:
        expected = np.roll(_CUBE, shift, axis)
    except (TypeError, ValueError):
        with pytest.raises(ms.SparseError):
            np.roll(tensor, shift, axis)
    else:
        assert np.array_equal(np.roll(tensor, shift, axis).to_numpy(), expected)


@pytest.mark.parametrize("step", [2**64, -(2**64), 2**63, -(2**63), 2**70])
def test_steps_that_no_integer_holds(step: int) -> None:
    for start in (None, 1, -1):
        key = (slice(None), slice(start, None, step))
        assert np.array_equal(ms.tensor(_CUBE)[key].to_numpy(), _CUBE[key])


@pytest.mark.parametrize("axis", [3, 5, -4, "x", 1.0, (0, 0), None])
def test_axes_that_are_not_there(axis: Any) -> None:
    tensor = ms.tensor(_CUBE)
    calls: list[Callable[[Any], Any]] = [
        lambda x: np.take(x, [0], axis=axis),
        lambda x: np.diff(x, axis=axis),
        lambda x: np.split(x, 1, axis=axis)[0],
        lambda x: np.tensordot(x, x, axes=([axis], [0])),
        lambda x: np.transpose(x, axis),
        lambda x: np.swapaxes(x, 0, axis),
    ]
    for call in calls:
        try:
            expected = call(_CUBE)
        except (TypeError, ValueError, IndexError):
            with pytest.raises(ms.SparseError):
                call(tensor)
        else:
            agree(call(tensor), expected)


def test_arguments_of_other_kinds_are_refused_by_name() -> None:
    tensor = ms.tensor(_CUBE[0])
    calls: list[Callable[[], Any]] = [
        lambda: np.tril(tensor, "x"),  # type: ignore[call-overload]
        lambda: np.trace(tensor, None),  # type: ignore[call-overload]
        lambda: tensor.reshape("x"),
        lambda: np.broadcast_to(tensor, (1.0, 4)),  # type: ignore[arg-type]
        lambda: np.diff(tensor, [1, 2]),  # type: ignore[call-overload]
        lambda: np.rot90(tensor, "x"),  # type: ignore[call-overload]
        lambda: np.tile(tensor, 2**70),
        lambda: np.split(tensor, 1.5),  # type: ignore[arg-type]
        lambda: np.add(tensor, tensor, dtype="bad"),
        lambda: tensor.mean(dtype="bad"),
        lambda: np.zeros_like(tensor, dtype="bad"),  # type: ignore[call-overload]
        lambda: tensor.sum(0, None, True),
    ]
    for call in calls:
        with pytest.raises(ms.SparseError, match=r"expected .* but got"):
            call()


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "max", "min", "any", "all"])
@pytest.mark.parametrize("axis", [None, 0, (0, 2)])
def test_methods_write_to_an_array(name: str, axis: Any) -> None:
    expected = np.asarray(getattr(_CUBE, name)(axis=axis))
    out = np.empty(expected.shape, np.int64 if name in ("any", "all") else np.float64)
    assert getattr(ms.tensor(_CUBE), name)(axis=axis, out=out) is out
    assert np.array_equal(out, expected)


def test_types_are_named_as_numpy_names_them() -> None:
    tensor = ms.tensor(np.array([[300, -329], [0, 5]]))
    assert tensor.sum(dtype="i8").dtype == np.int64
    assert np.add(tensor, tensor, dtype="i8").to_numpy().tolist() == [[600, -658], [0, 10]]
    assert tensor.sum(dtype="f32").dtype == np.float32  # which NumPy has no name for


@pytest.mark.parametrize("storage", ["dense", "BSR(2, 2)", "CSR"])
def test_imaginary_parts_of_real_tensors(storage: str) -> None:
    array = np.array([[1.0, 0.0], [-0.0, 2.0]])
    assert np.array_equal(ms.tensor(array, storage).imag.to_numpy(), array.imag)


@pytest.mark.parametrize("axis", [(), (0, 1, 2)])
def test_norms_are_of_vectors_and_matrices(axis: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"number of dimensions"):
        np.linalg.norm(_CUBE, axis=axis)
    with pytest.raises(ms.RankError, match=r"expected the axis of vectors or the two of matrices"):
        np.linalg.norm(ms.tensor(_CUBE), axis=axis)


def test_axes_without_an_order_are_refused() -> None:
    for axes in ({0, 1}, {0: 1, 1: 0}, 1, "01"):
        with pytest.raises(ms.RankError, match=r"expected a tuple or list of axes"):
            np.transpose(ms.tensor(_CUBE[0]), axes)  # type: ignore[arg-type]
    assert np.array_equal(np.transpose(ms.tensor(_CUBE[0]), np.array([1, 0])).to_numpy(), _CUBE[0].T)
