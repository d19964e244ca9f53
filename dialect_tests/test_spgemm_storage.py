"""The product of sparse matrices, from every pair of storages, and from each into every storage."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import mlir_sparse as ms
from dialect_tests.crossing import crossed
from dialect_tests.kernel_cases import check_storage

OPERANDS = ("CSR", "CSC", "DCSR", "COO", "BSR(2, 3)")
OUTS = (*OPERANDS, "dense")


@pytest.fixture(scope="module")
def matrices() -> tuple[sp.csr_array, sp.csr_array]:
    """Returns factors with empty rows and columns, of which blocks divide no extent."""
    a = sp.random_array((17, 13), density=0.2, rng=np.random.default_rng(1), format="lil")
    b = sp.random_array((13, 19), density=0.2, rng=np.random.default_rng(2), format="lil")
    a[3, :] = b[:, 4] = b[5, :] = 0
    return a.tocsr(), b.tocsr()


@crossed(first=OPERANDS, second=OPERANDS, out=OUTS)
def test_products(matrices: tuple[sp.csr_array, sp.csr_array], first: str, second: str, out: str) -> None:
    a, b = matrices
    stored = {"A": ms.tensor(a, first), "B": ms.tensor(b, second)}
    result = ms.evaluate("C(i,j) = A(i,k) * B(k,j)", tensors=stored, out=out)
    if out == "dense":
        assert isinstance(result, np.ndarray)
    else:
        check_storage(result, out)
        result = result.to_numpy()
    np.testing.assert_allclose(result, (a @ b).toarray(), rtol=1e-12)
