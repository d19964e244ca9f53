"""Settings of the whole suite."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

import mlir_sparse as ms
from mlir_sparse import _native

# What an earlier run compiled must not make this one pass; the tests of the cache have folders of their own.
os.environ["MLIR_SPARSE_CACHE"] = "off"

# No deadline: the first example of a property may pay for a compilation. Failures print what reproduces them.
settings.register_profile("default", deadline=None, max_examples=50, print_blob=True)
settings.register_profile(
    "thorough",
    parent=settings.get_profile("default"),
    max_examples=2000,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(autouse=True)
def as_many_threads_as_before() -> Iterator[None]:
    """What a test says of threads holds for that test."""
    yield
    ms.set_num_threads(None)


@pytest.fixture
def whatever_can_be_cut() -> Iterator[None]:
    """Calls come in pieces wherever they can, however small their operands are; threads are what a test sets."""
    _native.set_piece_work(1)
    yield
    _native.set_piece_work(0)


@pytest.fixture(params=[1, 2])
def one_thread_and_two(request: pytest.FixtureRequest) -> None:
    """Calls take one thread, then two."""
    ms.set_num_threads(request.param)
