"""Errors as values: each is made, pickled and copied, and crosses from a pool's process to its caller."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import mlir_sparse as ms

ERRORS = [one for one in vars(ms).values() if isinstance(one, type) and issubclass(one, ms.SparseError)]


class _OfUsers(ms.TooLargeError):
    """A class that a program derives."""


@pytest.mark.parametrize("kind", [*ERRORS, _OfUsers], ids=lambda kind: kind.__name__)
def test_errors_are_pickled_and_copied(kind: type[ms.SparseError]) -> None:
    error = kind("expected one, but got two")
    error.add_note("seen in a test")
    again = [pickle.loads(pickle.dumps(error, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    for found in (*again, copy.copy(error), copy.deepcopy(error)):
        assert type(found) is kind
        assert str(found) == str(error)
        assert vars(found) == vars(error)


def _too_large() -> None:
    ms.tensor((np.zeros((2, 0), int), np.zeros(0)), "CSR", shape=(2**45, 3))


def test_an_error_of_memory_comes_from_a_pool_as_itself() -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        with pytest.raises(ms.TooLargeError, match="to fit in the"):
            pool.submit(_too_large).result()
        assert pool.submit(int, "7").result() == 7  # the pool lives
