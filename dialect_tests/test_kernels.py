"""Every kernel that must run, on covering combinations of storage and element type, against the oracle.

Each case runs on the usual data and on some of the edges: nothing stored, one entry, everything stored, extents of 0
and 1. Each storage and each element type of a kernel runs on them all.
"""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests import oracle
from dialect_tests.crossing import crossed
from dialect_tests.generated import dense_data, has_meaning
from dialect_tests.kernel_cases import (
    DTYPES,
    EDGES,
    FAMILIES,
    Case,
    check_case,
    check_storage,
    class_of,
    covering,
    edges_of,
)

# Every 2-D preset, with blocks that divide none of the extents.
ALL_2D: dict[str, str | tuple[int, int] | None] = {
    name: (2, 3) if preset.parameter == "block" else "NM(2, 3)" if preset.parameter == "n_m" else None
    for name, preset in ms.PRESETS.items()
    if preset.min_rank <= 2 <= (preset.max_rank or 2)
}
# Those that the dialect has words for must run; the others may be refused by name.
PRESETS_2D = {name: given for name, given in ALL_2D.items() if ms.encoding(name, rank=2).is_native}
SHAPES = ((5, 7), (1, 1), (1, 8), (9, 1), (0, 4), (4, 0), (6, 6))


@pytest.mark.parametrize("case", [case for name in FAMILIES for case in covering(name)], ids=str)
def test_kernel(case: Case) -> None:
    check_case(case, edges_of(case.family)[case])


@pytest.mark.parametrize("name", FAMILIES)
def test_the_cases_cover_the_choices_and_every_element_type(name: str) -> None:
    cases, family = covering(name), FAMILIES[name]
    rows, factors = [(*case.formats, case.out) for case in cases], family.factors
    text = ms.parse(FAMILIES[name].text)
    assert {case.dtype for case in cases} == {dtype for dtype in DTYPES if has_meaning(text, dtype)}
    for a in range(len(factors)):
        assert {row[a] for row in rows} == set(factors[a])
        for b in range(a if family.pairs else 0):
            for one, other in ((a, b), (b, a)):
                met = {(row[one], class_of(row[other])) for row in rows}
                assert met == {(x, class_of(y)) for x in factors[one] for y in factors[other]}


@pytest.mark.parametrize("name", FAMILIES)
def test_each_storage_and_element_type_meets_every_edge(name: str) -> None:
    edges = edges_of(name)
    for at in range(len(FAMILIES[name].factors) + 1):
        met = {((*case.formats, case.out, case.dtype)[at], edge) for case in edges for edge in edges[case]}
        assert len(met) == len({choice for choice, _ in met}) * len(EDGES)
    assert set(edges) == set(covering(name))


def _stored(name: str, data: np.ndarray[Any, Any]) -> ms.SparseTensor:
    parameter = ALL_2D[name]
    if isinstance(parameter, tuple):
        return ms.tensor(data, name, block=parameter)
    return ms.tensor(data, parameter or name)


def _sparse_enough(name: str, data: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Returns the data with zeros where an n:m format has no room."""
    if name not in ("NV_24", "NM"):
        return data
    keep = np.arange(data.shape[1]) % {"NV_24": 4, "NM": 3}[name] < 2
    kept: np.ndarray[Any, Any] = data * keep.astype(data.dtype)
    return kept


@pytest.mark.parametrize("name", PRESETS_2D)
@pytest.mark.parametrize("text", ["y(i) = A(i,j) * x(j)", "y(j) = A(i,j) * x(i)", "y(i) = b(i) - A(i,j) * x(j)"])
def test_every_matrix_format_multiplies_vectors(text: str, name: str) -> None:
    dtype = DTYPES[(list(PRESETS_2D).index(name) + len(text)) % len(DTYPES)]
    for number, shape in enumerate(SHAPES):
        data = _sparse_enough(name, dense_data(shape, dtype, 0.6, seed=number))
        across = shape[0] if "y(j)" in text else shape[1]
        vectors = {"x": dense_data((across,), dtype, 1.0, seed=8), "b": dense_data((shape[0],), dtype, 1.0, seed=9)}
        if "b(" not in text:
            del vectors["b"]
        result = ms.evaluate(text, tensors={"A": _stored(name, data), **vectors})
        oracle.assert_close(result, oracle.evaluate(text, {"A": data, **vectors}), terms=16)


@pytest.mark.parametrize("name", PRESETS_2D)
def test_every_matrix_format_multiplies_matrices(name: str) -> None:
    for shape in SHAPES:
        data = _sparse_enough(name, dense_data(shape, np.dtype(np.float32), 0.6, seed=3))
        for text in ("C(i,j) = A(i,k) * B(k,j)", "C(j,i) = A(i,k) * B(k,j)"):
            other = dense_data((shape[1], 4), np.dtype(np.float32), 1.0, seed=5)
            result = ms.evaluate(text, A=_stored(name, data), B=other)
            oracle.assert_close(result, oracle.evaluate(text, {"A": data, "B": other}), terms=16)


@pytest.mark.parametrize("name", PRESETS_2D)
@pytest.mark.parametrize("text", ["C(i,j) = A(i,j) + B(i,j)", "C(i,k) = A(i,j) * D(j,k)"])
def test_every_matrix_format_meets_csr(text: str, name: str) -> None:
    for shape in SHAPES:
        data = _sparse_enough(name, dense_data(shape, np.dtype(np.float64), 0.6, seed=3))
        other = dense_data(shape if "B" in text else (shape[1], 4), np.dtype(np.float64), 0.4, seed=5)
        operand = "B" if "B" in text else "D"
        result = ms.evaluate(text, tensors={"A": _stored(name, data), operand: ms.tensor(other)}, out="CSR")
        check_storage(result, "CSR")
        oracle.assert_close(result.to_numpy(), oracle.evaluate(text, {"A": data, operand: other}), terms=16)


@pytest.mark.parametrize("name", PRESETS_2D)
def test_every_matrix_format_is_a_result(name: str) -> None:
    """What the loops cannot insert into is made by a conversion; n:m takes what has room only."""
    for shape in SHAPES:
        data = _sparse_enough(name, dense_data(shape, np.dtype(np.float64), 0.6, seed=3))
        wanted = _stored(name, data).encoding.with_widths(0, 0)
        result = ms.evaluate("C(i,j) = 2 * A(i,j)", A=ms.tensor(data), out=wanted)
        check_storage(result)
        assert result.encoding.with_widths(0, 0) == wanted
        oracle.assert_close(result.to_numpy(), 2 * data)


@pytest.mark.parametrize("name", [name for name in ALL_2D if name not in PRESETS_2D])
def test_formats_without_words_in_the_dialect_are_right_or_refused(name: str) -> None:
    data, x = np.triu(np.tril(dense_data((4, 4), np.dtype(np.float64), 1.0, seed=1), 1)), np.arange(4.0)
    with contextlib.suppress(ms.UnsupportedError, ms.StorageError):
        result = ms.evaluate("y(i) = A(i,j) * x(j)", A=_stored(name, data), x=x)
        oracle.assert_close(result, data @ x, terms=16)


MIXED = (
    ("int8", "int32"),
    ("int32", "float32"),
    ("int64", "float16"),
    ("float32", "float64"),
    ("float32", "complex64"),
    ("float64", "complex64"),
    ("int16", "complex128"),
    ("bfloat16", "float32"),
    ("bfloat16", "float16"),
    ("int16", "bfloat16"),
    ("int32", "bfloat16"),
    ("bool", "float64"),
    ("bool", "bool"),
)


def _mixed_data(name: str) -> np.ndarray[Any, Any]:
    if name == "bool":
        return np.asarray(dense_data((5, 5), np.dtype(np.int8), 0.5, seed=4) != 0)
    return dense_data((5, 5), next(dtype for dtype in DTYPES if str(dtype) == name), 0.5, seed=4)


def _kinds(types: tuple[str, str]) -> tuple[str, ...]:
    return tuple(name.rstrip("0123456789") for name in types)


@crossed(
    classes={"types": _kinds, "text": lambda text: "+" in text},
    types=[*MIXED, *((b, a) for a, b in MIXED if a != b)],
    text=["y(i) = A(i,j) * x(j)", "C(i,j) = A(i,j) + B(i,j)", "C(i,j) = A(i,k) * B(k,j)"],
)
def test_element_types_meet_as_numpy_promotes_them(types: tuple[str, str], text: str) -> None:
    a, b = map(_mixed_data, types)
    if "x(" in text:
        arrays = {"A": a, "x": b[0].copy()}
        result = ms.evaluate(text, A=ms.tensor(a), x=arrays["x"])
    else:
        arrays = {"A": a, "B": b}
        total = ms.evaluate(text, A=ms.tensor(a), B=ms.tensor(b, "DCSC"))
        check_storage(total)
        result = total.to_numpy()
    oracle.assert_close(result, oracle.evaluate(text, arrays), terms=8)


@pytest.mark.parametrize("widths", [(8, 8), (16, 32), (64, 64), (64, 8), (32, 16)])
@pytest.mark.parametrize("out", ["CSR", "COO"])
def test_widths_of_operands_and_results(out: str, widths: tuple[int, int]) -> None:
    a, b = (dense_data((6, 6), np.dtype(np.float64), 0.4, seed) for seed in (1, 2))
    stored = ms.encoding("CSR", pos_width=widths[0], crd_width=widths[1])
    wanted = ms.encoding(out).with_widths(widths[1], widths[0])
    for text in ("C(i,j) = A(i,j) + B(i,j)", "C(i,j) = A(i,k) * B(k,j)"):
        result = ms.evaluate(text, A=ms.tensor(a, stored), B=ms.tensor(b), out=wanted)
        assert (result.encoding.pos_width, result.encoding.crd_width) == (widths[1], widths[0])
        check_storage(result)
        oracle.assert_close(result.to_numpy(), oracle.evaluate(text, {"A": a, "B": b}), terms=8)


@pytest.mark.parametrize("size", [100, 1000])
def test_against_scipy(size: int) -> None:
    """Sizes at which vectors, expansion and growth of results are at work."""
    scipy_sparse = pytest.importorskip("scipy.sparse")
    random = np.random.default_rng(0)
    a, b = (
        scipy_sparse.random_array((size, size), density=0.05, format="csr", rng=random, data_sampler=random.random)
        for _ in range(2)
    )
    x = random.random(size)
    np.testing.assert_allclose(ms.evaluate("y(i) = A(i,j) * x(j)", A=a, x=x), a @ x, rtol=1e-12)
    np.testing.assert_allclose(ms.evaluate("y(j) = A(i,j) * x(i)", A=a, x=x), a.T @ x, rtol=1e-12)
    for text, wanted in (
        ("C(i,j) = A(i,k) * B(k,j)", a @ b),
        ("C(i,j) = A(i,j) + B(i,j)", a + b),
        ("C(i,j) = A(i,j) * B(i,j)", a * b),
        ("C(i,j) = A(i,j) + A(j,i)", a + a.T),
    ):
        result = ms.evaluate(text, A=a, B=b) if "B" in text else ms.evaluate(text, A=a)
        check_storage(result, "CSR")
        assert result.nse == wanted.nnz
        np.testing.assert_allclose(result.to_numpy(), wanted.toarray(), rtol=1e-12)
