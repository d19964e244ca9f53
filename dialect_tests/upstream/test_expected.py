"""The lists of upstream's tests that fail: what passes with LLVM's tools passes with bindings of its release."""

from __future__ import annotations

import pytest

from dialect_tests.upstream.expected import causes_of


def test_bindings_of_a_release_do_all_that_its_mlir_opt_does() -> None:
    assert set(causes_of("dialect", "mlir")) == set(causes_of("dialect", "llvm")) != set()


@pytest.mark.parametrize("tools", ["mlir", "llvm"])
def test_a_newer_release_fails_for_more_reasons_only(tools: str) -> None:
    assert set(causes_of("dialect", tools)) <= set(causes_of("dialect", "torch_mlir"))
