"""A machine's profile: what was measured of it, as a value and as the text of a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, field, fields
from typing import Any

from mlir_sparse.classes import dataclass
from mlir_sparse.machine.machine_choices import CHOICES, MachineChoice, choices_from, number_from
from mlir_sparse.machine.machine_figures import LENGTHS, MachineFigures
from mlir_sparse.machine.machine_times import FAR_SIZES, MachineTimes
from mlir_sparse.machine.processor import Processor
from mlir_sparse.process.forks import cached_property

__all__ = ["MachineProfile"]

# The version of the format below.
_VERSION = 4


@dataclass(frozen=True)
class MachineProfile:
    """What was measured on a machine.

    Args:
        processor: its processor.
        times: the times of steps of loops.
        figures: what memory, vectors and threads take.
        known: pairs of choices that kernels were compared for on it, and what was best.
        notes: where the numbers are from.
        disturbance: what shows that something else ran while they were measured; "" where nothing does.
        name: the profile's name, as it is spoken of; no part of its text.
        source: why it is the one that plans go by; no part of its text.
    """

    processor: Processor
    times: MachineTimes
    figures: MachineFigures = MachineFigures()
    known: tuple[tuple[str, int], ...] = ()
    notes: str = ""
    disturbance: str = ""
    name: str = field(default="", compare=False)
    source: str = field(default="", compare=False)

    @cached_property
    def choices(self) -> Mapping[str, MachineChoice]:
        """Returns the choices that its figures decide, by name."""
        return choices_from(self.figures, self.times, dict(self.known))

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {}

    def number(self, name: str) -> int:
        """Returns what is chosen, one of `CHOICES`, without the texts: the first kernel of a process asks for half."""
        found = self._numbers.get(name)
        if found is None:
            found = self._numbers[name] = number_from(name, self.figures, self.times, dict(self.known))
        return found

    def __str__(self) -> str:
        doubt = f", measured while something else ran: {self.disturbance}" if self.disturbance else ""
        return f"{self.processor} [{self.name}]{doubt}"

    @property
    def text(self) -> str:
        """Returns it as JSON, numbers with two digits: they are not exacter."""
        made = {
            "version": _VERSION,
            "processor": asdict(self.processor),
            "notes": self.notes,
            "disturbance": self.disturbance,
            "times": {name: _rounded(value) for name, value in asdict(self.times).items()},
            "figures": {name: _rounded(value) for name, value in asdict(self.figures).items()},
            "known": dict(self.known),
        }
        return json.dumps(made, indent=1) + "\n"

    @staticmethod
    def parse(text: str) -> MachineProfile:
        """Returns the profile of a text.

        Raises:
            ValueError: for what no profile of this version of the format prints.
        """
        try:
            read = json.loads(text)
            if read["version"] != _VERSION:
                raise ValueError(f"format {read['version']!r}")
            processor, times = Processor(**_strings(read["processor"])), _times(read["times"])
            told = _strings({name: read[name] for name in ("notes", "disturbance")})
            return MachineProfile(processor, times, _figures(read["figures"]), _known(read["known"]), **told)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(str(error)) from error


def _rounded(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_rounded(one) for one in value]
    return float(f"{value:.2g}") if value is not None and value < 1e5 else value


def _strings(read: dict[str, Any]) -> dict[str, str]:
    if not all(isinstance(value, str) for value in read.values()):
        raise ValueError("a processor is described by texts")
    return read


def _times(read: dict[str, Any]) -> MachineTimes:
    """Returns times read from a file, each a number above 0 or as many as there are sizes."""
    made = {one.name: _number(one.name, read[one.name]) for one in fields(MachineTimes)}
    for one in fields(MachineTimes):
        wanted = None if one.type == "float" else len(FAR_SIZES)
        _check_length(one.name, made[one.name], wanted)
    return MachineTimes(**made)


def _figures(read: dict[str, Any]) -> MachineFigures:
    """Returns figures read from a file, each likewise, or null."""
    names = [one.name for one in fields(MachineFigures)]
    made = {name: None if read[name] is None else _number(name, read[name]) for name in names}
    for name, value in made.items():
        if value is not None:
            _check_length(name, value, LENGTHS.get(name))
    return MachineFigures(**made)


def _number(name: str, value: Any) -> Any:
    """Returns a number, or several, that a file has."""
    found = tuple(map(float, value)) if isinstance(value, list) else float(value)
    several = found if isinstance(found, tuple) else (found,)
    if not all(0 < one < float("inf") for one in several):
        raise ValueError(f"{name} is {value}")
    return found


def _check_length(name: str, value: float | tuple[float, ...], wanted: int | None) -> None:
    if (len(value) if isinstance(value, tuple) else None) != wanted:
        raise ValueError(f"{name} has other than {wanted or 'one'} number")


def _known(read: dict[str, Any]) -> tuple[tuple[str, int], ...]:
    """Returns choices read from a file, each a whole number from 0 on."""
    for name, number in read.items():
        if name not in CHOICES or type(number) is not int or not 0 <= number < 1 << 62:
            raise ValueError(f"{name} is {number}")
    return tuple(read.items())
