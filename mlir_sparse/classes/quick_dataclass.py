"""`dataclasses.dataclass` in a fraction of the time that the standard library's takes to make a class.

The package has hundreds of classes of values. The standard library compiles seven functions for each that is frozen,
half a millisecond, and that is half of an import. Here one is compiled, `__init__`, and that only for classes of
which many objects are made; the others are closures over the names of the fields. They behave alike, and so do
`fields`, `replace`, `copy`, `pickle` and `match`. The fields are found here too, in a quarter of the time, where
annotations are texts; the standard library takes the rare kinds of fields, and refuses wrong ones.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, ClassVar

__all__ = ["dataclass"]

_ABSENT = object()
_MISSING = dataclasses.MISSING
_Setters = list[tuple[str, Callable[[Any, Any], None], Any, Any]]
_Fields = tuple[_Setters, list[str], set[str], set[str]]
_FIRST = 32  # objects of a class before its `__init__` is compiled


@dataclasses.dataclass(init=False, repr=False, eq=False)
class _Pattern:
    """A class of the standard library's, of which others have what it gives to each."""

    plain: int
    shared: ClassVar[int] = 0


_KINDS: dict[str, Any] = {name: one._field_type for name, one in vars(_Pattern)["__dataclass_fields__"].items()}
_GIVEN = {name: vars(_Pattern)[name] for name in ("__dataclass_params__", "__replace__") if name in vars(_Pattern)}
_LEFT = ("ClassVar", "InitVar", "KW_ONLY")
"""What annotations of fields that are not plain say."""


class _Initialiser:
    """The `__init__` of a class for its first objects, which it makes field by field: most classes never get many.

    To compile takes as long as forty objects made so. Wrong arguments are left to the compiled one, which refuses them.
    """

    def __init__(self, kind: type, frozen: bool) -> None:
        self._kind, self._frozen = kind, frozen
        self._left = _FIRST
        self._found: _Fields | None = None

    def __get__(self, instance: Any, owner: type | None = None) -> Callable[..., None]:
        # From Python 3.13 on `inspect.signature` of a class asks for a method of the class, as if it were the object.
        if instance is None or self._left <= 0 or isinstance(instance, type):
            compiled: Callable[..., None] = self._compiled().__get__(instance, owner)
            return compiled
        self._left -= 1
        return partial(self._fill, instance)

    def _compiled(self) -> Callable[..., None]:
        """Compiles `__init__`, which takes this one's place; two threads at once make the same."""
        made = _initialiser(self._kind, self._frozen)
        self._kind.__init__ = made  # type: ignore[misc]
        return made

    def _fields(self) -> _Fields:
        """Returns the fields with what sets them, and of their names those by position, of all arguments, that must be.

        They are found once, or by two threads at once, without a lock: the child of a fork would wait for a thread
        that is gone.
        """
        if self._found is None:
            fields = dataclasses.fields(self._kind)
            taken = [one for one in fields if one.init]
            must = {one.name for one in taken if one.default is _MISSING and one.default_factory is _MISSING}
            setters = [(one.name, _setter(self._kind, one.name), one.default, one.default_factory) for one in fields]
            self._found = setters, [one.name for one in taken if not one.kw_only], {one.name for one in taken}, must
        return self._found

    def _fill(self, instance: Any, /, *arguments: Any, **named: Any) -> None:
        setters, by_position, known, must = self._found or self._fields()
        given = dict(zip(by_position, arguments, strict=False))
        if named:
            given |= named
        if len(given) != len(arguments) + len(named) or not must <= given.keys() <= known:
            self._compiled()(instance, *arguments, **named)
            return
        for name, set_value, default, factory in setters:
            if name in given:
                set_value(instance, given[name])
            elif default is not _MISSING:
                set_value(instance, default)
            elif factory is not _MISSING:
                set_value(instance, factory())
        if hasattr(self._kind, "__post_init__"):
            instance.__post_init__()


def _setter(kind: type, name: str) -> Callable[[Any, Any], None]:
    """Returns what sets a field of an object, frozen or not: its slot, if it has one."""
    slot = getattr(kind, name, None)
    if isinstance(slot, MemberDescriptorType):
        return slot.__set__
    return lambda instance, value: object.__setattr__(instance, name, value)


def _initialiser(kind: type, frozen: bool) -> Callable[..., None]:
    """Compiles `__init__`."""
    names: dict[str, Any] = {"_set": object.__setattr__, "_ABSENT": _ABSENT}
    parameters, lines = ["self"], []
    fields = dataclasses.fields(kind)
    for one in sorted(fields, key=lambda field: bool(field.kw_only)):
        if one.kw_only and one.init and "*" not in parameters:
            parameters.append("*")
        value = _given(one, parameters, names)
        if value:
            lines.append(_assignment(kind, one.name, value, names) if frozen else f" self.{one.name} = {value}")
    if hasattr(kind, "__post_init__"):
        lines.append(" self.__post_init__()")
    body = "\n".join(lines) or " pass"
    exec(f"def __init__({', '.join(parameters)}):\n{body}", names)
    made: Callable[..., None] = names["__init__"]
    made.__qualname__ = f"{kind.__qualname__}.__init__"
    made.__annotations__ = {one.name: one.type for one in fields if one.init}
    return made


def _assignment(kind: type, name: str, value: str, names: dict[str, Any]) -> str:
    """Returns the statement that sets a field of a frozen object; by its slot it takes half as long as by its name."""
    slot = getattr(kind, name, None)
    if not isinstance(slot, MemberDescriptorType):
        return f" _set(self, {name!r}, {value})"
    names[f"_set_{name}"] = slot.__set__
    return f" _set_{name}(self, {value})"


def _given(field: dataclasses.Field[Any], parameters: list[str], names: dict[str, Any]) -> str:
    """Returns the expression of a field's value, and adds its parameter; "" for a field that nothing sets."""
    name, default, factory = field.name, f"_default_{field.name}", f"_make_{field.name}"
    if field.default is not dataclasses.MISSING:
        names[default] = field.default
        if field.init:
            parameters.append(f"{name}={default}")
        return name if field.init else default
    if field.default_factory is not dataclasses.MISSING:
        names[factory] = field.default_factory
        if field.init:
            parameters.append(f"{name}=_ABSENT")
        return f"{factory}() if {name} is _ABSENT else {name}" if field.init else f"{factory}()"
    if field.init:
        parameters.append(name)
    return name if field.init else ""


def _getter(names: Sequence[str]) -> Callable[[Any], Any]:
    return attrgetter(*names) if names else lambda _: ()


def _comparison(names: Sequence[str]) -> Callable[[Any, Any], Any]:
    values = _getter(names)

    def __eq__(self: Any, other: Any) -> Any:  # noqa: N807 - what classes name it
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _hashing(names: Sequence[str]) -> Callable[[Any], int]:
    values = _getter(names)
    return lambda self: hash(values(self))


def _printing(names: Sequence[str]) -> Callable[[Any], str]:
    def __repr__(self: Any) -> str:  # noqa: N807 - what classes name it
        return f"{self.__class__.__qualname__}({', '.join([f'{name}={getattr(self, name)!r}' for name in names])})"

    return __repr__


def _refusing(kind: type, names: Sequence[str]) -> dict[str, Callable[..., None]]:
    """Returns the methods that refuse to change fields of frozen objects."""
    known = frozenset(names)

    def __setattr__(self: Any, name: str, value: Any) -> None:  # noqa: N807 - what classes name it
        if type(self) is kind or name in known:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        object.__setattr__(self, name, value)

    def __delattr__(self: Any, name: str) -> None:  # noqa: N807 - what classes name it
        if type(self) is kind or name in known:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        object.__delattr__(self, name)

    return {"__setattr__": __setattr__, "__delattr__": __delattr__}


def _state(names: Sequence[str]) -> dict[str, Callable[..., Any]]:
    """Returns the methods by which frozen objects with slots are copied and pickled."""

    def __getstate__(self: Any) -> list[Any]:  # noqa: N807 - what classes name it
        return [getattr(self, name) for name in names]

    def __setstate__(self: Any, state: Sequence[Any]) -> None:  # noqa: N807 - what classes name it
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    return {"__getstate__": __getstate__, "__setstate__": __setstate__}


def _own_fields(kind: type) -> dict[str, Any] | None:
    """Returns the fields that a class declares, those that objects share too; None for what is not checked here."""
    found: dict[str, Any] = {}
    for name, text in kind.__annotations__.items():
        if not isinstance(text, str):
            return None
        shared = text.startswith("ClassVar")
        if not shared and any(word in text for word in _LEFT):
            return None
        default = getattr(kind, name, _MISSING)
        if isinstance(default, MemberDescriptorType):  # of a base with slots
            default = _MISSING
        one: Any = default if isinstance(default, dataclasses.Field) else dataclasses.field(default=default)
        if shared:
            if one is default:
                return None
        elif one.default.__class__.__hash__ is None:  # a list that all objects would share
            return None
        elif one.kw_only is _MISSING:
            one.kw_only = False
        one.name, one.type, one._field_type = name, text, _KINDS["shared" if shared else "plain"]
        found[name] = one
    return found


def _declare(kind: type) -> bool:
    """Gives a class what the standard library gives to each; returns whether it has only fields that are known here."""
    fields: dict[str, Any] = {}
    for base in kind.__mro__[-2:0:-1]:
        of_base = getattr(base, "__dataclass_fields__", None)
        if of_base is not None:
            if base.__dataclass_params__.frozen:  # type: ignore[attr-defined]
                return False
            fields.update(of_base)
    own = _own_fields(kind)
    values = vars(kind)
    if own is None or any(isinstance(value, dataclasses.Field) and name not in own for name, value in values.items()):
        return False
    for name, one in own.items():
        if isinstance(values.get(name), dataclasses.Field):
            if one.default is _MISSING:
                delattr(kind, name)
            else:
                setattr(kind, name, one.default)
    fields.update(own)
    taken = [one for one in fields.values() if one._field_type is _KINDS["plain"] and one.init and not one.kw_only]
    kind.__dataclass_fields__ = fields  # type: ignore[attr-defined]
    for name, value in (_GIVEN | {"__match_args__": tuple(one.name for one in taken)}).items():
        if name not in values or name == "__dataclass_params__":
            setattr(kind, name, value)
    return True


def _with_slots(kind: type, names: Sequence[str]) -> type:
    """Makes a class again with slots for its fields: they must be known when a class is made."""
    values = {name: value for name, value in vars(kind).items() if name not in ("__dict__", "__weakref__")}
    for name in names:
        values.pop(name, None)  # a default, which is a field's too
    taken = {name for base in kind.__mro__[1:-1] for name in _slots_of(vars(base))}
    made = type(kind)(kind.__name__, kind.__bases__, values | {"__slots__": tuple(n for n in names if n not in taken)})
    made.__qualname__ = kind.__qualname__
    return made


def _slots_of(values: Mapping[str, Any]) -> Sequence[str]:
    slots = values.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _made(kind: type, frozen: bool, slots: bool, eq: bool, repr: bool) -> type:
    own = dict(kind.__dict__)
    if kind.__doc__ is None:
        kind.__doc__ = kind.__name__  # the standard library would write one with the signature, which takes long
    if "__slots__" in own or not _declare(kind):
        made: type = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(kind)
        fields = dataclasses.fields(made)
    else:
        fields = dataclasses.fields(kind)
        made = _with_slots(kind, [one.name for one in fields]) if slots else kind
    names = [one.name for one in fields]
    methods: dict[str, Any] = {"__init__": _Initialiser(made, frozen)}
    if eq:
        methods["__eq__"] = _comparison([one.name for one in fields if one.compare])
        hashed = [one.name for one in fields if (one.compare if one.hash is None else one.hash)]
        methods["__hash__"] = _hashing(hashed) if frozen else None
    if repr:
        methods["__repr__"] = _printing([one.name for one in fields if one.repr])
    if frozen:
        methods |= _refusing(made, names) | (_state(names) if slots else {})
    for name, method in methods.items():
        if own.get(name) is None:  # a class with its own comparison has None for a hash
            setattr(made, name, method)
    abc.update_abstractmethods(made)
    return made


if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(kind=None, /, *, frozen=False, slots=False, eq=True, repr=True):
        """Makes a class of values, as `dataclasses.dataclass` does.

        >>> @dataclass(frozen=True, slots=True)
        ... class Point:
        ...     x: int
        ...     y: int = 0
        >>> Point(3), Point(3) == Point(3, 0), dataclasses.replace(Point(3), y=1)
        (Point(x=3, y=0), True, Point(x=3, y=1))
        """
        if kind is None:
            return lambda one: _made(one, frozen, slots, eq, repr)
        return _made(kind, frozen, slots, eq, repr)
