"""Generated tensors: `-g x=random`, `-g A=random:density=0.01,seed=7`, `-g alpha=2.5`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import DType
from mlir_sparse.errors import OperandError, TooLargeError

__all__ = ["KINDS", "Generator"]

Array = NDArray[Any]

_MOST_ENTRIES = 1 << 31


def _random(rng: np.random.Generator, count: int, kind: str) -> Array:
    """Draws standard normal values; integers from -4 to 4, so that products of i8 stay small; truth values."""
    if kind == "b":
        return rng.integers(0, 2, count)
    if kind == "i":
        return rng.integers(-4, 5, count)
    values = rng.standard_normal(count)
    return values + 1j * rng.standard_normal(count) if kind == "c" else values


def _uniform(rng: np.random.Generator, count: int, kind: str) -> Array:
    """Draws values from 0 up to 1; integers from 0 to 9; truth values."""
    return rng.integers(0, {"b": 2, "i": 10}[kind], count) if kind in "bi" else rng.random(count)


KINDS: dict[str, Callable[[np.random.Generator, int, str], Array]] = {
    "random": _random,
    "uniform": _uniform,
    "ones": lambda rng, count, kind: np.ones(count),
    "zeros": lambda rng, count, kind: np.zeros(count),
    "arange": lambda rng, count, kind: np.arange(count),
}
"""What `-g NAME=KIND` takes, beside a number."""


@dataclass(frozen=True, slots=True)
class Generator:
    """The generator of one tensor.

    Args:
        kind: a key of KINDS, or the text of a number.
        seed: the seed of random numbers.
        density: the fraction of elements to store in a sparse tensor.
    """

    kind: str
    seed: int = 0
    density: float = 0.01

    @staticmethod
    def parse(text: str) -> Generator:
        """Parses `KIND` or `KIND:seed=3,density=0.1`.

        Raises:
            OperandError: for other text.

        >>> Generator.parse("random:seed=3")
        Generator(kind='random', seed=3, density=0.01)
        """
        kind, _, rest = text.partition(":")
        if kind not in KINDS and not _is_number(kind):
            raise OperandError(f"expected -g NAME= one of {', '.join(KINDS)} or a number, but got '{kind}'")
        given = dict(part.partition("=")[::2] for part in rest.split(",") if part)
        try:
            generator = Generator(kind, int(given.pop("seed", "0")), float(given.pop("density", "0.01")))
        except ValueError:
            given[rest] = ""
        if given or not 0 <= generator.density <= 1:
            raise OperandError(f"expected seed=INTEGER and density=0..1 after '{kind}:', but got '{rest}'")
        return generator

    def dense(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """Returns an array."""
        self._check_size(math.prod(shape), shape)
        return self._values(math.prod(shape), dtype).reshape(shape)

    def sparse(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[tuple[Array, ...], Array]:
        """Returns (coordinates, values) at distinct places with uniform distribution."""
        size = math.prod(shape)
        count = min(size, max(1, round(size * self.density)))
        self._check_size(count, shape)
        rng = np.random.default_rng(self.seed)
        places: Array = (
            np.sort(rng.choice(size, count, replace=False, shuffle=False)) if size else np.zeros(0, np.int64)
        )
        coordinates = np.unravel_index(places, shape) if size else tuple(places for _ in shape)
        return coordinates, self._values(count, dtype)

    def _values(self, count: int, dtype: np.dtype[Any]) -> Array:
        if self.kind not in KINDS:
            return np.full(count, complex(self.kind) if dtype.kind == "c" else float(self.kind)).astype(dtype)
        rng = np.random.default_rng(self.seed + 1)
        return KINDS[self.kind](rng, count, DType.of(dtype).kind).astype(dtype)

    def _check_size(self, count: int, shape: tuple[int, ...]) -> None:
        if count > _MOST_ENTRIES:
            extents = " x ".join(map(str, shape))
            raise TooLargeError(f"expected at most {_MOST_ENTRIES} generated values, but got {count} for {extents}")


def _is_number(text: str) -> bool:
    try:
        complex(text)
    except ValueError:
        return False
    return True
