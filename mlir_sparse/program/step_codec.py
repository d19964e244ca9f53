"""Programs to JSON and back.

Every class below is written field by field, so a new field needs no change here. A list begins with its class:
`["NestCall", ...]` for a step, `["()", ...]` for a tuple. Encodings are in a table, without those that the reader knows
from the types of the kernel.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, get_args

from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import Encoding, TensorType, encoding
from mlir_sparse.errors import SparseError
from mlir_sparse.program.cuts import Cut, StoredCut
from mlir_sparse.program.entry_bounds import EntryBounds
from mlir_sparse.program.nest_call import Argument, NestCall
from mlir_sparse.program.places import Gathered, IndexSum
from mlir_sparse.program.program_steps import ProgramSteps
from mlir_sparse.program.steps import NativeStep

__all__ = ["read_steps", "write_steps"]

_CLASSES: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        *(Argument, Cut, EntryBounds, Gathered, IndexSum, NestCall, ProgramSteps, StoredCut, TensorType),
        *get_args(NativeStep),
    )
}
_FIELDS = {name: tuple(field.name for field in fields(kind)) for name, kind in _CLASSES.items()}


def write_steps(program: ProgramSteps, known: Sequence[Encoding | None]) -> str:
    """Returns the steps of a program as JSON.

    Args:
        program: the steps.
        known: encodings that `read_steps` also gets.
    """
    table = list(known)
    data = _written(program, table)
    return json.dumps([data, [item.to_text() for item in table[len(known) :] if item is not None]])


def read_steps(text: str | bytes, known: Sequence[Encoding | None]) -> ProgramSteps:
    """Returns the steps of a text by `write_steps`.

    Raises:
        ValueError: for any other text.
    """
    try:
        data, more = json.loads(text)
        program = _read(data, [*known, *map(encoding, more)])
    except (AttributeError, IndexError, KeyError, RecursionError, SparseError, TypeError) as error:
        raise ValueError(f"expected the steps of a program, but got {type(error).__name__}: {error}") from None
    if not isinstance(program, ProgramSteps):
        raise ValueError(f"expected the steps of a program, but got {type(program).__name__}")
    return program


def _written(value: Any, table: list[Encoding | None]) -> Any:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case tuple():
            return ["()", *(_written(item, table) for item in value)]
        case complex():
            return ["complex", value.real, value.imag]
        case DType():
            return ["DType", value.name]
        case Encoding():
            if value not in table:
                table.append(value)
            return ["Encoding", table.index(value)]
        case _:
            name = type(value).__name__
            return [name, *(_written(getattr(value, field), table) for field in _FIELDS[name])]


def _read(data: Any, table: Sequence[Encoding | None]) -> Any:
    if not isinstance(data, list):
        return data
    kind, *parts = data
    match kind:
        case "()":
            return tuple([_read(part, table) for part in parts])
        case "complex":
            return complex(*parts)
        case "DType":
            return DType(*parts)
        case "Encoding":
            return table[parts[0]]
        case _:
            return _CLASSES[kind](*[_read(part, table) for part in parts])
