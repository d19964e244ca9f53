"""Classes of values beside the standard library's: each behaves as the other."""

from __future__ import annotations

import abc
import copy
import dataclasses
import inspect
import pickle
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import pytest

from mlir_sparse.classes import dataclass as quick

Maker = Callable[..., Any]
MAKERS = [dataclasses.dataclass, quick]
OPTIONS = [
    {"frozen": True, "slots": True},
    {"frozen": True},
    {"frozen": True, "slots": True, "eq": False},
    {"frozen": True, "repr": False},
    {"slots": True},
    {"slots": True, "eq": False},
    {},
]


def declared(maker: Maker, options: dict[str, Any]) -> Any:
    """A class with every kind of field."""

    class Value:
        a: int
        b: str = "b"
        c: list[int] = dataclasses.field(default_factory=list, hash=False)
        d: int = dataclasses.field(default=4, compare=False, repr=False)
        e: int = dataclasses.field(default=5, init=False)
        f: list[int] = dataclasses.field(default_factory=list, init=False, compare=False)
        g: int = dataclasses.field(default=7, kw_only=True)
        shared: ClassVar[int] = 9

        def __post_init__(self) -> None:
            object.__setattr__(self, "e", self.a + 1)

    return maker(**options)(Value)


@pytest.fixture(params=OPTIONS, ids=str)
def pair(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    theirs, ours = (declared(maker, request.param) for maker in MAKERS)
    return theirs, ours


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        return type(error)


CALLS: dict[str, Callable[[Any], Any]] = {
    "values": lambda kind: [getattr(kind(1, "x", [2], d=3, g=6), name) for name in "abcdefg"],
    "defaults": lambda kind: [getattr(kind(1), name) for name in "abcdefg"],
    "own lists": lambda kind: kind(1).c is kind(1).c,
    "too few": lambda kind: kind(),
    "too many": lambda kind: kind(1, "x", [], 4, 5),
    "unknown": lambda kind: kind(1, z=2),
    "twice": lambda kind: kind(1, a=2),
    "equal": lambda kind: [kind(1) == kind(1), kind(1) == kind(1, d=9), kind(1) == kind(1, g=9), kind(1) != kind(2)],
    "others": lambda kind: [kind(1) == 1, kind(1).__eq__(1) is NotImplemented],
    "hash": lambda kind: hash(kind(1)) == hash(kind(1, d=9)),
    "key": lambda kind: len({kind(1), kind(1), kind(2)}),
    "hash of lists": lambda kind: hash(kind(1, c=[3])) == hash(kind(1)),
    "repr": lambda kind: "Value(a=1" in repr(kind(1)) and repr(kind(1)).partition("(")[2],
    "set": lambda kind: setattr(kind(1), "a", 2),
    "set shared": lambda kind: setattr(kind(1), "shared", 2),
    "set others": lambda kind: setattr(kind(1), "z", 2),
    "delete": lambda kind: delattr(kind(1), "a"),
    "replace": lambda kind: dataclasses.replace(kind(1), b="y").b,
    "replace init": lambda kind: dataclasses.replace(kind(1), e=3),
    "replace compared": lambda kind: dataclasses.replace(kind(1), a=2) == kind(2),
    "asdict": lambda kind: dataclasses.asdict(kind(1)),
    "fields": lambda kind: [(one.name, one.init, one.compare) for one in dataclasses.fields(kind)],
    "match": lambda kind: kind.__match_args__,
    "signature": lambda kind: [
        (one.name, one.kind, one.default is one.empty) for one in inspect.signature(kind).parameters.values()
    ],
    "annotations": lambda kind: kind.__init__.__annotations__.get("a"),
    "copies": lambda kind: [getattr(copy.copy(kind(1, "x")), name) for name in "abcdefg"],
    "deep copies": lambda kind: copy.deepcopy(kind(1, c=[1])).c,
    "instance dict": lambda kind: hasattr(kind(1), "__dict__"),
    "abstract": lambda kind: dataclasses.is_dataclass(kind),
}


@pytest.mark.parametrize("name", CALLS)
def test_both_do_the_same(pair: tuple[Any, Any], name: str) -> None:
    theirs, ours = (outcome(lambda kind=kind: CALLS[name](kind)) for kind in pair)  # type: ignore[misc]
    if theirs is TypeError and name.startswith("set"):  # what the standard library's own error ends with, with slots
        theirs = dataclasses.FrozenInstanceError
    assert theirs == ours


def test_signatures_are_found_as_newer_pythons_ask() -> None:
    """From 3.13 on `inspect.signature` binds `__init__` to the class, before an object was made too."""

    @quick(frozen=True)
    class Fresh:
        first: int
        second: str = ""

    bound = inspect.getattr_static(Fresh, "__init__").__get__(Fresh, type)
    assert list(inspect.signature(bound).parameters) == ["first", "second"]


def test_classes_below_others() -> None:
    def below(maker: Maker) -> Any:
        @maker(frozen=True)
        class Base:
            a: int
            b: int = 2

            def __repr__(self) -> str:
                return "base"

            def __eq__(self, other: object) -> bool:
                return True

        @maker(frozen=True)
        class Lower(Base):
            b: int = 3
            c: int = 4

        class Plain(Lower):
            pass

        return Base, Lower, Plain

    found = []
    for maker in MAKERS:
        base, lower, plain = below(maker)
        more = plain(1)
        more.own = 5  # a class without the decorator has more than its fields
        found.append(
            [
                repr(base(1)),
                repr(lower(1)).rpartition(".")[2],
                base(1) == base(7),
                lower(1) == lower(7),
                hash(base(1)) == hash((1, 2)),
                hash(lower(1)) == hash((1, 3, 4)),
                more.own,
                outcome(lambda more=more: setattr(more, "a", 3)),
                outcome(lambda more=more: delattr(more, "own")),
                lower(1).c,
                base(1) == lower(1),
            ]
        )
    assert found[0] == found[1]


def refused(maker: Maker, options: dict[str, Any], kind: str) -> Any:
    """A class with fields that are rare, or wrong."""

    class Base:
        __slots__ = ("a",)

    class Own:
        __slots__ = ("a",)
        a: int

    class Shared:
        a: list[int] = []  # noqa: RUF012 - which is what is refused

    class Lost:
        a = dataclasses.field(default=3)

    class SharedFactory:
        a: ClassVar[list[int]] = dataclasses.field(default_factory=list)

    class SharedByName:
        a: ClassVar[int] = dataclasses.field(kw_only=True)

    class Marked:
        a: int
        _: dataclasses.KW_ONLY
        b: int = 3

    class Types:
        a: int
        b: int = 3

    Types.__annotations__ = {"a": int, "b": ClassVar[int]}

    class Slotted(Base):
        a: int
        b: int = 4

    class Factory:
        a: int = dataclasses.field(default=3, repr=False)
        b: list[int] = dataclasses.field(default_factory=list)

    return maker(**options)(locals()[kind])


RARE = ["Own", "Shared", "Lost", "SharedFactory", "SharedByName", "Marked", "Types", "Slotted", "Factory"]


@pytest.mark.parametrize("kind", RARE)
@pytest.mark.parametrize("options", [{}, {"slots": True}, {"frozen": True, "slots": True}], ids=str)
def test_rare_fields_and_wrong_ones(options: dict[str, Any], kind: str) -> None:
    def found(maker: Maker) -> Any:
        made = refused(maker, options, kind)
        fields = dataclasses.fields(made)
        return (
            [(one.name, one.type, one.default, one.init, one.kw_only) for one in fields],
            [(name, one.kw_only, repr(one._field_type)) for name, one in made.__dataclass_fields__.items()],
            made.__match_args__,
            sorted(vars(made).get("__slots__", ())),
            sorted(name for name in vars(made) if not name.startswith("__")),
            str(outcome(lambda: made(1, b=2))).rpartition(".")[2],
            outcome(lambda: dataclasses.replace(made(1), b=7).b),
            hasattr(made, "__replace__"),
        )

    theirs, ours = (outcome(lambda maker=maker: found(maker)) for maker in MAKERS)  # type: ignore[misc]
    assert theirs == ours


def test_a_class_that_is_not_frozen_below_one_that_is() -> None:
    @dataclasses.dataclass(frozen=True)
    class Base:
        a: int

    for maker in MAKERS:
        with pytest.raises(TypeError, match="cannot inherit non-frozen dataclass from a frozen one"):
            maker(type("Lower", (Base,), {"__annotations__": {"b": "int"}}))


def test_abstract_methods_of_fields() -> None:
    class Base(abc.ABC):
        @property
        @abc.abstractmethod
        def a(self) -> int: ...

    @quick(slots=True)
    class Whole(Base):
        a: int

    assert Whole(3).a == 3


@quick(frozen=True, slots=True)
class Sent:
    """One that has a name to be found by."""

    a: int
    b: tuple[int, ...] = ()


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickled(protocol: int) -> None:
    assert pickle.loads(pickle.dumps(Sent(1, (2,)), protocol)) == Sent(1, (2,))


def test_matched() -> None:
    match Sent(1, (2, 3)):
        case Sent(a, (first, *_)):
            assert (a, first) == (1, 2)
        case _:
            raise AssertionError


def test_own_methods_stay() -> None:
    @quick(frozen=True)
    class Own:
        a: int

        def __hash__(self) -> int:
            return 5

        def __repr__(self) -> str:
            return "own"

        def __init__(self, a: int) -> None:
            object.__setattr__(self, "a", 2 * a)

    assert (Own(1).a, hash(Own(1)), repr(Own(1))) == (2, 5, "own")
    assert Own(1) == Own(1)


def test_no_values() -> None:
    @quick(frozen=True, slots=True)
    class Nothing:
        pass

    @quick(frozen=True, slots=True)
    class Alike:
        pass

    assert Nothing() == Nothing()
    assert Nothing() != Alike()
    assert hash(Nothing()) == hash(())
    assert repr(Nothing()).endswith("Nothing()")


def test_the_package_makes_its_classes_with_it() -> None:
    import mlir_sparse as ms

    assert sys.modules["mlir_sparse.classes.quick_dataclass"].dataclass is quick
    assert ms.Schedule.__init__.__code__.co_filename == "<string>"
    assert ms.Schedule.__eq__.__module__ == "mlir_sparse.classes.quick_dataclass"


ARGUMENTS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((1,), {}),
    ((1, "x", [3]), {"g": 8, "d": 0}),
    ((), {"a": 1, "b": "y"}),
    ((), {}),
    ((1, "x", [3], 4, 5), {}),
    ((1,), {"a": 2}),
    ((1,), {"e": 2}),
    ((1,), {"unknown": 2}),
    (("text",), {}),
]


@pytest.mark.parametrize("arguments", ARGUMENTS, ids=str)
def test_the_first_objects_and_later_ones_are_alike(arguments: Any, pair: tuple[Any, Any]) -> None:
    """`__init__` is compiled after some objects, or at once where arguments are wrong."""
    positional, named = arguments
    theirs, ours = pair

    def values(kind: Any) -> Any:
        one = kind(*positional, **named)
        return [(field.name, getattr(one, field.name)) for field in dataclasses.fields(kind)]

    expected = outcome(lambda: values(theirs))
    assert all(outcome(lambda: values(ours)) == expected for _ in range(100))


def test_first_objects_of_many_threads() -> None:
    kinds = [declared(quick, {"frozen": True, "slots": True}) for _ in range(20)]
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda number: kinds[number % 20](number).a, range(4000)))
    assert made == list(range(4000))


def test_the_first_object_asks_a_subclass_for_what_it_adds() -> None:
    @quick(frozen=True)
    class Base:
        a: int

    class Heir(Base):
        def __init__(self, b: int) -> None:
            super().__init__(b + 1)

    assert [Heir(number).a for number in range(40)] == list(range(1, 41))
    assert list(inspect.signature(Base).parameters) == ["a"]
