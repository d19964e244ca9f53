"""Sums inside of functions are made where a sparse factor has entries, if the product is read there alone."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import mlir_sparse as ms
from dialect_tests.statement_cases import matrix, rewritten, vector
from mlir_sparse.compile import Kernel

M, N, K = 2000, 3000, 16
FACTS = {
    "Seen": matrix(M, N, 10),
    "Also": matrix(M, N, 5),
    "Turned": matrix(N, M, 10),
    "U": vector(M, K),
    "V": vector(N, K),
    "a": vector(M),
}
PRODUCT = "sum(k : U(i,k) * V(j,k))"
MASKED = "sum(k : U(i,k) * V(j,k)) if Seen(i,j)"


def parts_of(text: str) -> list[str]:
    facts = {name: one for name, one in FACTS.items() if f"{name}(" in text}
    found = rewritten(text, facts, always=True)
    assert found is not None
    return [str(part).split(" = ", 1)[1] for part in found.parts]


@pytest.mark.parametrize(
    "text",
    [
        f"loss = sum(i, j : Seen(i,j) * log({PRODUCT}))",
        f"loss = sum(i, j : Seen(i,j) * (a(i) - {PRODUCT}) ** 2)",
        f"loss = sum(i, j : 2 * abs({PRODUCT}) * a(i) * Seen(i,j))",
        f"C(i,j) = Seen(i,j) * exp({PRODUCT})",
        f"C(i,j) = -Seen(i,j) / (1 + exp(-{PRODUCT}))",
        f"y(i) = sum(j : Seen(i,j) * log(Seen(i,j) / {PRODUCT}))",
    ],
)
def test_sums_have_the_entries_of_a_sparse_factor(text: str) -> None:
    assert parts_of(text) == [MASKED]


def test_a_poisson_loss_sums_factors_apart() -> None:
    parts = parts_of(f"loss = sum(i, j : {PRODUCT} - Seen(i,j) * log({PRODUCT}))")
    assert [part.replace("k.1", "k") for part in parts] == [MASKED, "sum(j : V(j,k))"]


@pytest.mark.parametrize(
    "text",
    [
        f"C(i,j) = Seen(i,j) + exp({PRODUCT})",
        f"C(i,j) = exp({PRODUCT}) / Seen(i,j)",
        f"C(i,j) = Seen(i,j) / {PRODUCT}",
        f"C(i,j) = a(i) * exp({PRODUCT})",
        f"C(i,j) = Turned(i,j) * exp({PRODUCT.replace('j,', 'l,').replace('k :', 'k, l :')})",
    ],
)
def test_others_are_made_everywhere(text: str) -> None:
    facts = {name: one for name, one in FACTS.items() if f"{name}(" in text}
    found = rewritten(text, facts, always=True)
    assert found is None or all(" if " not in str(part) for part in found.parts)


def test_masks_that_are_nearly_full_are_none() -> None:
    text = f"C(i,j) = Seen(i,j) * exp({PRODUCT})"
    found = rewritten(text, {**{name: FACTS[name] for name in "UV"}, "Seen": matrix(M, N, N / 2)}, always=True)
    assert found is None or all(" if " not in str(part) for part in found.parts)


@pytest.mark.parametrize("storage", ["BSR(2, 2)", "DIA"])
def test_padding_is_no_mask(storage: str) -> None:
    facts = {**{name: FACTS[name] for name in "UV"}, "Seen": matrix(M, N, 10, storage)}
    found = rewritten(f"C(i,j) = Seen(i,j) * exp({PRODUCT})", facts, always=True)
    assert found is None or all(" if " not in str(part) for part in found.parts)


STATEMENTS = {
    "logarithm": f"s = sum(i, j : Seen(i,j) * log({PRODUCT}))",
    "squares": f"s = sum(i, j : Also(i,j) * (Seen(i,j) - {PRODUCT}) ** 2)",
    "two masks": f"y(j) = sum(i : Also(i,j) * Seen(i,j) * exp({PRODUCT}))",
    "in both ways": f"s = sum(i, j : Seen(i,j) * log({PRODUCT}) + exp({PRODUCT}))",
    "turned": f"y(j) = sum(i : Turned(j,i) * abs({PRODUCT} - 1))",
    "quotient": f"C(i,j) = Seen(i,j) / (1 + exp(-{PRODUCT}))",
    "divergence": f"s = sum(i, j : Seen(i,j) * log(Seen(i,j) / {PRODUCT}))",
    "difference": f"C(i,j) = Seen(i,j) * ({PRODUCT} - a(i))",
    "sum": f"C(i,j) = Seen(i,j) * ({PRODUCT} + a(i))",
    "choice": f"s = sum(i, j : Seen(i,j) * where({PRODUCT} > 1, a(i), {PRODUCT}))",
}


def operands(shape: tuple[int, int, int], storage: str, dtype: Any) -> dict[str, Any]:
    (m, n, k), rng = shape, np.random.default_rng(0)

    def drawn(rows: int, columns: int) -> Any:
        made = scipy.sparse.random_array((rows, columns), density=0.4, rng=rng, format="csr").astype(dtype)
        made.data[::3] = 0  # stored all the same
        return ms.tensor(made, storage)

    arrays = {"U": rng.random((m, k)), "V": rng.random((n, k)), "a": rng.random(m)}
    drawings = {"Seen": drawn(m, n), "Also": drawn(m, n), "Turned": drawn(n, m)}
    return drawings | {name: array.astype(dtype) for name, array in arrays.items()}


def check(text: str, given: dict[str, Any]) -> None:
    read = {name: one for name, one in given.items() if f"{name}(" in text}
    kernel = ms.compile(text, tensors=read, optimize="off")
    facts = {name: replace(FACTS[name], kind=kernel.spec.type_of(name)) for name in read}
    found = rewritten(text, facts, always=True)
    assert found is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        result, expected = Kernel(replace(kernel.spec, rewriting=found))(**read), kernel(**read)
        values = [one.to_numpy() if isinstance(one, ms.SparseTensor) else one for one in (result, expected)]
    assert type(result) is type(expected)
    assert values[0].dtype == values[1].dtype
    np.testing.assert_allclose(*values, rtol=1e-5 if values[0].itemsize == 4 else 1e-12)


@pytest.mark.parametrize("storage", ["CSR", "CSC"])
@pytest.mark.parametrize("name", STATEMENTS)
def test_they_compute_what_is_written(name: str, storage: str) -> None:
    check(STATEMENTS[name], operands((7, 5, 3), storage, np.float64))


@pytest.mark.parametrize("shape", [(1, 1, 1), (0, 4, 2), (4, 0, 2), (4, 3, 0)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_small_and_empty_operands(shape: tuple[int, int, int], dtype: Any) -> None:
    check(f"C(i,j) = Seen(i,j) * exp({PRODUCT})", operands(shape, "CSR", dtype))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite(value: float) -> None:
    given = operands((7, 5, 3), "CSR", np.float64)
    given["U"][2, 1] = value
    check(f"y(i) = sum(j : Seen(i,j) * exp(-{PRODUCT}))", given)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_large_operands_on_threads(threads: int) -> None:
    rng = np.random.default_rng(1)
    X = scipy.sparse.random_array((3000, 2500), density=0.02, rng=rng, format="csr")
    U, V = rng.random((3000, 8)) + 0.1, rng.random((2500, 8)) + 0.1
    kernel = ms.compile(f"s = sum(i, j : X(i,j) * log({PRODUCT}))", X=ms.tensor(X), U=U, V=V, threads=threads)
    rows, columns = X.tocoo().coords
    expected = X.tocoo().data @ np.log((U[rows] * V[columns]).sum(1))
    np.testing.assert_allclose(kernel(X=ms.tensor(X), U=U, V=V), expected)
    assert "if X(i,j)" in kernel.explain()
