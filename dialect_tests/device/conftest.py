"""A machine with two devices that are none: see `fake`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dialect_tests.device.fake import Gpu, compile_fakes, compiler


@pytest.fixture(scope="session")
def fakes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    if compiler() is None:
        pytest.skip("no C compiler for the stand-ins of CUDA's libraries")
    return compile_fakes(tmp_path_factory.mktemp("fakes"))


@pytest.fixture
def gpu(fakes: dict[str, Path]) -> Iterator[Gpu]:
    made = Gpu(fakes)
    made.open()
    yield made
    made.close()
