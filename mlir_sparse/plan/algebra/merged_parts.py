"""Parts that one other part alone reads, as a term of a sum or element by element: they need no array of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from mlir_sparse.notation import Access, Binary, Expr, accesses_of, substitute, walk
from mlir_sparse.plan.rewrite.sum_of_terms import SUMS, Signed, addends, has_reduction
from mlir_sparse.spec import Part, Rewriting

__all__ = ["merged"]


def merged(rewriting: Rewriting) -> Rewriting:
    """Returns a rewriting without the parts that are a term of one other part, or factors of its elements.

    `r(i) = t(i) - y(i)` after `t(i) = sum(k : X(i,k) * w(k))` is one accumulation that starts from `-y(i)`. Where BLAS
    computes a term, others are added to that in place.
    """
    if len(rewriting.parts) < 2:
        return rewriting
    seen: set[str] = set()
    once: set[str] = set()
    for value in _values(rewriting):
        for node in walk(value):
            if isinstance(node, Access):
                (once.discard if node.tensor in seen else once.add)(node.tensor)
                seen.add(node.tensor)
    parts: dict[str, Part] = {}
    for part in rewriting.parts:
        value, by_blas = part.value, part.by_blas
        for term, negative in _terms(part.value):
            if not isinstance(term, Access) or term.tensor not in once or term.tensor not in parts:
                continue
            other = parts[term.tensor]
            if _is_merged(other, term, part) and not (other.by_blas and (by_blas or negative)):
                value, by_blas = substitute(value, {term: parts.pop(term.tensor).value}), by_blas or other.by_blas
        if not by_blas and not has_reduction(value):
            for factor in accesses_of(value):
                one = parts.get(factor.tensor)
                if one is not None and factor.tensor in once and _is_elementwise(one, factor, part):
                    value = substitute(value, {factor: parts.pop(factor.tensor).value})
        changed = value is not part.value or by_blas is not part.by_blas
        parts[part.target.tensor] = replace(part, value=value, by_blas=by_blas) if changed else part
    merged_parts = tuple(parts.values())
    return rewriting if merged_parts == rewriting.parts else replace(rewriting, parts=merged_parts)


def _values(rewriting: Rewriting) -> Iterator[Expr]:
    yield rewriting.value
    yield from (part.value for part in rewriting.parts)


def _terms(node: Expr) -> Sequence[Signed]:
    """Returns the terms of a sum of at least two."""
    return addends(node) if isinstance(node, Binary) and node.op in SUMS else ()


def _is_elementwise(other: Part, factor: Access, part: Part) -> bool:
    """Returns whether a part has no sums, and elements of it are read once each by another one without sums."""
    dense = all(one.estimate is not None and not one.estimate.is_sparse for one in (other, part))
    same = factor == other.target and set(factor.indices) == set(part.target.indices)
    return dense and same and other.dtype == part.dtype and not has_reduction(other.value)


def _is_merged(other: Part, term: Access, part: Part) -> bool:
    """Returns whether loops write both as arrays over the same variables, in one element type."""
    dense = all(one.estimate is not None and not one.estimate.is_sparse for one in (other, part))
    same = term == other.target and set(term.indices) == set(part.target.indices)
    return dense and same and other.dtype == part.dtype and not part.by_blas
