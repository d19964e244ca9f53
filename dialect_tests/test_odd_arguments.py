"""Nothing but SparseErrors leaves a public call, whatever it is given in whichever place."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms

A, x = ms.tensor(np.eye(3), "CSR"), np.ones(3)
SPMV = "y(i) = A(i,j) * x(j)"
POSITIONS = ms.tensor([0, 2, 1])
KERNEL = ms.compile(SPMV, A=A, x=x)
TRACE = cache(KERNEL.passes)
ODD: tuple[Any, ...] = (
    *(None, "", "x", "λ", "\ud800", "a\0b", b"y", SPMV, object(), len, type, ms, datetime.datetime(2020, 1, 1)),
    *(-1, 0, True, 1.5, 2**40, 2**70, -(2**70), float("nan"), float("inf"), 1j, np.float32(2), Ellipsis, slice(None)),
    *((), [], {}, set(), [None], ["a"], [[]], [1, [2, 3]], {1: 2}, range(3), ("a", "b"), ("3", "3")),
    *((1, 2, 3, 4), (-1, 3), (2**62, 2**62), (3.5, 2), memoryview(b"abc"), A),
    *(np.array([]), np.array("x"), np.array([object()]), np.zeros((2, 2, 2))),
)
CALLS: dict[str, Callable[[Any], Any]] = {
    "parse": ms.parse,
    "encoding": ms.encoding,
    "encoding rank": lambda v: ms.encoding("CSR", rank=v),
    "tensor": ms.tensor,
    "tensor encoding": lambda v: ms.tensor(np.eye(3), v),
    "tensor dtype": lambda v: ms.tensor(np.eye(3), dtype=v),
    "tensor shape": lambda v: ms.tensor((np.array([[0], [1]]), np.ones(1)), "COO", shape=v),
    "tensor block": lambda v: ms.tensor(np.eye(4), "BSR", block=v),
    "tensor coordinates": lambda v: ms.tensor((v, np.ones(1)), "COO", shape=(3, 3)),
    "tensor values": lambda v: ms.tensor((np.array([[0], [1]]), v), "COO", shape=(3, 3)),
    "from_levels buffers": lambda v: ms.SparseTensor.from_levels("CSR", (3, 3), [None, v], [None, v], v),
    "from_levels lists": lambda v: ms.SparseTensor.from_levels("CSR", (3, 3), v, v, v),
    "from_levels shape": lambda v: ms.SparseTensor.from_levels("CSR", v, [None, [0, 1, 1, 1]], [None, [0]], [1.0]),
    "convert": A.convert,
    "astype": A.astype,
    "to": A.to,
    "index": lambda v: A[v],
    "compile text": lambda v: ms.compile(v, A=A, x=x),
    "compile type": lambda v: ms.compile(SPMV, A=v, x=x),
    "compile out": lambda v: ms.compile(SPMV, A=A, x=x, out=v),
    "compile tensors": lambda v: ms.compile(SPMV, tensors=v),
    "semiring=": lambda v: ms.compile(SPMV, A=A, x=x, semiring=v),
    "schedule=": lambda v: ms.compile(SPMV, A=A, x=x, schedule=v),
    "evaluate operand": lambda v: ms.evaluate(SPMV, A=A, x=v),
    "evaluate out": lambda v: ms.evaluate(SPMV, A=A, x=x, out=v),
    "kernel operand": lambda v: KERNEL(A, v),
    "kernel out": lambda v: KERNEL(A, x, out=v),
    "kernel ir": KERNEL.ir,
    "kernel within": lambda v: KERNEL.within(v, False),
    "compute": lambda v: KERNEL.compute(A, x, out=v),
    "einsum": lambda v: ms.einsum(v, A, x),
    "einsum operand": lambda v: ms.einsum("ij,j->i", A, v),
    "einsum optimize": lambda v: ms.einsum("ij,j,j->i", A, x, x, optimize=v),
    "einsum dtype": lambda v: ms.einsum("ij,j->i", A, x, dtype=v),
    "einsum sublist": lambda v: ms.einsum(A, v, x, [1]),
    "semiring": ms.semiring,
    "monoid": lambda v: ms.monoid(lambda a, b: a + b, identity=v),
    "operator": ms.operator,
    "operator absent": lambda v: ms.operator(lambda a: a + 1, absent=v),
    "indices": ms.indices,
    "tensors": ms.tensors,
    "IndexVar": ms.IndexVar,
    "TensorVar": ms.TensorVar,
    "to_device": ms.to_device,
    "read": ms.read,
    "load": ms.load,
    "write tensor": lambda v: ms.write("/no/such/folder/x.tns", v),
    "tune text": lambda v: ms.tune(v, A, x, budget=1e-9),
    "tune budget": lambda v: ms.tune(SPMV, A, x, budget=-1 if isinstance(v, int) else v),
    "Schedule": lambda v: ms.Schedule(order=v),
    "Schedule.parse": ms.Schedule.parse,
    "DType.of": ms.DType.of,
    "TensorType.parse": ms.TensorType.parse,
    "DimSlice": lambda v: ms.DimSlice(v, v, v),
    "SparseTensor": ms.SparseTensor,
    "DeviceTensor": lambda v: ms.DeviceTensor(v, v),
    "array without a copy": lambda _: np.array(A, copy=False),
    "sum axis": lambda v: A.sum(axis=v),
    "reshape": lambda v: A.reshape(v),
    "transpose": lambda v: A.transpose(v),
    "diagonal": lambda v: A.diagonal(v),
    "matmul": lambda v: A @ v,
    "np.diff n": lambda v: np.diff(A, v),
    "np.array_split": lambda v: np.array_split(A, v),
    "np.tile": lambda v: np.tile(A, v),
    "np.delete": lambda v: np.delete(A, v),
    "np.repeat": lambda v: np.repeat(A, v),
    "np.roll": lambda v: np.roll(A, v),
    "np.take": lambda v: np.take(A, v),
    "np.tensordot": lambda v: np.tensordot(A, A, v),
    "np.bincount minlength": lambda v: np.bincount(POSITIONS, minlength=v),
    "np.bincount weights": lambda v: np.bincount(POSITIONS, v),
    "np.histogram": lambda v: np.histogram(A, v),
    "np.digitize": lambda v: np.digitize(A, v),
    "np.searchsorted sorter": lambda v: np.searchsorted(x, A, sorter=v),
    "np.quantile": lambda v: np.quantile(A, v),
    "np.partition": lambda v: np.partition(A, v),
    "np.gradient": lambda v: np.gradient(A, v),
    "np.trapezoid": lambda v: np.trapezoid(A, v),
    "np.cov": lambda v: np.cov(A, v),
    "np.select": lambda v: np.select([A > 0], [A], v),
    "np.choose": lambda v: np.choose((A > 0).astype(int), [x, v]),
    "np.isclose": lambda v: np.isclose(A, A, v),
    "np.kron": lambda v: np.kron(A, v),
    "np.cross": lambda v: np.cross(A, v),
    "np.ediff1d": lambda v: np.ediff1d(A, v),
    "np.trim_zeros": lambda v: np.trim_zeros(A, v),
    "to_numpy fill_value": lambda v: A.to_numpy(fill_value=v),
    "with_values": A.with_values,
    "rmatvec": A.rmatvec,
    "spy pixels": lambda v: A.spy(pixels=v),
    "cg rtol": lambda v: ms.linalg.cg(A, x, rtol=v),
    "eye": ms.eye,
    "eye k": lambda v: ms.eye(3, k=v),
    "zeros": ms.zeros,
    "ones": ms.ones,
    "full value": lambda v: ms.full((3,), v),
    "arange": ms.arange,
    "arange step": lambda v: ms.arange(0, 3, v),
    "linspace": lambda v: ms.linspace(v, 1, 3),
    "linspace number": lambda v: ms.linspace(0, 1, v),
    "diags": lambda v: ms.diags(v, 0),
    "diags offsets": lambda v: ms.diags([x], v),
    "random": lambda v: ms.random((3, 3), v),
    "random rng": lambda v: ms.random((3, 3), 0.5, rng=v),
    "block": ms.block,
    "kron": lambda v: ms.kron(A, v),
    "tril": lambda v: ms.tril(A, v),
    "triu": ms.triu,
    "from_coo": lambda v: ms.from_coo(v, [1.0]),
    "passes diff": lambda v: TRACE().diff(v),
}


@pytest.mark.parametrize("name", CALLS)
def test_only_sparse_errors(name: str) -> None:
    unnamed = []
    for value in ODD:
        if name == "tune budget" and isinstance(value, float) and value > 1:
            continue  # seconds
        try:
            CALLS[name](value)
        except (ms.SparseError, OSError):
            pass
        except Exception as error:
            unnamed.append(f"{value!r:.40}: {type(error).__name__}: {error}")
    assert not unnamed


@pytest.mark.parametrize("call", [ms.read, ms.load, KERNEL.save, lambda path: ms.write(path, A)])
@pytest.mark.parametrize("path", [0, 1, True, None, 2.5, "a\0b", object(), ["x.tns"]])
def test_paths(call: Callable[[Any], Any], path: object) -> None:
    """A number is no descriptor to read, write or close."""
    with pytest.raises(ms.OperandError, match="expected the path of a"):
        call(path)
