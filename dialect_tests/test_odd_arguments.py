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
KERNEL = ms.compile(SPMV, A=A, x=x)
TRACE = cache(KERNEL.passes)
ODD: tuple[Any, ...] = (
    *(None, "", "x", "λ", "\ud800", "a\0b", b"y", SPMV, object(), len, type, ms, datetime.datetime(2020, 1, 1)),
    *(-1, 0, True, 1.5, 2**70, -(2**70), float("nan"), float("inf"), 1j, np.float32(2), Ellipsis, slice(None)),
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
