"""Presets as values: a name, the possible ranks, and a function from parameters to levels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mlir_sparse.classes import dataclass
from mlir_sparse.encoding.dim_slice import DimSlice
from mlir_sparse.errors import EncodingError, RankError

if TYPE_CHECKING:
    from mlir_sparse.encoding.encoding_value import Encoding

__all__ = ["Preset", "PresetOptions"]

# For each parameter the least value of its numbers, and their count where it is fixed.
_LEAST = {"block": 1, "order": 0, "n_m": 0, "size": 1, "width": 1, "band": 0}
_COUNT = {"n_m": 2, "size": 1, "width": 1, "band": 2}
_FORMS = {
    "": "no parameters",
    "order": "the order of the dimensions, as (2, 0, 1)",
    "block": "the size of a block in each dimension, as (4, 4)",
    "n_m": "n and m, as (2, 4)",
    "size": "the size of a block, as (4)",
    "width": "the number of slots, as (3)",
    "band": "how many diagonals below and above the main one, as (1, 2)",
    "slices": "offset, size and stride of each dimension, as (0, 4, 1, 0, ?, 1)",
}


@dataclass(frozen=True, slots=True)
class PresetOptions:
    """The parameters of a preset; None for the default."""

    block: tuple[int, ...] | None = None
    order: tuple[int, ...] | None = None
    n_m: tuple[int, int] | None = None
    size: tuple[int] | None = None
    width: tuple[int] | None = None
    band: tuple[int, int] | None = None
    slices: tuple[DimSlice, ...] | None = None


@dataclass(frozen=True, slots=True)
class Preset:
    """A named storage format.

    Args:
        name: the usual name.
        doc: its meaning in a few words.
        min_rank: the least number of dimensions.
        max_rank: the greatest number of dimensions, or None.
        default_rank: the number of dimensions by default.
        build: the function from a rank and parameters to the encoding.
        parameter: its parameter: "order", "block", "n_m", "size", "width", "band", "slices" or "".
    """

    name: str
    doc: str
    min_rank: int
    max_rank: int | None
    default_rank: int
    build: Callable[[int, PresetOptions], Encoding]
    parameter: str = ""

    def __reduce__(self) -> tuple[Callable[[str], Preset], tuple[str]]:
        """Pickles the name: what builds it is a function without one."""
        return _named, (self.name,)

    def options(self, given: Mapping[str, tuple[Any, ...]], arguments: Sequence[int | None]) -> PresetOptions:
        """Checks and returns the parameters, given by keyword or by position.

        Raises:
            EncodingError: for parameters that this preset lacks.
        """
        for key in given:
            if key != self.parameter:
                raise EncodingError(f"expected {_FORMS[self.parameter]} for {self.name}, but got {key}={given[key]}")
        if arguments and given:
            raise EncodingError(f"expected {self.parameter} once for {self.name}, but got {given} and {arguments}")
        values = given.get(self.parameter, tuple(arguments))
        if not values and not given:
            return PresetOptions()
        if self.parameter == "slices" and arguments:
            return PresetOptions(slices=self._slices(arguments))
        self._check(values)
        return PresetOptions(**{self.parameter: values}) if self.parameter else PresetOptions()

    def _check(self, values: tuple[Any, ...]) -> None:
        if self.parameter == "slices" and all(isinstance(v, DimSlice) for v in values):
            return
        least = _LEAST.get(self.parameter)
        is_right = least is not None and all(isinstance(v, int) and v >= least for v in values)
        if not is_right or len(values) != _COUNT.get(self.parameter, len(values)):
            got = ", ".join("?" if v is None else str(v) for v in values)
            rule = f"expected {_FORMS[self.parameter]} for {self.name}"
            low = any(isinstance(v, int) and least is not None and v < least for v in values)
            raise EncodingError(f"{rule}, {f'{least} or more, ' if low else ''}but got ({got})")

    def _slices(self, arguments: Sequence[int | None]) -> tuple[DimSlice, ...]:
        if len(arguments) % 3:
            raise EncodingError(f"expected {_FORMS['slices']} for {self.name}, but got {len(arguments)} numbers")
        return tuple(DimSlice(*arguments[at : at + 3]) for at in range(0, len(arguments), 3))

    def check_rank(self, rank: int) -> None:
        """Raises RankError unless the preset has this rank."""
        if rank >= self.min_rank and (self.max_rank is None or rank <= self.max_rank):
            return
        if self.max_rank is None:
            rule = f"rank {self.min_rank} or more"
        else:
            rule = f"rank {self.min_rank}" + (f" to {self.max_rank}" if self.max_rank > self.min_rank else "")
        raise RankError(f"expected {rule} for {self.name}, but got {rank}")

    def label(self, options: PresetOptions) -> str:
        """Returns the name with its parameters, which parses back to the same preset."""
        given = options.block, options.order, options.n_m, options.size, options.width, options.band
        numbers: list[str] = [str(v) for values in given for v in values or ()]
        for part in options.slices or ():
            numbers += ["?" if v is None else str(v) for v in (part.offset, part.size, part.stride)]
        return f"{self.name}({', '.join(numbers)})" if numbers else self.name


def _named(name: str) -> Preset:
    from mlir_sparse.encoding.presets import find_preset  # which this module makes

    return find_preset(name)[0]
