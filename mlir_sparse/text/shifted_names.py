"""Names of tensors of places that gathers with offsets read: `I.at_2_-1` for `T(2*I(i) - 1)`."""

from __future__ import annotations

import re

from mlir_sparse.classes import dataclass

__all__ = ["ShiftedGather", "shifted_gather_of"]

_NAME = r"(?P<tensor>[^.]+)\.at_(?P<factor>-?\d+)_(?P<constant>-?\d+)"


@dataclass(frozen=True, slots=True)
class ShiftedGather:
    """Places `factor * tensor + constant`."""

    tensor: str
    factor: int
    constant: int

    @property
    def name(self) -> str:
        """Returns the name of the tensor of places, which no text can have."""
        return f"{self.tensor}.at_{self.factor}_{self.constant}"

    def text(self, read: str) -> str:
        """Returns the places in notation.

        Args:
            read: the notation of the tensor's elements.
        """
        product = {1: read, -1: f"-{read}"}.get(self.factor, f"{self.factor}*{read}")
        return f"{product} {'-' if self.constant < 0 else '+'} {abs(self.constant)}" if self.constant else product

    def __str__(self) -> str:
        return self.text(self.tensor)


def shifted_gather_of(name: str) -> ShiftedGather | None:
    """Returns what a tensor of places stands for, by its name; None for other tensors.

    >>> print(shifted_gather_of("I.at_2_-1"), shifted_gather_of("I"))
    2*I - 1 None
    """
    found = re.fullmatch(_NAME, name) if "." in name else None
    return None if found is None else ShiftedGather(found["tensor"], int(found["factor"]), int(found["constant"]))
