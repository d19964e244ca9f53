"""Upstream's integration programs by `mlir-sparse run FILE --entry main`, where MLIR_UPSTREAM_TESTS names them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dialect_tests.upstream.expected import causes_of
from dialect_tests.upstream.suites import Shell, by_entry, made_shell, programs
from mlir_sparse._mlir.provider import bindings_name

_NAMED = os.environ.get("MLIR_UPSTREAM_TESTS")
FOLDER = Path(_NAMED or "/nowhere")

pytestmark = pytest.mark.skipif(
    not _NAMED, reason="expected MLIR_UPSTREAM_TESTS to name the folder mlir/test of a release of LLVM"
)


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with made_shell(tmp_path_factory.mktemp("upstream")) as made:
        yield made


@pytest.mark.parametrize("path", programs(FOLDER), ids=lambda path: path.name)
def test_a_program_prints_what_upstream_expects(path: Path, shell: Shell, tmp_path: Path) -> None:
    expected = causes_of("entry", bindings_name())
    for verdict in by_entry(path, FOLDER, tmp_path, shell):
        name = f"{verdict.test} [{verdict.configuration}]"
        assert bool(verdict.cause) == (name in expected), verdict.line
