"""The same with operands transposed, stored another way, and in another order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

import mlir_sparse as ms
from dialect_tests.calls import Call, Results, densified
from fuzzing.variants.variant import NotApplicableError, Variant
from mlir_sparse.notation import (
    Access,
    Assignment,
    Binary,
    BinaryOp,
    Expr,
    children,
    has_affine_target,
    index_vectors,
    shifted_gathers,
)
from mlir_sparse.notation.positional_products import POSITIONAL

__all__ = ["VARIANTS"]

# Storage that holds any matrix, entry by entry: none of it pads.
_ENTRIES = {
    1: ("SparseVector", "COO"),
    2: ("CSR", "CSC", "DCSR", "DCSC", "COO", "SoA-COO", "UnorderedCOO", "CSR(unordered)"),
    3: ("CSF", "COO", "SoA-COO"),
}
_NOT_PACKED = ("CSR_SLICE",)


def _program(call: Call) -> Assignment:
    found = call.program
    if isinstance(found, str) and len(call.tensors) == len(call.operands):
        found = ms.parse(found)
    # Vectors of positions are no operands of a call, and what puts values in places has a target of its own.
    if isinstance(found, Assignment) and not (
        index_vectors(found) or shifted_gathers(found) or has_affine_target(found)
    ):
        return found
    raise NotApplicableError


def _rewritten(node: Expr, access: Mapping[str, tuple[int, ...]]) -> Expr:
    """Returns an expression with the subscripts of tensors in other orders."""
    match node:
        case Access(tensor, subscripts):
            inner = tuple(_rewritten(s, access) if isinstance(s, Access) else s for s in subscripts)
            order = access.get(tensor, tuple(range(len(inner))))
            return Access(tensor, tuple(inner[at] for at in order))  # type: ignore[arg-type]
        case _:
            return _over(node, tuple(_rewritten(child, access) for child in children(node)))


def _over(node: Expr, below: tuple[Expr, ...]) -> Expr:
    if not below:
        return node
    if hasattr(node, "arguments"):
        return replace(node, arguments=below)
    if hasattr(node, "body"):
        return replace(node, body=below[0])
    names = ("operand",) if len(below) == 1 else ("left", "right")
    return replace(node, **dict(zip(names, below, strict=True)))  # type: ignore[arg-type]


def _transposed(value: Any, order: tuple[int, ...], random: Random) -> Any:
    if isinstance(value, np.ndarray) or value.encoding.is_dense:  # an entry everywhere, zeros too
        array = densified(value).transpose(order)
        return array if random.random() < 0.5 else array.copy()
    coordinates, values = value.to_coo()
    shape = tuple(value.shape[axis] for axis in order)
    moved = np.asarray(coordinates)[list(order)]
    return ms.tensor((moved, values), random.choice(_ENTRIES[len(order)]), shape=shape)


def _with_operands_transposed(call: Call, random: Random) -> Results:
    program = _program(call)
    held = [n for n in program.inputs if call.operands[n].ndim in (2, 3) and n != program.target.tensor]
    # Such a product is the first or the second subscript of an operand, as it is written.
    is_positional = call.semiring is not None and call.semiring.partition("_")[2] in POSITIONAL
    if not held or is_positional:
        raise NotApplicableError
    orders = {name: tuple(random.sample(range(n := call.operands[name].ndim), n)) for name in held}
    other = replace(program, value=_rewritten(program.value, orders), source=None)
    if program.exists:
        raise NotApplicableError
    operands = {n: _transposed(v, orders[n], random) if n in orders else v for n, v in call.operands.items()}
    return replace(call, program=other, operands=operands).results()


def _presets(rank: int, about_entries: bool) -> tuple[str, ...]:
    if about_entries:
        return _ENTRIES[rank]
    return tuple(
        p.name for p in ms.PRESETS.values() if p.min_rank <= rank <= (p.max_rank or rank) and p.name not in _NOT_PACKED
    )


def _stored_otherwise(value: Any, random: Random, about_entries: bool) -> Any:
    if not 1 <= value.ndim <= 3:
        return value
    if isinstance(value, np.ndarray):
        if about_entries or random.random() < 0.5:
            return value
        return ms.tensor(value, random.choice(_presets(value.ndim, False)))
    if about_entries and value.encoding.is_dense:
        return value
    coordinates, values = value.to_coo()
    preset = random.choice(_presets(value.ndim, about_entries))
    return ms.tensor((coordinates, values), preset, shape=value.shape)


def _with_operands_stored_otherwise(call: Call, random: Random) -> Results:
    if not isinstance(call.program, str | Assignment):
        raise NotApplicableError
    # Zeros that are not stored are no terms, and those of dense levels times what is not finite are NaN.
    about_entries = call.is_about_entries or not all(np.isfinite(densified(found)).all() for found in call.results())
    changed = {n: _stored_otherwise(v, random, about_entries) for n, v in call.tensors.items()}
    return replace(call, operands={**call.operands, **changed}).results()


def _in_two_parts(value: Any, random: Random) -> Any:
    """Returns a tensor some of whose entries are stored as two that add up to them."""
    if not isinstance(value, ms.SparseTensor) or value.ndim != 2 or value.dtype.kind not in "if":
        raise NotApplicableError
    coordinates, values = value.to_coo()
    whole = np.asarray(values)
    if not np.array_equal((whole - 1) + np.ones((), whole.dtype), whole) or value.dtype.itemsize < 4:
        raise NotApplicableError
    doubled = np.repeat(np.asarray(coordinates), 2, axis=1)
    parts = np.stack([whole - 1, np.ones_like(whole)], axis=1).reshape(-1)
    order = np.lexsort((doubled[1], doubled[0]))
    rows, columns = (np.ascontiguousarray(axis[order].astype(np.int32)) for axis in doubled)
    return ms.SparseTensor.from_levels(
        ms.encoding("(i, j) -> (i : compressed(nonunique), j : singleton(nonunique, soa))"),
        value.shape,
        [np.array([0, len(rows)], np.int32), None],
        [rows, columns],
        parts[order],
    )


def _with_entries_in_parts(call: Call, random: Random) -> Results:
    if call.is_about_entries:
        raise NotApplicableError
    held = [name for name, value in call.tensors.items() if isinstance(value, ms.SparseTensor) and value.ndim == 2]
    if not held:
        raise NotApplicableError
    name = random.choice(held)
    return replace(call, operands={**call.operands, name: _in_two_parts(call.operands[name], random)}).results()


def _with_result_stored_otherwise(call: Call, random: Random) -> Results:
    (found,) = call.results() if isinstance(call.program, str | Assignment) else (None,)
    if found is None or not 1 <= found.ndim <= 3:
        raise NotApplicableError
    return replace(call, out=random.choice((*_presets(found.ndim, call.is_about_entries), "dense"))).results()


def _commuted(node: Expr, random: Random) -> Expr:
    node = _over(node, tuple(_commuted(child, random) for child in children(node)))
    if isinstance(node, Binary) and node.op in (BinaryOp.ADD, BinaryOp.MUL) and random.random() < 0.5:
        return replace(node, left=node.right, right=node.left)
    return node


def _with_sides_swapped(call: Call, random: Random) -> Results:
    program = _program(call)
    other = replace(program, value=_commuted(program.value, random), source=None)
    if other == program or call.is_about_entries:
        raise NotApplicableError
    return replace(call, program=other).results()


# Of a case or a preset that is not there, and of a tensor that the preset cannot hold.
_REFUSALS = (ms.UnsupportedError, ms.StorageError)

VARIANTS = (
    Variant("operands transposed", _with_operands_transposed, 0.04, compiles=True),
    Variant("operands stored otherwise", _with_operands_stored_otherwise, 0.04, compiles=True, may_refuse=_REFUSALS),
    Variant("entries in parts", _with_entries_in_parts, 0.04, compiles=True),
    Variant("result stored otherwise", _with_result_stored_otherwise, 0.04, compiles=True, may_refuse=_REFUSALS),
    Variant("sides of sums and products swapped", _with_sides_swapped, 0.03, compiles=True),
)
