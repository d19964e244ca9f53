"""The package as users see it: evaluate, compile, einsum, kernels, stages, and assignments built in Python."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse import pipeline
from mlir_sparse.compile import cpu_build
from mlir_sparse.compile.cpu_build import Stage

SPMV = "y(i) = A(i,j) * x(j)"
DENSE = np.array([[0.0, 2.0, 0.0], [3.0, 0.0, 4.0]])
X = np.array([1.0, 10.0, 100.0])


# -- evaluate -----------------------------------------------------------------------------------------------


def test_dense_results_are_arrays() -> None:
    y = ms.evaluate(SPMV, A=ms.tensor(DENSE), x=X)
    assert type(y) is np.ndarray
    assert y.flags.owndata
    np.testing.assert_array_equal(y, DENSE @ X)


def test_scalars_are_arrays_of_rank_0() -> None:
    total = ms.evaluate("s = A(i,j)", A=ms.tensor(DENSE))
    assert total.shape == ()
    assert total == 9.0
    out = np.array(7.0)
    assert ms.evaluate("s = A(i,j)", A=ms.tensor(DENSE), out=out) is out
    assert out == 9.0


def test_sparse_results_are_tensors() -> None:
    c = ms.evaluate("C(i,j) = 2 * A(i,j)", A=ms.tensor(DENSE))
    assert isinstance(c, ms.SparseTensor)
    assert c.nse == 3
    assert str(c.type) == "f64[?,?] CSR" or "posWidth = 32" in str(c.type)


@pytest.mark.parametrize(
    "out",
    [
        "DCSR",
        "#sparse_tensor.encoding<{ map = (i, j) -> (i : compressed, j : compressed) }>",
        "(i, j) -> (i : compressed, j : compressed)",
        ms.encoding("DCSR"),
        ms.TensorType.parse("f64[?,?] DCSR"),
    ],
    ids=["name", "attribute", "map", "value", "type"],
)
def test_storage_of_results_in_every_spelling(out: Any) -> None:
    c = ms.evaluate("C(i,j) = A(i,j)", A=ms.tensor(DENSE), out=out)
    assert c.encoding.with_widths(0, 0) == ms.encoding("DCSR")
    np.testing.assert_array_equal(c.to_numpy(), DENSE)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
@pytest.mark.parametrize("wrap", ["array", "matrix"])
def test_scipy_operands(kind: str, wrap: str) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    a = getattr(sparse, f"{kind}_{wrap}")(DENSE)
    np.testing.assert_array_equal(ms.evaluate(SPMV, A=a, x=X), DENSE @ X)


def test_scipy_with_unsorted_and_repeated_columns() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    a = sparse.csr_array((np.array([4.0, 2.0, 1.0, 5.0]), np.array([2, 0, 1, 1]), np.array([0, 2, 4])), shape=(2, 3))
    before = a.indices.copy()
    np.testing.assert_array_equal(ms.evaluate(SPMV, A=a, x=X), a.toarray() @ X)
    np.testing.assert_array_equal(a.indices, before)


def test_lists_and_numbers() -> None:
    np.testing.assert_array_equal(ms.evaluate("y(i) = a * x(i)", a=2.0, x=[1.0, 2.0]), [2.0, 4.0])


def test_whitespace_and_brackets() -> None:
    np.testing.assert_array_equal(ms.evaluate("y[ i ]=A[i , j]*x[j]", A=ms.tensor(DENSE), x=X), DENSE @ X)


# -- assignments --------------------------------------------------------------------------------------------


def test_assignments_built_in_python() -> None:
    i, j = ms.indices("i j")
    y, a, x = (ms.TensorVar(name) for name in ("y", "A", "x"))
    y[i] = a[i, j] * x[j]
    assert str(ms.parse(y)) == SPMV
    np.testing.assert_array_equal(ms.evaluate(y, A=ms.tensor(DENSE), x=X), DENSE @ X)
    np.testing.assert_array_equal(ms.evaluate(ms.parse(SPMV), A=ms.tensor(DENSE), x=X), DENSE @ X)


def test_update_assignments_read_the_target() -> None:
    y = np.array([1.0, 2.0])
    a = ms.tensor(DENSE)
    np.testing.assert_array_equal(ms.evaluate("y(i) += A(i,j) * x(j)", A=a, x=X, y=y), y + DENSE @ X)
    np.testing.assert_array_equal(ms.evaluate("y(i) max= z(i)", z=np.array([5.0, 0.0]), y=y), [5.0, 2.0])
    np.testing.assert_array_equal(ms.evaluate("y(i) min= z(i)", z=np.array([5.0, 0.0]), y=y), [1.0, 0.0])
    np.testing.assert_array_equal(ms.evaluate("y(i) *= z(i)", z=np.array([5.0, 0.0]), y=y), [5.0, 0.0])
    np.testing.assert_array_equal(y, [1.0, 2.0])


# -- einsum -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("ij,j->i", [(2, 3), (3,)]),
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("ij,jk", [(2, 3), (3, 4)]),
        ("ij->ji", [(2, 3)]),
        ("ij->", [(2, 3)]),
        ("ii->i", [(3, 3)]),
        ("ii", [(3, 3)]),
        ("i,j->ij", [(2,), (3,)]),
        ("ij,ij->ij", [(2, 3), (2, 3)]),
        ("ijk,kj->i", [(2, 3, 4), (4, 3)]),
        ("...j,j->...", [(2, 3), (3,)]),
    ],
)
@pytest.mark.parametrize("sparse", [True, False])
def test_einsum_is_numpys(text: str, shapes: list[tuple[int, ...]], sparse: bool) -> None:
    random = np.random.default_rng(0)
    operands = [random.integers(-3, 4, shape).astype(np.float64) for shape in shapes]
    given = [ms.tensor(o) for o in operands] if sparse else operands
    result = ms.einsum(text, *given)
    found = result.to_numpy() if isinstance(result, ms.SparseTensor) else result
    np.testing.assert_array_equal(found, np.einsum(text, *operands))


def test_einsum_into_storage() -> None:
    a = ms.tensor(DENSE)
    c = ms.einsum("ij,kj->ik", a, a, out="COO")
    assert c.encoding.with_widths(0, 0) == ms.encoding("COO")
    np.testing.assert_array_equal(c.to_numpy(), DENSE @ DENSE.T)
    out = np.zeros((2, 2))
    assert ms.einsum("ij,kj->ik", a, a, out=out) is out
    np.testing.assert_array_equal(out, DENSE @ DENSE.T)


@pytest.mark.parametrize(
    ("text", "count", "error"),
    [
        ("ij,j->i", 1, ms.RankError),
        ("ij,j->ii", 2, ms.NotationSyntaxError),
        ("ij,j->k", 2, ms.NotationSyntaxError),
        ("i!", 1, ms.NotationSyntaxError),
        ("ij", 0, ms.UnknownTensorError),
    ],
)
def test_einsum_mistakes(text: str, count: int, error: type[ms.SparseError]) -> None:
    with pytest.raises(error, match="expected"):
        ms.einsum(text, *[DENSE, X][:count])


# -- kernels ------------------------------------------------------------------------------------------------


def test_kernels_by_position_and_by_name() -> None:
    spmv = ms.compile(SPMV, A="f64[?,?] CSR", x="f64[?]")
    a = ms.tensor(DENSE)
    for result in (spmv(a, X), spmv(a, x=X), spmv(A=a, x=X), spmv(x=X, A=a)):
        np.testing.assert_array_equal(result, DENSE @ X)
    assert spmv.parameters == ("A", "x")
    assert str(spmv.output) == "f64[?]"
    assert "A(i,j) * x(j)" in repr(spmv)


def test_the_same_kernel_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []
    original = pipeline.compile_module

    def counted(module: bytes, passes: pipeline.Pipeline, *, kernel: str, **options: Any) -> bytes:
        calls.append(kernel)
        return original(module, passes, kernel=kernel, **options)

    monkeypatch.setattr(cpu_build.pipeline, "compile_module", counted)
    text = "y(i) = 17 * A(i,j) * x(j)"
    for n in (2, 3, 4):
        ms.evaluate(text, A=ms.tensor(np.eye(n)), x=np.ones(n))
    kernel = ms.compile(text, A="f64[?,?] CSR", x="f64[?]")
    kernel(ms.tensor(np.eye(3)), np.ones(3))
    kernel(ms.tensor(np.eye(4)), np.ones(4))
    assert len(calls) <= 2  # one for the widths of the data, one for the kernel declared without any


def test_results_by_type_and_by_data_agree() -> None:
    a = ms.tensor(DENSE)
    by_data = ms.compile(SPMV, A=a, x=X)
    by_type = ms.compile(SPMV, A=a.type, x="f64[?]")
    np.testing.assert_array_equal(by_data(a, X), by_type(a, X))
    assert str(by_data.output) == str(by_type.output)


def test_kernels_of_many_element_types() -> None:
    for name in ("f32", "i64", "c64", "bf16"):
        dtype = ms.DType(name)
        spmv = ms.compile(SPMV, A=f"{name}[?,?] CSR", x=f"{name}[?]")
        y = spmv(ms.tensor(DENSE.astype(dtype.numpy)), np.ones(3, dtype.numpy))
        assert y.dtype == dtype.numpy
        np.testing.assert_array_equal(y.astype(np.complex128), DENSE.sum(1))


# -- stages -------------------------------------------------------------------------------------------------

SHOWN = {
    "notation": "y(i) = sum(j : A(i,j) * x(j))",
    "plan": "loops i, j",
    "linalg": "linalg.generic",
    "sparsified": "scf.for",
    "llvm": "llvm.func",
    "llvmir": "define",
    "asm": "ret",
}


@pytest.mark.parametrize("stage", ms.STAGES)
def test_every_stage_has_text(stage: Stage) -> None:
    spmv = ms.compile(SPMV, A="f64[?,?] CSR", x="f64[?]")
    text = spmv.ir(stage)
    assert SHOWN[stage] in text
    assert text.endswith("\n")
    assert spmv.ir(stage) == text


def test_linalg_shows_the_encoding_verbatim() -> None:
    asked = "#sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed), posWidth = 16, crdWidth = 8 }>"
    spmv = ms.compile(SPMV, A=f"f64[?,?] {asked}", x="f64[?]")
    assert asked in spmv.ir("linalg")


def test_stages_do_not_need_data() -> None:
    text = ms.compile("C(i,j) = A(i,k) * B(k,j)", A="f32[?,?] BSR(2, 2)", B="f32[?,?]").ir("linalg")
    assert "d0 floordiv 2 : dense" in text
    assert "tensor<?x?xf32" in text


# -- the package --------------------------------------------------------------------------------------------


def test_every_public_name_exists() -> None:
    for name in ms.__all__:
        assert getattr(ms, name) is not None
    assert len(ms.__all__) == len(set(ms.__all__))


def test_importing_loads_no_mlir() -> None:
    program = (
        "import sys, mlir_sparse as ms; ms.tensor([[1.0]]); "
        "ms.compile('y(i) = A(i,j) * x(j)', A='f64[?,?] CSR', x='f64[?]').ir('plan'); "
        "print(sorted(m for m in sys.modules if m.split('.')[0] in ('torch_mlir', 'mlir', 'mlir_finch')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_evaluate_from_two_threads() -> None:
    wrong: list[object] = []

    def work(number: int) -> None:
        try:
            for text, expected in ((SPMV, DENSE @ X), (f"y(i) = {number} * A(i,j) * x(j)", number * (DENSE @ X))):
                if not np.array_equal(ms.evaluate(text, A=ms.tensor(DENSE), x=X), expected):
                    wrong.append(text)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in (21, 22)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_operands_by_name_are_taken_in_any_order_also_after_the_first_call() -> None:
    dense, x = np.diag([1.0, 2.0, 3.0]), np.array([1.0, 10.0, 100.0])
    A = ms.tensor(dense)
    kernel = ms.compile("y(i) = A(i,j) * x(j)", A=A, x=x)
    for _ in range(2):
        for found in (kernel(A, x), kernel(x=x, A=A), kernel(A, x=x), kernel(x=x, A=A, out=np.zeros(3))):
            np.testing.assert_array_equal(found, dense @ x)
        for operands, named in (((A,), {"A": A}), ((A, x), {"x": x}), ((A,), {}), ((A,), {"z": x})):
            with pytest.raises((ms.OperandError, ms.UnknownTensorError)):
                kernel(*operands, **named)
