"""Comprehensions and statements with ranges as kernels: how they are called, what they show, what they refuse."""

from __future__ import annotations

import copy
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse.notation import indices, tensors

Array = np.ndarray[Any, Any]

MV = "def mv(float(M,K) A, float(K) x) -> (C) { C(i) +=! A(i,k) * x(k) }"
SGEMM = """
def sgemm(float a, float b, float(N,M) A, float(M,K) B) -> (C) {
  C(i,j)  = b * C(i,j)
  C(i,j) += a * A(i,k) * B(k,j)
}"""


def _floats(*shape: int) -> Array:
    return np.random.default_rng(0).integers(-3, 4, shape).astype(np.float32)


def _doubles(*shape: int) -> Array:
    return _floats(*shape).astype(np.float64)


# ranges of one statement


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y(i) = x(2*i + k) where k in 0:2", lambda x: x[0:8:2] + x[1:9:2]),
        ("y(i) = x(2*i + k) where k in 1:3", lambda x: x[1:9:2] + x[2:10:2]),
        ("y(i) max=! x(i - k) where k in -2:1", lambda x: np.maximum(np.maximum(x[:-2], x[1:-1]), x[2:])),
        ("y(i) = x(i) - x(i + 1) where i in 0:8", lambda x: x[:-1] - x[1:]),
        ("y(i) = x(i) where i in 0:3", lambda x: x[:3]),
        ("y(i) = x(i) where i in 0:0", lambda x: x[:0]),
        ("y = x(k) where k in 2:5", lambda x: x[2:5].sum()),
        ("y = x(k) * x(k + 4) where k in 1:5", lambda x: (x[1:5] * x[5:9]).sum()),
        ("y(i,j) = x(j) where i in 0:2", lambda x: np.stack([x, x])),
        ("y(i) = 1.5 where exists x(2*i)", lambda x: np.full(5, 1.5)),
        ("y(i) = x(8 - i)", lambda x: x[::-1]),
    ],
)
@pytest.mark.parametrize("storage", ["dense", "SparseVector"])
def test_ranges_of_a_statement(text: str, expected: Any, storage: str) -> None:
    if text.endswith("x(8 - i)"):  # from a single statement without clauses, variables run as far as a sum allows
        text += " where i in 0:9"
    x = np.array([1.0, 0, 3, 0, -2, 5, 0, 0, 4])
    result = ms.evaluate(text, x=x if storage == "dense" else ms.tensor(x, storage))
    dense = result.to_numpy() if isinstance(result, ms.SparseTensor) else result
    np.testing.assert_array_equal(dense, expected(x))


def test_a_sparse_operand_that_is_read_in_part_stays_sparse() -> None:
    tensor = ms.tensor(np.array([1.0, 0, 3, 0, -2]), "SparseVector")
    part = ms.evaluate("y(i) = 2 * x(i + 1) where i in 0:4", x=tensor)
    assert isinstance(part, ms.SparseTensor)
    np.testing.assert_array_equal(part.to_numpy(), [0, 6, 0, -4])
    matrix = np.array([[0.0, 1, 0, 2], [3, 0, 0, 4], [0, 5, 6, 0]])
    block = ms.evaluate("B(i,j) = A(i,j + 1) where i in 0:2, j in 0:2", A=ms.tensor(matrix, "CSC"), out="CSR")
    np.testing.assert_array_equal(block.to_numpy(), matrix[:2, 1:3])


def test_python_builds_statements_with_ranges() -> None:
    (i, k), (y, x) = indices("i k"), tensors("y x")
    y.assign(i, x[2 * i + k], "max=!", ranges={k: range(2)})
    np.testing.assert_array_equal(ms.evaluate(y, x=np.arange(7.0)), [1, 3, 5])


def test_a_part_of_a_dense_tensor_is_updated() -> None:
    x, y = np.arange(5.0), np.full(5, 10.0)
    np.testing.assert_array_equal(ms.evaluate("y(i) += x(i + 1) where i in 1:3", x=x, y=y), [10, 12, 13, 10, 10])
    np.testing.assert_array_equal(y, np.full(5, 10.0))
    out = np.zeros(5)
    assert ms.evaluate("y(i) += x(i + 1) where i in 1:3", x=x, y=y, out=out) is out
    np.testing.assert_array_equal(out, [10, 12, 13, 10, 10])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("y(i) = x(i + k)", "expected a range for index i, but got only x(i + k), where k could be anything too"),
        ("y(i,j) = x(i)", "expected a range for index j, but got no tensor that has it: say where j runs, as in"),
        ("y(i) = x(i) where i in 0:9", "expected `i in 0:9` to fit in axis 0 of x, which has 4 elements, but got i to"),
        ("y(i) = x(2*i + k) where k in 0:6", "expected `k in 0:6` to fit in axis 0 of x, which has 4 elements, but"),
        ("y(i) = x(i - 1) where i in 0:2", "expected subscript i - 1 of x to stay within 0 to 3 (axis 0), but got -1"),
        (
            "y(i) = x(i) + x(i + 1) where i in 0:4",
            "expected subscript i + 1 of x to stay within 0 to 3 (axis 0), but got 1 to 4: say where i runs, as in",
        ),
        ("y(i) = x(i) where i in 1:3", "expected index i to run over all of axis 0 of y, 0 to 2, but got 1 to 2"),
        ("y(i) = x(i) y(i) += x(i + 1)", "expected index i to run over all of axis 0 of y, 0 to 3, but got 0 to 2"),
        (
            "y(i) = x(i) y(i) = x(0) where i in 0:7",
            "expected subscript i of y to stay within 0 to 3 (axis 0), but got 0 to 6",
        ),
        ("y(i) = x(i) + x(i - 1)", "expected index i to run over all of axis 0 of y, 0 to 3, but got 1 to 3"),
    ],
)
def test_ranges_without_a_meaning_are_refused_with_figures(text: str, message: str) -> None:
    with pytest.raises(ms.ExtentError) as caught:
        ms.evaluate(f"def f(float(N) x) -> (y) {{ {text} }}", x=_floats(4))
    assert caught.value.message.startswith(message), caught.value.message


def test_tensors_of_one_statement_agree_where_no_range_is_given() -> None:
    x, y = np.ones(3), np.ones(4)
    with pytest.raises(ms.ExtentError, match=r"got 3 \(axis 0 of x\) and 4 \(axis 0 of y\); give it a range by `where"):
        ms.evaluate("z(i,k) = x(i) * y(i) where k in 0:2", x=x, y=y)
    np.testing.assert_array_equal(ms.evaluate("z(i) = x(i) + y(i) where i in 0:3", x=x, y=y), [2, 2, 2])


# types, sizes and what is given


def test_a_size_is_one_number() -> None:
    with pytest.raises(ms.ExtentError) as caught:
        ms.evaluate(MV, A=_floats(3, 4), x=_floats(5))
    assert str(caught.value) == (
        "comprehension:1:22: expected K to be one number, but got 4 (axis 1 of A) and 5 (axis 0 of x)\n"
        f"  {MV}\n                       ^^^^^^^^^^"
    )
    with pytest.raises(ms.ExtentError, match="expected 3 to be one number, but got 3 \\(the declaration\\) and 4"):
        ms.evaluate("def f(float(3) x) -> (y) { y(i) = x(i) }", x=_floats(4))


@pytest.mark.parametrize(
    ("operands", "error", "message"),
    [
        ({"A": _floats(2, 2)}, ms.UnknownTensorError, "expected data for tensor x, but got none"),
        (
            {"A": _floats(2, 2), "x": _floats(2), "z": 1},
            ms.UnknownTensorError,
            r"expected a tensor that mv takes \(A, x\)",
        ),
        ({"A": _doubles(2, 2), "x": _floats(2)}, ms.DTypeError, "expected A of f32, as declared, but got f64"),
        ({"A": _floats(2, 2), "x": _floats(2, 2)}, ms.RankError, "expected x of 1 dimensions, as declared, but got 2"),
    ],
)
def test_operands_are_as_declared(operands: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ms.evaluate(MV, **operands)


def test_python_numbers_take_the_declared_type() -> None:
    A, B, C = _floats(3, 2), _floats(2, 4), _floats(3, 4)
    result = ms.evaluate(SGEMM, a=2, b=0.5, A=A, B=B, C=C)
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, 0.5 * C + 2 * (A @ B))


@pytest.mark.parametrize(
    ("statements", "dtype"),
    [
        ("y(i) = 0 y(i) += x(i)", "float32"),
        ("y(i) = 0.5 y(i) += n(i)", "float64"),
        ("y(i) = n(i) y(i) = y(i) / 2", "float64"),
        ("y(i) = n(i) y(i) += x(i)", "float64"),
        ("y(i) = n(i) * 3 where exists x(i)", "int32"),
        ("y(i) = x(i) / N", "float32"),
        ("t(i) = n(i) y(i) = t(i) * t(i)", "int32"),
        ("y(i) = 1 where exists x(i)", "int64"),
    ],
)
def test_a_tensor_has_the_common_type_of_what_is_assigned(statements: str, dtype: str) -> None:
    text = f"def f(float(N) x, int(N) n) -> (y) {{ {statements} }}"
    assert ms.evaluate(text, x=_floats(3), n=np.arange(3, dtype=np.int32)).dtype == dtype


def test_an_output_may_declare_its_type() -> None:
    text = "def f(float(N) x) -> ({}(N) y) {{ y(i) = x(i) }}"
    assert ms.evaluate(text.format("double"), x=_floats(3)).dtype == np.float64
    with pytest.raises(ms.DTypeError, match="expected y to hold f32, which is assigned to it, but got i32 declared"):
        ms.evaluate(text.format("int"), x=_floats(3))
    np.testing.assert_array_equal(ms.evaluate("def f(float(N) x) -> (int(N) y) { y(i) = 1 }", x=_floats(3)), [1, 1, 1])


# storage


def test_storage_is_given_as_for_any_kernel() -> None:
    A, x = _floats(4, 3), _floats(3)
    kernel = ms.compile(MV, A="f32[?,?] CSR")
    np.testing.assert_array_equal(kernel(ms.tensor(A, "CSR"), x), A @ x)
    assert "#sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>" in kernel.ir()
    with pytest.raises(ms.OperandError, match="expected A stored as"):
        kernel(A, x)
    with pytest.raises(ms.DTypeError, match="expected A of f32, as declared, but got f64"):
        ms.compile(MV, A="f64[?,?] CSR")


def test_intermediates_stay_as_they_are_stored() -> None:
    text = "def f(double(N,N) A) -> (C, D) { C(i,j) +=! A(i,k) * A(k,j) D(i,j) = C(i,j) * A(i,j) }"
    A = _doubles(5, 5) * (_doubles(5, 5) > 1)
    C, D = ms.evaluate(text, A=ms.tensor(A, "CSR"), out={"D": "COO"})
    assert [C.encoding.level_types, D.encoding.preset] == [ms.encoding("CSR").level_types, "COO"] or (
        isinstance(C, ms.SparseTensor) and D.encoding.with_widths(0, 0) == ms.encoding("COO")
    )
    np.testing.assert_array_equal(C.to_numpy(), A @ A)
    np.testing.assert_array_equal(D.to_numpy(), (A @ A) * A)


def test_a_sparse_tensor_is_not_updated_in_part() -> None:
    text = "def f(double(N) x) -> (y) { y(i) = x(i) y(i) += x(i + 1) where i in 0:2 }"
    with pytest.raises(ms.UnsupportedError, match="expected dense storage for y, a part of which is assigned"):
        ms.evaluate(text, x=ms.tensor(_doubles(4), "SparseVector"))


# calls


def test_outputs_go_where_they_are_asked_to() -> None:
    A, x = _floats(4, 3), _floats(3)
    out = np.zeros(4, np.float32)
    kernel = ms.compile(MV)
    assert kernel(A, x, out=out) is out
    np.testing.assert_array_equal(out, A @ x)
    both = ms.compile("def f(float(N) x) -> (y, z) { y(i) = 2*x(i) z(i) = y(i) + x(i) }")
    y, z = np.zeros(3, np.float32), np.zeros(3, np.float32)
    for given in ((y, z), {"y": y, "z": z}):
        result = both(x, out=given)
        assert result[0] is y
        assert result[1] is z
    np.testing.assert_array_equal([y, z], [2 * x, 3 * x])
    assert both(x, out={"z": z})[1] is z
    with pytest.raises(ms.OperandError, match="expected out= for the outputs y, z, but got w"):
        both(x, out={"w": z})
    with pytest.raises(ms.ExtentError, match=r"expected out= of shape \(3,\) for y, but got \(4,\)|all of axis 0 of y"):
        both(x, out={"y": np.zeros(4, np.float32)})


def test_an_operand_may_be_the_output() -> None:
    A, B, C = _floats(3, 2), _floats(2, 4), _floats(3, 4)
    expected = 2 * C + A @ B
    assert ms.evaluate(SGEMM, a=1, b=2, A=A, B=B, C=C, out=C) is C
    np.testing.assert_array_equal(C, expected)
    x = _floats(3)
    twice = "def f(float(N) x) -> (y, z) { y(i) = 2*x(i) z(i) = x(i) }"
    y, z = ms.evaluate(twice, x=x, out={"y": x})
    np.testing.assert_array_equal(y, 2 * z)


def test_an_output_that_is_read_first_must_be_given() -> None:
    with pytest.raises(ms.UnknownTensorError, match="C is read before a statement assigns it"):
        ms.evaluate(SGEMM, a=1, b=2, A=_floats(3, 2), B=_floats(2, 4))
    with pytest.raises(ms.UnknownTensorError, match="C is read before a statement assigns it"):
        ms.compile(SGEMM)
    kernel = ms.compile(SGEMM, C="f32[?,?]")
    assert kernel.parameters == ("a", "b", "A", "B", "C")


def test_a_kernel_runs_on_any_shapes() -> None:
    kernel = ms.compile("def f(float(B,H) x) -> (y) { y(b,i) max=! x(b, 2*i + k) where k in 0:2 }")
    for rows, columns in ((2, 6), (3, 7), (1, 2), (0, 4), (2, 6)):
        x = _floats(rows, columns)
        np.testing.assert_array_equal(kernel(x), np.maximum(x[:, 0 : columns - 1 : 2], x[:, 1::2]))


def test_a_kernel_may_depend_on_integers() -> None:
    kernel = ms.compile("def f(int s, float(N) x) -> (y) { y(i) = x(s*i) / N }")
    for call in (kernel.ir, kernel.explain, kernel.passes):
        with pytest.raises(ms.UnsupportedError, match="expected numbers for s, N, on which statements of f depend"):
            call()
    x = _floats(8)
    for step in (1, 2, 3):
        np.testing.assert_array_equal(kernel(step, x), x[::step] / np.float32(8))
    assert "affine_map<(d0) -> (d0 * 3)>" in kernel.ir()
    assert ms.compile("def f(float(N) x) -> (y) { y(i) = x(i) / N }", x="f32[4]").ir().count("4.000000e+00")


def test_static_shapes_are_kept() -> None:
    kernel = ms.compile(MV, A="f32[4,3]", x="f32[3]")
    with pytest.raises(ms.ExtentError, match=r"expected A of shape \(4, 3\), but got \(5, 3\)"):
        kernel(_floats(5, 3), _floats(3))
    with pytest.raises(ms.ExtentError, match="expected K to be one number, but got 3"):
        ms.compile(MV, A="f32[4,3]", x="f32[5]")


def test_a_kernel_is_called_from_several_threads() -> None:
    kernel = ms.compile(MV, A="f32[?,?] CSR")
    failed = []

    def call(rows: int) -> None:
        A, x = _floats(rows, 4), _floats(4)
        for _ in range(20):
            if not np.array_equal(kernel(ms.tensor(A, "CSR"), x), A @ x):
                failed.append(rows)

    threads = [threading.Thread(target=call, args=(rows,)) for rows in (1, 2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


# what a kernel shows


def test_every_stage_of_every_statement_is_shown() -> None:
    kernel = ms.compile("def f(float(M,K) A, float(K) x) -> (y) { y(i) = 0 y(i) += A(i,k) * x(k) }", A="f32[?,?] CSR")
    assert kernel.ir("notation") == str(kernel.comprehension).replace("A(i,k) * x(k)", "sum(k : A(i,k) * x(k))") + "\n"
    for stage in ms.STAGES[1:]:
        text = kernel.ir(stage)
        assert [line for line in text.splitlines() if line[2:].strip(" ") in map(str, kernel.comprehension.statements)]
    assert kernel.ir("linalg") == "// -----\n".join(
        f"// {statement}\n{one.ir('linalg')}"
        for statement, one in zip(kernel.comprehension.statements, kernel.kernels, strict=True)
    )
    assert len(kernel.passes()) == sum(len(one.passes()) for one in kernel.kernels)
    explained = kernel.explain()
    assert explained.startswith(f"{kernel.comprehension}\n\nstatement 1: y(i) = 0\n")
    assert "statement 2: y(i) += A(i,k) * x(k)" in explained
    with pytest.raises(ms.UnsupportedError, match="expected a stage of notation, plan"):
        kernel.ir("nonsense")


def test_the_kernels_of_statements_are_saved_one_by_one(tmp_path: Path) -> None:
    kernel = ms.compile(MV)
    with pytest.raises(ms.UnsupportedError, match=r"expected one kernel to save in .*: save each of its \.kernels"):
        kernel.save(tmp_path / "mv.msk")
    (only,) = kernel.kernels
    only.save(tmp_path / "mv.msk")
    A, x = _floats(4, 3), _floats(3)
    np.testing.assert_array_equal(ms.load(tmp_path / "mv.msk")(A, x), A @ x)


def test_diagonals_of_sums_are_read_before_sparse_loops() -> None:
    A, B = np.arange(4.0).reshape(2, 2), np.array([[0.0, 1], [2, 0], [3, 4]])
    result = ms.evaluate("y = A(i, 1 - i) * B(j, i)", A=A, B=ms.tensor(B, "CSC"))
    assert result == A[0, 1] * B[:, 0].sum() + A[1, 0] * B[:, 1].sum()


def test_a_pickled_comprehension_is_the_comprehension() -> None:
    text = "def f(float(M,K) A, float(K) x) -> (C, D) { C(i) +=! A(i,k) * x(k)\n D(i) = 2 * C(i) }"
    A, x = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones(3, np.float32)
    kernel = ms.compile(text, A="f32[?,?] CSR", out={"D": "SparseVector"}, threads=1)
    for copied in (pickle.loads(pickle.dumps(kernel)), copy.deepcopy(kernel)):
        C, D = copied(ms.tensor(A), x)
        np.testing.assert_array_equal(C, A @ x)
        np.testing.assert_array_equal(D.to_numpy(), 2 * (A @ x))
        assert D.encoding.map_text() == ms.encoding("SparseVector").map_text()
