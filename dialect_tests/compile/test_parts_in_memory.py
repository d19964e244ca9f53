"""Plans whose parts do not fit in memory: the statement is computed as it is written, or refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse.errors import TooLargeError
from mlir_sparse.runtime.run_steps import Executable

TEXT = "y(i) = A(i,j) * A(j,k) * x(k)"


@pytest.fixture
def operands() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((900, 900)) < 0.02, rng.integers(1, 5, (900, 900)), 0).astype(float)
    return {"A": ms.tensor(dense), "x": rng.integers(1, 5, 900).astype(float)}


def refuse(monkeypatch: pytest.MonkeyPatch, *, all_of_them: bool = False) -> None:
    """Lets programs of several steps, which make parts, find no memory; or all programs."""
    run = Executable.run

    def failing(self: Executable, *arguments: Any) -> Any:
        if all_of_them or len(self.steps) > 1:
            raise MemoryError("std::bad_alloc")
        return run(self, *arguments)

    monkeypatch.setattr(Executable, "run", failing)


def test_the_statement_as_written_may_fit(monkeypatch: pytest.MonkeyPatch, operands: dict[str, Any]) -> None:
    wanted = ms.evaluate(TEXT, **operands, optimize="off")
    kernel = ms.compile(TEXT, **operands)
    assert isinstance(kernel, ms.Kernel)
    assert kernel.spec.rewriting is not None
    refuse(monkeypatch)
    np.testing.assert_array_equal(kernel(**operands), wanted)
    out = np.empty(900)
    assert kernel(**operands, out=out) is out
    np.testing.assert_array_equal(out, wanted)
    np.testing.assert_array_equal(ms.evaluate(TEXT, **operands), wanted)


def test_what_fits_in_no_way_is_refused_by_name(monkeypatch: pytest.MonkeyPatch, operands: dict[str, Any]) -> None:
    kernel = ms.compile(TEXT, **operands)
    (chosen, *_) = (way for way in kernel.alternatives() if not way.is_as_written)
    refuse(monkeypatch)
    with pytest.raises(TooLargeError, match="expected memory for the result of y"):
        ms.evaluate(chosen, **operands)
    refuse(monkeypatch, all_of_them=True)
    with pytest.raises(TooLargeError, match="expected memory for the result of y"):
        kernel(**operands)


class _WithoutMemory:
    """The fast path of a kernel, which finds no memory."""

    def direct(self, operands: tuple[Any, ...], out: Any = None) -> Any:
        raise MemoryError("std::bad_alloc")


@pytest.mark.parametrize("path", ["_small", "_last"])
def test_calls_like_those_before_take_another_way(path: str) -> None:
    """The fast paths of a kernel, for few elements too, are no more than that: without memory calls do without them."""
    A, x, y = ms.tensor(np.diag([1.0, 2.0, 3.0])), np.arange(1.0, 4.0), np.ones(3)
    kernel: Any = ms.compile("y(j) = A(i,j) * x(i)", A=A, x=x)
    kernel(A, x)
    assert getattr(kernel, path) is not None
    setattr(kernel, path, _WithoutMemory())
    assert path == "_last" or kernel.direct((A, x)) is None
    np.testing.assert_array_equal(kernel(A, x), [1.0, 4.0, 9.0])
    updating: Any = ms.compile("y(j) += A(i,j) * x(i)", A=A, x=x, y=y)
    setattr(updating, path, _WithoutMemory())
    with pytest.raises(TooLargeError, match="expected memory for the result of y"):
        updating(y=y, A=A, x=x, out=y)
    np.testing.assert_array_equal(y, 1.0)
