"""Names for the values of printed IR by what they mean: `A_POSITIONS_1`, `SUM`, `I`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mlir_sparse.classes import dataclass

__all__ = ["ValueNames"]

_VALUE = re.compile(r"%([\w.$-]+)")
_RESULTS = re.compile(r"\s*%[\w.$-]+(?::\d+)?(?:\s*,\s*%[\w.$-]+(?::\d+)?)*\s*=\s*")
_OPERATION = re.compile(r'"?([a-z_]\w*(?:\.\w+)*)"?')
_INTEGER = re.compile(r"constant (-?\d+) : (\w+)")
_ZERO = re.compile(r"constant (?:dense<)?0\.0+e\+00")
_LEVEL = re.compile(r"level = (\d+)")
_FOR = re.compile(r"\bscf\.for %([\w.$-]+) = %([\w.$-]+) to %([\w.$-]+) ")
_NOT_OF_A_NAME = re.compile(r"\W")

# What a result means, where the name of its operation does not say it.
_MEANINGS = {
    "addf": "SUM",
    "addi": "SUM",
    "mulf": "PRODUCT",
    "muli": "PRODUCT",
    "subf": "DIFFERENCE",
    "subi": "DIFFERENCE",
    "divf": "QUOTIENT",
    "divsi": "QUOTIENT",
    "divui": "QUOTIENT",
    "maximumf": "MAXIMUM",
    "maxnumf": "MAXIMUM",
    "minimumf": "MINIMUM",
    "minnumf": "MINIMUM",
    "cmpi": "IS",
    "cmpf": "IS",
    "select": "SELECTED",
    "alloc_tensor": "EMPTY",
    "for": "LAST",
    "while": "LAST",
    "iterate": "LAST",
}
# Whose results mean what their operands do.
_CASTS = frozenset(("index_cast", "index_castui", "extui", "extsi", "trunci", "extf", "truncf", "cast"))
_STORAGE = frozenset(("positions", "coordinates", "coordinates_buffer", "values", "lvl", "dim"))
_ELEMENTS = {"_POSITIONS": "_POSITION", "_COORDINATES": "_COORDINATE", "_VALUES": "_VALUE"}
_LOOPS = "IJKLMNOPQRST"


@dataclass(frozen=True, slots=True)
class _Named:
    """A value that a name stands for.

    Args:
        name: unlike all others of the function.
        meaning: what the name was made of.
        depth: the indentation down to which it holds.
    """

    name: str
    meaning: str
    depth: int


class ValueNames:
    """The names of the values of a function, as its lines are read in order.

    A name holds until the region ends that defines its value, as the printer indents it.

    Args:
        parameters: names for the function's parameters, in order; `arg0` and so on where they have none.
        lines: the lines of the function, which say what the bounds of loops are.
    """

    def __init__(self, parameters: Sequence[str], lines: Sequence[str]) -> None:
        self._parameters = list(parameters)
        self._given: dict[str, _Named] = {}
        self._taken: set[str] = set()
        loops = [found for line in lines if (found := _FOR.search(line))]
        self._bounds = {found[2]: "_BEGIN" for found in loops} | {found[3]: "_END" for found in loops}

    def name_of(self, value: str) -> str | None:
        """Returns the name of a value; None for one that no line has defined."""
        found = self._given.get(value)
        return None if found is None else found.name

    def close(self, depth: int) -> None:
        """Forgets what a region defined that ends at an indentation."""
        self._given = {value: one for value, one in self._given.items() if one.depth <= depth}

    def parameter(self, value: str, depth: int) -> str:
        """Returns a name for the next parameter of the function."""
        meaning = self._parameters.pop(0) if self._parameters else value
        return self._give(value, meaning.upper(), depth + 1)

    def define(self, value: str, line: str, depth: int) -> str:
        """Returns a name for a value, without its %, of which a line at an indentation is the first in its region."""
        results = _RESULTS.match(line)
        if results is not None and value in _VALUE.findall(results[0]):
            return self._give(value, self._of_result(value, line[results.end() :]), depth)
        return self._give(value, self._of_argument(value, line, depth), depth + 1)

    def _give(self, value: str, meaning: str, depth: int) -> str:
        plain = _NOT_OF_A_NAME.sub("_", meaning)
        plain = plain if plain[:1].isalpha() else f"VALUE_{plain}"
        name, count = plain, 0
        while name in self._taken:
            count += 1
            name = f"{plain}_{count}"
        self._taken.add(name)
        self._given[value] = _Named(name, plain, depth)
        return name

    def _meaning(self, value: str) -> str | None:
        found = self._given.get(value)
        return None if found is None else found.meaning

    def _of_argument(self, value: str, line: str, depth: int) -> str:
        """Returns what an argument of a region means: of a loop's body, or of a block."""
        loop = _FOR.search(line)
        if loop is not None and loop[1] == value:
            begin = self._meaning(loop[2]) or ""
            place = min(max(depth // 2 - 2, 0), len(_LOOPS) - 1)  # functions stand at 2, their operations at 4
            return begin.replace("_BEGIN", "_POSITION") if "_BEGIN" in begin else _LOOPS[place]
        if f"%{value} = " in line:
            return "CARRIED" if "scf.while" in line else "ACC"
        named = not value.startswith("arg") and value[:1].isalpha()
        return re.sub(r"_?\d*$", "", value).upper() if named else "ARG"

    def _of_result(self, value: str, operation: str) -> str:
        head = _OPERATION.match(operation)
        if head is None:
            return "VALUE"
        kind = head[1].rpartition(".")[2]
        operands = _VALUE.findall(operation)
        first = self._meaning(operands[0]) if operands else None
        if kind == "constant":
            return _constant(operation)
        if first is not None and kind in _STORAGE:
            level = _LEVEL.search(operation)
            return f"{first}_{kind.upper()}" + (f"_{level[1]}" if level else "")
        if first is not None and kind == "to_buffer":
            return f"{first}_BUFFER"
        if first is not None and kind == "load":
            return self._element(value, first.removesuffix("_BUFFER"))
        if first is not None and kind in _CASTS:
            return self._element(value, first, first)
        return _MEANINGS.get(kind, kind.upper())

    def _element(self, value: str, buffer: str, other: str | None = None) -> str:
        """Returns what an element of a buffer means; the bound of a loop is one of positions."""
        for whole, element in _ELEMENTS.items():
            if whole in buffer:
                return buffer.replace(whole, self._bounds.get(value, element) if whole == "_POSITIONS" else element)
            if element in buffer and element == "_POSITION" and value in self._bounds:
                return buffer.replace(element, self._bounds[value])
        return other or f"{buffer}_ELEMENT"


def _constant(operation: str) -> str:
    if found := _INTEGER.search(operation):
        number = found[1].replace("-", "MINUS_")
        return f"C{number}" if found[2] == "index" else f"C{number}_{found[2].upper()}"
    word = operation.partition("constant ")[2].strip()
    if word in ("true", "false"):
        return word.upper()
    return "ZERO" if _ZERO.search(operation) else "CONSTANT"
