"""The vectors of a processor, as the options of the pass tell them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Target"]


@dataclass(frozen=True, slots=True)
class Target:
    """What vectors a processor has.

    Args:
        bits: of a vector register.
        lanes: elements of a vector; 0 for as many as a register holds.
        tile: elements that registers hold at once; 0 for what pays.
        masks: whether loads and stores of some lanes cost as much as those of all.
        fuses: whether it adds a product in one instruction.
    """

    bits: int
    lanes: int = 0
    tile: int = 0
    masks: bool = False
    fuses: bool = False

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Target:
        """Returns the target that options of the pass name."""
        number = {name: int(options.get(name, default)) for name, default in (("bits", 512), ("lanes", 0), ("tile", 0))}
        return cls(**number, masks=options.get("masks") == "true", fuses=options.get("fma") == "true")

    def lanes_of(self, bits: int) -> int:
        """Returns how many elements of a width are one vector."""
        return self.lanes or max(1, self.bits // bits)

    def sizes(self, bits: int) -> list[int]:
        """Returns the sizes of tiles, the largest first, the smallest a vector."""
        lanes = self.lanes_of(bits)
        largest = max(lanes, self.tile // lanes * lanes if self.tile else 8 * lanes)
        sizes = [largest]
        while sizes[-1] > lanes:
            sizes.append(max(lanes, sizes[-1] // 2 // lanes * lanes))
        return sizes
