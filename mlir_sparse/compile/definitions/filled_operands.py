"""Operands of statements with a fill value: read as what they are, by a definition over what they store.

Under `plus_times` such an operand is the defined tensor `where(S(i,j), V(i,j), F)`, of the places that it stores, their
values and the fill value. Integers, and numbers that a statement may cancel, are `D(i,j) + F0(i) * F1(j)` instead, of
the differences to the fill value, and vectors of that: then no loop goes through more than what is stored. Under a
semiring whose zero is the fill value, the operand is what it stores, as missing entries are that zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from mlir_sparse.compile.compiled_kernel import Result
from mlir_sparse.compile.definitions.composed_calls import passed
from mlir_sparse.compile.definitions.defined_tensor import DefinedTensor, Signature
from mlir_sparse.compile.parse_text import parsed_with
from mlir_sparse.compile.statement_optimizer import get_optimize
from mlir_sparse.dtypes import DType
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation import (
    SELECT,
    Apply,
    Comprehension,
    Expr,
    Semiring,
    is_mask,
    reads,
    walk,
    with_explicit_sums,
)
from mlir_sparse.notation import semiring as semiring_named
from mlir_sparse.spec.computed_type import extreme_or
from mlir_sparse.tensor import FilledTensor, SparseTensor
from mlir_sparse.tensor.fill_values import WAY_OUT, is_filling, no_fill
from mlir_sparse.tensor.other_values import all_are_elements, value_places

__all__ = [
    "compile_filled",
    "definition_beside",
    "definition_of",
    "evaluate_filled",
    "with_definitions",
]


def definition_of(tensor: FilledTensor, *, cancels: bool = False, signature: Signature | None = None) -> DefinedTensor:
    """Returns a tensor with a fill value as a defined tensor, kept for the next call.

    Args:
        tensor: the tensor.
        cancels: whether terms may cancel, and lose digits.
        signature: that of the definition to find, if the tensor has one of its kind.

    >>> from mlir_sparse.tensor import tensor
    >>> definition_of(tensor([[1, 5]], fill_value=1)).notation, definition_of(tensor([0.5, 1], fill_value=0.5)).notation
    ('A(d0,d1) = D(d0,d1) + F0(d0) * F1(d1)', 'A(d0) = where(S(d0), V(d0), F)')
    """
    kept: dict[Any, DefinedTensor] = tensor._definitions
    if cancels not in kept:
        kept[cancels] = _defined(tensor, _differences(tensor, cancels))
    found = kept[cancels]
    if signature is None or found.signature is signature:
        return found
    chosen = _by_choice(tensor)
    return chosen if chosen.signature is signature else definition_of(tensor, cancels=True)


def definition_beside(tensor: FilledTensor, others: Iterable[Any], *, cancels: bool = False) -> DefinedTensor:
    """Returns a tensor with a fill value as a defined tensor for a statement that reads others.

    Integers beside another element type are a choice: the sum of differences would be made first, in their own type.

    Args:
        tensor: the tensor.
        others: all operands; operators among them do not count.
        cancels: whether terms may cancel, and lose digits.
    """
    kinds = {
        np.asarray(one).dtype if isinstance(one, complex | float | int) else getattr(one, "dtype", None)
        for one in others
    }
    return definition_of(tensor, cancels=cancels) if kinds <= {tensor.dtype, None} else _by_choice(tensor)


def _by_choice(tensor: FilledTensor) -> DefinedTensor:
    kept: dict[Any, DefinedTensor] = tensor._definitions
    if None not in kept:
        kept[None] = _defined(tensor, None)
    return kept[None]


def _defined(tensor: FilledTensor, apart: SparseTensor | None) -> DefinedTensor:
    """Returns the definition by differences to the fill value, or by a choice where there are none."""
    at = ",".join(f"d{dim}" for dim in range(tensor.ndim))
    fill = np.asarray(tensor.fill_value)
    if apart is not None:
        # A product of vectors, of which sums are made once for all rows; F alone would be summed for each.
        vectors = {f"F{dim}": np.ones(extent, tensor.dtype) for dim, extent in enumerate(tensor.shape)}
        vectors["F0"] = np.full(tensor.shape[0], fill)
        product = " * ".join(f"F{dim}(d{dim})" for dim in range(tensor.ndim))
        return DefinedTensor(f"A({at}) = D({at}) + {product}", {"D": apart, **vectors}, None)
    there = {"S": _places(tensor.stored), "V": tensor.stored, "F": fill}
    return DefinedTensor(f"A({at}) = where(S({at}), V({at}), F)", there, None)


def _differences(tensor: FilledTensor, cancels: bool) -> SparseTensor | None:
    """Returns the stored values without the fill value; None where that is not them again with it.

    Integers are, if no difference leaves their type: statements may convert operands before they add.
    """
    stored, dtype = tensor.stored, DType.of(tensor.dtype)
    if not all_are_elements(stored) or dtype.is_truth:
        return None
    values = stored.storage.values
    if dtype.is_exact:
        least, most = dtype.limits
        ends = (int(values.min()), int(values.max())) if values.size else (0, 0)
        fits = all(least <= end - int(tensor.fill_value) <= most for end in ends)
        return stored.with_values(values - tensor.fill_value) if fits else None
    if not cancels or not np.isfinite(tensor.fill_value) or not np.isfinite(values).all():
        return None
    return stored.with_values(values - tensor.fill_value)


def _places(stored: SparseTensor) -> SparseTensor:
    """Returns truth values, true where a tensor stores an element."""
    values = np.ones(stored.storage.values.size, bool)
    if not all_are_elements(stored):
        values[:] = False
        values[value_places(stored)[1]] = True
    return stored.with_values(values)


def with_definitions(given: Mapping[str, Any], optimize: Any = None) -> dict[str, Any]:
    """Returns operands by name, those with a fill value as defined tensors."""
    cancels = (get_optimize() if optimize is None else optimize) == "algebra"
    return {
        name: definition_beside(one, given.values(), cancels=cancels) if type(one) is FilledTensor else one
        for name, one in given.items()
    }


def evaluate_filled(
    evaluate: Callable[..., Result], text: Any, given: Mapping[str, Any], options: Mapping[str, Any]
) -> Result:
    """Returns the result of a statement that reads tensors with a fill value.

    Under a semiring a sparse result has the semiring's zero as fill value.

    Args:
        evaluate: computes a statement.
        text: the statement.
        given: its operands and operators, by name.
        options: the other arguments of `evaluate`.

    Raises:
        UnsupportedError: where the statement asks which elements are stored; for a fill value that is not the zero of
            the semiring; for a GPU.
    """
    ring = _ring(options["semiring"])
    ready = _ready(text, given, options, ring)
    found = evaluate(text, **options, **passed(ready))
    if ring is None:
        return found
    if isinstance(found, tuple):
        return tuple(_under(one, ring) for one in found)
    return _under(found, ring)  # type: ignore[no-any-return]


def compile_filled(compile: Callable[..., Any], text: Any, given: Mapping[str, Any], options: Mapping[str, Any]) -> Any:
    """Returns the kernel of a statement for tensors with a fill value, which it takes at calls too.

    Raises:
        UnsupportedError: as for `evaluate_filled`; under any semiring, whose kernels take what tensors store.
    """
    ring = _ring(options["semiring"])
    if ring is not None:
        _ready(text, given, options, ring)
        fill = next(one.fill_value for one in given.values() if type(one) is FilledTensor)
        way_out = "compile for A.stored, and call it with that, whose missing entries are the semiring's zero"
        raise no_fill(fill, f"a kernel under {ring.name}", way_out)
    return compile(text, **options, **passed(_ready(text, given, options, None)))


def _ring(given: Any) -> Semiring | None:
    """Returns a semiring; None for that of numbers."""
    found = semiring_named("plus_times" if given is None else given)
    return None if found == semiring_named("plus_times") else found


def _ready(text: Any, given: Mapping[str, Any], options: Mapping[str, Any], ring: Semiring | None) -> dict[str, Any]:
    filled = {name: one for name, one in given.items() if type(one) is FilledTensor}
    name, first = next(iter(filled.items()))
    if options["target"] != "cpu":
        raise no_fill(first.fill_value, f"{name} on a GPU", WAY_OUT)
    for name in _asked_for_entries(text, given) & filled.keys():
        raise no_fill(
            filled[name].fill_value,
            f"{name} in a mask, an operator or stored(...), which ask what is stored",
            f"pass {name}.stored for its entries, or {name}.to_numpy() for its elements",
        )
    if ring is None:
        return with_definitions(given, options["optimize"])
    for name, one in filled.items():
        zero = extreme_or(ring.zero, DType.of(one.dtype))
        if not is_filling(np.asarray(one.fill_value).reshape(1), np.asarray(zero).astype(one.dtype)[()])[0]:
            raise UnsupportedError(
                f"expected fill value {zero}, the zero of {ring.name}, for {name}, but got {one.fill_value}: "
                f"pass {name}.to_numpy() for its elements"
            )
    return {name: one.stored if type(one) is FilledTensor else one for name, one in given.items()}


def _asked_for_entries(text: Any, given: Mapping[str, Any]) -> set[str]:
    """Returns the tensors of which a statement asks where they have an entry."""
    parsed = parsed_with(text, given)
    statements = parsed.statements if isinstance(parsed, Comprehension) else (parsed,)
    found: set[str] = set()
    for statement in statements:
        for node in walk(with_explicit_sums(statement).value):  # which writes `stored` as an operator
            if isinstance(node, Apply) and node.operator != SELECT:
                asked: tuple[Expr, ...] = node.arguments[:1] if is_mask(node) else node.arguments
                found |= {access.tensor for one in asked for access in reads(one)}
    return found


def _under(found: Any, ring: Semiring) -> Any:
    if not isinstance(found, SparseTensor):
        return found
    zero = extreme_or(ring.zero, DType.of(found.dtype))
    return found.with_fill(zero)
