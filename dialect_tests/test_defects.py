"""What MLIR's sparsifier gets wrong, as a user meets it: the right answer, or a refusal by name.

Each defect is shown twice: the module that fails in MLIR itself, so that a new version of the bindings tells when
a way round is no longer needed, and the kernel that must be right all the same. Those modules are run in the isolated
compiler: most of them end it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests import oracle
from dialect_tests.kernel_cases import check_storage
from mlir_sparse import pipeline

BSR = "BSR(2, 3)"


def data(rows: int = 8, columns: int = 12, seed: int = 0) -> np.ndarray[Any, Any]:
    random = np.random.default_rng(seed)
    values = random.integers(1, 9, (rows, columns)) * (random.random((rows, columns)) < 0.4)
    return np.asarray(values, np.float64)


def check(text: str, storage: dict[str, str | ms.Encoding], out: str | None = None, **dense: Any) -> Any:
    """Returns a kernel's result after comparing it with the oracle."""
    operands = {name: ms.tensor(value, storage[name]) if name in storage else value for name, value in dense.items()}
    result = ms.evaluate(text, out=out, tensors=operands)
    if isinstance(result, ms.SparseTensor):
        check_storage(result, out)
    found = result.to_numpy() if isinstance(result, ms.SparseTensor) else result
    oracle.assert_close(found, oracle.evaluate(text, dense), terms=64)
    return result


# -- silently wrong in MLIR ---------------------------------------------------------------------------------


def test_dense_from_a_sparse_result() -> None:
    """Converted to dense in the same function, the result is folded into memory that nobody initialised."""
    for out in ("CSR", "dense"):
        for _ in range(3):
            check("C(i,j) = A(i,k) * B(k,j)", {"A": "CSR", "B": "CSC"}, out, A=data(), B=data(12, 10, 1))
    check("y(i) = (A(i,j) * B(i,j)) * x(j)", {"A": "CSR", "B": "CSC"}, A=data(), B=data(seed=1), x=np.ones(12))


def test_coo_results_of_expanded_insertion() -> None:
    for out in ("COO", "SoA-COO", "ColumnMajorCOO"):
        check("C(i,j) = A(i,k) * B(k,j)", {"A": "CSR", "B": "CSR"}, out, A=data(), B=data(12, 10, 1))


def test_loops_in_another_order_than_the_text() -> None:
    """An index used as a value is wrong where the compiler reorders loops; here it can only be data."""
    check("y(i) = A(i,j) * r(i)", {"A": "CSC"}, A=data(), r=np.arange(8.0))
    check("y(i) = A(i,j) * r(i)", {"A": BSR}, A=data(), r=np.arange(8.0))


@pytest.mark.parametrize(
    "encoding",
    [
        "(i, j) -> (i : compressed(nonunique), j : singleton(nonunique))",
        "(i, j) -> (i : compressed(nonunique), j : singleton(nonunique, soa))",
        "(i, j) -> (j : compressed(nonunique), i : singleton(nonunique))",
        "(i, j) -> (i : compressed(nonunique, nonordered), j : singleton(nonunique, nonordered))",
        "(i, j) -> (i : dense, j : compressed(nonunique))",
        "(i, j) -> (i : dense, j : compressed(nonunique, nonordered))",
        "(i, j) -> (i : dense, j : loose_compressed(nonunique))",
        "(i, j) -> (i : compressed, j : compressed(nonunique))",
    ],
)
def test_entries_stored_twice_are_summed(encoding: str) -> None:
    """Of equal coordinates in a row the sparsifier visits the first."""
    coordinates, values = np.array([[0, 1, 0, 0, 1], [1, 1, 1, 0, 1]]), np.array([5.0, 1.0, 7.0, 2.0, 4.0])
    a = ms.tensor((coordinates, values), encoding, shape=(2, 2), sum_duplicates=False)
    assert a.nse == 5
    dense, x = np.array([[2.0, 12.0], [0.0, 5.0]]), np.array([1.0, 10.0])
    assert ms.evaluate("s = A(i,j)", A=a) == dense.sum()
    np.testing.assert_array_equal(ms.evaluate("y(i) = A(i,j) * x(j)", A=a, x=x), dense @ x)
    np.testing.assert_array_equal(ms.evaluate("y(j) = A(i,j) * x(i)", A=a, x=x), x @ dense)
    np.testing.assert_array_equal(ms.evaluate("C(i,j) = A(i,j)", A=a, out="dense"), dense)
    np.testing.assert_allclose(ms.evaluate("C(i,j) = sqrt(A(i,j))", A=a, out="dense"), np.sqrt(dense))
    for text, expected in (("C(i,j) = A(i,j) * A(i,j)", dense**2), ("C(i,j) = A(i,j) + A(i,j)", 2 * dense)):
        result = ms.evaluate(text, A=a, out="CSR")
        check_storage(result, "CSR")
        np.testing.assert_array_equal(result.to_numpy(), expected)
    np.testing.assert_array_equal(a.convert("CSR").storage.values, [2.0, 12.0, 5.0])


@pytest.mark.parametrize("level", ["compressed(nonunique)", "loose_compressed(nonunique)"])
def test_rows_stored_twice_are_summed(level: str) -> None:
    encoding = f"(i, j) -> (i : {level}, j : compressed)"
    rows, columns = [[0, 3], [0, 1, 2, 3]], [[0, 0, 1], [0, 1, 2]]
    a = ms.SparseTensor.from_levels(encoding, (2, 3), rows, columns, np.array([1.0, 2.0, 3.0]))
    dense = np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 3.0]])
    np.testing.assert_array_equal(ms.evaluate("y(i) = A(i,j) * x(j)", A=a, x=np.arange(3.0)), dense @ np.arange(3.0))
    np.testing.assert_array_equal(ms.evaluate("C(i,j) = 2 * A(i,j)", A=a, out="CSR").to_numpy(), 2 * dense)


def test_unordered_operands_keep_their_buffers() -> None:
    """MLIR sorts a nonordered COO in place and frees it: the caller's memory."""
    coordinates, values = np.array([[3, 0, 5, 1], [1, 2, 0, 4]]), np.arange(1.0, 5.0)
    a = ms.tensor((coordinates, values), "UnorderedCOO", shape=(6, 6))
    before = [buffer.tobytes() for buffer in a.storage.buffers()]
    dense = a.to_numpy()
    for _ in range(3):
        np.testing.assert_array_equal(a.convert("CSR").to_numpy(), dense)
        np.testing.assert_array_equal(ms.evaluate("C(i,j) = A(i,j) + A(i,j)", A=a, out="CSR").to_numpy(), 2 * dense)
        np.testing.assert_array_equal(ms.evaluate("y(i) = A(i,j) * x(j)", A=a, x=np.ones(6)), dense.sum(1))
    assert [buffer.tobytes() for buffer in a.storage.buffers()] == before


# -- refused, or the end of the compiler, in MLIR ------------------------------------------------------------


def test_results_in_another_order_than_the_loops() -> None:
    check("C(i,j) = A(i,j) + B(i,j)", {"A": "CSR", "B": "CSR"}, "CSC", A=data(), B=data(seed=1))
    check("C(i,j) = A(i,k) * B(k,j)", {"A": "CSC", "B": "CSR"}, "CSR", A=data(), B=data(12, 10, 1))
    check("C(i,j) = A(i,k) * B(k,j)", {"A": "CSR", "B": "CSR"}, "CSC", A=data(), B=data(12, 10, 1))


def test_blocked_operands_and_results() -> None:
    check("C(i,j) = A(i,k) * B(k,j)", {"A": "CSR", "B": "CSR"}, BSR, A=data(), B=data(12, 10, 1))
    check("C(i,j) = A(i,k) * B(k,j)", {"A": BSR, "B": BSR}, "dense", A=data(), B=data(12, 10, 1))
    check("C(i,j) = A(i,k) * B(k,j)", {"A": BSR, "B": BSR}, BSR, A=data(), B=data(12, 10, 1))
    check("C(j,i) = A(i,j)", {"A": BSR}, BSR, A=data())
    check("C(i,j) = A(i,j) + B(i,j)", {"A": BSR, "B": "CSR"}, BSR, A=data(), B=data(seed=1))


@pytest.mark.parametrize("shape", [(2, 12), (1, 12), (8, 3), (8, 1), (7, 11), (1, 1)])
def test_one_block_row_and_blocks_that_do_not_divide(shape: tuple[int, int]) -> None:
    check("y(i) = A(i,j) * x(j)", {"A": BSR}, A=data(*shape), x=np.arange(1.0, shape[1] + 1))


@pytest.mark.parametrize(
    "encoding",
    [
        "(i, j) -> (i floordiv 4 : dense, j : compressed, i mod 4 : dense)",
        "(i, j) -> (j : dense, i floordiv 4 : compressed, i mod 4 : dense)",
        "(i, j) -> (i : dense, j floordiv 2 : compressed, j mod 2 : dense)",
    ],
)
def test_blocks_along_one_dimension(encoding: str) -> None:
    check("y(i) = A(i,j) * x(j)", {"A": encoding}, A=data(12, 24), x=np.arange(24.0))
    check("y(i) = A(i,j) * x(j)", {"A": encoding}, A=data(11, 23), x=np.arange(23.0))


def test_three_dimensional_blocks_along_one_dimension() -> None:
    cube = np.stack([data(4, 5, seed) for seed in range(3)])
    encoding = "(i, k, j) -> (i : dense, k : compressed, j floordiv 2 : compressed, j mod 2 : dense)"
    check("y(i,k) = B(i,k,j) * x(j)", {"B": encoding}, "dense", B=cube, x=np.arange(5.0))


def test_the_diagonal() -> None:
    for storage in ("CSR", "COO", BSR):
        check("d(i) = A(i,i)", {"A": storage}, A=data(8, 8))
        check("s = A(i,i)", {"A": storage}, A=data(8, 8))


def test_the_diagonal_next_to_sparse_operands() -> None:
    check("y = A(k,k) * z(k)", {"z": "SparseVector"}, A=data(8, 8), z=data(1, 8)[0])
    check("y(i) = A(i,i) * B(i,j)", {"A": "CSR", "B": "CSR"}, A=data(8, 8), B=data(8, 8, 1))


def test_reductions_that_do_not_accumulate() -> None:
    x, b = np.arange(12.0), np.arange(8.0)
    check("y(i) = b(i) - A(i,j) * x(j)", {"A": "CSR"}, A=data(), x=x, b=b)
    check("C(i,j) = A(i,k) * B(k,j) + D(i,j)", {"A": "CSR", "B": "CSR"}, A=data(), B=data(12, 10, 1), D=data(8, 10))
    check("C(i,j) = A(i,k) * B(k,j) - D(i,j)", dict.fromkeys("ABD", "CSR"), A=data(), B=data(12, 10, 1), D=data(8, 10))


@pytest.mark.parametrize("dtype", ["int64", "float64", "complex128"])
@pytest.mark.parametrize(
    "text",
    [
        "y(i) = A(i,j) * x(j) * 0",
        "s = A(i,j) * 0",
        "s = A(i,j) * (1 - 1)",
        "s = A(i,j) * (x(j) - x(j))",
        "C(i,j) = A(i,k) * B(k,j) * 0",
        "C(i,j) = A(i,j) - A(i,j)",
        "y(i) = A(i,j) - A(i,j)",
        "C(i,j) = abs(A(i,j) * 0)",
    ],
)
def test_reductions_that_fold_away(text: str, dtype: str) -> None:
    """A constant factor of zero leaves a body that does not accumulate."""
    operands = {"A": data().astype(dtype), "x": np.arange(12).astype(dtype), "B": data(12, 10, 1).astype(dtype)}
    used = {name: operands[name] for name in ms.parse(text).inputs}
    check(text, {"A": "CSR", "B": "CSR"}, None, **used)


def test_a_scalar_plus_a_sparse_vector() -> None:
    c = data(1, 12)[0]
    check("a(i) = beta + c(i)", {"c": "SparseVector"}, beta=3.0, c=c)
    check("a(i) = beta + c(i)", {"c": "SparseVector"}, "SparseVector", beta=3.0, c=c)
    check("C(i,j) = A(i,j) + u(i)", {"A": "CSR", "u": "SparseVector"}, A=data(), u=np.arange(8.0))


def test_maxima() -> None:
    negative = data() - 4 * (data(seed=3) > 0)
    check("y(i) = max(j : A(i,j))", {"A": "CSR"}, A=negative)
    check("y(i) = min(j : A(i,j))", {"A": "CSC"}, A=negative)
    check("C(i,j) = max(A(i,j), B(i,j))", {"A": "CSR", "B": "CSR"}, "CSR", A=negative, B=-data(seed=1))
    check("y(i) max=! A(i,j) * x(j)", {"A": "COO"}, A=negative, x=np.ones(12))


def test_functions_and_divisions() -> None:
    check("C(i,j) = exp(A(i,j))", {"A": "CSR"}, A=data())
    check("C(i,j) = exp(A(i,j))", {"A": "CSR"}, "CSR", A=data())
    check("C(i,j) = A(i,j) / b(i)", {"A": "CSR"}, "CSR", A=data(), b=np.arange(1.0, 9.0))
    check("C(i,j) = A(i,j) / B(i,j)", {"A": "CSR"}, A=data(), B=1 + data(seed=1))


def test_integer_powers() -> None:
    x, n = np.arange(-3, 4), np.array([0, 1, 2, 3, 2, 1, 0])
    try:
        result = ms.evaluate("y(i) = pow(x(i), n(i))", x=x, n=n)
    except ms.UnsupportedError as error:
        assert "pow" in error.message  # noqa: PT017 - either will do
    else:
        np.testing.assert_array_equal(result, x**n)


def test_accumulation_into_a_sparse_tensor() -> None:
    text = "C(i,j) += A(i,k) * B(k,j)"
    check(text, dict.fromkeys("ABC", "CSR"), "CSR", A=data(8, 8), B=data(8, 8, 1), C=data(8, 8, 2))
    check(text, {"A": "CSR", "B": "CSR"}, A=data(8, 8), B=data(8, 8, 1), C=data(8, 8, 2))


def test_n_of_m_levels_apart_from_their_groups() -> None:
    """Next to their groups they run as they are; elsewhere the sparsifier dies, and they are read by levels."""
    encoding = "(i, j) -> (j floordiv 4 : dense, i : dense, j mod 4 : structured[2, 4])"
    dense = np.zeros((6, 9))
    dense[::2, ::3], dense[1, 1] = 2.0, 5.0
    x = np.arange(9.0)
    np.testing.assert_array_equal(ms.evaluate("y(i) = A(i,j) * x(j)", A=ms.tensor(dense, encoding), x=x), dense @ x)


@pytest.mark.parametrize("storage", ["NV_24", "NM(2, 3)"])
def test_n_of_m_results_that_have_no_room_are_refused(storage: str) -> None:
    with pytest.raises(ms.StorageError, match="expected at most 2 entries in each block"):
        ms.evaluate("C(i,j) = A(i,j) + 1", A=ms.tensor(data()), out=storage)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "(i, j) -> (i : dense, j : singleton)",
            "expected compressed or loose_compressed level before singleton level",
        ),
        ("(i, j) -> (j - i : dense, i : compressed)", "failed to infer lvlToDim from dimToLvl"),
        ("(i, j) -> (i : batch, j : batch, i : dense)", None),
        ("(i, j) -> (i : dense, j : batch)", "Batch lvlType can only be leading levels"),
    ],
)
def test_encodings_that_the_dialect_lacks(text: str, message: str | None) -> None:
    with pytest.raises(ms.SparseError, match=message):
        ms.encoding(text).to_mlir()


# -- the modules that fail in MLIR itself --------------------------------------------------------------------

HEADER = """
#CSR = #sparse_tensor.encoding<{map = (i, j) -> (i : dense, j : compressed)}>
#CSC = #sparse_tensor.encoding<{map = (i, j) -> (j : dense, i : compressed)}>
#ROWS = #sparse_tensor.encoding<{map = (i, j) -> (i floordiv 4 : dense, j : compressed, i mod 4 : dense)}>
#V = #sparse_tensor.encoding<{map = (i) -> (i : compressed)}>
#matvec = {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>],
           iterator_types = ["parallel", "reduction"]}
"""

MODULES = {
    "blocks along one dimension": """
func.func @f(%A: tensor<12x24xf64, #ROWS>, %x: tensor<24xf64>, %y: tensor<12xf64>) -> tensor<12xf64> {
  %r = linalg.generic #matvec ins(%A, %x : tensor<12x24xf64, #ROWS>, tensor<24xf64>) outs(%y : tensor<12xf64>) {
  ^bb0(%a: f64, %b: f64, %c: f64):
    %m = arith.mulf %a, %b : f64
    %s = arith.addf %c, %m : f64
    linalg.yield %s : f64
  } -> tensor<12xf64>
  return %r : tensor<12xf64>
}""",
    "a reduction that folds away": """
func.func @f(%A: tensor<?x?xi64, #CSR>, %x: tensor<?xi64>, %y: tensor<?xi64>) -> tensor<?xi64> {
  %r = linalg.generic #matvec ins(%A, %x : tensor<?x?xi64, #CSR>, tensor<?xi64>) outs(%y : tensor<?xi64>) {
  ^bb0(%a: i64, %b: i64, %c: i64):
    linalg.yield %c : i64
  } -> tensor<?xi64>
  return %r : tensor<?xi64>
}""",
    "a scalar plus a sparse vector": """
func.func @f(%b: tensor<f64>, %c: tensor<?xf64, #V>, %o: tensor<?xf64>) -> tensor<?xf64> {
  %r = linalg.generic {
      indexing_maps = [affine_map<(i) -> ()>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]}
      ins(%b, %c : tensor<f64>, tensor<?xf64, #V>) outs(%o : tensor<?xf64>) {
  ^bb0(%a0: f64, %a1: f64, %x: f64):
    %v = arith.addf %a0, %a1 : f64
    linalg.yield %v : f64
  } -> tensor<?xf64>
  return %r : tensor<?xf64>
}""",
    "a result in another order than the loops": """
func.func @f(%A: tensor<8x12xf64, #CSR>, %B: tensor<8x12xf64, #CSR>) -> tensor<8x12xf64, #CSC> {
  %o = tensor.empty() : tensor<8x12xf64, #CSC>
  %r = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%A, %B : tensor<8x12xf64, #CSR>, tensor<8x12xf64, #CSR>) outs(%o : tensor<8x12xf64, #CSC>) {
  ^bb0(%a: f64, %b: f64, %x: f64):
    %m = arith.addf %a, %b : f64
    linalg.yield %m : f64
  } -> tensor<8x12xf64, #CSC>
  return %r : tensor<8x12xf64, #CSC>
}""",
    "the diagonal": """
func.func @f(%A: tensor<8x8xf64, #CSR>, %o: tensor<8xf64>) -> tensor<8xf64> {
  %r = linalg.generic {
      indexing_maps = [affine_map<(i) -> (i, i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%A : tensor<8x8xf64, #CSR>) outs(%o : tensor<8xf64>) {
  ^bb0(%a: f64, %x: f64):
    linalg.yield %a : f64
  } -> tensor<8xf64>
  return %r : tensor<8xf64>
}""",
}


@pytest.mark.parametrize("name", MODULES)
def test_the_ways_round_are_still_needed(name: str) -> None:
    """Where this fails MLIR has been mended, and the planner may take the direct way."""
    with pytest.raises(ms.CompileError):
        pipeline.compile_module(
            (HEADER + MODULES[name]).encode(), pipeline.sparsifier().then(pipeline.cpu()), kernel=name
        )
