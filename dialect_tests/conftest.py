"""Settings of the whole suite."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

import mlir_sparse as ms
from dialect_tests import crossing, processes
from mlir_sparse import _native

# What an earlier run compiled must not make this one pass; the tests of the cache have folders of their own.
os.environ["MLIR_SPARSE_CACHE"] = "off"
# Plans are the same on every machine that tests run on.
os.environ["MLIR_SPARSE_MACHINE"] = "amd-epyc-family-25"

# No deadline: the first example of a property may pay for a compilation. Failures print what reproduces them.
settings.register_profile("default", deadline=None, max_examples=25, print_blob=True)
settings.register_profile("all", parent=settings.get_profile("default"), max_examples=250)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds what the weekly run asks for."""
    parser.addoption("--all", action="store_true", help="whole products of choices instead of all pairs, more examples")


def pytest_configure(config: pytest.Config) -> None:
    """Settles how much of each product and property is run, before tests are collected."""
    whole = config.getoption("--all", default=False)  # the option is unknown where these tests are found on the way
    settings.load_profile("all" if whole else "default")
    if whole:
        crossing.take_whole()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Starts, before the workers of a run, what the compilers of all are forks of."""
    if session.config.getoption("numprocesses", default=None):
        processes.python_of_forks()


def pytest_collection_finish() -> None:
    """Leaves the tests, and all that they import, out of what each collection of garbage looks through; has few."""
    _keep_what_lives()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="module", autouse=True)
def _kept_objects() -> Iterator[None]:
    """Leaves out what a file's tests have put into caches too, a million objects in all: some tests collect garbage."""
    yield
    _keep_what_lives()


def _keep_what_lives() -> None:
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def compilers() -> None:
    """Compilers are forks, which start fast; tests of how they start and end take `new_compilers`."""
    os.environ["MLIR_SPARSE_PYTHON"] = processes.python_of_forks()


@pytest.fixture
def new_compilers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compilers, from now on, are no forks: they start as a user's do."""
    monkeypatch.delenv("MLIR_SPARSE_PYTHON")


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Takes back what a test said of threads: it holds for that test."""
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
