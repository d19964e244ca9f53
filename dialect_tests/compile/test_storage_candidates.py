"""Which storage tuning tries: what matrices of known structure suggest, and what is asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse.compile.tuning.schedule_candidates import storage_name
from mlir_sparse.compile.tuning.storage_candidates import combinations, formats_text, storage_for


def names(tensor: ms.SparseTensor) -> list[str]:
    return [storage_name(encoding) for encoding in storage_for(tensor)]


def arrow(n: int) -> Any:
    """Returns a matrix with a full row, a full column and a diagonal."""
    matrix = np.eye(n)
    matrix[0] = matrix[:, 0] = 1
    return matrix


RNG = np.random.default_rng(5)
BLOCKS = np.kron(np.diag(np.ones(40)), np.ones((4, 4)))


@pytest.mark.parametrize(
    ("matrix", "suggested"),
    [
        (np.eye(50), ["CSR", "CSC", "COO", "ELL", "DIA"]),
        (arrow(50), ["CSR", "CSC", "COO"]),
        (BLOCKS, ["CSR", "CSC", "COO", "ELL", "DIA", "BSR(2, 2)", "BSR(4, 4)"]),
        (np.ones((6, 6)), ["CSR", "CSC", "COO", "ELL", "DIA", "BSR(2, 2)", "dense"]),
        (np.eye(50) * (np.arange(50) % 7 == 0), ["CSR", "CSC", "COO", "DCSR"]),
        (np.zeros((3, 4)), ["CSR", "CSC", "COO"]),
    ],
)
def test_structure_suggests_storage(matrix: Any, suggested: list[str]) -> None:
    found = names(ms.tensor(matrix, "CSR"))
    assert [name for name in found if name not in ("ELL", "DIA") or name in suggested] == suggested


def test_vectors_and_tensors_of_three_dimensions() -> None:
    assert names(ms.tensor(np.eye(1, 40)[0])) == ["SparseVector"]
    found = storage_for(ms.tensor(np.zeros((3, 4, 5))))
    orders = [encoding.level_order for encoding in found if encoding is not None and encoding.preset != "COO"]
    assert len(set(orders)) == 6


def test_what_is_tried_is_changed_one_operand_at_a_time_first() -> None:
    values = {"A": ms.tensor(np.eye(9)), "B": ms.tensor(np.eye(9), "CSC"), "x": np.ones(9)}
    asked = {"A": ["COO"], "B": ["CSR", "CSC"], "x": ["dense"]}
    found = [{name: storage_name(e) for name, e in one} for one in combinations(values, asked)]
    assert found == [{"B": "CSR"}, {"A": "COO"}, {"A": "COO", "B": "CSR"}]
    assert list(combinations(values, False)) == []
    every = [name for one in combinations(values, ["DCSR"]) for name, _ in one]
    assert set(every) == {"A", "B"}  # of all sparse operands


def test_questions_are_told_apart() -> None:
    asked = [False, True, ["CSR"], ["CSR", "COO"], {"A": ["CSR"]}, {"B": ["CSR"]}]
    assert len({formats_text(one) for one in asked}) == len(asked)
    assert formats_text(False) == ""


def test_errors_of_questions() -> None:
    values = {"A": ms.tensor(np.eye(2))}
    with pytest.raises(ms.UnknownTensorError, match="expected formats= for operands A, but got Z"):
        list(combinations(values, {"Z": ["CSR"]}))
    with pytest.raises(ms.OperandError, match="expected formats=True, a list of encodings"):
        list(combinations(values, "CSR"))
    with pytest.raises(ms.UnknownPresetError):
        list(combinations(values, ["CRS2"]))
