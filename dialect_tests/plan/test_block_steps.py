"""Which steps of rewritten programs run for some rows at a time, and that they compute the same so."""

from __future__ import annotations

import gc
import itertools
import weakref
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse

import mlir_sparse as ms
from mlir_sparse import plan
from mlir_sparse.compile import Kernel
from mlir_sparse.notation import Access, Assignment, IndexVar
from mlir_sparse.program import Blocks
from mlir_sparse.runtime import blocks_of_rows
from mlir_sparse.spec import Part, Rewriting

M, N, K = 700, 300, 5
RENAMED = (("l", "i"), ("m", "j"))
PRODUCT = "sum(k : U(i,k) * V(j,k))"


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(float)


def operands(storage: str = "CSR") -> dict[str, Any]:
    X = scipy.sparse.random_array((M, N), density=0.05, rng=np.random.default_rng(3), format="csr")
    X.data = np.ceil(X.data * 5)
    return {"X": ms.tensor(X, storage), "U": numbers(M, K), "V": numbers(N, K, seed=1), "b": numbers(N, seed=2)}


def expression(text: str) -> Any:
    parsed = ms.parse(f"z = {text}")
    assert isinstance(parsed, Assignment)
    return parsed.value


def kernel_of(text: str, value: str, given: dict[str, Any], parts: dict[str, tuple[str, bool]]) -> Kernel:
    """Returns the kernel of a statement with parts: by name and subscripts what each is, and whether BLAS makes it."""
    made = []
    for part, (body, by_blas) in parts.items():
        name, subscripts = part.removesuffix(")").split("(")
        target = Access(name, tuple(IndexVar(each) for each in subscripts.split(",")))
        made.append(Part(target, expression(body), by_blas=by_blas, is_array=not by_blas))
    read = {name: one for name, one in given.items() if f"{name}(" in text}
    kernel = ms.compile(text, tensors=read, optimize="off")
    return Kernel(replace(kernel.spec, rewriting=Rewriting(tuple(made), expression(value), RENAMED)))


def blocks_of(kernel: Kernel) -> Blocks | None:
    return plan.steps_of(plan.plan(kernel.spec), densified=False).blocks


LOSS = f"s = sum(i, j : (X(i,j) - {PRODUCT}) ** 2)"
MADE = {"P(i,j)": (f"{PRODUCT} - X(i,j)", True)}
BY_ROWS = {
    "loss": (LOSS, "sum(i, j : P(i,j) ** 2)", MADE),
    "other names": (LOSS, "sum(l, m : P(l,m) ** 2)", MADE),
    "rows": (f"y(i) = sum(j : abs(X(i,j) - {PRODUCT}))", "sum(j : abs(P(i,j)))", MADE),
    "columns": (f"y(j) = sum(i : abs(X(i,j) - {PRODUCT}))", "sum(i : abs(P(i,j)))", MADE),
    "matrix": (f"C(i,j) = abs(X(i,j) - {PRODUCT}) * b(j)", "abs(P(i,j)) * b(j)", MADE),
    "two results": (f"s = sum(i, j : 2 * (X(i,j) - {PRODUCT}))", "sum(i, j : P(i,j)) - sum(i, j : 3 * P(i,j))", MADE),
    "two arrays": (
        f"y(i) = sum(j : abs(X(i,j) - {PRODUCT})) * 2",
        "2 * t(i)",
        {**MADE, "t(i)": ("sum(j : abs(P(i,j)))", False)},
    ),
}


@pytest.fixture
def threads() -> Iterator[None]:
    before = ms.get_num_threads()
    yield
    ms.set_num_threads(before)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("name", BY_ROWS)
def test_blocks_of_rows_give_what_is_written(name: str) -> None:
    text, value, parts = BY_ROWS[name]
    given = operands()
    kernel = kernel_of(text, value, given, parts)
    blocks = blocks_of(kernel)
    assert blocks is not None
    assert {"U", "X"} == set(blocks.cut)
    read = {each: given[each] for each in kernel.parameters}
    expected = ms.evaluate(text, tensors=read, optimize="off")
    for number, size in itertools.product((1, 2, 3), (20_000, 1 << 30)):
        ms.set_num_threads(number)
        with patch.object(blocks_of_rows, "_block_bytes", lambda size=size: size):
            kernel._last = None
            for _ in range(3):
                np.testing.assert_array_equal(kernel(**read), expected)
            if isinstance(expected, np.ndarray) and expected.ndim:
                out = np.full_like(expected, np.nan)
                assert kernel(**read, out=out) is out
                np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(
    ("text", "value", "parts"),
    [
        # The result reads the part by columns, too.
        (f"s = sum(i, j : X(i,j) * {PRODUCT})", "sum(i, j : P(i,j) * P(j,i))", {"P(i,j)": (PRODUCT, True)}),
        # A part sums over rows.
        (LOSS, "sum(j : c(j) * c(j))", {**MADE, "c(j)": ("sum(i : P(i,j))", False)}),
        # One operand is read by rows and as a whole.
        (
            "s = sum(i, j : abs(sum(k : U(i,k) * U(j,k))))",
            "sum(i, j : abs(P(i,j)))",
            {"P(i,j)": ("sum(k : U(i,k) * U(j,k))", True)},
        ),
        # Greatest values are not added.
        (f"s = max(i, j : {PRODUCT})", "max(i, j : P(i,j))", {"P(i,j)": (PRODUCT, True)}),
    ],
)
def test_other_steps_run_for_all_rows(text: str, value: str, parts: dict[str, tuple[str, bool]]) -> None:
    assert blocks_of(kernel_of(text, value, operands(), parts)) is None


@pytest.mark.parametrize("storage", ["CSC", "COO", "DCSR", "BSR(2, 2)"])
def test_other_storage_runs_for_all_rows(storage: str) -> None:
    given = operands(storage)
    kernel = kernel_of(LOSS, "sum(i, j : P(i,j) ** 2)", given, MADE)
    assert blocks_of(kernel) is None
    read = {name: given[name] for name in kernel.parameters}
    with patch.object(blocks_of_rows, "_block_bytes", lambda: 1):
        np.testing.assert_array_equal(kernel(**read), ms.evaluate(LOSS, tensors=read, optimize="off"))


def test_as_written_all_rows_are_computed_at_once() -> None:
    given = {name: one for name, one in operands().items() if name != "b"}
    assert blocks_of(ms.compile(LOSS, tensors=given, optimize="off")) is None


def test_explain_says_so() -> None:
    text, value, parts = BY_ROWS["loss"]
    told = kernel_of(text, value, operands(), parts).explain()
    assert "\nsteps 1 to 3 run for some rows of P at a time, where caches would not hold all" in told


def test_saved_kernels_have_blocks(tmp_path: Any) -> None:
    text, value, parts = BY_ROWS["loss"]
    given = operands()
    kernel = kernel_of(text, value, given, parts)
    read = {name: given[name] for name in kernel.parameters}
    expected = kernel(**read)
    kernel.save(tmp_path / "loss.msk")
    with patch.object(blocks_of_rows, "_block_bytes", lambda: 1000):
        np.testing.assert_array_equal(ms.load(tmp_path / "loss.msk")(**read), expected)


def test_rows_of_tensors_are_kept_as_long_as_these() -> None:
    """Calls read the values as they are now, and those of other tensors; kernels keep no tensor's memory."""
    text, value, parts = BY_ROWS["loss"]
    given = operands()
    kernel = kernel_of(text, value, given, parts)
    read = {name: given[name] for name in kernel.parameters}
    with patch.object(blocks_of_rows, "_block_bytes", lambda: 20_000):
        for _ in range(3):
            np.testing.assert_array_equal(kernel(**read), ms.evaluate(LOSS, tensors=read, optimize="off"))
            kernel(**read)  # the first call was not the fast path
            with patch.object(blocks_of_rows, "part_between", side_effect=AssertionError("read anew")):
                kernel(**read)
            read["X"].storage.values[:] *= 2
            np.testing.assert_array_equal(kernel(**read), ms.evaluate(LOSS, tensors=read, optimize="off"))
            read["X"] = ms.tensor(2 * given["X"].to_scipy(), "CSR")
            np.testing.assert_array_equal(kernel(**read), ms.evaluate(LOSS, tensors=read, optimize="off"))
        values = weakref.ref(read["X"].storage.values)
        read["X"] = given["X"]
        del given
        gc.collect()
        assert values() is None


def test_errors_of_a_block_reach_the_caller() -> None:
    text, value, parts = BY_ROWS["loss"]
    given = operands()
    kernel = kernel_of(text, value, given, parts)
    read = {name: given[name] for name in kernel.parameters}
    with (
        patch.object(blocks_of_rows, "_block_bytes", lambda: 1000),
        patch.object(blocks_of_rows, "part_between", side_effect=RuntimeError("no more")),
        pytest.raises(RuntimeError, match="no more"),
    ):
        kernel(**read)
