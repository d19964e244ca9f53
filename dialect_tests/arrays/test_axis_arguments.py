"""Arguments `axis=` in all the forms that people write: what NumPy refuses is refused by name, all else is NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms

DENSE = np.array([[0.0, 1.5, -2.0], [3.0, 0.0, 0.5]])


class _One:
    def __index__(self) -> int:
        return 1


AXES: tuple[Any, ...] = (
    *(None, 0, 1, -1, np.int8(1), np.array(0), _One(), (), (0,), (0, 1), (1, 0)),
    *([0], [0, 1], [], np.array([0]), {0}, [[0], [1]], True, np.bool_(True), (True,), 0.0, "0", b"0"),
    *(2, -3, (0, 0), ((0, 1),), (None,), 2**70),
)
FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda a, axis: np.sum(a, axis=axis),
    "A.sum": lambda a, axis: a.sum(axis=axis),
    "np.add.reduce": lambda a, axis: np.add.reduce(a, axis=axis),
    "mean": lambda a, axis: np.mean(a, axis=axis),
    "var": lambda a, axis: np.var(a, axis=axis),
    "max": lambda a, axis: np.max(a, axis=axis),
    "any": lambda a, axis: np.any(a, axis=axis),
    "argmax": lambda a, axis: np.argmax(a, axis=axis),
    "count_nonzero": lambda a, axis: np.count_nonzero(a, axis=axis),
    "norm": lambda a, axis: np.linalg.norm(a, axis=axis),
    "flip": lambda a, axis: np.flip(a, axis=axis),
    "roll": lambda a, axis: np.roll(a, 1, axis=axis),
    "rot90": lambda a, axis: np.rot90(a, 1, axis),
    "expand_dims": lambda a, axis: np.expand_dims(a, axis),
    "squeeze": lambda a, axis: np.squeeze(a[:, :1], axis=axis),
    "concatenate": lambda a, axis: np.concatenate([a, a], axis=axis),
    "stack": lambda a, axis: np.stack([a, a], axis=axis),
    "split": lambda a, axis: np.array_split(a, 2, axis=axis)[0],
    "repeat": lambda a, axis: np.repeat(a, 2, axis=axis),
    "take": lambda a, axis: np.take(a, [0], axis=axis),
    "transpose": lambda a, axis: np.transpose(a, axis),
    "moveaxis": lambda a, axis: np.moveaxis(a, axis, axis),
    "swapaxes": lambda a, axis: np.swapaxes(a, axis, 0),
}
LAZY = ("sum", "A.sum", "np.add.reduce", "mean", "expand_dims", "transpose", "swapaxes")
# What both accept though they are no axes to NumPy's other functions, or what is refused here alone: truth values.
_TRUTHS = (True, np.bool_(True), (True,))


def _values(found: Any) -> Any:
    found = found.compute() if isinstance(found, ms.LazyArray) else found
    return found.to_numpy() if isinstance(found, ms.SparseTensor) else np.asarray(found)


def _check(name: str, operand: Any) -> None:
    for axis in AXES:
        try:
            wanted = FUNCTIONS[name](DENSE, axis)
        except Exception:  # NumPy's own, of several kinds
            wanted = None
        if wanted is None or any(axis is one for one in _TRUTHS):
            if name == "expand_dims" and isinstance(axis, np.ndarray):
                continue  # taken as a list, as flip does
            with pytest.raises(ms.SparseError):
                FUNCTIONS[name](operand, axis)
            continue
        try:
            found = FUNCTIONS[name](operand, axis)
        except ms.SparseError:
            # Sets have no order, roll by no axes rolls nothing, and norm alone rounds what is no integer; older ones of
            # NumPy take arrays of one element.
            allowed = {"roll": tuple | list, "norm": float | str | bytes | np.ndarray}.get(name, set)
            assert isinstance(axis, allowed | set), (name, axis)  # type: ignore[arg-type, operator]
            continue
        np.testing.assert_allclose(_values(found), wanted, rtol=1e-15, err_msg=f"{name} {axis!r}")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_axes_are_numpys(name: str) -> None:
    """Lists for reductions, truth values and numbers that are no integers are refused, as NumPy does."""
    _check(name, ms.tensor(DENSE, "CSR"))


@pytest.mark.parametrize("name", LAZY)
def test_axes_of_lazy_expressions_are_numpys(name: str) -> None:
    """What is refused is refused when it is recorded, by an error of the package."""
    _check(name, ms.lazy(ms.tensor(DENSE, "CSR")))
