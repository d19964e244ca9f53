"""The reference that `run --verify` checks against, against the dense oracle, SciPy, and its own must-fail tests."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse

from dialect_tests import oracle
from mlir_sparse.notation import Access, Assignment, parse, walk
from mlir_sparse.testing import Block, Operand, compare, evaluate
from mlir_sparse.testing.reference import named_arrays, read_elements

EXTENTS = {"i": 7, "j": 5, "k": 6, "l": 4}

KERNELS = [
    "y(i) = A(i,j) * x(j)",
    "y(j) = A(i,j) * z(i)",
    "Y(i,k) = A(i,j) * B(j,k)",
    "Y(i,k) = A(i,j) * S(j,k) * B(j,k)",
    "Y(i,j) = A(i,j) * C(i,k) * B(j,k)",
    "Y(i,j) = A(i,j) + D(i,j)",
    "Y(i,j) = A(i,j) - D(i,j) * 2",
    "Y(j,i) = A(i,j)",
    "Y(i,j) = T(i,k,l) * B(j,k) * F(l,j)",
    "y(i) = z(i) - A(i,j) * x(j)",
    "y(i) = 2 * A(i,j) * x(j) + 3 * z(i)",
    "y(i) = A(i,j)",
    "y = A(i,j) * D(i,j)",
    "y = T(i,k,l)",
    "Y(i,j) = A(i,j) + x(j)",
    "Y(i,j) = A(i,j) / (1 + x(j) * x(j))",
    "Y(i,j) = exp(A(i,j))",
    "Y(i,j) = sin(A(i,j)) * tanh(D(i,j))",
    "Y(i,j) = max(A(i,j), D(i,j))",
    "y(i) = max(j : A(i,j))",
    "y(i) = max(j : A(i,j) * D(i,j))",
    "y(i) = prod(j : A(i,j))",
    "y(i) max=! A(i,j)",
    "y(i) min=! A(i,j) + x(j)",
    "y(i) += A(i,j) * x(j)",
    "y(i) = w(2*i + 1)",
    "y(i) = Q(i,i)",
    "y(i) = sum(j : A(i,j)) * z(i)",
    "Y(i,k) = C(i,k) + A(i,j) * S(j,k)",
    "y(i) = 1.5",
    "Y(i,k) = z(i) * B(j,k)",
]

SHAPES = {"Q": (7, 7), "w": (15,)}
SPARSE = {"A", "D", "S", "T", "Q"}


def operands_of(assignment: Assignment, seed: int) -> tuple[dict[str, np.ndarray], dict[str, Operand]]:
    """Draws every tensor; those of SPARSE mostly zero and given as coordinates."""
    rng = np.random.default_rng(seed)
    arrays: dict[str, np.ndarray] = {}
    operands: dict[str, Operand] = {}
    for node in [assignment.target, *walk(assignment.value)]:
        if not isinstance(node, Access) or node.tensor in arrays:
            continue
        shape = SHAPES.get(node.tensor) or tuple(EXTENTS[index.name] for index in node.indices)
        array = rng.normal(size=shape)
        if node.tensor in SPARSE:
            array *= rng.random(shape) < 0.3
            where = np.nonzero(array)
            operands[node.tensor] = Operand(array[where], shape, where)
        else:
            operands[node.tensor] = Operand(array, shape)
        arrays[node.tensor] = array
    return arrays, operands


def as_operand(array: np.ndarray) -> Operand:
    return Operand(array, array.shape)


@pytest.mark.parametrize("text", KERNELS)
@pytest.mark.parametrize("limit", [1 << 24, 64])
def test_agrees_with_the_oracle_whole_and_split(text: str, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assignment = parse(text)
    arrays, operands = operands_of(assignment, seed=len(text))
    expected = oracle.evaluate(assignment, arrays, extents=EXTENTS)
    for module in (named_arrays, read_elements):
        monkeypatch.setattr(module, "LIMIT", limit)
    verdict = compare(assignment, operands, EXTENTS, as_operand(expected))
    assert verdict.passed, verdict
    assert verdict.entries == expected.size


@pytest.mark.parametrize("text", KERNELS)
def test_one_wrong_value_is_found(text: str) -> None:
    assignment = parse(text)
    arrays, operands = operands_of(assignment, seed=1)
    wrong = np.array(oracle.evaluate(assignment, arrays, extents=EXTENTS))
    wrong[(-1,) * wrong.ndim] += 1e-6
    assert not compare(assignment, operands, EXTENTS, as_operand(wrong)).passed


def test_a_missing_and_an_extra_entry_are_found() -> None:
    assignment = parse("Y(i,j) = A(i,j) + D(i,j)")
    arrays, operands = operands_of(assignment, seed=2)
    expected = oracle.evaluate(assignment, arrays)
    where = np.nonzero(expected)
    stored = Operand(expected[where], expected.shape, where)
    missing = Operand(stored.values[1:], stored.shape, tuple(column[1:] for column in where))
    empty = np.argwhere(expected == 0)[0]
    extra = Operand(
        np.append(stored.values, 1.0), stored.shape, tuple(np.append(c, e) for c, e in zip(where, empty, strict=True))
    )
    assert compare(assignment, operands, EXTENTS, stored).passed
    assert not compare(assignment, operands, EXTENTS, missing).passed
    assert not compare(assignment, operands, EXTENTS, extra).passed


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.complex64, np.int8])
def test_rounding_and_wrapping_of_the_result_type_pass(dtype: type) -> None:
    assignment = parse("y(i) = A(i,j) * x(j)")
    rng = np.random.default_rng(3)
    dense = rng.integers(-9, 9, (7, 5)).astype(dtype) if dtype is np.int8 else rng.normal(size=(7, 5)).astype(dtype)
    x = rng.integers(-9, 9, 5).astype(dtype)
    result = np.zeros(7, dtype)
    for j in range(5):
        result += dense[:, j] * x[j]
    verdict = compare(assignment, {"A": as_operand(dense), "x": as_operand(x)}, EXTENTS, as_operand(result))
    assert verdict.passed, verdict


@pytest.mark.parametrize(
    "text", ["y(i) = exp(A(i,j) * x(j))", "y(i) = z(i) / (1 - A(i,j) * x(j))", "y(i) = z(i) - sin(A(i,j)) * x(j)"]
)
def test_rounding_is_followed_through_functions_and_quotients(text: str) -> None:
    arrays, operands = operands_of(parse(text), seed=7)
    for name in arrays:
        arrays[name] = arrays[name] * 5
        operands[name] = replace(operands[name], values=operands[name].values * 5)
    # Another order of summation: what a kernel may do differently.
    reversed_arrays = {name: array[..., ::-1] if name in "Ax" else array for name, array in arrays.items()}
    verdict = compare(parse(text), operands, EXTENTS, as_operand(oracle.evaluate(text, reversed_arrays)))
    assert verdict.passed, verdict
    wrong = oracle.evaluate(text, arrays) * (1 + 1e-9)
    assert not compare(parse(text), operands, EXTENTS, as_operand(wrong)).passed


def test_large_products_against_scipy() -> None:
    matrix = scipy.sparse.random_array((100_000, 90_000), density=1e-5, rng=4, format="coo")
    other = scipy.sparse.random_array((90_000, 80_000), density=1e-5, rng=5, format="coo")
    product = (matrix @ other).tocoo()
    extents = {"i": 100_000, "k": 90_000, "j": 80_000}
    as_coo = [Operand(m.data, m.shape, m.coords) for m in (matrix, other, product)]
    verdict = compare(parse("C(i,j) = A(i,k) * B(k,j)"), {"A": as_coo[0], "B": as_coo[1]}, extents, as_coo[2])
    assert verdict.passed
    assert verdict.entries == 100_000 * 80_000


def test_what_is_stored_once_is_read_once() -> None:
    block = Block({"a": Operand(np.array([3.0]), (4,), (np.array([2]),))}, {"i": 4})
    value = evaluate(parse("y(i) = 2 * a(i)"), block)
    assert value.sparse == ("i",)
    assert value.values.tolist() == [6.0]
