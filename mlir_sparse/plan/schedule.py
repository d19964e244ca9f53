"""Schedules: choices about the loops of a kernel."""

from __future__ import annotations

from collections.abc import Iterable

from mlir_sparse.classes import dataclass
from mlir_sparse.errors import ScheduleError
from mlir_sparse.text.given_arguments import several_of, text_of
from mlir_sparse.text.identifiers import normal_name
from mlir_sparse.text.shown_text import PrintedValue

__all__ = ["STATIC", "Schedule"]

_LANES = (0, 2, 4, 8, 16, 32, 64)
# The largest register tile: 32 vectors of 16 f32, the registers of the largest processors.
_MOST_TILE = 512
_NONE = "static"


@dataclass(frozen=True, slots=True)
class Schedule(PrintedValue):
    """Choices about a kernel's loops; None leaves one to the plan, which `Kernel.explain` shows.

    Args:
        order: the names of the statement's index variables, outermost loop first. A loop nest over some of them keeps
            their order; operands with storage in another order are converted in each call.
        lanes: lanes of the sparsifier's vector loops, a power of 2 up to 64; 0 for scalar loops.
        tile: elements of a dense innermost loop that stay in registers across the sparse loops around it; 0 for none.

    Raises:
        ScheduleError: for choices that no kernel can have.

    >>> print(Schedule(order=("i", "k", "j"), tile=32))
    order=i,k,j tile=32
    >>> Schedule.parse("order=i,k,j tile=32") == Schedule(order=("i", "k", "j"), tile=32)
    True
    >>> print(Schedule())
    static
    """

    order: tuple[str, ...] | None = None
    lanes: int | None = None
    tile: int | None = None

    def __post_init__(self) -> None:
        if self.order is not None:
            object.__setattr__(self, "order", _order(self.order))
        if self.lanes is not None and (not _is_int(self.lanes) or self.lanes not in _LANES):
            raise ScheduleError(
                f"expected lanes of {', '.join(map(str, _LANES))} in a schedule, but got {self.lanes!r}"
            )
        if self.tile is not None and (not _is_int(self.tile) or not 0 <= self.tile <= _MOST_TILE):
            raise ScheduleError(f"expected a tile of 0 to {_MOST_TILE} elements in a schedule, but got {self.tile!r}")

    @classmethod
    def parse(cls, text: str) -> Schedule:
        """Returns the schedule of a text such as `order=i,j lanes=8 tile=32`; `static` and no text choose nothing.

        Raises:
            ScheduleError: for any other text.
        """
        found: dict[str, str] = {}
        for part in text_of(text, "a schedule").split():
            name, equals, value = part.partition("=")
            if part == _NONE:
                continue
            if not equals or name not in cls.__slots__ or name in found:
                raise ScheduleError(
                    f"expected a schedule such as 'order=i,j lanes=8 tile=32', each part once, but got '{part}' "
                    f"in '{text}'"
                )
            found[name] = value
        order = tuple(found["order"].split(",")) if "order" in found else None
        return cls(order, _number("lanes", found), _number("tile", found))

    @classmethod
    def of(cls, given: Schedule | str | None) -> Schedule:
        """Returns a schedule, also of its text; None chooses nothing.

        Raises:
            ScheduleError: for objects that are no schedule.
        """
        if given is None:
            return STATIC
        if isinstance(given, str):
            return cls.parse(given)
        if isinstance(given, Schedule):
            return given
        raise ScheduleError(f"expected a Schedule or its text, but got {type(given).__name__}")

    def __str__(self) -> str:
        parts = [] if self.order is None else [f"order={','.join(self.order)}"]
        parts += [
            f"{name}={value}" for name, value in (("lanes", self.lanes), ("tile", self.tile)) if value is not None
        ]
        return " ".join(parts) or _NONE


def _order(given: Iterable[str]) -> tuple[str, ...]:
    if isinstance(given, str):
        given = given.split(",")
    listed = several_of(given, "the names of index variables for the order of a schedule")
    names = tuple(normal_name(str(name)) for name in listed)
    if not names or not all(name.isidentifier() for name in names) or len(set(names)) < len(names):
        raise ScheduleError(
            f"expected the names of index variables, each once, for the order of a schedule, "
            f"but got {', '.join(names)!r}"
        )
    return names


_MOST_DIGITS = 18  # of a number in a schedule; Python reads no more than 4300


def _number(name: str, found: dict[str, str]) -> int | None:
    text = found.get(name)
    if text is None:
        return None
    if not text.isdecimal() or len(text) > _MOST_DIGITS:
        raise ScheduleError(f"expected a number for {name} in a schedule, but got '{text}'")
    return int(text)


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


STATIC = Schedule()
"""Everything left to the plan."""
