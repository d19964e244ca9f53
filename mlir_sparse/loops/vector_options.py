"""The vectors of a processor, as the options of the pass tell them."""

from __future__ import annotations

from collections.abc import Mapping

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.loops.emit_prefetch import PrefetchDistances
from mlir_sparse.loops.emit_vectors import mask_of, wide_mask_of

__all__ = ["Target"]

# Measured on f64 with AVX-512 (AMD, family 26), k = 128, in ms: finite elements, whose rows are in cache, and uniform
# columns. Tiles of 4 vectors took 53 and 100, of 8 52 and 77, of 16 44 and 67, the last two with rows asked for ahead;
# without that 16 took 44 and 107.
_VECTORS = 16
_FEW_VECTORS = 8  # where there are 16 registers
_AVX2, _WORD = 256, 32  # bits of a vector, and of the least elements that it has masks for
# Where products of two rows and more are added, loops are written for fewer sizes of tiles: each is compiled, and their
# code is twice as large. With tiles of a vector and of two MTTKRP took 62 ms to compile, without 50. What is less than
# four vectors is two with a mask: of social data, CSF, ranks of 10 take 0.6 of the time, of 8 1.2, of 16 and more the
# same. One row alone is so short an iteration that masks cost up to 0.6 of it, with k = 8.
_LEAST_VECTORS = 4
_MASKED_VECTORS = 2
# Asking for less than 8 lines of a cache costs more than the processor's own guesses do: with k = 32 finite elements
# took 6.2 ms, and 9.5.
_WORTH_ASKING = 512  # bytes


@dataclass(frozen=True, slots=True)
class Target:
    """What vectors a processor has.

    Args:
        bits: of a vector register.
        lanes: elements of a vector; 0 for as many as a register holds.
        tile: elements that registers hold at once; 0 for what pays.
        masks: whether loads and stores of some lanes cost as much as those of all.
        fuses: whether it adds a product in one instruction.
        distances: how many entries ahead rows are prefetched.
    """

    bits: int
    lanes: int = 0
    tile: int = 0
    masks: bool = False
    fuses: bool = False
    distances: PrefetchDistances = PrefetchDistances()

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Target:
        """Returns the target that options of the pass name."""
        number = {name: int(options.get(name, default)) for name, default in (("bits", 512), ("lanes", 0), ("tile", 0))}
        masks, fuses = (options.get(name) == "true" for name in ("masks", "fma"))
        return cls(**number, masks=masks, fuses=fuses, distances=PrefetchDistances.of(options))

    def masks_loads(self, bits: int) -> bool:
        """Returns whether loads of some lanes cost as much as those of all: AVX2's do, of no less than 32 bits each.

        Args:
            bits: of an element; of several kinds the narrowest.
        """
        return self.masks or (self.bits == _AVX2 and bits >= _WORD)

    def mask_of(self, count: ir.Value, lanes: int, bits: int) -> ir.Value:
        """Writes the mask of the first lanes of a vector, for loads that may have one.

        Args:
            count: how many there are.
            lanes: of the vector.
            bits: of an element.
        """
        return mask_of(count, lanes) if self.masks else wide_mask_of(count, lanes, bits)

    def lanes_of(self, bits: int) -> int:
        """Returns how many elements of a width are one vector."""
        return self.lanes or max(1, self.bits // bits)

    def sizes(self, bits: int, factors: int = 1, rows: int = 1) -> list[int]:
        """Returns the sizes of tiles, the largest first.

        Args:
            bits: of an element.
            factors: how many rows are multiplied.
            rows: how many rows of the result registers hold at once; several leave more registers to them.
        """
        lanes = self.lanes_of(bits)
        vectors = _VECTORS if self.bits == 512 else _FEW_VECTORS
        most = lanes * vectors if rows == 1 else lanes * max(1, _power_of_two(vectors * 3 // 2 // rows))
        asked = self.tile // lanes * lanes if self.tile else most
        largest = max(lanes, asked if rows == 1 else min(asked, most))
        few = self.masks and factors > 1 and largest >= lanes * _LEAST_VECTORS
        least = lanes * _LEAST_VECTORS if few else lanes
        sizes = [largest]
        while sizes[-1] > least:
            sizes.append(max(least, sizes[-1] // 2 // lanes * lanes))
        return sizes

    def parts(self, bits: int) -> list[int]:
        """Returns the sizes of tiles of less than a vector, the largest first: what stands for masks."""
        sizes = [self.lanes_of(bits)]
        while sizes[-1] > 1:
            sizes.append(sizes[-1] // 2)
        return sizes[1:]

    def masked(self, bits: int, least: int) -> int:
        """Returns the size of tiles with a mask, for what is less than the least of the others.

        Args:
            bits: of an element.
            least: the size of the least tile without one.
        """
        lanes = self.lanes_of(bits)
        return min(least, lanes * _MASKED_VECTORS) if least > lanes else lanes

    def prefetch_distance(self, size: int, bits: int, *, summed: bool = False) -> int:
        """Returns how many entries before a tile its rows are prefetched; 0 where that does not pay.

        Args:
            size: the elements of a tile.
            bits: of an element.
            summed: whether a row is summed up, not kept.
        """
        distance = self.distances.summed_rows if summed else self.distances.rows
        return distance if size * bits // 8 >= _WORTH_ASKING else 0


def _power_of_two(number: int) -> int:
    """Returns the greatest power of two that is no greater than a number; 0 for 0."""
    return 1 << number.bit_length() >> 1
