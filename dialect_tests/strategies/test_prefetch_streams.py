"""Loops that ask for entries far ahead: what they compute, and which do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.crossing import crossed
from dialect_tests.strategy_remarks import SPMM, SPMV, TRANSPOSED, said_by
from mlir_sparse.machine import MachineProfile, shipped_profiles
from mlir_sparse.pipeline import machine_vectors


@crossed(
    entries=[0, 1, 7, 8, 9, 800], stored=["CSR", "ELL", "COO", "DCSR"], dtype=[np.float64, np.int32, np.complex128]
)
def test_all_numbers_of_entries(stored: str, dtype: Any, entries: int) -> None:
    """Requests go beyond the last entry, and chunks end where entries do."""
    rng = np.random.default_rng(entries)
    full = np.zeros((60, 40), dtype)
    full.flat[rng.choice(full.size, entries, replace=False)] = rng.integers(1, 9, entries)
    x = rng.integers(1, 9, 40).astype(dtype)
    A = ms.tensor(full, "CSR").convert(stored)
    np.testing.assert_array_equal(ms.evaluate(SPMV, A=A, x=x), full @ x)


@pytest.mark.parametrize(("stored", "dtype"), [("ELL", "f64"), ("COO", "c64"), ("ELL", "c64"), ("ELL", "c128")])
def test_it_says_which_entries_are_asked_for(stored: str, dtype: str) -> None:
    assert said_by("prefetch-streams", SPMV, dtype=dtype, A=stored, x="") == ["applied to j"]


def test_it_says_why_entries_are_not_asked_for() -> None:
    rows = "j: its rows lie anywhere in memory: entries of another loop name them"
    assert said_by("prefetch-streams", SPMM, "CSR", A="CSR", B="CSR") == [rows]
    long = "k: more than 40 operations are done in an iteration: it does not wait for entries"
    assert said_by("prefetch-streams", SPMM, A="CSR", B="") == [long]
    assert said_by("prefetch-streams", SPMV, A="DIA", x="") == ["A.l0: vectors of dense rows take most of the time"]


@pytest.mark.parametrize("profile", shipped_profiles().values(), ids=lambda one: one.name)
def test_a_sum_of_all_entries_asks_where_the_processor_does_not_foresee_them(
    profile: MachineProfile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_vectors, "machine_profile", lambda: profile)
    asks = bool(profile.number("alone"))
    assert bool(said_by("prefetch-streams", "s = A(i,j)", A="CSR")) == asks
    assert said_by("prefetch-streams", "y(j) = A(i,j)", dtype="c128", A="CSR")
    A = ms.tensor(np.arange(1.0, 1201).reshape(30, 40), "CSR")
    kernel = ms.compile("s = A(i,j)", A=A)
    assert kernel(A) == 1200 * 1201 / 2
    assert ("prefetch" in kernel.ir("llvmir")) == asks


def test_it_says_nothing_of_vectors_of_entries_which_ask_themselves() -> None:
    assert said_by("prefetch-streams", SPMV, A="CSR", x="") == []
    assert said_by("prefetch-streams", SPMV, A="COO", x="") == []
    assert said_by("prefetch-streams", TRANSPOSED, A="CSR", x="") == []


def test_loops_around_chunks_are_looked_at_anew() -> None:
    """Operations inside an outer loop over entries are gone where an inner one was cut before."""
    random = np.random.default_rng(0)
    a, b = (random.integers(-2, 3, (6, 6)).astype(np.int32) for _ in range(2))
    mask = (random.random((6, 6)) < 0.4).astype(np.int32)
    A = ms.tensor(a, "(i, j) -> (j - i : compressed, i : range)")
    blocks = "i floordiv 2 : dense, j floordiv 2 : compressed, i mod 2 : dense, j mod 2 : dense"
    B, M = ms.tensor(b, f"(i, j) -> ({blocks})"), ms.tensor(mask, "DCSR")
    found = ms.evaluate("C(i,j) = A(i,k) * B(k,j) if M(i,j)", A=A, B=B, M=M, out="COO")
    np.testing.assert_array_equal(found.to_numpy(), (a @ b) * mask)
