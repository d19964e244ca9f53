"""An operand declared by a definition: what stands for it in the statement must give what the operand gives."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

import mlir_sparse as ms
from dialect_tests.calls import Call, Results
from fuzzing.variants.variant import NotApplicableError, Variant

__all__ = ["VARIANTS"]

_NAMES = ("i", "j", "k", "l")


def _defined(call: Call, random: Random) -> Results:
    """Makes the call with one of its operands, or all, by definitions of one kind each."""
    found: dict[str, ms.DefinedTensor] = {}
    written = re.match(r"\s*(\w+)", str(call.program))
    given = {name: value for name, value in call.tensors.items() if not written or name != written[1]}
    names = [name for name, value in given.items() if value.ndim in (1, 2, 3)]
    if not names or not all(map(_has_definitions, call.tensors.values())):
        raise NotApplicableError
    for name in names if random.random() < 0.3 else [random.choice(names)]:
        found[name] = _definition(call.tensors[name], random)
    return replace(call, operands={**call.operands, **found}).results()


def _has_definitions(value: Any) -> bool:
    return not isinstance(value, np.ndarray) or value.flags.c_contiguous


def _definition(value: Any, random: Random) -> ms.DefinedTensor:
    letters = ",".join(_NAMES[: value.ndim])
    if isinstance(value, ms.SparseTensor):
        return ms.define(f"D({letters}) = S({letters})", S=value)
    return random.choice((_as_it_is, _reversed, _flat, _in_two, _transposed, _under_a_condition))(value, random)


def _as_it_is(value: np.ndarray[Any, Any], random: Random) -> ms.DefinedTensor:
    letters = ",".join(_NAMES[: value.ndim])
    inner = ms.define(f"E({letters}) = S({letters})", S=value)
    return ms.define(f"D({letters}) = E({letters})", E=inner)


def _reversed(value: np.ndarray[Any, Any], random: Random) -> ms.DefinedTensor:
    """Gathers rows from the array with its rows in another order."""
    order = np.array(random.sample(range(len(value)), len(value)), dtype=random.choice(("int32", "int64")))
    shuffled = np.empty_like(value)
    shuffled[order] = value
    rest = "".join(f",{name}" for name in _NAMES[1 : value.ndim])
    return ms.define(f"D(i{rest}) = S(P(i){rest})", S=shuffled, P=order)


def _flat(value: np.ndarray[Any, Any], random: Random) -> ms.DefinedTensor:
    """Reads the elements in a row: no operand has the extents."""
    sizes = [int(np.prod(value.shape[axis + 1 :])) for axis in range(value.ndim)]
    subscript = " + ".join(f"{size}*{name}" for size, name in zip(sizes, _NAMES, strict=False))
    letters = ",".join(_NAMES[: value.ndim])
    return ms.define(f"D({letters}) = f({subscript})", f=value.reshape(-1), shape=value.shape)


def _in_two(value: np.ndarray[Any, Any], random: Random) -> ms.DefinedTensor:
    """Takes the first index apart, which statements may do too."""
    radix = random.choice([one for one in (1, 2, 3, 5) if len(value) % one == 0])
    rest = "".join(f",{name}" for name in _NAMES[1 : value.ndim])
    apart = value.reshape(len(value) // radix, radix, *value.shape[1:])
    return ms.define(f"D(i{rest}) = S(i / r, i % r{rest})", S=apart, r=radix, shape=value.shape)


def _transposed(value: np.ndarray[Any, Any], random: Random) -> ms.DefinedTensor:
    letters = _NAMES[: value.ndim]
    return ms.define(f"D({','.join(letters)}) = S({','.join(reversed(letters))})", S=np.ascontiguousarray(value.T))


def _under_a_condition(value: np.ndarray[Any, Any], random: Random) -> ms.DefinedTensor:
    letters = ",".join(_NAMES[: value.ndim])
    return ms.define(f"D({letters}) = S({letters}) if i >= 0", S=value)


VARIANTS = (Variant("tensors by definition", _defined, 0.1, compiles=True),)
