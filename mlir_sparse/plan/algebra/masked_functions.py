"""Sums inside of functions that are read where a sparse factor has entries alone, as in `X(i,j) * log(sum(k : ...))`.

The sum is no factor of the product, so no search takes it together with X: it would be made everywhere. Where X has no
entry nothing reads it, so it is multiplied by the pattern of X, and has the entries of X.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from mlir_sparse.notation import (
    Access,
    Apply,
    Binary,
    BinaryOp,
    Call,
    Expr,
    IndexVar,
    Negate,
    Reduce,
    ReduceOp,
    accesses_of,
    children,
    free_indices,
    rebuild,
    walk,
)
from mlir_sparse.notation.masks import MASK
from mlir_sparse.plan.algebra.normal_form import Factor, NoNormalFormError, Opaque, ProductTerm, expression_of
from mlir_sparse.plan.algebra.tensor_facts import TensorFacts
from mlir_sparse.spec import vanishes

__all__ = ["mask_of", "masked_value", "with_masks_inside", "without_known_masks"]

# What stands for a mask among the factors of a sum. Statements have no such call: theirs are operators on entries.
_PATTERN = "stored"
# A sum is made at the entries of a mask where it has so many times as many places.
_FEW = 4.0


def with_masks_inside(node: Expr, facts: Mapping[str, TensorFacts], masks: Sequence[Access] = ()) -> Expr:
    """Returns an expression in which sums of arrays inside of factors have the entries of sparse factors beside them.

    Args:
        node: the expression, with explicit sums.
        facts: what is known of each tensor.
        masks: the sparse factors of products that it is a factor of.

    Returns:
        the expression itself where there is no such sum.
    """
    if not masks and not any(isinstance(below, Reduce) for child in children(node) for below in walk(child)):
        return node
    if isinstance(node, Reduce):
        masks = ()  # what is in it may be at other places
    masks = [*masks, *(one for one in _numerators(node) if isinstance(one, Access) and _is_mask(one, facts))]
    if not masks:
        return _rebuilt(node, lambda operand: with_masks_inside(operand, facts))
    if isinstance(node, Binary) and node.op is BinaryOp.DIV:
        left, right = _factor(node.left, masks, facts), _inside(node.right, masks, facts)
        # A denominator that is zero where the mask has no entry would be divided by.
        right = right if vanishes(replace(node, left=left, right=right), masks) else node.right
        return node if left is node.left and right is node.right else replace(node, left=left, right=right)
    return _rebuilt(node, lambda operand: _factor(operand, masks, facts))


def _factor(node: Expr, masks: Sequence[Access], facts: Mapping[str, TensorFacts]) -> Expr:
    """Returns a factor, which is one loop nest with the masks if it is a sum, with the masks inside of others."""
    match node:
        case Binary(BinaryOp.MUL | BinaryOp.DIV) | Reduce():
            return with_masks_inside(node, facts, masks)
        case _:
            return _inside(node, masks, facts)


def _inside(node: Expr, masks: Sequence[Access], facts: Mapping[str, TensorFacts]) -> Expr:
    """Returns what is inside of a function, a quotient or a sum with the masks inside of its sums."""
    if not isinstance(node, Reduce):
        return _rebuilt(node, lambda operand: _inside(operand, masks, facts))
    mask = next((mask for mask in masks if _is_masked_by(node, mask, facts)), None)
    if mask is None:
        return node
    return replace(node, body=Binary(BinaryOp.MUL, Call(_PATTERN, (mask,)), node.body))


def _rebuilt(node: Expr, change: Callable[[Expr], Expr]) -> Expr:
    before = children(node)
    after = tuple(map(change, before))
    same = all(one is other for one, other in zip(before, after, strict=True))
    return node if same else rebuild(node, after)


def _numerators(node: Expr) -> list[Expr]:
    """Returns the factors of a product but for denominators."""
    match node:
        case Binary(BinaryOp.MUL, left, right):
            return [*_numerators(left), *_numerators(right)]
        case Binary(BinaryOp.DIV, left, _):
            return _numerators(left)
        case Negate(operand):
            return _numerators(operand)
        case _:
            return [node]


def mask_of(factor: Factor) -> Access | None:
    """Returns the mask that a factor stands for; None for any other factor."""
    if isinstance(factor, Access):  # as most are
        return None
    match factor:
        case Opaque(Call(function, (Access() as mask,))) if function == _PATTERN:
            return mask
        case _:
            return None


def without_known_masks(factors: tuple[Factor, ...]) -> tuple[Factor, ...]:
    """Returns factors without masks that are factors themselves: `m * (sum if m)` is `m * sum`."""
    return tuple(factor for factor in factors if (mask := mask_of(factor)) is None or mask not in factors)


def masked_value(terms: tuple[ProductTerm, ...]) -> Expr:
    """Returns a sum of products as an expression that is computed where masks among the factors have entries.

    Raises:
        NoNormalFormError: for several products of which some have masks.
    """
    masks = [mask for term in terms for factor in term.factors if (mask := mask_of(factor)) is not None]
    if not masks:
        return expression_of(terms)
    if len(terms) > 1:
        raise NoNormalFormError("a term of a sum has a mask of its own")
    kept = tuple(factor for factor in terms[0].factors if mask_of(factor) is None)
    value = expression_of([replace(terms[0], factors=kept)])
    for mask in dict.fromkeys(masks):
        value = Apply(MASK, (mask, value))
    return value


def _is_mask(access: Access, facts: Mapping[str, TensorFacts]) -> bool:
    plain = len(access.indices) == len(access.subscripts) and all(isinstance(s, IndexVar) for s in access.subscripts)
    encoding = facts[access.tensor].kind.encoding
    # Padding is stored, but no entry of a mask.
    return plain and len(access.indices) > 1 and encoding is not None and not encoding.has_padding


def _is_masked_by(node: Reduce, mask: Access, facts: Mapping[str, TensorFacts]) -> bool:
    """Returns whether a sum of arrays has the variables of a mask, at far more places than that has entries."""
    if node.op is not ReduceOp.SUM or set(free_indices(node)) != set(mask.indices):
        return False
    read = accesses_of(node.body)
    if any(isinstance(below, Reduce | Call) for below in walk(node.body)):
        return False
    if not read or any(facts[access.tensor].kind.encoding is not None for access in read):
        return False
    sketch = facts[mask.tensor].sketch
    return _FEW * sketch.entries < math.prod(sketch.shape)
