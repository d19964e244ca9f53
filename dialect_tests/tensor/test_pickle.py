"""Tensors and kernels cross process borders, and copies share nothing that can be written."""

from __future__ import annotations

import copy
import pickle
import subprocess
from pathlib import Path

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.processes import python_of_forks

DENSE = np.where(np.arange(64).reshape(8, 8) % 3 == 0, np.arange(64.0).reshape(8, 8), 0)


@pytest.mark.parametrize("storage", ["CSR", "CSC", "COO", "SoA-COO", "BSR(2, 4)", "DIA", "SlotELL", "HashedRows"])
def test_a_pickled_tensor_is_the_tensor(storage: str) -> None:
    tensor = ms.tensor(DENSE, storage)
    x = np.arange(8.0)
    before = ms.evaluate("y(i) = A(i,j) * x(j)", A=tensor, x=x)
    back = pickle.loads(pickle.dumps(tensor))
    assert (back.encoding, back.shape, back.dtype, back.nse) == (tensor.encoding, (8, 8), tensor.dtype, tensor.nse)
    for ours, theirs in zip(tensor.storage.buffers(), back.storage.buffers(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(ms.evaluate("y(i) = A(i,j) * x(j)", A=back, x=x), before)


def test_a_pickled_slice_and_a_batch_are_what_they_were() -> None:
    part = ms.tensor(DENSE).slice(slice(1, 8, 2), slice(2, 7))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(part)).to_numpy(), DENSE[1:8:2, 2:7])
    batched = ms.tensor(np.stack([DENSE, 2 * DENSE]), "BatchedCSR")
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(batched)).to_numpy(), batched.to_numpy())


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_has_values_of_its_own(copied: object) -> None:
    assert callable(copied)
    tensor = ms.tensor(DENSE)
    other = copied(tensor)
    other.storage.values[:] = 7.0
    np.testing.assert_array_equal(tensor.to_numpy(), DENSE)
    assert other.encoding == tensor.encoding


def test_another_process_reads_a_pickled_tensor(tmp_path: Path) -> None:
    file = tmp_path / "tensor.pickle"
    file.write_bytes(pickle.dumps(ms.tensor(DENSE, "DCSR")))
    code = f"import pickle; print(pickle.load(open({str(file)!r}, 'rb')).to_numpy().sum())"
    ran = subprocess.run([python_of_forks(), "-c", code], capture_output=True, text=True, check=True)
    assert float(ran.stdout) == DENSE.sum()


@pytest.mark.parametrize("schedule", [None, ms.Schedule(order=("j", "i"))])
def test_a_pickled_kernel_computes_the_same(schedule: ms.Schedule | None) -> None:
    further = ms.operator(lambda a, b: ms.where(abs(a) > abs(b), a, b), left="keep", right="keep")
    A, x = ms.tensor(DENSE, "DCSR"), np.arange(8.0)
    kernel = ms.compile("y(i) = f(A(i,j), A(i,j)) * x(j)", f=further, A=A, x=x, schedule=schedule)
    back = pickle.loads(pickle.dumps(kernel))
    assert (back.spec, back.schedule) == (kernel.spec, kernel.schedule)
    np.testing.assert_allclose(back(A, x), DENSE @ x)
