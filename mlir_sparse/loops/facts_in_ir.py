"""Values of `program/` as attributes of IR: what the plan knows of a function, and what a driver is to launch."""

from __future__ import annotations

from typing import TypeVar

from mlir_sparse._mlir import ir
from mlir_sparse.program.nest_facts import FACTS, NestFacts
from mlir_sparse.program.value_codec import Plain

__all__ = ["facts_of", "has_facts", "read_value", "write_facts", "write_value"]

_FACTS = "facts"
T = TypeVar("T")


def write_facts(function: ir.Operation, facts: NestFacts) -> None:
    """Says of a function what the plan knows of its loop nest."""
    if facts != NestFacts():
        write_value(function, _FACTS, facts)


def facts_of(function: ir.Operation) -> NestFacts:
    """Returns what the plan knows of a function's loop nest.

    Raises:
        ValueError: for an attribute that `write_facts` did not write.
    """
    return read_value(function, _FACTS, NestFacts) if _FACTS in function.attributes else NestFacts()


def has_facts(function: ir.Operation) -> bool:
    """Returns whether a plan said something of a function: an attribute of a user's may have the same name."""
    if _FACTS not in function.attributes:
        return False
    found = function.attributes[_FACTS]
    if not isinstance(found, ir.ArrayAttr) or not len(found):
        return False
    return isinstance(found[0], ir.StringAttr) and found[0].value == NestFacts.__name__


def write_value(op: ir.Operation, name: str, value: object) -> None:
    """Gives an operation a value as an attribute."""
    op.attributes[name] = _attribute(FACTS.written(value))


def read_value(op: ir.Operation, name: str, kind: type[T]) -> T:
    """Returns the value that an operation has as an attribute.

    Raises:
        ValueError: for an attribute that `write_value` did not write, or another kind of value.
    """
    return FACTS.read(_plain(op.attributes[name]), kind)


def _attribute(data: Plain) -> ir.Attribute:
    match data:
        case None:
            return ir.UnitAttr.get()
        case bool():
            return ir.BoolAttr.get(data)
        case int():
            return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), data)
        case str():
            return ir.StringAttr.get(data)
        case list():
            return ir.ArrayAttr.get([_attribute(part) for part in data])
        case _:
            raise TypeError(f"expected texts, whole numbers and lists of them, but got {data!r}")


def _plain(attribute: ir.Attribute) -> Plain:
    match attribute:
        case ir.UnitAttr():
            return None
        case ir.BoolAttr():
            return attribute.value
        case ir.IntegerAttr():
            return attribute.value
        case ir.StringAttr():
            return attribute.value
        case ir.ArrayAttr():
            return [_plain(part) for part in attribute]
        case _:
            raise ValueError(f"expected texts, whole numbers and lists of them, but got {attribute}")
