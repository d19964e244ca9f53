"""Assemble and compute apart: one structure, values as often as they are wanted, and no wrong result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.crossing import crossed

Array = np.ndarray[Any, Any]

KERNELS = (
    "C(i,j) = A(i,j) + B(i,j)",
    "C(i,j) = A(i,j) * B(i,j)",
    "C(i,j) = A(i,k) * B(k,j)",
    "C(i,j) = A(i,j) * (A(i,k) * B(k,j))",
    "C(i,j) = A(i,j) + B(i,j) - A(i,k) * B(k,j) + B(j,i)",
)
RESULTS = ("CSR", "CSC", "DCSR", "DCSC", "COO", "BSR(2, 2)", "DIA", "(i, j) -> (i : dense, j : dense)")


def random_tensor(seed: int, stored: str = "CSR") -> ms.SparseTensor:
    random = np.random.default_rng(seed)
    return ms.tensor(random.random((12, 12)) * (random.random((12, 12)) < 0.2), stored)


def other_values(tensor: ms.SparseTensor, seed: int) -> ms.SparseTensor:
    """Returns a tensor of the same structure; foreign to the kernel, which remembers nothing of it."""
    storage, values = tensor.storage, np.random.default_rng(seed).random(tensor.storage.values.shape)
    return ms.SparseTensor.from_levels(tensor.encoding, tensor.shape, storage.positions, storage.coordinates, values)


def one_entry_moved(tensor: ms.SparseTensor) -> ms.SparseTensor:
    """Returns a tensor with as many entries, one of them elsewhere."""
    dense = tensor.to_numpy()
    entries, zeros = np.argwhere(dense), np.argwhere(dense == 0)
    dense[tuple(zeros[7])], dense[tuple(entries[5])] = dense[tuple(entries[5])], 0
    return ms.tensor(dense, tensor.encoding)


def _made(out: str) -> str:
    """Returns how loops make a result: row by row, entry by entry, or by a conversion."""
    return {"CSR": "rows", "CSC": "rows", "DCSR": "rows", "DCSC": "rows", "COO": "entries"}.get(out, "converted")


@crossed(classes={"out": _made, "text": lambda text: "k" in text}, text=KERNELS, out=RESULTS)
def test_values_are_computed_into_the_structure(text: str, out: str) -> None:
    a, b = random_tensor(1), random_tensor(2)
    kernel = ms.compile(text, A=a, B=b, out=out)
    c = kernel.assemble(a, b)
    assert not c.storage.values.any()
    structure = [buffer.copy() for buffer in c.storage.buffers()[:-1]]
    values = c.storage.values
    for seed in (3, 4):
        operands = other_values(a, seed), other_values(b, seed + 1)
        expected = kernel(*operands)
        for target in (c, other_values(expected, 9)) if out != "DIA" else (c,):
            assert kernel.compute(*operands, out=target) is target
            np.testing.assert_array_equal(target.to_numpy(), expected.to_numpy())
    assert c.storage.values is values
    for before, after in zip(structure, c.storage.buffers(), strict=False):
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("out", ["CSR", "DCSR", "COO", "CSC"])
@pytest.mark.parametrize("text", KERNELS[1:4])
def test_another_structure_is_an_error(text: str, out: str) -> None:
    a, b = random_tensor(1, "DCSR"), random_tensor(2)
    kernel = ms.compile(text, A=a, B=b, out=out)
    c = kernel.assemble(a, b)
    for wrong in (
        one_entry_moved(a),
        ms.tensor(np.zeros((12, 12)), a.encoding),
        ms.tensor(np.ones((12, 12)), a.encoding),
    ):
        expected = kernel(wrong, b)
        if expected.nse == c.nse and all(
            np.array_equal(x, y) for x, y in zip(expected.storage.buffers()[:-1], c.storage.buffers()[:-1], strict=True)
        ):
            continue
        with pytest.raises(ms.StorageError, match="assemble it from operands of the same structure"):
            kernel.compute(wrong, b, out=c)
    # The structure is unharmed, and so is what the kernel knows of it.
    np.testing.assert_array_equal(kernel.compute(a, b, out=c).to_numpy(), kernel(a, b).to_numpy())


def test_entries_in_a_row_that_loops_leave_out_are_seen() -> None:
    """Row 1 has no entries; a structure that has row 2's there has as many, in the same columns."""
    a = ms.tensor(np.array([[1.0, 0], [0, 0], [0, 1]]), "DCSR")
    moved = ms.tensor(np.array([[1.0, 0], [0, 1], [0, 0]]), "CSR")
    kernel = ms.compile("C(i,j) = 2 * A(i,j)", A=a, out="CSR")
    with pytest.raises(ms.StorageError, match="expected another structure"):
        kernel.compute(a, out=moved)


def test_a_structure_may_be_that_of_an_operand_itself() -> None:
    a = random_tensor(1)
    kernel = ms.compile("C(i,j) = A(i,j) * A(i,j)", A=a)
    expected = a.to_numpy() ** 2
    kernel.compute(a, out=a)
    np.testing.assert_array_equal(a.to_numpy(), expected)


def test_dense_results_are_zeros_and_written_in_place() -> None:
    a = random_tensor(1)
    spmv = ms.compile("y(i) = A(i,j) * x(j)", A=a, x=np.ones(12))
    y = spmv.assemble(a, np.ones(12))
    assert y.shape == (12,)
    assert not y.any()
    assert spmv.compute(a, np.ones(12), out=y) is y
    np.testing.assert_allclose(y, a.to_numpy() @ np.ones(12), rtol=1e-12)


def test_zeros_that_values_make_are_entries_of_a_dense_computation() -> None:
    """Results by way of a dense array keep what is not zero: the structure may hold more, never less."""
    x = np.array([1.0, 2.0, 0.0])
    kernel = ms.compile("y(i) = x(i) + x(i)", x=x, out="(i) -> (i : compressed)")
    y = kernel.assemble(x)
    assert y.nse == 2
    np.testing.assert_array_equal(kernel.compute(np.array([0.0, 3.0, 0.0]), out=y).to_numpy(), [0, 6, 0])
    with pytest.raises(ms.StorageError, match="all 1 places that have a value"):
        kernel.compute(np.array([0.0, 0.0, 3.0]), out=y)


def test_what_is_no_structure_of_the_result_is_refused() -> None:
    a = random_tensor(1)
    kernel = ms.compile("C(i,j) = A(i,j) * A(i,j)", A=a, out="CSR")
    with pytest.raises(ms.OperandError, match="expected a SparseTensor for out, but got ndarray"):
        kernel.compute(a, out=np.zeros((12, 12)))
    with pytest.raises(
        ms.OperandError, match=r"expected out stored as .*, but got .*j : dense, i : compressed.*: assemble makes one"
    ):
        kernel.compute(a, out=a.convert("CSC"))
    with pytest.raises(ms.OperandError, match="posWidth = 64"):
        kernel.compute(a, out=a.convert(ms.encoding("CSR", pos_width=64, crd_width=64)))
    with pytest.raises(ms.DTypeError, match="expected out of dtype float64, but got float32"):
        kernel.compute(a, out=a.astype(np.float32))
    with pytest.raises(ms.ExtentError):
        kernel.compute(a, out=ms.tensor(np.eye(13)))
    frozen = other_values(a, 1)
    frozen.storage.values.flags.writeable = False
    with pytest.raises(ms.OperandError, match="read-only"):
        kernel.compute(a, out=frozen)


def test_loaded_kernels_assemble_and_compute(tmp_path: Path) -> None:
    a, b = random_tensor(1), random_tensor(2)
    kernel = ms.compile(KERNELS[2], A=a, B=b, out="CSC")
    kernel(a, b)
    kernel.save(tmp_path / "k.msk")
    loaded = ms.load(tmp_path / "k.msk")
    c = loaded.assemble(a, b)
    again = other_values(a, 5), other_values(b, 6)
    for known in (c, kernel.assemble(a, b)):
        np.testing.assert_array_equal(loaded.compute(*again, out=known).to_numpy(), kernel(*again).to_numpy())
