"""PyTorch on the CPU."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse
import torch

from benchmarks.libraries import IN_PLACE, Call, Calls, Prepare
from benchmarks.programs import WORKLOADS

__all__ = ["CALLS", "plain", "set_threads"]

warnings.filterwarnings("ignore", message=".*beta state.*")
set_threads = torch.set_num_threads


def plain(result: Any) -> Any:
    if not isinstance(result, torch.Tensor):
        return result
    shape = tuple(result.shape)
    match result.layout:
        case torch.sparse_coo:
            found = result.coalesce()
            return scipy.sparse.coo_array((found.values().numpy(), tuple(found.indices().numpy())), shape=shape)
        case torch.sparse_csr:
            starts, columns = result.crow_indices().numpy(), result.col_indices().numpy()
            return scipy.sparse.csr_array((result.values().numpy(), columns, starts), shape=shape)
        case torch.sparse_csc:
            starts, rows = result.ccol_indices().numpy(), result.row_indices().numpy()
            return scipy.sparse.csc_array((result.values().numpy(), rows, starts), shape=shape)
        case torch.sparse_bsr:
            starts, columns = result.crow_indices().numpy(), result.col_indices().numpy()
            return scipy.sparse.bsr_array((result.values().numpy(), columns, starts), shape=shape)
    return (result.float() if result.dtype == torch.bfloat16 else result).numpy()


def _array(values: Any) -> Any:
    """Returns an array over the same memory; NumPy has no bf16 of its own."""
    if values.dtype.name == "bfloat16":
        return torch.from_numpy(values.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(values)


def _taken(operand: Any) -> Any:
    """Returns an operand over the same memory, where coordinates may have 32 bits."""
    if isinstance(operand, np.ndarray):
        return _array(operand)
    if not scipy.sparse.issparse(operand):
        return operand
    values, shape = _array(operand.data), operand.shape
    if operand.format == "coo":
        indices = torch.from_numpy(np.stack((operand.row, operand.col)).astype(np.int64))
        return torch.sparse_coo_tensor(indices, values, shape, is_coalesced=True)
    made: Mapping[str, Callable[..., Any]] = {
        "csr": torch.sparse_csr_tensor,
        "csc": torch.sparse_csc_tensor,
        "bsr": torch.sparse_bsr_tensor,
    }
    starts, inner = torch.from_numpy(operand.indptr), torch.from_numpy(operand.indices)
    return made[operand.format](starts, inner, values, shape)


def _all(call: Callable[..., Any]) -> Prepare:
    def prepare(o: Mapping[str, Any]) -> Call:
        operands = {name: _taken(operand) for name, operand in o.items()}
        return lambda: call(**operands)

    return prepare


def _product(o: Mapping[str, Any]) -> Calls:
    """Multiplies by a dense vector or matrix, in place."""
    A, X = map(_taken, o.values())
    Y = torch.empty(A.shape[0], *X.shape[1:], dtype=X.dtype)
    multiply = torch.mv if X.ndim == 1 else torch.mm
    return {IN_PLACE: lambda: multiply(A, X, out=Y)}


def _coo_product(o: Mapping[str, Any]) -> Call:
    A, x = map(_taken, o.values())
    return lambda: torch.mv(A, x)


def _residual(b: Any, A: Any, x: Any) -> Any:
    return torch.addmv(b, A, x, alpha=-1)


def _mattransmul(alpha: Any, A: Any, x: Any, beta: Any, z: Any) -> Any:
    return torch.addmv(z, A.t(), x, beta=float(beta), alpha=float(alpha))


def _sddmm(o: Mapping[str, Any]) -> Call:
    """Samples the product at the structure, then multiplies the values."""
    S, X, Y = map(_taken, o.values())

    def call() -> Any:
        at_entries = torch.sparse.sampled_addmm(S, X, Y.t(), beta=0.0)
        at_entries.values().mul_(S.values())
        return at_entries

    return call


def _sum(**operands: Any) -> Any:
    first, *others = operands.values()
    for other in others:
        first = first + other
    return first


def _converted(call: Callable[[Any], Any]) -> Prepare:
    def prepare(o: Mapping[str, Any]) -> Call:
        A = _taken(o["A"])
        return lambda: call(A)

    return prepare


CALLS: Mapping[str, Prepare] = {
    **{name: _all(workload.torch) for name, workload in WORKLOADS.items() if workload.torch is not None},
    "spmv-csr": _product,
    "spmv-coo": _coo_product,
    "spmv-bsr": _product,
    "residual": _all(_residual),
    "total-sum": _all(lambda A: A.values().sum()),
    "mattransmul-csr": _all(_mattransmul),
    "mattransmul-csc": _all(_mattransmul),
    "spmm": _product,
    "sddmm": _sddmm,
    "spgemm": _all(lambda A, B: torch.mm(A, B)),
    "add": _all(_sum),
    "add-three": _all(_sum),
    "coo-to-csr": _converted(lambda A: A.to_sparse_csr()),
    "coo-to-csc": _converted(lambda A: A.to_sparse_csc()),
    "to-csc": _converted(lambda A: A.to_sparse_csc()),
    "to-coo": _converted(lambda A: A.to_sparse_coo()),
    "to-bsr": _converted(lambda A: A.to_sparse_bsr((4, 4))),
}
