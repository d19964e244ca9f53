"""How often products that close a circle have an entry, from where square matrices have theirs.

Spread evenly, `A(i,j) * A(j,k) * A(k,i)` would meet in hardly any place of a grid, whose entries are all near the
diagonal: from i over j back to near i. What matters is how far j - i is, in bits, and on which side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from mlir_sparse.classes import dataclass
from mlir_sparse.encoding import PatternSketch

__all__ = ["EntryPattern", "chance_of_cycles", "chance_together"]

# By bits of an offset and its sign, a share of entries or paths.
Shares = Mapping[int, float]
# So many sums of offsets are kept: a statement asks for those of its matrices again and again.
_KEPT = 256


# Equal only to itself, so that what is found for it is kept.
@dataclass(frozen=True, slots=True, eq=False)
class _Offsets:
    """How far the ends of entries or paths are apart."""

    shares: Shares


@dataclass(frozen=True, slots=True, eq=False)
class EntryPattern:
    """Where the entries of an access of a square matrix are.

    Args:
        tensor: the name of the matrix.
        first: the variable of its rows.
        second: that of its columns.
        entries: how many there are.
        extent: the extent of both.
        sketch: where they are.
    """

    tensor: str
    first: int
    second: int
    entries: float
    extent: float
    sketch: PatternSketch

    def offsets(self, first: int) -> _Offsets:
        """Returns the offsets from one of its variables to the other."""
        return _offsets_of(self.sketch, first != self.first)

    def chance(self, paths: _Offsets, first: int) -> float:
        """Returns the chance that there is an entry where a path from one of its variables to the other ends."""
        return _chance(self.offsets(first), self.entries, self.extent, paths)


def chance_together(one: EntryPattern, other: EntryPattern) -> float:
    """Returns the share of one matrix's entries where another over the same variables has one too."""
    if one.tensor == other.tensor:
        return 1.0 if one.first == other.first else one.sketch.mirrored
    return other.chance(one.offsets(one.first), one.first)


def chance_of_cycles(patterns: Sequence[EntryPattern]) -> tuple[float, tuple[EntryPattern, ...]]:
    """Returns how many times as often as if spread evenly matrices that close circles have entries, and which do."""
    found, closing, links = 1.0, list[EntryPattern](), dict[int, list[tuple[int, _Offsets]]]()
    for one in patterns:
        paths = _path(links, one.first, one.second)
        if paths is not None:
            found *= one.chance(paths, one.first) * one.extent**2 / max(one.entries, 1.0)
            closing.append(one)
            continue
        links.setdefault(one.first, []).append((one.second, one.offsets(one.first)))
        links.setdefault(one.second, []).append((one.first, one.offsets(one.second)))
    return found, tuple(closing)


def _path(links: Mapping[int, Sequence[tuple[int, _Offsets]]], first: int, last: int) -> _Offsets | None:
    """Returns the offsets of paths from one variable to another; None if none leads there."""
    if first not in links or last not in links:
        return None
    steps, ahead = dict[int, tuple[int, _Offsets]](), [first]
    for variable in ahead:
        for other, offsets in links[variable]:
            if other != first and other not in steps:
                steps[other] = variable, offsets
                ahead.append(other)
    if last not in steps:
        return None
    before, offsets = steps[last]
    reached = None if before == first else _path(links, first, before)
    return offsets if reached is None else _added(reached, offsets)


@lru_cache(maxsize=_KEPT)
def _offsets_of(sketch: PatternSketch, turned: bool) -> _Offsets:
    return _Offsets({-bits: share for bits, share in sketch.offsets.items()} if turned else sketch.offsets)


@lru_cache(maxsize=_KEPT)
def _chance(own: _Offsets, entries: float, extent: float, paths: _Offsets) -> float:
    """Returns the chance that a matrix with such offsets has an entry where paths end."""
    shares = ((bits, share, own.shares.get(bits, 0.0)) for bits, share in paths.shares.items())
    return sum(share * min(1.0, part * entries / _places(bits, extent)) for bits, share, part in shares if part)


def _places(bits: int, extent: float) -> float:
    """Returns how many places of a square matrix have an offset of so many bits, on one side."""
    if bits == 0:
        return extent
    first = 2.0 ** (abs(bits) - 1)
    last = min(2 * first - 1, extent - 1)
    return max(1.0, (last - first + 1) * (extent - (first + last) / 2))


@lru_cache(maxsize=_KEPT)
def _added(one: _Offsets, other: _Offsets) -> _Offsets:
    """Returns the shares of sums of two offsets.

    A sum of offsets has roughly the bits of the larger, and one more where both have as many and the same sign. Where
    they have other signs, it is of either sign, or 0: as far apart as two places of one stretch.
    """
    most = max(map(abs, (*one.shares, *other.shares)), default=0)
    found = dict.fromkeys(range(-most - 1, most + 2), 0.0)
    smaller = one.shares.get(0, 0.0), other.shares.get(0, 0.0)
    found[0], opposite = smaller[0] * smaller[1], [0.0]
    for bits in range(1, most + 1):
        up, down = ((one.shares.get(b, 0.0), other.shares.get(b, 0.0)) for b in (bits, -bits))
        for sign, (a, b) in ((1, up), (-1, down)):
            found[sign * bits] += a * smaller[1] + b * smaller[0]
            found[sign * (bits + 1)] += a * b
        opposite.append((up[0] * down[1] + down[0] * up[1]) / 2.0**bits)
        smaller = smaller[0] + up[0] + down[0], smaller[1] + up[1] + down[1]
    found[0] += 2 * sum(opposite)
    spread = 0.0
    for bits in range(most - 1, 0, -1):
        spread += opposite[bits + 1]
        found[bits] += spread * 2.0 ** (bits - 1)
        found[-bits] += spread * 2.0 ** (bits - 1)
    return _Offsets({bits: share for bits, share in found.items() if share})
