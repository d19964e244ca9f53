"""A variant: another way to make the same call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

import mlir_sparse as ms
from dialect_tests.calls import Call, Results, Trial

__all__ = ["NotApplicableError", "Variant", "assert_same_bits"]


class NotApplicableError(Exception):
    """There is no such variant of a call."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A way to make a call otherwise, with the same results.

    Args:
        name: what is changed.
        run: makes the call so; raises NotApplicableError where that means nothing.
        share: the part of cases that it is tried on where only a few variants are.
        of_all: the part where all are: less than one only for what takes longer than all others together.
        compiles: whether another kernel must be compiled, which takes longer than anything else.
        same_bits: whether results are the same bit for bit, and not up to rounding.
        may_refuse: with which errors the call may be refused, where storage cannot hold what is asked of it.
    """

    name: str
    run: Callable[[Call, Random], Results]
    share: float = 0.1
    of_all: float = 1.0
    compiles: bool = False
    same_bits: bool = False
    may_refuse: tuple[type[ms.SparseError], ...] = ()

    def check(self, trial: Trial, plain: Results, seed: str) -> bool | ms.SparseError:
        """Makes the call so, and compares.

        Args:
            trial: the call, and what judges its results.
            plain: the results of the call as it is.
            seed: decides on all that is drawn.

        Returns:
            whether there is such a variant of the call; the error where it is refused, as it may be.

        Raises:
            AssertionError: for other results, or a refusal, with a script to paste.
        """
        try:
            found = self.run(trial.call, Random(f"{seed} {self.name}"))
        except NotApplicableError:
            return False
        except ms.CompileError:
            raise
        except ms.SparseError as error:
            if type(error) in self.may_refuse:
                return error
            raise AssertionError(self._told(trial.call, seed, f"refused: {type(error).__name__}: {error}")) from error
        except Exception as error:
            raise AssertionError(self._told(trial.call, seed, f"{type(error).__name__}: {error}")) from error
        try:
            trial.judge(found)
            if self.same_bits:
                assert_same_bits(found, plain)
        except AssertionError as error:
            raise AssertionError(self._told(trial.call, seed, str(error))) from error
        return True

    def _told(self, call: Call, seed: str, reason: str) -> str:
        return f"variant {self.name!r}: {reason}\n{reproducer(call, self.name, seed)}"


def reproducer(call: Call, name: str, seed: str) -> str:
    """Returns a shell command, to be pasted in the folder of the checkout."""
    return "\n".join(
        [
            "PYTHONPATH=scripts:. .venv/bin/python - <<'END'",
            call.script(),
            "from fuzzing.variants import again",
            f"print(again({name!r}, text, tensors, options, {seed!r}))",
            "END",
        ]
    )


def assert_same_bits(found: Results, wanted: Results) -> None:
    """Raises AssertionError unless results have the same bits: signs of zeros count, those of NaN do not."""
    for one, other in zip(found, wanted, strict=True):
        assert isinstance(one, ms.SparseTensor) == isinstance(other, ms.SparseTensor), (type(one), type(other))
        for mine, yours in zip(_buffers(one), _buffers(other), strict=True):
            assert mine.dtype == yours.dtype, (mine.dtype, yours.dtype)
            assert mine.shape == yours.shape, (mine.shape, yours.shape)
            same = _bits(mine) == _bits(yours)
            if mine.dtype.kind in "fcV":
                same |= ((mine != mine) & (yours != yours)).reshape(-1)
            assert same.all(), f"expected the bits of {_told(yours)}, but got {_told(mine)}"


def _buffers(result: Any) -> list[Any]:
    if isinstance(result, ms.SparseTensor):
        return [*result.storage.buffers()]
    return [np.asarray(result)]


def _bits(array: Any) -> Any:
    """Returns the bytes of each element, as one value that compares."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(f"V{flat.itemsize}") if flat.size else np.zeros(0, "V1")


def _told(array: Any) -> str:
    return str(array.tolist())[:400]
