"""Operands that differ in all that storage can: widths, blocks, explicit values, formats beyond the dialect."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import mlir_sparse as ms
from dialect_tests import oracle
from dialect_tests.crossing import crossed

WIDE = "#sparse_tensor.encoding<{{ map = (i, j) -> (i : dense, j : compressed), posWidth = {}, crdWidth = {} }}>"
ONES = "#sparse_tensor.encoding<{ map = (i, j) -> (i : dense, j : compressed), explicitVal = 1.0 : f64 }>"


@pytest.fixture(name="dense")
def dense_(rng: np.random.Generator) -> NDArray[np.float64]:
    return np.where(rng.random((9, 11)) < 0.4, rng.integers(1, 9, (9, 11)), 0).astype(float)


@pytest.fixture(name="rng")
def rng_() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.mark.parametrize(("positions", "coordinates"), [(8, 8), (8, 64), (16, 32), (32, 16), (64, 8)])
def test_widths_of_operands_and_results(dense: NDArray[np.float64], positions: int, coordinates: int) -> None:
    storage = WIDE.format(positions, coordinates)
    narrow, x = ms.tensor(dense, storage), np.arange(11.0)
    np.testing.assert_allclose(ms.evaluate("y(i) = A(i,j) * x(j)", A=narrow, x=x), dense @ x)
    total = ms.evaluate("C(i,j) = A(i,j) + B(i,j)", A=narrow, B=ms.tensor(dense, "COO"), out=storage)
    np.testing.assert_array_equal(total.to_numpy(), 2 * dense)
    assert (total.encoding.pos_width, total.encoding.crd_width) == (positions, coordinates)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_a_result_does_not_inherit_the_explicit_value(dense: NDArray[np.float64], dtype: type) -> None:
    pattern = (dense != 0).astype(float)
    A, B = ms.tensor(pattern, ONES), ms.tensor(dense.astype(dtype))
    for sign, expected in (("*", pattern * dense), ("+", pattern + dense)):
        result = ms.evaluate(f"C(i,j) = A(i,j) {sign} B(i,j)", A=A, B=B)
        np.testing.assert_array_equal(result.to_numpy(), expected)
        assert result.encoding.explicit_val is None


@pytest.mark.parametrize(
    "name", ["BSR(2, 2)", "RowBlocked(2)", "DIA", "RowIntervals", "NV_24", "SlotELL", "HashedRows"]
)
def test_zeros_that_pad_an_operand_are_not_its_explicit_value(name: str, dense: NDArray[np.float64]) -> None:
    """The sparsifier reads explicitVal for every place that is stored."""
    stored = ms.encoding(name).to_text().replace(" }>", ", explicitVal = 3.0 : f64 }>")
    threes = ms.tensor(np.where(dense != 0, 3.0, 0.0), stored, prune=name == "NV_24")
    values, x = threes.to_numpy(), np.arange(11.0)
    assert threes.encoding.explicit_val is not None
    np.testing.assert_array_equal(ms.evaluate("y(i) = A(i,j) * x(j)", A=threes, x=x), values @ x)
    np.testing.assert_array_equal(
        ms.evaluate("C(i,j) = A(i,j) + B(i,j)", A=threes, B=dense, out="CSR").to_numpy(), values + dense
    )


def test_two_blockings_of_one_index(dense: NDArray[np.float64]) -> None:
    A, B = ms.tensor(dense, "BSR(2, 2)"), ms.tensor(dense, "BSR(3, 3)")
    product = ms.evaluate("C(i,j) = A(i,j) * B(i,j)", A=A, B=B)
    np.testing.assert_array_equal(product.to_numpy(), dense * dense)
    blocks = ms.evaluate("C(i,k) = A(i,j) * B(k,j)", A=A, B=B, out="BSR(5, 2)")
    np.testing.assert_allclose(blocks.to_numpy(), dense @ dense.T)
    assert blocks.encoding == ms.encoding("BSR(5, 2)").with_widths(32, 32)


def test_any_formats_together(dense: NDArray[np.float64]) -> None:
    stored = [ms.tensor(dense, name) for name in ("BSR(2, 2)", "DIA", "CSF", "HashedRows")]
    total = ms.evaluate(
        "C(i,j) = A(i,j) + B(i,j) + D(i,j) + E(i,j)", **dict(zip("ABDE", stored, strict=True)), out="ELL"
    )
    np.testing.assert_array_equal(total.to_numpy(), 4 * dense)


@pytest.mark.parametrize("extent", [0, 1, 3])
@pytest.mark.parametrize(
    ("text", "out"),
    [
        ("y +=! A(i,i) + sum(r : x(r) * R(i,i,j))", None),
        ("C(i,j) = sum(r : x(r) * A(i,j))", "CSR"),
        ("C(i,j) = x(j) * A(i,j)", "CSR"),
        ("C(i,j) = R(i,j,k) * A(k,k)", None),
    ],
)
def test_sparse_results_of_loops_that_skip_nothing(
    rng: np.random.Generator, extent: int, text: str, out: str | None
) -> None:
    dense = {"A": 2, "x": 1, "R": 3}
    arrays = {name: rng.integers(0, 3, (extent,) * rank) for name, rank in dense.items()}
    stored = {**arrays, "x": ms.tensor(arrays["x"], "SparseVector"), "R": ms.tensor(arrays["R"], "COO")}
    names = ms.parse(text).inputs
    result = ms.evaluate(text, tensors={name: stored[name] for name in names}, out=out)
    actual = result.to_numpy() if isinstance(result, ms.SparseTensor) else result
    oracle.assert_close(actual, oracle.evaluate(text, {name: arrays[name] for name in names}))


@pytest.mark.parametrize(
    ("text", "out"),
    [("C(i,j) = A(i,k) * A(k,j)", "DCSR"), ("C(i,j) = A(i,j) + A(i,j)", "CSR")],
    ids=["workspace", "positions"],
)
def test_results_whose_loops_have_no_room_are_refused(text: str, out: str) -> None:
    # Compiled code does not look at what malloc returns: without a check this ends the process.
    huge = 1 << 44
    A = ms.tensor((np.array([[5], [huge - 1]]), np.ones(1)), "DCSR", shape=(huge, huge))
    kernel = ms.compile(text, A=A, out=out)
    for _ in range(2):
        with pytest.raises(ms.TooLargeError, match=r"expected the loops over a result of shape .* to fit in"):
            kernel(A)


@crossed(operation=["or=", "and=", "max=", "+="], out=["dense", "CSR"], extent=[0, 1, 4])
def test_results_met_with_what_is_read_densely(extent: int, out: str, operation: str) -> None:
    """A diagonal of A beside A is read densely; what meets the two in regions is then read densely too."""
    random = np.random.default_rng(extent)
    values = {name: random.integers(0, 2, (extent, extent)) for name in "yA"}
    operands = {name: ms.tensor(value, "CSR") for name, value in values.items()}
    found = ms.compile(f"y(i,j) {operation} A(i,i) + A(i,j)", tensors=operands, out=out)(**operands)
    y, sums = values["y"], np.diag(values["A"])[:, None] + values["A"]
    expected = {
        "or=": (y != 0) | (sums != 0),
        "and=": (y != 0) & (sums != 0),
        "max=": np.maximum(y, sums),
        "+=": y + sums,
    }
    np.testing.assert_array_equal(found if out == "dense" else found.to_numpy(), expected[operation])


LISTS = [
    "(i, j) -> (i : compressed, j : singleton)",
    "(i, j) -> (j : compressed, i : singleton)",
    "(i, j) -> (i : loose_compressed, j : singleton)",
    "(i, j) -> (i : loose_compressed(nonunique), j : singleton)",
]


@pytest.mark.parametrize("out", LISTS)
@pytest.mark.parametrize("text", ["C(i,j) = A(i,j) * 2 + A(i,j)", "C(i,j) = A(i,k) * B(k,j)", "C(i,j) = A(i,j) * x(i)"])
def test_lists_of_coordinates_hold_what_their_encoding_says(text: str, out: str) -> None:
    given = {"B": ms.tensor(np.eye(3), "CSR"), "x": np.ones(3)}
    one, two = np.diag([1.0, 0, 4]), np.array([[1.0, 0, 2], [0, 0, 0], [0, 0, 3]])
    for A in (one, two):
        operands = {name: {"A": ms.tensor(A, "CSR"), **given}[name] for name in ms.parse(text).inputs}
        if A is two and "nonunique" not in out:
            with pytest.raises(ms.StorageError, match="expected one entry below each coordinate of the unique level 0"):
                ms.evaluate(text, out=out, **operands)
            continue
        C = ms.evaluate(text, out=out, **operands)
        assert C.encoding.level_types == ms.encoding(out).level_types
        np.testing.assert_array_equal(C.to_numpy(), A * 3 if "2" in text else A)
        again = ms.SparseTensor.from_levels(
            C.encoding, C.shape, C.storage.positions, C.storage.coordinates, C.storage.values
        )  # which is validated
        np.testing.assert_array_equal(again.to_numpy(), C.to_numpy())
