"""Pickled kernels bring their machine code along: other processes run it where they have the same instructions."""

from __future__ import annotations

import multiprocessing
import pickle
import sys
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.as_array import as_array
from mlir_sparse.compile.cpu_build import Build
from mlir_sparse.compile.cpu_kernel import Kernel
from mlir_sparse.runtime import sent_code

A = ms.tensor(np.triu(np.arange(36.0).reshape(6, 6)))
x = np.arange(6.0)
CASES: dict[str, dict[str, Any]] = {
    "y(i) = A(i,j) * x(j)": {"A": A, "x": x},
    "C(i,k) = A(i,j) * B(j,k)": {"A": A, "B": A.convert("DCSR")},
    "y(i) = max(j : A(i,j) * j)": {"A": A},
}


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Returns the kernels that are compiled from now on, as on a machine that keeps none."""
    monkeypatch.setenv("MLIR_SPARSE_CACHE", "off")
    sent_code._kept.clear()
    found: list[str] = []
    compile_module: Callable[..., bytes] = Build.compile

    def counted(self: Build, *arguments: Any, **options: Any) -> bytes:
        found.append(str(self.spec.assignment))
        return compile_module(self, *arguments, **options)

    monkeypatch.setattr(Build, "compile", counted)
    return found


def _called(text: str) -> tuple[Kernel, Any]:
    kernel = ms.compile(text, **CASES[text])
    assert isinstance(kernel, Kernel)
    return kernel, kernel(**CASES[text])


@pytest.mark.parametrize("text", CASES)
def test_a_pickled_kernel_is_not_compiled_again(text: str, compiled: list[str]) -> None:
    kernel, wanted = _called(text)
    sent = pickle.dumps(kernel)
    assert len(sent) < 8000
    del compiled[:]
    again = pickle.loads(sent)
    np.testing.assert_array_equal(as_array(again(**CASES[text])), as_array(wanted))
    assert not compiled
    np.testing.assert_array_equal(as_array(pickle.loads(pickle.dumps(again))(**CASES[text])), as_array(wanted))
    assert not compiled


def test_where_instructions_or_sources_differ_it_is_compiled(
    compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "y(i) = A(i,j) * x(j)"
    kernel, wanted = _called(text)
    sent = pickle.dumps(kernel)
    for name, other in (
        ("mlir_sparse.pipeline.machine_key.cpu_features", frozenset({"fpu", "sse2"})),
        ("mlir_sparse.runtime.portable_stamp", "other sources"),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(name, lambda other=other: other)
            del compiled[:]
            np.testing.assert_array_equal(pickle.loads(sent)(**CASES[text]), wanted)
            assert compiled == [text]


@pytest.mark.parametrize("harm", [lambda c: c[:-600], lambda c: b"", lambda c: c[:64] + bytes(len(c))])
def test_code_that_does_not_load_is_compiled(compiled: list[str], harm: Callable[[bytes], bytes]) -> None:
    text = "y(i) = A(i,j) * x(j)"
    kernel, wanted = _called(text)
    again = pickle.loads(pickle.dumps(kernel))
    ((digest, packed),) = kernel._sent()
    content = zlib.decompress(packed)
    steps = 4 + int.from_bytes(content[:4], "little")
    sent_code.keep_sent([(digest, zlib.compress(content[:steps] + harm(content[steps:])))])
    del compiled[:]
    np.testing.assert_array_equal(again(**CASES[text]), wanted)
    assert compiled == [text]


def test_code_goes_on_through_processes_that_it_does_not_fit(
    compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "y(i) = A(i,j) * x(j)"
    kernel, wanted = _called(text)
    sent = pickle.dumps(kernel)
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr("mlir_sparse.pipeline.machine_key.cpu_features", lambda: frozenset({"fpu"}))
        between = pickle.loads(sent)
        np.testing.assert_array_equal(between(**CASES[text]), wanted)
        sent_on = pickle.dumps(between)
    sent_code._kept.clear()
    del compiled[:]
    again = pickle.loads(sent_on)
    np.testing.assert_array_equal(again(**CASES[text]), wanted)
    assert not compiled
    assert len(again._sent()) == 2


def test_kernels_that_were_not_called_are_compiled_ahead(compiled: list[str]) -> None:
    kernel = ms.compile("y(i) = A(i,j) * x(j) * 3", A=A.type, x="f64[?]")
    assert isinstance(kernel, Kernel)
    kernel.compile_ahead()
    assert len(kernel._sent()) == 1
    del compiled[:]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(kernel))(A, x), A.to_numpy() @ x * 3)
    assert not compiled


def _first_call(sent: bytes) -> tuple[Any, bool]:
    found = pickle.loads(sent)(A=A, x=x)
    return found, any(name.partition(".")[0] in ("torch_mlir", "mlir") for name in sys.modules)


def test_a_new_process_loads_no_compiler(compiled: list[str]) -> None:
    kernel, wanted = _called("y(i) = A(i,j) * x(j)")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found, loaded = pool.apply(_first_call, (pickle.dumps(kernel),))
    np.testing.assert_array_equal(found, wanted)
    assert not loaded
