"""Calls of statements that read defined tensors: the statements composed, kept by text and definitions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np

from mlir_sparse.compile.compiled_kernel import Result
from mlir_sparse.compile.definitions.composed_call import ComposedCall, Text
from mlir_sparse.compile.definitions.composed_for_operands import Parse, composed_for
from mlir_sparse.compile.definitions.defined_tensor import DefinedTensor
from mlir_sparse.errors import CoordinatesError, OperandError, UnsupportedError
from mlir_sparse.spec.check_types import OWN_ARGUMENTS
from mlir_sparse.tensor import SparseTensor

__all__ = [
    "check_options",
    "composed_call",
    "evaluate_composed",
    "first_line",
    "passed",
]

_MOST = 512
_known: dict[Hashable, ComposedCall] = {}


def composed_call(
    parse: Parse,
    text: Text,
    given: Mapping[str, Any],
    options: Mapping[str, Any],
    *,
    instead: str = "",
    gathers: bool = True,
) -> ComposedCall:
    """Returns a statement composed with the definitions of its operands.

    Args:
        parse: parses a statement with operators by name.
        text: the statement.
        given: operands and operators by name.
        options: the other arguments of `evaluate` or `compile`.
        instead: why all defined tensors are made first; "" where each is decided on its own.
        gathers: whether elements may be gathered in place of sums over selections, all of which have an entry a row.

    Raises:
        OperandError: for a defined tensor as the result.
        SparseError: one of its kinds, as for any statement.
    """
    key = _key(text, given, options)
    found = None if key is None or instead or not gathers else _known.get(key)
    if found is None:
        dense = _may_be_dense(options["out"])
        found = composed_for(parse, text, given, options["semiring"], instead, dense, gathers)
        if gathers:
            _keep(key, found)
    return found


def _may_be_dense(out: Any) -> bool:
    return out is None or isinstance(out, np.ndarray) or (isinstance(out, str) and out.strip().lower() == "dense")


def _keep(key: Hashable, call: ComposedCall) -> None:
    if key is not None:
        while len(_known) >= _MOST:
            _known.pop(next(iter(_known)), None)
        _known[key] = call


def _key(text: Text, given: Mapping[str, Any], options: Mapping[str, Any]) -> Hashable:
    semiring = options["semiring"]
    if not isinstance(text, str) or not isinstance(semiring, str | None):
        return None
    found: list[Hashable] = [text, semiring, _may_be_dense(options["out"])]
    for name, value in given.items():
        kind = type(value)
        if kind is DefinedTensor:
            found += (name, value.signature)
        elif kind is np.ndarray or kind is SparseTensor:
            found += (name, value.dtype, value.ndim)
        else:
            return None
    return tuple(found)


def evaluate_composed(
    parse: Parse, evaluate: Callable[..., Result], text: Text, given: Mapping[str, Any], options: Mapping[str, Any]
) -> tuple[Result, ComposedCall]:
    """Returns the result of a statement that reads defined tensors, and how it was computed.

    Args:
        parse: parses a statement.
        evaluate: computes one that reads data.
        text: the statement.
        given: its operands and operators, by name.
        options: the other arguments of `evaluate`.
    """
    check_options(options)
    call = composed_call(parse, text, given, options)
    try:
        return _run(call, evaluate, given, options), call
    except CoordinatesError:
        if not call.gathers:
            raise
        # Some rows of selections have no entry, or data are wrong, of which selections say what is expected.
        call = composed_call(parse, text, given, options, gathers=False)
        return _run(call, evaluate, given, options), call
    except UnsupportedError as error:
        if not call.composes:
            raise
        call = composed_call(parse, text, given, options, instead=first_line(error))
        return _run(call, evaluate, given, options), call


def _run(
    call: ComposedCall, evaluate: Callable[..., Result], given: Mapping[str, Any], options: Mapping[str, Any]
) -> Result:
    operands, asked = passed(call.operands(given)), call.options(options)
    return call.run(lambda out: evaluate(call.text, **{**asked, "out": out}, **operands), asked["out"])


def check_options(options: Mapping[str, Any]) -> None:
    """Raises for options that defined tensors do not take.

    Raises:
        UnsupportedError: for a GPU.
        OperandError: for a defined tensor as `out=`.
    """
    if options["target"] != "cpu":
        raise UnsupportedError(
            "expected defined tensors with target='cpu' only, but got "
            f"target={options['target']!r}: pass ms.to_device(ms.tensor(A)) in place of A"
        )
    out = options["out"]
    for one in out.values() if isinstance(out, Mapping) else (out,):
        if isinstance(one, DefinedTensor):
            raise OperandError(f"expected an array or storage for out, but got {one!r}, which is no data")


def passed(operands: Mapping[str, Any]) -> dict[str, Any]:
    """Returns operands as keyword arguments of `evaluate` and `compile`, which have names of their own."""
    clashing = {name: value for name, value in operands.items() if name in OWN_ARGUMENTS}
    rest: dict[str, Any] = {name: value for name, value in operands.items() if name not in clashing}
    return {**rest, "tensors": clashing} if clashing else rest


def first_line(error: Exception) -> str:
    """Returns what an error says first."""
    return str(error).splitlines()[0]
