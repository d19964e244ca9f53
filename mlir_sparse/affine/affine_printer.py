"""Affine maps to text."""

from __future__ import annotations

from collections.abc import Sequence

from mlir_sparse.affine.affine_expr import AffineExpr

__all__ = ["print_map"]


def print_map(
    num_dims: int,
    num_symbols: int,
    results: Sequence[AffineExpr],
    *,
    dim_names: Sequence[str] = (),
    symbol_names: Sequence[str] = (),
) -> str:
    """Returns a map as MLIR prints one, with the names given instead of `d0` and `s0`.

    >>> from mlir_sparse.affine.affine_expr import Dim
    >>> print_map(2, 0, (Dim(1), Dim(0)), dim_names=("i", "j"))
    '(i, j) -> (j, i)'
    """
    dims = ", ".join(dim_names or (f"d{d}" for d in range(num_dims)))
    symbols = ", ".join(symbol_names or (f"s{s}" for s in range(num_symbols)))
    bracket = f"[{symbols}]" if num_symbols else ""
    body = ", ".join(r.to_text(dim_names, symbol_names) for r in results)
    return f"({dims}){bracket} -> ({body})"
