"""Choices in generated code and in native loops that a machine's figures decide, each with the figures that did."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from mlir_sparse.classes import dataclass
from mlir_sparse.machine.machine_figures import (
    ENTRY_DISTANCES,
    GATHER_DISTANCES,
    ROW_DISTANCES,
    WORKING_SETS,
    MachineFigures,
)
from mlir_sparse.machine.machine_times import MachineTimes

__all__ = ["CHOICES", "MachineChoice", "choices_from", "number_from"]

# Bytes of an entry in storage with 32-bit coordinates of one level and f64.
_ENTRY = 12
_LINE = 64
# A distance is as good as the best one where it takes so much more time at most.
_AS_GOOD = 1.03
# What waking a thread must be worth: entries that take three times as long.
_WORTH_WAKING = 3
# A thread spins for as long as it takes to wake so many: to sleep would save the others little more than that.
_WATCHED = 6
# The least and the greatest time that it spins, in microseconds.
_WATCHES = (20, 1000)
# Nanoseconds that a further thread of BLAS takes a product.
_BLAS_THREAD = 1e6
# The least and the greatest work of a chunk, in entries.
_CHUNKS = (1 << 12, 1 << 18)
_MEGABYTE = 1 << 20
_NEVER = 1 << 62


@dataclass(frozen=True, slots=True)
class MachineChoice:
    """A number that figures of a machine decide.

    Args:
        number: the number.
        because: the figures; "" where none is known, and the number is the one that suits most machines.
        means: what it decides, with the number in it.
    """

    number: int
    because: str
    means: str

    def __str__(self) -> str:
        return f"{self.means}: {self.because or 'not measured on this make, as on most'}"


@dataclass(frozen=True, slots=True)
class _Rule:
    """How a number is chosen.

    Args:
        default: the number where nothing is known.
        means: says what a number decides.
        found: returns the number and the figures by which it was found; None where these are not known.
    """

    default: int
    means: Callable[[int], str]
    found: Callable[[MachineFigures, MachineTimes], tuple[int, str] | None]


def choices_from(figures: MachineFigures, times: MachineTimes, known: Mapping[str, int]) -> Mapping[str, MachineChoice]:
    """Returns the choices on a machine, by name.

    Args:
        figures: its figures.
        times: the times of its steps.
        known: choices that kernels were compared for, instead of steps.
    """
    return dict(_each(figures, times, known))


def number_from(name: str, figures: MachineFigures, times: MachineTimes, known: Mapping[str, int]) -> int:
    """Returns the number of one of these choices."""
    if name in known:
        return known[name]
    rule = _RULES[name]
    found = rule.found(figures, times)
    return rule.default if found is None else found[0]


def _each(
    figures: MachineFigures, times: MachineTimes, known: Mapping[str, int]
) -> Iterator[tuple[str, MachineChoice]]:
    for name, rule in _RULES.items():
        found = rule.found(figures, times)
        if name in known:
            found = known[name], "the best of kernels that were compared on this make"
        number, because = (rule.default, "") if found is None else found
        yield name, MachineChoice(number, because, rule.means(number))


def _far(figures: MachineFigures, _: MachineTimes) -> tuple[int, str] | None:
    return _distance(ENTRY_DISTANCES, figures.far_entries, "an entry")


def _near(figures: MachineFigures, _: MachineTimes) -> tuple[int, str] | None:
    return _distance(ENTRY_DISTANCES, figures.near_entries, "an entry")


def _gathers(figures: MachineFigures, _: MachineTimes) -> tuple[int, str] | None:
    return _distance(GATHER_DISTANCES, figures.named_elements, "an entry")


def _local(figures: MachineFigures, _: MachineTimes) -> tuple[int, str] | None:
    return None if figures.caches is None else (int(figures.caches[1]), "as large as the second cache")


def _rows(figures: MachineFigures, _: MachineTimes) -> tuple[int, str] | None:
    return _distance(ROW_DISTANCES, figures.named_lines, "a line")


def _distance(distances: Sequence[int], times: Sequence[float] | None, what: str) -> tuple[int, str] | None:
    """Returns the middle of the distances around the best that are as good."""
    if times is None:
        return None
    least = min(times)
    good = [time <= _AS_GOOD * least for time in times]
    first = last = times.index(least)
    while first > 0 and good[first - 1]:
        first -= 1
    while last + 1 < len(times) and good[last + 1]:
        last += 1
    taken = (first + last + 1) // 2
    shown = {distances[0]: times[0], distances[taken]: times[taken], distances[-1]: times[-1]}
    return distances[taken], ", ".join(f"{time:.2g} ns {what} at {distance}" for distance, time in shown.items())


def _held(figures: MachineFigures, _: MachineTimes) -> tuple[int, str] | None:
    """Returns how many entries the last cache holds, beside the vectors that loops read."""
    if figures.caches is None:
        return None
    return int(figures.caches[-1] * 3 // 4) // _ENTRY, _held_by(figures.caches)


def _few(figures: MachineFigures, _: MachineTimes) -> tuple[int, str] | None:
    """Returns the entries of results from which on stores past the caches take less, reading them later included."""
    kept, past = figures.kept_lines, figures.past_lines
    if kept is None or past is None:
        return None
    gains = [a - b for a, b in zip(kept, past, strict=True)]
    if gains[-1] <= 0:
        return _NEVER, f"a line is {kept[-1]:.2g} ns kept, {past[-1]:.2g} past them, of {_bytes(WORKING_SETS[-1])}"
    place = max((at for at, gain in enumerate(gains) if gain <= 0), default=None)
    if place is None:
        size = float(WORKING_SETS[0])
    else:
        share = -gains[place] / (gains[place + 1] - gains[place])
        size = WORKING_SETS[place] * (WORKING_SETS[place + 1] / WORKING_SETS[place]) ** share
    at = min(len(gains) - 1, 0 if place is None else place + 1)
    because = f"a line is {kept[at]:.2g} ns kept, {past[at]:.2g} past them, of {_bytes(WORKING_SETS[at])}"
    return int(size) // _ENTRY, because


def _filled(figures: MachineFigures, times: MachineTimes) -> tuple[int, str] | None:
    """Returns the bytes of results that take less to fill by stores past the caches: more than the last cache has.

    Of a result that the last cache holds, loops find there what they add to.
    """
    found = _few(figures, times)
    if figures.caches is None or found is None:
        return None
    entries, because = found
    if entries >= _NEVER:
        return _NEVER, because
    return max(int(figures.caches[-1]), entries * _ENTRY), f"{because}, and {_held_by(figures.caches)}"


def _held_by(caches: Sequence[float]) -> str:
    return f"the last cache has {_bytes(caches[-1])}"


def _scatters(figures: MachineFigures, _: MachineTimes) -> tuple[int, str] | None:
    """Returns whether to scatter eight elements takes less than one by one and a wrong guess at the end of a row."""
    scatter, stores, guess = figures.scatter, figures.stores, figures.wrong_guess
    if scatter is None or stores is None or guess is None:
        return None
    because = f"eight are {scatter:.2g} ns by one instruction, {stores:.2g} one by one, a wrong guess {guess:.2g}"
    return int(scatter < stores + guess), because


def _chunk(figures: MachineFigures, _: MachineTimes) -> tuple[int, str] | None:
    if figures.wake is None or figures.far_entries is None:
        return None
    entry = min(figures.far_entries)
    because = f"a thread takes {figures.wake / 1000:.2g} us to wake, an entry {entry:.2g} ns"
    return _power(_WORTH_WAKING * figures.wake / entry, *_CHUNKS), because


def _watch(figures: MachineFigures, _: MachineTimes) -> tuple[int, str] | None:
    """Returns the microseconds for which a thread waits awake for the next call."""
    if figures.wake is None:
        return None
    least, most = _WATCHES
    found = min(max(round(_WATCHED * figures.wake / 1000), least), most)
    return found, f"a thread takes {figures.wake / 1000:.2g} us to wake"


def _joined_chunk(figures: MachineFigures, _: MachineTimes) -> tuple[int, str] | None:
    if figures.caches is None:
        return None
    return _power(figures.caches[1] / 16, *_CHUNKS), f"the second cache has {_bytes(figures.caches[1])}"


def _block(figures: MachineFigures, _: MachineTimes) -> tuple[int, str] | None:
    """Returns the bytes of a block: most of the second cache if that is large, else a part of the last one.

    A loss of 2000 x 2000 took 3.8 ms in blocks of 0.8 to 1.6 MB and 4.7 of 3 with 2 MB of second-level cache for each
    processor, and with less of it 5.1 ms of 3.2 to 4.8 MB, 5.4 of 1.6, and 6.4 of 8.
    """
    if figures.caches is None:
        return None
    second, last = figures.caches[1:]
    if second >= 2 * _MEGABYTE:
        return int(second * 3 // 4), f"the second cache has {_bytes(second)}"
    return int(min(max(last / 8, _MEGABYTE), 4 * _MEGABYTE)), f"the caches have {_bytes(second)} and {_bytes(last)}"


def _blas(_: MachineFigures, times: MachineTimes) -> tuple[int, str] | None:
    return _power(_BLAS_THREAD / times.multiply_add), f"a multiplication takes {times.multiply_add:.2g} ns"


def _blas_by_vector(figures: MachineFigures, _: MachineTimes) -> tuple[int, str] | None:
    if figures.read_lines is None:
        return None
    line = figures.read_lines[-1]
    return _power(8 * _BLAS_THREAD / line), f"a line of memory takes {line:.2g} ns"


def _alone(figures: MachineFigures, _: MachineTimes) -> tuple[int, str] | None:
    """Returns whether to ask ahead in what is read from end to end: no, where lines come as fast without.

    A sum of 1 to 30 million f64 took 1.03 to 1.3 times as long with requests at 512 (AMD, family 25).
    """
    lines, far, near = figures.read_lines, figures.far_entries, figures.near_entries
    if lines is None or far is None or near is None:
        return None
    pairs = ((lines[-1], min(far) * _LINE / _ENTRY), (lines[-2], min(near) * _LINE / _ENTRY))
    plain, asked = max(pairs, key=lambda pair: pair[0] / pair[1])
    because = f"a line is {plain:.2g} ns without, {asked:.2g} ns of entries asked for"
    return int(plain > _AS_GOOD * asked), because


def _power(number: float, least: int = 1, most: int = _NEVER) -> int:
    """Returns the nearest power of 2."""
    return int(min(max(2 ** round(math.log2(max(number, 1))), least), most))


def _bytes(size: float) -> str:
    return f"{size / _MEGABYTE:.3g} MB" if size >= _MEGABYTE else f"{size / 1024:g} KB"


def _results(entries: int) -> str:
    if entries >= _NEVER:
        return "no result is stored past the caches"
    return f"results above {entries * _ENTRY / _MEGABYTE:.2g} MB are stored past the caches"


def _fills(size: int) -> str:
    if size >= _NEVER:
        return "no result is filled past the caches"
    return f"results above {_bytes(size)} are filled past the caches"


def _alone_ahead(number: int) -> str:
    return f"what is read from end to end, and nothing else, is{'' if number else ' not'} asked for"


def _elements_ahead(distance: int) -> str:
    where = f"are asked for {distance} entries ahead" if distance else "are not asked for"
    return f"elements that entries name, far apart, {where}"


def _rows_ahead(distance: int) -> str:
    where = f"are asked for {distance} entries ahead" if distance else "are not asked for"
    return f"rows that entries name {where}"


_RULES: Mapping[str, _Rule] = {
    "far": _Rule(768, lambda n: f"entries that caches do not hold are asked for {n} ahead", _far),
    "near": _Rule(256, lambda n: f"entries in outer caches are asked for {n} ahead", _near),
    "held": _Rule(1 << 21, lambda n: f"up to {n:,} entries are in outer caches", _held),
    # Tiles, on uniform columns in ms: 4 entries ahead took 75, 8 took 67. Products of sparse matrices with rows of 1 to
    # 8 entries, with none, 4, 8 and 16 entries: 75, 58, 60, 60 (uniform columns, 6.4 M products), and 352, 212, 208,
    # 209 (power law, 9.6 M products).
    "rows": _Rule(8, _rows_ahead, _rows),
    # SpMV with rows of 1 to 3 entries of uniform columns took 0.86, 0.66, 0.47 and 0.45 of the time with 8, 16, 32 and
    # 64; a power law 0.91, 0.82, 0.64 and 0.55 (AMD, family 25).
    "gathers": _Rule(32, _elements_ahead, _gathers),
    "local": _Rule(_MEGABYTE, lambda n: f"arrays of up to {_bytes(n)} have no element that is far", _local),
    "alone": _Rule(1, _alone_ahead, _alone),
    "few": _Rule(1 << 19, _results, _few),
    # A result of 160 MB, filled with infinities on a make with 32 MB: 8.5 ms past the caches, 14.8 through them.
    "filled": _Rule(32 * _MEGABYTE, _fills, _filled),
    "scatters": _Rule(0, lambda n: f"rests of rows are{'' if n else ' not'} scattered by one instruction", _scatters),
    "chunk": _Rule(1 << 15, lambda n: f"a further thread is for {n:,} entries and more", _chunk),
    "joined_chunk": _Rule(1 << 16, lambda n: f"chunks that are copied have {n:,} entries", _joined_chunk),
    "watch": _Rule(100, lambda n: f"threads wait awake for {n} us before they sleep", _watch),
    "block": _Rule(3 << 19, lambda n: f"blocks of rows of arrays have {_bytes(n)}", _block),
    "blas": _Rule(1 << 24, lambda n: f"a further thread of BLAS is for {n:,} multiplications", _blas),
    "blas_by_vector": _Rule(
        1 << 22, lambda n: f"a further thread of BLAS is for {n:,} elements by a vector", _blas_by_vector
    ),
}
CHOICES = tuple(_RULES)
"""The names of the choices."""
