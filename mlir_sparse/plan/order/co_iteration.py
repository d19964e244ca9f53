"""The levels that the loops of a nest run over: intersections at products, unions at sums.

The terms are those of Kjolstad et al. 2017: the iteration graph has a path of index variables for each operand, in the
order of its levels (section 4.1), and each loop runs over a lattice of intersections and unions of levels (section 5).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from mlir_sparse.classes import dataclass
from mlir_sparse.encoding import Encoding, TensorType
from mlir_sparse.encoding.levels.level_functions import Iteration
from mlir_sparse.notation import (
    Access,
    Apply,
    Binary,
    BinaryOp,
    Call,
    Expr,
    Fold,
    IndexVar,
    Literal,
    Negate,
    Operator,
    Reduce,
    accesses_of,
)
from mlir_sparse.plan.order.storage_choice import is_sparse, level_variables
from mlir_sparse.spec import vanishes
from mlir_sparse.text.listed_words import listed

__all__ = ["Product", "Walk", "how_walked", "iteration_graph", "lattice", "products", "walks"]

Types = Mapping[str, TensorType]
# Accesses that are intersected: an entry of the product needs one of each.
Product = tuple[Access, ...]

# More products than this are treated as one union of all operands.
_MOST_PRODUCTS = 64


@dataclass(frozen=True, slots=True)
class Walk:
    """A level of a sparse operand that gives a loop its coordinates.

    Args:
        access: the operand.
        level: the number of the level.
        above: the index variables of the levels above it.
        last: whether it is the innermost level.
    """

    access: Access
    level: int
    above: tuple[IndexVar, ...]
    last: bool

    def __str__(self) -> str:
        return f"{self.access.tensor}.{self.level}"


def iteration_graph(accesses: tuple[Access, ...], types: Types) -> str:
    """Returns the path of index variables of each tensor; "" for arrays only."""
    paths = []
    for access in accesses:
        encoding = types[access.tensor].encoding
        if encoding is not None and access.subscripts:
            paths.append(f"{access.tensor}: {' -> '.join(map(str, level_variables(access, encoding)))}")
    free = [access.tensor for access in accesses if types[access.tensor].encoding is None and access.subscripts]
    if not paths:
        return ""
    return "; ".join((*dict.fromkeys(paths), *([f"{', '.join(dict.fromkeys(free))} in any order"] if free else [])))


def products(node: Expr, types: Types) -> tuple[Product, ...]:
    """Returns the iteration of an expression as a union of intersections of accesses."""
    match node:
        case Access():
            return ((node,),)
        case Literal():
            return ((),)
        case Negate(operand):
            return products(operand, types)
        case Reduce(_, _, body) | Fold(_, _, body):
            return products(body, types)
        case Apply(operator, arguments):
            parts = [products(argument, types) for argument in arguments]
            if operator.absent is not None:
                parts.append(((),))  # a result where the operand has no entry
            return _meeting(parts, node) if operator.intersects else _merging(parts)
        case Binary(BinaryOp.MUL | BinaryOp.DIV, left, right):
            return _meeting([products(left, types), products(right, types)], node)
        case Binary(BinaryOp.ADD | BinaryOp.SUB, left, right):
            return _merging([products(left, types), products(right, types)])
        case Binary() | Call():
            return _chosen(node, types)
        case _:
            assert_never(node)


def _meeting(parts: list[tuple[Product, ...]], node: Expr) -> tuple[Product, ...]:
    found: tuple[Product, ...] = ((),)
    for part in parts:
        found = tuple((*one, *other) for one in found for other in part)
        if len(found) > _MOST_PRODUCTS:
            return tuple((access,) for access in accesses_of(node))
    return tuple(dict.fromkeys(tuple(dict.fromkeys(product)) for product in found))


def _merging(parts: list[tuple[Product, ...]]) -> tuple[Product, ...]:
    return tuple(dict.fromkeys(product for part in parts for product in part))


def _chosen(node: Expr, types: Types) -> tuple[Product, ...]:
    """Returns where a comparison, a choice or a function may be nonzero: `A(i) >= 0` is 1 at missing entries."""
    reads = accesses_of(node)
    sparse = [access for access in reads if is_sparse(types[access.tensor])]
    dense = [access for access in reads if access not in sparse]
    needed = [access for access in sparse if vanishes(node, [access])]
    if needed:
        return ((*needed, *dense),)
    alone = tuple((access,) for access in reads)
    if not sparse:
        return alone or ((),)
    return alone if vanishes(node, sparse) else (*alone, tuple(dense))


def walks(product: Product, variable: IndexVar, order: tuple[IndexVar, ...], types: Types) -> tuple[Walk, ...]:
    """Returns the compressed levels of a variable in a product."""
    found = (_walk(access, variable, order, types[access.tensor].encoding) for access in product)
    return tuple(walk for walk in found if walk is not None)


def _walk(access: Access, variable: IndexVar, order: tuple[IndexVar, ...], encoding: Encoding | None) -> Walk | None:
    if encoding is None or encoding.is_dense or variable not in access.subscripts:
        return None
    levels = level_variables(access, encoding)
    if not encoding.is_permutation:
        # In blocks and groups the stored entries are known at the last of the variables.
        last = max(levels, key=order.index)
        others = tuple(other for other in levels if other != last)
        listing = [n for n, t in enumerate(encoding.level_types) if t.functions.iteration is Iteration.POSITION]
        return Walk(access, listing[-1], others, True) if variable == last else None
    level = levels.index(variable)
    if encoding.levels[level].type.functions.iteration is Iteration.VALUE:
        return None
    return Walk(access, level, levels[:level], level == len(levels) - 1)


def lattice(node: Expr, variable: IndexVar, types: Types) -> str:
    """Returns the set of coordinates that a variable runs over, in terms of the operands' levels; "" for all."""
    match node:
        case Access():
            return _levels(node, variable, types[node.tensor].encoding)
        case Literal():
            return ""
        case Negate(operand):
            return lattice(operand, variable, types)
        case Reduce(_, _, body) | Fold(_, _, body):
            return lattice(body, variable, types)
        case Apply(operator, arguments):
            sets = [lattice(argument, variable, types) for argument in arguments]
            return _applied(operator, sets, whole=_is_innermost(node, variable, types))
        case Binary(BinaryOp.MUL | BinaryOp.DIV, left, right):
            return _joined(" & ", [lattice(left, variable, types), lattice(right, variable, types)])
        case Binary(BinaryOp.ADD | BinaryOp.SUB, left, right):
            return _joined(" | ", [lattice(left, variable, types), lattice(right, variable, types)])
        case Binary() | Call():
            stored = [a for a in accesses_of(node) if types[a.tensor].encoding is not None]
            needed = [access for access in stored if vanishes(node, [access])]
            if not needed and not vanishes(node, stored):
                return ""
            sets = [lattice(access, variable, types) for access in needed or stored]
            return _joined(" & " if needed else " | ", sets)
        case _:
            assert_never(node)


def _is_innermost(node: Expr, variable: IndexVar, types: Types) -> bool:
    """Returns whether a variable is that of the last level of every sparse operand: its loop is one over entries."""
    stored = ((access, types[access.tensor].encoding) for access in accesses_of(node))
    return all(level_variables(access, encoding)[-1:] == (variable,) for access, encoding in stored if encoding)


def _applied(operator: Operator, sets: list[str], *, whole: bool) -> str:
    """Returns the sets where an operator has results: both operands, only the first, only the second.

    A difference of sets is known for entries only; loops above them (not `whole`) run over all of an operand.
    """
    if len(sets) < 2:
        return "".join(sets)
    regions = operator.overlap is not None, operator.left is not None, operator.right is not None
    match regions:
        case (True, True, True):
            return _joined(" | ", sets)
        case (_, False, False):
            return _joined(" & ", sets)
        case (False, True, True):
            return _joined(" ^ " if whole else " | ", sets)
        case (False, True, False) if whole:
            return _joined(" - ", sets)
        case (False, False, True) if whole:
            return _joined(" - ", sets[::-1])
        case (_, True, _):
            return sets[0]
        case _:
            return sets[1]


def _joined(sign: str, sets: list[str]) -> str:
    found = [text for text in dict.fromkeys(sets) if text]
    if len(found) < 2:
        return "".join(found)
    return sign.join(f"({text})" if " " in text and sign.strip() not in text else text for text in found)


def _levels(access: Access, variable: IndexVar, encoding: Encoding | None) -> str:
    if encoding is None or variable not in access.subscripts:
        return ""
    dim = access.subscripts.index(variable)
    levels = enumerate(encoding.levels)
    return "+".join(f"{access.tensor}.{level}[{spec.type}]" for level, spec in levels if dim in spec.expr.dims())


def how_walked(
    payload: Expr, variable: IndexVar, order: tuple[IndexVar, ...], types: Types, scattered: Access | None = None
) -> str:
    """Returns how a loop gets its coordinates: from one level or from several; "" for a full loop."""
    iterated = products(payload, types)
    every = [walks(product, variable, order, types) for product in iterated]
    apart = scattered if variable == order[-1] else None
    lists = list(dict.fromkeys(str(walk) for found in every for walk in found if walk.access != apart))
    counted = any(not found and _reads(product, variable) for product, found in zip(iterated, every, strict=True))
    if not lists:
        return ""
    if counted:
        return f"counts, with {listed(lists)} alongside"
    located = [str(walk) for found in every for walk in found if walk.access == apart]
    located += _located(payload, variable, types)
    beside = f", looks up {listed(located)}" if located else ""
    if len(lists) == 1:
        return f"walks {lists[0]}{beside}"
    verb = "meets" if len(every) == 1 else "merges"
    return f"{verb} {listed(lists)}{beside}"


def _reads(product: Product, variable: IndexVar) -> bool:
    return any(variable in access.subscripts for access in product)


def _located(payload: Expr, variable: IndexVar, types: Types) -> tuple[str, ...]:
    """Returns the dense levels of an operand that are looked up at another operand's coordinates."""
    found: dict[str, None] = {}
    for access in accesses_of(payload):
        encoding = types[access.tensor].encoding
        if variable not in access.subscripts:
            continue
        if encoding is None:
            found[access.tensor] = None
            continue
        for level, spec in enumerate(encoding.levels):
            names_it = access.subscripts.index(variable) in spec.expr.dims()
            if names_it and encoding.is_permutation and spec.type.functions.iteration is Iteration.VALUE:
                found[f"{access.tensor}.{level}"] = None
    return tuple(found)
