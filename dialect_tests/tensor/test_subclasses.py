"""Classes derived from SparseTensor compute as it does."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms

DENSE = np.array([[1.0, 0.0], [0.0, 2.0]])


class Named(ms.SparseTensor):
    """A tensor with attributes of its own."""


class Slotted(ms.SparseTensor):
    __slots__ = ("label",)


def _made(kind: type[ms.SparseTensor]) -> ms.SparseTensor:
    return kind.from_levels("CSR", (2, 2), [None, [0, 1, 2]], [None, [0, 1]], [1.0, 2.0])


CALLS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "sum": (lambda s: s.sum(), 3.0),
    "s + s": (lambda s: s + s, 2 * DENSE),
    "eye + s": (lambda s: ms.eye(2) + s, DENSE + np.eye(2)),
    "s @ s": (lambda s: s @ s, DENSE @ DENSE),
    "s @ x": (lambda s: s @ np.ones(2), DENSE.sum(axis=1)),
    "x @ s": (lambda s: np.ones(2) @ s, DENSE.sum(axis=0)),
    "evaluate": (lambda s: ms.evaluate("y(i) = s(i,j)", s=s), DENSE.sum(axis=1)),
    "compile": (lambda s: ms.compile("y(i) = s(i,j)", s=s)(s), DENSE.sum(axis=1)),
    "by type": (lambda s: ms.compile("y(i) = s(i,j)", s="f64[?,?] CSR")(s), DENSE.sum(axis=1)),
    "einsum": (lambda s: ms.einsum("ij->j", s), DENSE.sum(axis=0)),
    "lazy": (lambda s: (ms.lazy(s) @ np.ones(2)).compute(), DENSE.sum(axis=1)),
    "sin": (np.sin, np.sin(DENSE)),
    "solve": (lambda s: ms.linalg.solve(s, np.ones(2)), np.linalg.solve(DENSE, np.ones(2))),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", [Named, Slotted])
def test_derived_classes_compute(kind: type[ms.SparseTensor], call: str) -> None:
    tensor = _made(kind)
    assert type(tensor) is kind
    function, want = CALLS[call]
    for _ in range(3):  # what is called again takes shorter ways
        found = function(tensor)
        np.testing.assert_allclose(found.to_numpy() if isinstance(found, ms.SparseTensor) else found, want)


def test_attributes_stay_with_a_tensor_and_its_copies() -> None:
    tensor = _made(Named)
    tensor.label = "a"  # type: ignore[attr-defined]
    assert tensor.sum() == 3.0
    for other in (copy.copy(tensor), copy.deepcopy(tensor), pickle.loads(pickle.dumps(tensor))):
        assert isinstance(other, ms.SparseTensor)
        np.testing.assert_array_equal(other.to_numpy(), DENSE)
