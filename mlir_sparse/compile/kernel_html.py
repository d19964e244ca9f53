"""Kernels as HTML for notebooks: what they compute, for which types, and how, which a click shows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import SparseError
from mlir_sparse.text.html_table import html_folded, html_rows

if TYPE_CHECKING:  # compiled_kernel imports this module
    from mlir_sparse.compile.compiled_kernel import CompiledKernel

__all__ = ["kernel_html"]


def kernel_html(kernel: CompiledKernel, text: str, operands: Iterable[tuple[str, Any]]) -> str:
    """Returns a table of a kernel's statement and types, above its plan and its account of itself.

    Args:
        kernel: the kernel.
        text: what it computes.
        operands: its operands, by name, with their types.
    """
    rows = [("computes", text), *((name, str(kind)) for name, kind in operands)]
    rows.append(("result", _of(lambda: _types(kernel.output))))
    plan = html_folded("plan", _of(lambda: kernel.ir("plan")))
    told = html_folded("explain()", _of(kernel.explain))
    public = next(one.__name__ for one in type(kernel).__mro__ if not one.__name__.startswith("_"))
    return html_rows(public, rows, below=plan + told)


def _types(output: TensorType | tuple[TensorType, ...]) -> str:
    return ", ".join(map(str, output)) if isinstance(output, tuple) else str(output)


def _of(text: Any) -> str:
    """Returns what a kernel says of itself, or why it does not: a cell that ends in it is not to fail."""
    try:
        found: str = text()
    except SparseError as error:
        return str(error)
    return found
