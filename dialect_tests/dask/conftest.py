"""A cluster of two processes, which the tests of this folder share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="package")
def _two_processes() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit="320MiB", dashboard_address=None
        ) as processes,
        distributed.Client(processes, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def cluster(_two_processes: Any) -> Iterator[Any]:
    """Returns a client of two workers with a thread and 320 MiB each, which is in use in this test alone."""
    with _two_processes.as_current():
        yield _two_processes
