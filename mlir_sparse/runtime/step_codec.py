"""Recipes to JSON and back: the one place that says how they are stored.

Every class below is written by its fields, so that a new field needs nothing here. Lists
begin with what they are: `["Loops", ...]` a step, `["()", ...]` a tuple. Encodings stand in a
table; those that the reader knows anyway, the types of the kernel, are not written out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import Encoding, TensorType, encoding
from mlir_sparse.errors import SparseError
from mlir_sparse.runtime.function_cuts import Cut, StoredCut
from mlir_sparse.runtime.linked_program import Argument, Loops, Recipe
from mlir_sparse.runtime.result_capacity import Entries
from mlir_sparse.runtime.run_steps import Convert, Extent, Fibres, Pick, Position, Rows, View
from mlir_sparse.tensor.pick_elements import Gathered, Sum

__all__ = ["read_recipe", "write_recipe"]

_CLASSES: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        *(Argument, Convert, Cut, Entries, Extent, Fibres, Gathered, Loops, Pick, Position, Recipe),
        *(Rows, StoredCut, Sum, TensorType, View),
    )
}
_FIELDS = {name: tuple(field.name for field in fields(kind)) for name, kind in _CLASSES.items()}


def write_recipe(recipe: Recipe, known: Sequence[Encoding | None]) -> str:
    """Returns a recipe as JSON.

    Args:
        recipe: the recipe.
        known: encodings that `read_recipe` will be given too.
    """
    table = list(known)
    data = _written(recipe, table)
    return json.dumps([data, [item.to_text() for item in table[len(known) :] if item is not None]])


def read_recipe(text: str | bytes, known: Sequence[Encoding | None]) -> Recipe:
    """Returns the recipe that `write_recipe` wrote.

    Raises:
        ValueError: for what it did not write.
    """
    try:
        data, more = json.loads(text)
        recipe = _read(data, [*known, *map(encoding, more)])
    except (AttributeError, IndexError, KeyError, RecursionError, SparseError, TypeError) as error:
        raise ValueError(f"expected a recipe, but got {type(error).__name__}: {error}") from None
    if not isinstance(recipe, Recipe):
        raise ValueError(f"expected a recipe, but got {type(recipe).__name__}")
    return recipe


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
