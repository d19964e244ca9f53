"""The pass that says why a user's module has no kernels for a GPU, or calls of libraries where those should be."""

from __future__ import annotations

from collections.abc import Mapping

from mlir_sparse._mlir import ir
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.gpu.parallel_loops import kept_reasons
from mlir_sparse.loops.regions import operations_of, walk

__all__ = ["expect_kernels"]

_APART = "outer loops whose iterations write to elements of their own"
# Operations of the gpu dialect on matrices: each is a call of cuSPARSE or cuSPARSELt.
_LIBRARY = ("_spmat", "_dn_tensor", "gpu.spmv", "gpu.spmm", "gpu.spgemm", "gpu.sddmm", "_coo", "_csr", "_csc", "_bsr")


def expect_kernels(module: ir.Module, options: Mapping[str, str]) -> None:
    """Looks for a kernel in a module.

    Args:
        module: the module, unchanged.
        options: none.

    Raises:
        UnsupportedError: for a module without kernels, which says what became of its loops.
    """
    tops = operations_of(module.body)
    if any(op.name == "gpu.func" for top in tops if top.name == "gpu.module" for op in walk(top)):
        return
    reasons = kept_reasons(module)
    names = {op.name for top in tops for op in walk(top)}
    calls = sorted(name for name in names if name.startswith("gpu.") and any(part in name for part in _LIBRARY))
    if calls:
        reasons.append(f"calls of cuSPARSE, which has kernels of its own ({', '.join(calls)})")
    found = "; ".join(reasons) or "no loop of the sparsifier's that only computes values"
    raise UnsupportedError(
        f"expected {_APART}, but got {found}: write such a loop, a gpu.func of your own, or use --cpu"
    )
