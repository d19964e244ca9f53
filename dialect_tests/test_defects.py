"""What MLIR's sparsifier gets wrong, as a user meets it: the right answer, or a refusal by name.

Each defect is shown twice: the module that fails in MLIR itself (in `defects/`), so that a new version of the
bindings tells when a way round is no longer needed, and the kernels that must be right all the same. Those modules are
run in the isolated compiler: most of them end it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests import oracle
from dialect_tests.conforming import conforming
from dialect_tests.kernel_cases import check_storage
from mlir_sparse import pipeline
from mlir_sparse._mlir.provider import bindings_name
from mlir_sparse.pipeline import Pass, Pipeline

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


def test_data_out_of_order_is_refused_where_order_is_declared() -> None:
    with pytest.raises(ms.StorageError, match="order"):
        ms.SparseTensor.from_levels("CSR", (2, 4), [None, [0, 2, 3]], [None, [3, 1, 0]], np.ones(3))


@pytest.mark.parametrize("storage", ["NV_24", "NM(2, 3)", "NM(1, 8)"])
def test_blocks_with_less_than_n_of_m(storage: str) -> None:
    """MLIR's conversion from dense needs exactly n nonzeros in each block."""
    dense = np.zeros((4, 9))
    dense[0, 0], dense[2, 7] = 5.0, -3.0
    a = ms.tensor(dense, storage)
    np.testing.assert_array_equal(a.to_numpy(), dense)
    np.testing.assert_array_equal(ms.evaluate("y(i) = A(i,j) * x(j)", A=a, x=np.arange(9.0)), dense @ np.arange(9.0))


@pytest.mark.parametrize("storage", ["BatchedCSR", "BCOO"])
def test_batches_from_dense(storage: str) -> None:
    """MLIR has no conversion from dense to a batch."""
    cube = np.stack([data(4, 5, seed) for seed in range(3)])
    np.testing.assert_array_equal(ms.tensor(cube, storage).to_numpy(), cube)
    check("y(b,i) = A(b,i,j) * x(j)", {"A": storage}, "dense", A=cube, x=np.arange(5.0))


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
        ms.encoding(text).mlir_text()


# -- the modules that MLIR itself gets wrong ------------------------------------------------------------------

FOLDER = Path(__file__).parent / "defects"
WHOLE = pipeline.sparsifier().then(pipeline.cpu())


def _sparsifier(option: tuple[str, str | bool]) -> Pipeline:
    return Pipeline((Pass("sparsifier", "MLIR's own pipeline", (("enable-runtime-library", False), option)),))


@dataclass(frozen=True, slots=True)
class Defect:
    """What becomes of a module of `defects/` in MLIR, and the kernels that users write for it.

    Args:
        outcome: the error of `compile_module`; None where MLIR compiles the module, to a wrong program.
        kernels: (text, storage of the operands, storage of the result), compared with the oracle.
        passes: the pipeline that the outcome is that of.
    """

    outcome: type[ms.CompileError] | None
    kernels: tuple[tuple[str, dict[str, str | ms.Encoding], str], ...]
    passes: Pipeline = WHOLE


ROWS = "(i, j) -> (i floordiv 4 : dense, j : compressed, i mod 4 : dense)"
SPMV, SPGEMM = "y(i) = A(i,j) * x(j)", "C(i,j) = A(i,k) * B(k,j)"
DEFECTS = {
    "bsr_level_size_1": Defect(ms.CompilerCrash, ((SPMV, {"A": "BSR(8, 3)"}, "dense"), (SPMV, {"A": BSR}, "dense"))),
    "bsr_x_bsr_dense": Defect(ms.CompileError, ((SPGEMM, {"A": BSR, "B": BSR}, "dense"),)),
    "csr_csr_to_bsr": Defect(ms.CompileError, ((SPGEMM, {"A": "CSR", "B": "CSR"}, BSR),)),
    "diag": Defect(ms.CompileError, (("d(i) = S(i,i)", {"S": "CSR"}, "dense"), ("s = S(i,i)", {"S": "CSR"}, "dense"))),
    "fold_uninit_convert": Defect(None, ((SPGEMM, {"A": "CSR", "B": "CSC"}, "dense"),)),
    "folded_reduction": Defect(ms.CompilerCrash, (("y(i) = A(i,j) * x(j) * 0", {"A": "CSR"}, "dense"),)),
    "lib_spgemm_coo_wrong": Defect(None, ((SPGEMM, {"A": "CSR", "B": "CSR"}, "COO"),)),
    "linalg_index_csc_wrong": Defect(None, (("y(i) = A(i,j) * r(i)", {"A": "CSC"}, "dense"),)),
    "maximumf_reduction": Defect(ms.CompileError, (("y(i) = max(j : A(i,j))", {"A": "CSR"}, "dense"),)),
    "nonaccumulating_reduction_sig11": Defect(
        ms.CompilerCrash, (("y(i) = r(i) - A(i,j) * x(j)", {"A": "CSR"}, "dense"),)
    ),
    "nonordered_aos_convert_frees_input": Defect(None, (("C(i,j) = A(i,j)", {"A": "UnorderedCOO"}, "CSR"),)),
    "out_order_csc": Defect(ms.CompileError, (("C(i,j) = A(i,j) + D(i,j)", {"A": "CSR", "D": "CSR"}, "CSC"),)),
    "outer_product_csc_csr_to_csr": Defect(ms.CompileError, ((SPGEMM, {"A": "CSC", "B": "CSR"}, "CSR"),)),
    "rowblk_sig11": Defect(ms.CompilerCrash, ((SPMV, {"A": ROWS}, "dense"),)),
    "sampled_product_sig11": Defect(
        ms.CompilerCrash,
        (("X(i,j) = S(i,j) * (A(i,k) * D(j,k))", {"S": "DCSR"}, "dense"),),
        _sparsifier(("enable-index-optimizations", False)),
    ),
    "scalar_plus_sparse_segv": Defect(
        ms.CompilerCrash,
        (("a(i) = beta + x(i)", {"x": "SparseVector"}, "dense"), ("a(i) = beta + x(i)", {"x": "SparseVector"}, "CSF")),
    ),
    # Users' modules are what takes slices: see test_parts_in_modules.
    "slice_offset_wrong": Defect(None, ((SPMV, {"A": "CSR"}, "dense"),)),
    "sparse_iterator_sig11": Defect(
        ms.CompilerCrash, ((SPMV, {"A": "CSR"}, "dense"),), _sparsifier(("sparse-emit-strategy", "sparse-iterator"))
    ),
    "transpose_bsr_sig11": Defect(ms.CompilerCrash, (("C(j,i) = A(i,j)", {"A": BSR}, BSR),)),
}


def compiled(name: str, passes: Pipeline) -> bytes:
    """Returns what the isolated compiler makes of a module of `defects/`."""
    return pipeline.compile_module((FOLDER / f"{name}.mlir").read_bytes(), passes, kernel=name, as_text=True)


def test_every_module_is_listed() -> None:
    assert sorted(DEFECTS) == sorted(path.stem for path in FOLDER.iterdir())


@pytest.mark.parametrize("name", DEFECTS)
def test_a_user_gets_the_right_answer(name: str) -> None:
    values = {"A": data(), "B": data(12, 10, 1), "D": data(seed=2), "S": data(8, 8, 3), "beta": np.array(3.0)}
    values |= {"x": np.arange(12.0), "r": np.arange(8.0)}
    for text, storage, out in DEFECTS[name].kernels:
        for _ in range(2):
            check(text, storage, out, **{name: values[name] for name in ms.parse(text).inputs})


@pytest.mark.parametrize("name", DEFECTS)
def test_the_way_round_is_still_needed(name: str) -> None:
    """Where this fails MLIR has been mended, and the planner may take the direct way.

    What ends the compiler is an exception with a reproducer, and the compiler serves the next request.
    """
    defect = DEFECTS[name]
    if defect.outcome is None:
        try:
            assert compiled(name, defect.passes)
        except ms.CompilerCrash:  # of builds with assertions, as those of LLVM 22 on PyPI: right as well
            assert bindings_name() != "torch_mlir"
        return
    with pytest.raises(ms.CompileError) as caught:
        compiled(name, defect.passes)
    assert type(caught.value) is defect.outcome
    assert caught.value.kernel == name
    assert caught.value.pipeline == str(defect.passes)
    assert caught.value.reproducer is not None
    reproducer = Path(caught.value.reproducer)
    assert f"// pipeline: {defect.passes}\n" in reproducer.read_text()
    reproducer.unlink()
    assert compiled("fold_uninit_convert", WHOLE)


def test_the_debug_interface_ends_the_compiler_alone() -> None:
    """Pipelines of this package never ask for it, nor for sparse iterators."""
    with pytest.raises(ms.CompileError):
        compiled("rowblk_sig11", _sparsifier(("sparse-emit-strategy", "debug-interface")))
    for lanes in (0, 8):
        for results in (None, "assemble"):
            assert "functional" in str(pipeline.sparsifier(lanes, results))
            assert "debug" not in str(pipeline.sparsifier(lanes, results))


@pytest.mark.parametrize("text", [b"", b"not MLIR", b"module { func.func @f() -> f64 { return } }", b"ML\xefR"])
def test_text_that_is_no_module_is_an_exception(text: bytes) -> None:
    with pytest.raises(ms.CompileError):
        pipeline.compile_module(text, Pipeline((Pass("no-such-pass", "a test"),)), kernel="none")
    assert compiled("fold_uninit_convert", WHOLE)


@pytest.mark.parametrize("storage", ["NV_24", "PackedLower", "Banded"])
def test_zeros_that_arithmetic_leaves_need_no_room(storage: str) -> None:
    """Sums that cancel are entries of the loops' result; formats for few elements must not run out of room for them."""
    ones = np.ones((4, 4))
    low = np.array([[1.0, -1.0, 0.0, 0.0]]).T @ np.array([[1.0, 1.0, 1.0, 1.0]])
    check("C(i,j) = A(i,k) * B(k,j)", {"A": "CSR", "B": "CSR"}, storage, A=ones, B=low)


@pytest.mark.parametrize("shape", [(2, 12), (12, 2), (7, 11), (1, 1), (4, 3)])
@pytest.mark.parametrize("storage", ["BSR(2, 3)", "DBSR(2, 3)", "CSB(2, 3)", "NV_24"])
def test_static_shapes_that_blocks_do_not_divide(storage: str, shape: tuple[int, int], tmp_path: Path) -> None:
    """`bsr_level_size_1.mlir`: a loop over one block becomes a constant. Such kernels are shown, run and saved."""
    rows, columns = shape
    kernel = ms.compile("y(i) = A(i,j) * x(j)", A=f"f64[{rows},{columns}] {storage}", x=f"f64[{columns}]")
    assert "scf.for" in kernel.ir("sparsified")
    dense, x = conforming(data(rows, columns), storage), np.arange(1.0, columns + 1)
    kernel.save(tmp_path / "kernel.msk")
    for one in (kernel, ms.load(tmp_path / "kernel.msk")):
        np.testing.assert_array_equal(one(ms.tensor(dense, storage), x), dense @ x)
