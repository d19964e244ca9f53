"""Vectors that a product reads beside a sparse tensor: which may be read from other storage, and what that saves.

A vector at the variable of a tensor's outermost level selects slices of it: loops go through all slices for an array,
through those of its entries for a sparse vector ("push", of graph algorithms). At the variable of an inner compressed
level, an array is looked up at each entry ("pull"), where a sparse vector is met with each slice. In other storage the
statement computes the same if the elements that are left out, or put in, add nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import Encoding, TensorType
from mlir_sparse.notation import (
    Access,
    Apply,
    AssignOp,
    Binary,
    BinaryOp,
    Expr,
    Fold,
    IndexVar,
    Literal,
    Monoid,
    Negate,
    Operator,
    Reduce,
    ReduceOp,
    Semiring,
    is_mask,
    reads,
)
from mlir_sparse.notation.laws import Law, holds
from mlir_sparse.notation.semiring import MONOIDS, MULTIPLICATIONS
from mlir_sparse.plan.order.storage_choice import is_sparse
from mlir_sparse.spec import KernelSpec, extreme_or

__all__ = ["VectorUse", "vector_uses"]

_SUMS = (BinaryOp.ADD, BinaryOp.SUB)
# Whether a number is zero is all that they ask.
_LOGIC = (MULTIPLICATIONS["and"], MULTIPLICATIONS["or"])


@dataclass(frozen=True, slots=True)
class VectorUse:
    """A vector in a product with a sparse tensor of two dimensions or more.

    Args:
        vector: the name of the vector.
        kind: its type: dense at the outermost level of the tensor, sparse at a compressed one below.
        tensor: the name of the tensor.
        level: the level of the tensor that has the vector's variable.
        absent: the element that adds nothing to the result; None where each entry counts, whatever its value.
        turns: whether the tensor may be converted to the other order, as nothing else reads it.
        finite: the operands in which no infinity and no NaN may stand for that; none where numbers are exact.
    """

    vector: str
    kind: TensorType
    tensor: str
    level: int
    absent: int | float | complex | None
    turns: bool
    finite: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Product:
    """A product, and the operator and the monoid that its factors and what it is added to have in common.

    Args:
        factors: the factors.
        add: the monoid; None for sums of numbers.
        multiply: the operator; None for products of numbers.
    """

    factors: tuple[Expr, ...]
    add: Monoid | None
    multiply: Operator | None


def vector_uses(spec: KernelSpec) -> tuple[VectorUse, ...]:
    """Returns the vectors of a statement that may be read from other storage, or beside a tensor in another order.

    >>> from mlir_sparse.notation import parse
    >>> types = tuple((n, TensorType.parse(t)) for n, t in [("A", "i32[?,?] CSR"), ("x", "i32[?]")])
    >>> [use] = vector_uses(KernelSpec(parse("y(j) = A(i,j) * x(i)"), types, TensorType.parse("i32[?]")))
    >>> use.vector, use.tensor, use.level, use.absent, use.finite
    ('x', 'A', 0, 0, ())
    """
    if not any(kind.rank == 1 for _, kind in spec.inputs):
        return ()
    explicit = spec.explicit
    if explicit.exists or explicit.op not in (AssignOp.ASSIGN, AssignOp.ADD):
        return ()
    written = spec.rewriting
    values = [explicit.value] if written is None else [*(part.value for part in written.parts), written.value]
    read = explicit.reads if written is None else [access for value in values for access in reads(value)]
    if not _any_selects(read, dict(spec.inputs)):  # as in most statements with several factors
        return ()
    names = [explicit.target.tensor, *[access.tensor for access in read]]
    found = [use for value in values for use in _uses_in(spec, value, names)]
    together = (_together([use for use in found if use.vector == one], names.count(one)) for one, _ in spec.inputs)
    return tuple(use for use in together if use is not None)


def _any_selects(read: Sequence[Access], operands: Mapping[str, TensorType]) -> bool:
    """Returns whether some vector has the variable of a level that it may select slices of, or be looked up at."""
    vectors = [
        (access.subscripts[0], is_sparse(operands[access.tensor]))
        for access in read
        if len(access.subscripts) == 1 and access.tensor in operands
    ]
    for access in read if vectors else ():
        if len(access.subscripts) < 2 or access.tensor not in operands:
            continue
        encoding = operands[access.tensor].encoding
        for variable, sparse in vectors:
            if isinstance(variable, IndexVar) and variable in access.subscripts:
                level = _level_of(encoding, access, variable)
                if level is not None and sparse == (level > 0):
                    return True
    return False


def _together(uses: list[VectorUse], count: int) -> VectorUse | None:
    """Returns the use of a vector that is read in several places; None where one of them allows no other storage."""
    if not uses or len(uses) != count:
        return None
    first = uses[0]
    if count > 1 and any(use.absent is None or use.absent != first.absent for use in uses):
        return None
    return replace(first, finite=tuple(dict.fromkeys(name for use in uses for name in use.finite)))


def _uses_in(spec: KernelSpec, value: Expr, names: list[str]) -> Iterator[VectorUse]:
    while isinstance(value, Apply) and is_mask(value):
        value = value.arguments[1]
    add = value.monoid if isinstance(value, Fold) else None
    # Of entries combined by `any` the last counts, and a sparse result has an entry wherever a product has.
    by_value = spec.output.encoding is None and add != MONOIDS["any"]
    for product in _products(value, add):
        yield from _uses(spec, product, names, by_value=by_value)


def _uses(spec: KernelSpec, product: _Product, names: list[str], *, by_value: bool) -> Iterator[VectorUse]:
    operands = dict(spec.inputs)
    accesses = [factor for factor in product.factors if isinstance(factor, Access) and factor.tensor in operands]
    for vector in accesses:
        kind = operands[vector.tensor]
        if kind.rank != 1 or not isinstance(vector.subscripts[0], IndexVar):
            continue
        absent = _absent(spec, product, kind.dtype) if by_value else None
        finite = _finite(spec, product, vector)
        if finite is None:
            absent = None
        for tensor in accesses:
            level = _level_of(operands[tensor.tensor].encoding, tensor, vector.subscripts[0])
            if level is None or is_sparse(kind) != (level > 0):
                continue
            turns = level == 1 and len(tensor.subscripts) == 2 and names.count(tensor.tensor) == 1
            if absent is not None or turns:
                yield VectorUse(vector.tensor, kind, tensor.tensor, level, absent, turns, finite or ())
                break


def _products(node: Expr, add: Monoid | None) -> Iterator[_Product]:
    """Yields the products whose sum an expression is, within sums of the same kind."""
    # Most nodes are of these kinds, which `match` would try after others.
    if add is None and isinstance(node, Reduce):
        if node.op is ReduceOp.SUM:
            yield from _products(node.body, None)
        return
    if add is None and isinstance(node, Binary) and node.op is BinaryOp.MUL:
        yield from _factored(node, add, None)
        return
    match node:
        case Apply(_, (_, body)) if is_mask(node):
            yield from _products(body, add)
        case Fold(monoid, _, body) if add == monoid:
            yield from _products(body, monoid)
        case Negate(body) if add is None:
            yield from _products(body, None)
        case Binary(op, left, right) if op in _SUMS and add is None:
            yield from _products(left, None)
            yield from _products(right, None)
        case Apply(operator, (left, right)) if add is not None and operator == add.union:
            yield from _products(left, add)
            yield from _products(right, add)
        case Apply(operator, (_, _)) if add is not None and operator.intersects:
            yield from _factored(node, add, operator)
        case _:
            pass


def _factored(node: Expr, add: Monoid | None, multiply: Operator | None) -> Iterator[_Product]:
    """Yields a product of all factors, and the products in the sums that are among them."""
    factors = tuple(_factors(node, multiply))
    yield _Product(factors, add, multiply)
    for factor in factors:
        if isinstance(factor, Reduce | Fold):
            yield from _products(factor, add)


def _factors(node: Expr, multiply: Operator | None) -> Iterator[Expr]:
    match node:
        case Binary(BinaryOp.MUL, left, right) if multiply is None:
            yield from (*_factors(left, None), *_factors(right, None))
        case Apply(operator, (left, right)) if multiply is not None and operator == multiply:
            yield from (*_factors(left, multiply), *_factors(right, multiply))
        case _:
            yield node


def _absent(spec: KernelSpec, product: _Product, dtype: DType) -> int | float | complex | None:
    """Returns the element of a vector with which a product is the identity of the sum; None where there is none."""
    if product.add is None:
        return 0
    if product.multiply is None:
        return None
    if not holds(Law.ANNIHILATES, Semiring(product.add, product.multiply)):
        return None
    identity = product.add.identity
    if identity is None or isinstance(identity, int | float | complex):
        return identity
    alike = all(kind.dtype == dtype for _, kind in spec.inputs) and not dtype.is_truth
    return extreme_or(identity, dtype) if alike else None


def _finite(spec: KernelSpec, product: _Product, vector: Access) -> tuple[str, ...] | None:
    """Returns the operands whose infinities and NaN the vector's element does not absorb; None if it cannot be seen."""
    if product.multiply in _LOGIC:
        return ()
    others = [factor for factor in product.factors if factor is not vector and not isinstance(factor, Literal)]
    exact = all(kind.dtype.is_integer or kind.dtype.is_truth for _, kind in spec.inputs)
    if exact and all(isinstance(factor, Access | Reduce | Fold) for factor in others):
        return ()
    operands = dict(spec.inputs)
    if not all(isinstance(factor, Access) and factor.tensor in operands for factor in others):
        return None
    return tuple(dict.fromkeys(factor.tensor for factor in others if isinstance(factor, Access)))


def _level_of(encoding: Encoding | None, tensor: Access, variable: IndexVar) -> int | None:
    """Returns the level of a tensor that has a variable, if loops go by levels that are dense or compressed."""
    if encoding is None or tensor.subscripts.count(variable) != 1:
        return None
    return _levels_of(encoding).get(tensor.subscripts.index(variable))


@lru_cache(maxsize=256)  # each statement asks for those of a few encodings
def _levels_of(encoding: Encoding) -> Mapping[int, int]:
    """Returns by dimension the level that has it: the outermost, or one of lists."""
    if not encoding.is_permutation or encoding.dim_rank < 2 or encoding.slices or encoding.is_dense:
        return {}
    kinds = encoding.level_types
    if not all((kind.is_full or kind.has_adjacent_lists) and not kind.properties for kind in kinds):
        return {}
    found = enumerate(encoding.level_order)
    return {dim: level for level, dim in found if level == 0 or kinds[level].has_adjacent_lists}
