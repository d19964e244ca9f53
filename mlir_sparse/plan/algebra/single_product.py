"""Statements that are a sum over one product of two tensors, or less: there is no other way to compute them.

Most statements are such, so these are told apart before the rules are loaded.
"""

from __future__ import annotations

from mlir_sparse.encoding import TensorType
from mlir_sparse.notation import Access, Binary, BinaryOp, Expr, IndexVar, Reduce, ReduceOp
from mlir_sparse.spec import KernelSpec

__all__ = ["is_single_product"]


def is_single_product(spec: KernelSpec) -> bool:
    """Returns whether a statement of numbers sums one product of two tensors over variables of both, or is simpler.

    Args:
        spec: the statement.
    """
    value, bound = spec.explicit.value, frozenset[IndexVar]()
    if isinstance(value, Reduce):
        if value.op is not ReduceOp.SUM:
            return False
        bound, value = frozenset(value.indices), value.body
    found = _factors(value)
    if found is None or any(_is_special(kind) for kind in (*(kind for _, kind in spec.inputs), spec.output)):
        return False
    if len(found) == 1 or not bound:
        return True
    one, other = (frozenset(factor.subscripts) for factor in found)
    # A sum over a variable of one factor goes inside, and BLAS may take a product of two arrays.
    arrays = all(spec.type_of(factor.tensor).encoding is None for factor in found)
    return bound <= one & other and not (arrays and one - other and other - one)


def _factors(value: Expr) -> tuple[Access, ...] | None:
    """Returns the factors of a product of two accesses at most, by variables that are distinct; None for others."""
    product = (value.left, value.right) if isinstance(value, Binary) and value.op is BinaryOp.MUL else (value,)
    found = tuple(factor for factor in product if isinstance(factor, Access) and _is_plain(factor))
    return found if len(found) == len(product) else None


def _is_plain(access: Access) -> bool:
    variables = set(access.subscripts)
    return len(variables) == len(access.subscripts) > 0 and all(isinstance(one, IndexVar) for one in variables)


def _is_special(kind: TensorType) -> bool:
    return kind.dtype.is_truth or kind.dtype.is_storage
