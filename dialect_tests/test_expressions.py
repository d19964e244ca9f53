"""Expressions beyond sums and products, against NumPy: comparisons, logic, choices, counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests import oracle
from dialect_tests.crossing import crossed

A = np.array([[1.0, 0.0, -2.0, 0.0], [0.0, 0.0, 3.0, 1.0], [0.0, 0.0, 0.0, 0.0]])
B = np.array([[2.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, -1.0], [0.0, 4.0, 0.0, 0.0]])
D = np.array([[0.0, 1.0, 5.0, 0.0], [-6.0, 0.0, 0.0, 2.0], [0.0, 0.0, 0.0, 7.0]])
x = np.array([1.0, -2.0, 0.0, 0.5])
DENSE = {"A": A, "B": B, "D": D, "x": x}


def stored(text: str, storage: str = "CSR") -> dict[str, Any]:
    names = ms.parse(text).inputs
    return {name: ms.tensor(DENSE[name], storage) if name in "ABD" else DENSE[name] for name in names}


# What keeps its zeros: the result is sparse, and no operand is made dense on the way.
SPARSE = [
    "C(i,j) = A(i,j) > 0",
    "C(i,j) = A(i,j) != B(i,j)",
    "C(i,j) = A(i,j) > B(i,j)",
    "C(i,j) = A(i,j) > 0.5 & x(j) > 0",
    "C(i,j) = A(i,j) & B(i,j)",
    "C(i,j) = A(i,j) | B(i,j)",
    "C(i,j) = where(A(i,j) > B(i,j), A(i,j), 0)",
    "C(i,j) = where(A(i,j) > 0, B(i,j), D(i,j))",
    "C(i,j) = where(A(i,j) > x(j), A(i,j), 0)",
    "C(i,j) = (A(i,j) >= 0) * B(i,j)",
    "C(i,j) = !A(i,j) * B(i,j)",
    "C(i,j) = exp(A(i,j)) - 1",
    "C(i,j) = A(i,j) ** 2",
    "C(i,j) = max(A(i,j) * B(i,j), A(i,j) + D(i,j))",
    "C(i,j) = max(A(i,j), B(i,j)) - min(A(i,j), D(i,j))",
    "C(i,j) = A(i,j) * 2j + B(i,j)",
]


def tensors_of(text: str) -> int:
    return sum(f"{name}(" in text for name in DENSE)


@crossed(classes={"text": tensors_of, "storage": lambda _: None}, text=SPARSE, storage=["CSR", "COO", "DCSC"])
def test_what_keeps_zeros_stays_sparse(text: str, storage: str) -> None:
    operands = stored(text, storage)
    result = ms.evaluate(text, tensors=operands)
    assert isinstance(result, ms.SparseTensor)
    oracle.assert_close(result.to_numpy(), oracle.evaluate(text, DENSE))
    assert " dense as " not in ms.compile(text, tensors=operands).explain()


@pytest.mark.parametrize(
    "text",
    [
        "C(i,j) = A(i,j) >= 0",
        "C(i,j) = A(i,j) == B(i,j)",
        "C(i,j) = !A(i,j)",
        "C(i,j) = where(A(i,j) > 0, A(i,j), x(j))",
        "y(i) = A(i,j) > 0",
        "y(i) = 0.5 * count(j : A(i,j))",
        "y(i) = or(j : A(i,j) > 2)",
        "y(i) = and(j : A(i,j) > -3)",
        "y(i) = sum(j : A(i,j)) > 0.5 & or(k : B(i,k))",
        "y(j) or=! A(i,j)",
        "y(j) and=! A(i,j) < 3",
        "y(i) = where(sum(j : A(i,j)) > 0, max(j : A(i,j)), -1)",
        "s = sum(i, j : A(i,j) > x(j)) * 0.5",
    ],
)
def test_what_does_not_is_dense_and_right(text: str) -> None:
    for storage in ("CSR", "COO"):
        result = ms.evaluate(text, tensors=stored(text, storage))
        oracle.assert_close(result, oracle.evaluate(text, DENSE), terms=8)


def test_comparisons_have_a_type_of_their_own() -> None:
    small = np.arange(-4, 4, dtype=np.int8)
    assert ms.evaluate("y(i) = x(i) < 1000", x=small).tolist() == [1] * 8
    assert ms.evaluate("y(i) = (x(i) < 0) * z(i)", x=small, z=np.ones(8, np.float32)).dtype == np.float32
    # 2 ** 53 + 1 is no f64: integers are compared as integers, whatever the comparison is multiplied by.
    large = np.array([2**53 + 1])
    assert ms.evaluate("y(i) = (x(i) == z(i)) * 0.5", x=large, z=large - 1).tolist() == [0.0]


def test_truth_values_add_up_beyond_127() -> None:
    ones = ms.tensor(np.ones((2, 300)), "CSR")
    assert ms.evaluate("y(i) = A(i,j) > 0", A=ones).tolist() == [300, 300]
    assert ms.evaluate("s = sum(i, j : (A(i,j) > 0) + (A(i,j) > 0))", A=ones) == 600
    assert ms.evaluate("s = sum(i, j : 1 * (A(i,j) > 0) + (A(i,j) > 0))", A=ones) == 1200


def test_nan_equals_nothing_and_is_true() -> None:
    values = np.array([np.nan, 1.0, 0.0])
    for text, function in [("x(i) == x(i)", np.equal), ("x(i) != x(i)", np.not_equal), ("x(i) <= x(i)", np.less_equal)]:
        assert ms.evaluate(f"y(i) = {text}", x=values).tolist() == function(values, values).tolist()
    assert ms.evaluate("y(i) = x(i) & 1", x=values).tolist() == [1, 1, 0]


def test_nothing_satisfies_all_and_none() -> None:
    empty = np.zeros((2, 0))
    assert ms.evaluate("y(i) = or(j : A(i,j))", A=empty).tolist() == [0, 0]
    assert ms.evaluate("y(i) = and(j : A(i,j))", A=empty).tolist() == [1, 1]
    assert ms.evaluate("y(i) = count(j : A(i,j))", A=empty).tolist() == [0, 0]


def test_complex_numbers_are_equal_or_not_but_have_no_order() -> None:
    z = np.array([1j, 2.0])
    assert ms.evaluate("y(i) = z(i) == 1j", z=z).tolist() == [1, 0]
    with pytest.raises(ms.UnsupportedError, match="expected an ordered element type for `<`, but got c128"):
        ms.evaluate("y(i) = z(i) < 1", z=z)


def test_formulas_compare() -> None:
    (i,), (y, v) = ms.indices("i"), ms.tensors("y v")
    y[i] = ms.where((v[i] > 0) & ~(v[i] == 2), v[i], 0)
    assert y.assignment == ms.parse("y(i) = where(v(i) > 0 & !(v(i) == 2), v(i), 0)")
    assert ms.evaluate(y, v=np.array([-1.0, 1.0, 2.0])).tolist() == [0.0, 1.0, 0.0]


ROWS, PLACES = np.array([2, 0, 0, 1]), np.array([[3, 0], [1, 1], [2, 0]])
CUBE = np.where(np.arange(3 * 3 * 4).reshape(3, 3, 4) % 5 < 2, np.arange(3 * 3 * 4).reshape(3, 3, 4) - 9.0, 0.0)


@pytest.mark.parametrize(
    "text",
    [
        "y(i) = x(I(i))",
        "C(i,k) = x(P(i,k)) * 2",
        "C(i,j) = A(I(i),j)",
        "C(j,i) = A(I(i),j) * x(j)",
        "y(i) = A(I(i),j) * x(j)",
        "C(i,k) = A(i,P(i,k)) + B(i,P(i,k))",
        "C(i,j) = T(I(i),2,j)",
        "y(i) = T(I(i),I(I(i)),i)",
        "d(i) = T(i,i,j) * x(j)",
        "C(i,j) = T(i,i,j)",
        "C(i,j) = A(i + 1,2*j + 1)",
        "C(i,j) = A(2 - i,j) > B(i,j)",
        "y(j) = A(2,j)",
        "s = A(1,2)",
        "y(i) = argmax(j : A(i,j))",
        "y(j) = argmin(i : A(i,j) * B(i,j))",
        "y(i) = argmax(j : A(i,j) + x(j)) * 0.5",
        "s = argmin(j : x(j))",
    ],
)
def test_picked_elements_and_positions(text: str) -> None:
    data = {**DENSE, "T": CUBE, "I": ROWS, "P": PLACES}
    expected = oracle.evaluate(text, data)
    for formats in ({}, {"A": "CSR", "B": "COO", "T": "CSF"}, {"A": "CSC", "B": "BSR(2, 2)", "T": "COO"}):
        operands = {
            name: ms.tensor(data[name], formats[name]) if name in formats else data[name]
            for name in ms.parse(text).inputs
        }
        result = ms.evaluate(text, tensors=operands)
        result = result.to_numpy() if isinstance(result, ms.SparseTensor) else result
        oracle.assert_close(result, expected, terms=16)
        sparse = ms.compile(text, tensors=operands).explain()
        assert " dense as A" not in sparse
        assert " dense as T" not in sparse


def test_places_out_of_range_are_refused_with_their_value() -> None:
    for wrong, where in ((4, 1), (-1, 2)):
        places = np.zeros(3, np.int64)
        places[where] = wrong
        with pytest.raises(ms.CoordinatesError) as caught:
            ms.evaluate("y(i) = x(I(i))", x=x, I=places)
        assert caught.value.message == (
            f"expected I to hold positions of x, 0 to 3 (axis 0), but got {wrong} at ({where})"
        )
    with pytest.raises(ms.DTypeError, match="1:10: expected integers as the places to gather x from, but got f64 in I"):
        ms.evaluate("y(i) = x(I(i))", x=x, I=x)


def test_positions_are_the_first_and_count_what_is_not_stored() -> None:
    rows = np.array([[0.0, -1.0, 0.0], [-1.0, -2.0, -1.0], [0.0, 0.0, 0.0], [np.nan, 2.0, np.nan], [1.0, 0.0, 1.0]])
    for storage in ("CSR", "CSC", "COO"):
        stored = ms.tensor(rows, storage)
        for name, function in (("argmax", np.argmax), ("argmin", np.argmin)):
            assert ms.evaluate(f"y(i) = {name}(j : A(i,j))", A=stored).tolist() == function(rows, axis=1).tolist()
    assert ms.evaluate("y(i) = argmax(j : A(i,j))", A=np.zeros((2, 0))).tolist() == [0, 0]


@pytest.mark.parametrize(
    "text",
    [
        "y(i) = max(j : A(i,j))",
        "y(j) = min(i : A(i,j))",
        "y(i) = prod(j : A(i,j))",
        "s = max(i, j : A(i,j) * x(j))",
        "y(i) = min(j : A(i,j) - B(i,j)) * 0.5",
        "y(i) = and(j : A(i,j) > 0)",
        "y(i) = or(j : A(i,j) > 2)",
        "y(i) max=! A(i,j)",
    ],
)
def test_reductions_that_must_see_zeros_read_none(text: str) -> None:
    variants = [DENSE, {**DENSE, "A": np.abs(A) + 1}, {name: array[..., :0] for name, array in DENSE.items()}]
    for data in variants:
        for storage in ("CSR", "COO", "BSR(2, 2)"):
            operands = {n: ms.tensor(data[n], storage) if n in "AB" else data[n] for n in ms.parse(text).inputs}
            oracle.assert_close(ms.evaluate(text, tensors=operands), oracle.evaluate(text, data), terms=8)
            assert " dense as " not in ms.compile(text, tensors=operands).explain()


@pytest.mark.parametrize("storage", ["CSR", "CSC", "COO", "DCSR"])
def test_functions_apply_to_stored_entries_only_when_asked(storage: str) -> None:
    stored: dict[str, Any] = {"A": ms.tensor(A, storage), "B": ms.tensor(B, storage)}
    there, both = A != 0, (A != 0) & (B != 0)
    cases = [
        ("C(i,j) = stored(exp(A(i,j)))", np.where(there, np.exp(A), 0)),
        ("C(i,j) = stored(A(i,j) >= -5)", there),
        ("C(i,j) = stored(1 / A(i,j) + x(j))", np.where(there, 1 / np.where(there, A, 1) + x, 0)),
        ("C(i,j) = stored(A(i,j) + B(i,j))", np.where(both, A + B, 0)),
        ("y(i) = stored(cos(A(i,j)))", np.where(there, np.cos(A), 0).sum(1)),
        ("y(i) = stored(cos(A(i,j))) * x(j)", np.where(there, np.cos(A), 0) @ x),
        ("y(i) = max(j : stored(A(i,j) - 7))", np.where(there, A - 7, 0).max(1)),
    ]
    for text, expected in cases:
        operands = {name: stored.get(name, x) for name in ms.parse(text).inputs}
        result = ms.evaluate(text, tensors=operands)
        assert isinstance(result, ms.SparseTensor) == text.startswith("C")
        oracle.assert_close(result.to_numpy() if isinstance(result, ms.SparseTensor) else result, expected, terms=8)
        assert " dense as " not in ms.compile(text, tensors=operands).explain()
    with pytest.raises(ms.NotationError, match="1:8: expected an elementwise argument to stored, but got `sum"):
        ms.parse("y(i) = stored(sum(j : A(i,j)))")
    with pytest.raises(ms.NotationError, match=r"1:10: expected one or two tensors in stored, .* but got 3"):
        ms.parse("C(i,j) = stored(A(i,j) + B(i,j) + x(i))")


@pytest.mark.parametrize("out", [None, "CSC", "dense"])
def test_entries_stand_in_sums_that_are_zero_only_as_a_whole(out: str | None) -> None:
    """What is stored is made by steps of its own; `1 + 0 - 1` is zero where nothing is."""
    text = "C(i,j) = !A(i,j) + stored(exp(B(i,j))) - (2 | D(i,j))"
    result = ms.evaluate(text, tensors=stored(text) | {"D": D}, out=out)
    expected = (A == 0) + np.where(B != 0, np.exp(B), 0) - 1
    oracle.assert_close(result.to_numpy() if isinstance(result, ms.SparseTensor) else result, expected, terms=4)
