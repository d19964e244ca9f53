"""Clusters of two processes: one that the tests of this folder share, and one for tests that change workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def _two_processes() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit="320MiB", dashboard_address=None
        ) as processes,
        distributed.Client(processes, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="package")
def _shared() -> Iterator[Any]:
    with _two_processes() as client:
        yield client


@pytest.fixture(scope="module")
def _of_the_module() -> Iterator[Any]:
    with _two_processes() as client:
        yield client


@pytest.fixture
def cluster(_shared: Any) -> Iterator[Any]:
    """Returns a client of two workers with a thread and 320 MiB each, which is in use in this test alone."""
    with _shared.as_current():
        yield _shared


@pytest.fixture
def own_cluster(_of_the_module: Any) -> Iterator[Any]:
    """Returns a client of two workers that the tests of one module may leave as they like."""
    with _of_the_module.as_current():
        yield _of_the_module
