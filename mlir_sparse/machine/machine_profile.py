"""A machine's profile: what was measured of it, as a value and as the text of a file."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import Any

from mlir_sparse.classes import dataclass
from mlir_sparse.machine.machine_times import FAR_SIZES, MachineTimes
from mlir_sparse.machine.processor import Processor

__all__ = ["MachineProfile"]

# The version of the format below.
_VERSION = 1


@dataclass(frozen=True, slots=True)
class MachineProfile:
    """What was measured on a machine.

    Args:
        processor: its processor.
        times: the times of steps of loops.
    """

    processor: Processor
    times: MachineTimes

    @property
    def text(self) -> str:
        """Returns it as JSON, numbers with two digits: they are not exacter."""
        times = {name: _rounded(value) for name, value in asdict(self.times).items()}
        made = {"version": _VERSION, "processor": asdict(self.processor), "times": times}
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
            return MachineProfile(Processor(**_strings(read["processor"])), _times(read["times"]))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(str(error)) from error


def _rounded(value: Any) -> Any:
    if isinstance(value, tuple):
        return [float(f"{one:.2g}") for one in value]
    return float(f"{value:.2g}") if value < 1e5 else value


def _strings(read: dict[str, Any]) -> dict[str, str]:
    if not all(isinstance(value, str) for value in read.values()):
        raise ValueError("a processor is described by texts")
    return read


def _times(read: dict[str, Any]) -> MachineTimes:
    """Returns times read from a file, each a number above 0 or as many as there are sizes."""
    made: dict[str, Any] = {}
    for field in fields(MachineTimes):
        value = read[field.name]
        several = tuple(map(float, value)) if isinstance(value, list) else (float(value),)
        if (field.type == "float") != (len(several) == 1) or len(several) not in (1, len(FAR_SIZES)):
            raise ValueError(f"{field.name} has {len(several)} numbers")
        if not all(0 < one < float("inf") for one in several):
            raise ValueError(f"{field.name} is {value}")
        made[field.name] = several if isinstance(value, list) else several[0]
    return MachineTimes(**made)
