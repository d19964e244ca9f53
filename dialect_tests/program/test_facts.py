"""Facts of the plan, and launches: what is written, as data and as attributes of IR, is read back; nothing else is."""

from __future__ import annotations

import types
from dataclasses import is_dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlir_sparse._mlir import ir, mlir_context, parse_module
from mlir_sparse.loops.facts_in_ir import facts_of, read_value, write_facts, write_value
from mlir_sparse.program.launch_values import Launch
from mlir_sparse.program.nest_facts import FACTS, NestFacts
from mlir_sparse.program.size_values import LevelSize, Stored
from mlir_sparse.program.value_codec import Plain, ValueCodec

WORDS = {
    int: st.integers(-(1 << 63), (1 << 63) - 1),
    bool: st.booleans(),
    str: st.text(st.characters(codec="utf-8"), max_size=5),
    types.NoneType: st.none(),
}


def values(kind: Any) -> st.SearchStrategy[Any]:
    """Returns values of a type: of a dataclass by the types of its fields."""
    arguments = get_args(kind)
    if kind in WORDS:
        return WORDS[kind]
    if get_origin(kind) in (Union, types.UnionType):
        return st.one_of([values(argument) for argument in arguments])
    if get_origin(kind) is tuple and arguments[1:] == (...,):
        return st.lists(values(arguments[0]), max_size=2).map(tuple)
    if get_origin(kind) is tuple:
        return st.tuples(*map(values, arguments))
    assert is_dataclass(kind)
    assert isinstance(kind, type)
    hints = get_type_hints(kind)
    return st.deferred(lambda: st.builds(kind, **{name: values(hint) for name, hint in hints.items()}))


def module() -> ir.Module:
    return parse_module("func.func private @kernel()")


@given(st.one_of(values(NestFacts), values(tuple[Launch, ...])))
def test_what_is_written_is_read_back(value: object) -> None:
    assert FACTS.read(FACTS.written(value), type(value)) == value


@given(values(NestFacts))
def test_facts_go_with_a_function_through_text(facts: NestFacts) -> None:
    with mlir_context():
        made = module()
        write_facts(made.body.operations[0].operation, facts)
        for held in (made, parse_module(str(made))):
            assert facts_of(held.body.operations[0].operation) == facts


@given(values(tuple[Launch, ...]))
def test_launches_go_with_a_function_through_text(launches: tuple[Launch, ...]) -> None:
    with mlir_context():
        made = module()
        write_value(made.body.operations[0].operation, "launches", launches)
        assert read_value(parse_module(str(made)).body.operations[0].operation, "launches", tuple) == launches


def test_a_function_that_nothing_is_known_of_says_nothing() -> None:
    with mlir_context():
        made = module()
        write_facts(made.body.operations[0].operation, NestFacts())
        assert "facts" not in str(made)
        assert facts_of(made.body.operations[0].operation) == NestFacts()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (["Longst", "A", 1], "expected a LevelSize, but got KeyError: .*'Longst' is none of "),
        (["LevelSize", "A"], "expected a LevelSize, but got TypeError: .*'level'"),
        (["LevelSize", "A", 1, 2], "expected a LevelSize, but got TypeError"),
        ([["LevelSize"], "A", 1], "expected a LevelSize, but got KeyError"),
        ([], "expected a LevelSize, but got ValueError"),
        (["Stored", "A", 1], "expected a LevelSize, but got Stored"),
        (3, "expected a LevelSize, but got int"),
    ],
)
def test_what_was_not_written_is_an_error(data: Plain, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FACTS.read(data, LevelSize)


def test_a_value_of_no_known_class_is_not_written() -> None:
    with pytest.raises(TypeError, match=r"expected a value of LevelSize, but got Stored\("):
        ValueCodec([LevelSize]).written((LevelSize("A", 0), Stored("A", 0)))


@pytest.mark.parametrize("text", ["1.5 : f64", "dense<1> : tensor<2xi64>", '["NestFacts", 1.5 : f64]', '["Facts"]'])
def test_an_attribute_that_holds_something_else_is_an_error(text: str) -> None:
    with mlir_context():
        made = module()
        function = made.body.operations[0].operation
        function.attributes["facts"] = ir.Attribute.parse(text)
        with pytest.raises(ValueError, match=r"^expected "):
            facts_of(function)
