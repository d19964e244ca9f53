"""NumPy's tests of einsum: `numpy.einsum` and `einsum_path`, on dense operands and on the same ones stored sparse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import mlir_sparse as ms
from dialect_tests.foreign.shadow import Recorder, Shadow

TESTS = ["numpy._core.tests.test_einsum"]
PACKAGES = ["numpy"]
PARTS = 1
OPTIONS: list[str] = []

_EINSUM, _PATH = np.einsum, np.einsum_path
# By rank; dense stays an array.
_STORED: list[dict[int, str]] = [
    {},
    {1: "SparseVector", 2: "CSR"},
    {1: "dense", 2: "COO", 3: "COO"},
    {1: "SparseVector", 2: "DCSC", 3: "CSF"},
    {2: "BSR(2, 2)", 4: "COO"},
    {1: "SparseVector", 2: "CSC", 3: "dense"},
]


def install(recorder: Recorder) -> None:
    """Wraps the two functions of NumPy."""
    shadow = Shadow(lambda value: value, _copied, recorder, of_tensors=False)
    np.einsum = shadow.wrapped("einsum", _EINSUM, _stored(ms.einsum, recorder), _EINSUM)
    np.einsum_path = shadow.wrapped("einsum_path", _PATH, _stored(ms.einsum_path, recorder), _PATH, errors_only=True)


def _copied(value: Any) -> Any:
    return np.array(value) if isinstance(value, np.ndarray) else value


def _stored(function: Callable[..., Any], recorder: Recorder) -> Callable[..., Any]:
    def call(*given: Any, **options: Any) -> Any:
        chosen = recorder.pick(_STORED)
        if given and isinstance(given[0], str):
            return function(given[0], *(_operand(value, chosen) for value in given[1:]), **options)
        # Operands and lists of subscripts in turn, the output's list at the end.
        last = len(given) // 2 * 2
        turns = (_operand(v, chosen) if at % 2 == 0 and at < last else v for at, v in enumerate(given))
        return function(*turns, **options)

    return call


def _operand(value: Any, chosen: dict[int, str]) -> Any:
    wanted = isinstance(value, np.ndarray) and value.ndim in chosen and value.dtype.kind in "bifc"
    return ms.tensor(value, chosen[value.ndim]) if wanted else value
