"""`ms.einsum` against `np.einsum`: its whole grammar, drawn at random, on any mix of storage."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import mlir_sparse as ms
from dialect_tests.crossing import examples
from mlir_sparse.arrays import contraction
from mlir_sparse.arrays.contraction_path import planned_path
from mlir_sparse.notation import Access, Binary, BinaryOp, IndexVar
from mlir_sparse.spec import Part, Rewriting

STORAGE = {
    1: ["dense", "SparseVector"],
    2: ["dense", "CSR", "CSC", "COO", "DCSR", "BSR(2, 2)"],
    3: ["dense", "CSF", "COO"],
}
DTYPES = [np.float64, np.float32, np.int32, np.complex128, np.int8, np.bool_]


def dense(value: Any) -> Any:
    return value.to_numpy() if isinstance(value, ms.SparseTensor) else value


@st.composite
def einsums(draw: st.DrawFn) -> tuple[str, list[np.ndarray[Any, Any]], list[str]]:
    """Draws a string that NumPy takes, operands, and how each is stored."""
    letters = draw(st.permutations("abcXY"))[: draw(st.integers(1, 4))]
    extents = {letter: draw(st.sampled_from([0, 1, 2, 2, 3, 3])) for letter in letters}
    spread = draw(st.lists(st.sampled_from([1, 2, 3]), max_size=2))
    seed = draw(st.integers(0, 1000))
    random = np.random.default_rng(seed)
    parts, operands, storage = [], [], []
    for _ in range(draw(st.integers(1, 3))):
        labels = draw(st.lists(st.sampled_from(letters), max_size=3))
        stretch = {label: draw(st.booleans()) and draw(st.booleans()) for label in labels}
        shape = [1 if stretch[label] else extents[label] for label in labels]
        part = "".join(labels)
        if spread and draw(st.booleans()):
            at = draw(st.integers(0, len(labels)))
            dots = spread[len(spread) - draw(st.integers(0, len(spread))) :]
            shape[at:at] = [1 if draw(st.integers(0, 3)) == 0 else size for size in dots]
            part = part[:at] + "..." + part[at:]
        if len(shape) > 3:
            part, shape = "", []
        dtype = np.dtype(draw(st.sampled_from(DTYPES)))
        values = (random.random(shape) < 0.6) * random.integers(-3, 4, shape)
        operands.append(values.astype(dtype))
        storage.append(draw(st.sampled_from(STORAGE.get(len(shape), ["dense"]))))
        parts.append(part)
    text = draw(st.sampled_from([",", " , ", ", "])).join(parts)
    if draw(st.booleans()):
        used = sorted({letter for part in parts for letter in part if letter != "."})
        output = draw(st.permutations(used))[: draw(st.integers(0, len(used)))]
        at = draw(st.integers(0, len(output)))
        dots = "..." if "..." in text or draw(st.integers(0, 4)) == 0 else ""
        text += " -> " + "".join(output[:at]) + dots + "".join(output[at:])
    return text, operands, storage


def stored(operand: np.ndarray[Any, Any], how: str) -> Any:
    return operand if how == "dense" else ms.tensor(operand, how)


@examples(40)
@given(einsums(), st.booleans())
def test_any_einsum_is_numpys(case: tuple[str, list[np.ndarray[Any, Any]], list[str]], optimize: bool) -> None:
    text, operands, storage = case
    result = dense(ms.einsum(text, *map(stored, operands, storage), optimize=optimize))
    expected = np.asarray(np.einsum(text, *operands))
    assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(result, expected)


@given(st.text("ijA.,->  é\t12", max_size=12), st.lists(st.integers(0, 3), min_size=1, max_size=3))
def test_what_numpy_refuses_is_refused_by_name(text: str, ranks: list[int]) -> None:
    operands = [np.ones((2,) * rank) for rank in ranks]
    try:
        expected = np.einsum(text, *operands)
    except (ValueError, UnicodeEncodeError):
        with pytest.raises(ms.SparseError, match="expected"):
            ms.einsum(text, *operands)
    else:
        np.testing.assert_array_equal(ms.einsum(text, *operands), expected)


def test_the_form_with_lists() -> None:
    a, x = np.arange(6.0).reshape(2, 3), np.arange(3.0)
    sparse = ms.tensor(a)
    np.testing.assert_array_equal(ms.einsum(sparse, [0, 1], x, [1], [0]), a @ x)
    np.testing.assert_array_equal(ms.einsum(sparse, [40, 1], x, [1]), np.einsum(a, [40, 1], x, [1]))
    np.testing.assert_array_equal(dense(ms.einsum(sparse, [1, 0])), a.T)
    np.testing.assert_array_equal(dense(ms.einsum(sparse, [..., 7], [7, ...])), a.T)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        (
            ("ij,jk", np.ones((2, 3)), np.ones((4, 2))),
            ms.ExtentError,
            "index j to range over one extent, but got 3 and 4",
        ),
        (("ii->i", np.ones((1, 3))), ms.ExtentError, r"index i of operand 0, but got 1 \(axis 0\) and 3 \(axis 1\)"),
        (("i...->i", np.ones((2, 3))), ms.NotationSyntaxError, "einsum:1:7"),
        (("ij->ik", np.ones((2, 3))), ms.NotationSyntaxError, "einsum:1:6"),
        (("i..j", np.ones((2, 3))), ms.NotationSyntaxError, r"einsum:1:2: expected letters and `...`"),
        (("......", np.ones((2, 3))), ms.NotationSyntaxError, "one ellipsis an operand"),
        (("i\tj", np.ones((2, 3))), ms.NotationSyntaxError, "einsum:1:2"),
        (("i", np.ones((2, 3))), ms.RankError, "write `...` for the rest"),
        (("ij,j", np.ones((2, 3))), ms.RankError, "subscripts for 1 operands, but got 2"),
        ((np.ones((2, 3)), [0, 60]), ms.NotationSyntaxError, "numbers from 0 to 51"),
        ((np.ones(2), 3), ms.NotationSyntaxError, "where a list belongs"),
        ((np.ones(2),), ms.UnknownTensorError, "but got no list"),
    ],
)
def test_mistakes(arguments: tuple[Any, ...], error: type[ms.SparseError], text: str) -> None:
    with pytest.raises(error, match=text):
        ms.einsum(*arguments)


def chain(density: float, extent: int, count: int = 4) -> list[ms.SparseTensor]:
    return [
        ms.tensor(scipy.sparse.random_array((extent, extent), density=density, rng=np.random.default_rng(n)).tocsr())
        for n in range(count)
    ]


def test_chains_are_split_where_that_saves_work() -> None:
    factors = chain(0.4, 60)
    path = ms.einsum_path("ij,jk,kl,lm->im", *factors)
    assert len(path.steps) == 3
    assert "3 loop nests" in str(path)
    assert "because: " in str(path)
    expected = np.linalg.multi_dot([factor.to_numpy() for factor in factors])
    for optimize in (True, False, None, "auto", "off", "greedy", ("optimal", 1e6), path.path, ["einsum_path", (1, 2)]):
        result = ms.einsum("ij,jk,kl,lm->im", *factors, optimize=optimize)
        np.testing.assert_allclose(dense(result), expected, atol=1e-12)
    assert ms.einsum_path("ij,jk,kl,lm->im", *factors, optimize=False).path == ["einsum_path", (0, 1, 2, 3)]
    for limit in (3600, 3599.0):
        limited = ms.einsum_path("ij,jk,kl,lm->im", *factors, optimize=("greedy", limit))
        assert len(limited.steps) == (3 if limit == 3600 else 1)


@pytest.mark.parametrize(
    "optimize", ["best", 1, 2.0, ("greedy", "much"), ["einsum_path", (0, 7)], ["path", (0, 1)], ()]
)
def test_what_no_order_is_is_refused(optimize: Any) -> None:
    for call in (ms.einsum, ms.einsum_path):
        with pytest.raises(ms.OperandError, match="expected optimize=True"):
            call("ij,jk->ik", *chain(0.4, 6, 2), optimize=optimize)


def test_a_chain_whose_end_is_nearly_empty_starts_there() -> None:
    factors = [*chain(0.05, 300, 3), ms.tensor(scipy.sparse.eye_array(300, format="csr")[:, :3])]
    path = ms.einsum_path("ij,jk,kl,lm->im", *factors)
    assert path.path == ["einsum_path", (2, 3), (1, 2), (0, 1)]
    found = ms.einsum("ij,jk,kl,lm->im", *factors)
    np.testing.assert_allclose(dense(found), np.linalg.multi_dot([f.to_numpy() for f in factors]), atol=1e-12)


def test_one_operand_in_several_places_shares_what_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = chain(0.05, 300, 1)[0]
    texts: list[str] = []
    monkeypatch.setattr(
        contraction, "evaluate", lambda text, **options: texts.append(text) or ms.evaluate(text, **options)
    )
    square = graph.to_numpy() @ graph.to_numpy()
    for optimize in (True, ["einsum_path", (0, 1), (0, 1), (0, 1)]):
        found = ms.einsum("ij,jk,kl,li->", *[graph] * 4, optimize=optimize)
        np.testing.assert_allclose(found, np.sum(square * square.T))
    whole, *steps = texts
    assert whole == "out = a0(i0,i1) * a0(i1,i2) * a0(i2,i3) * a0(i3,i0)"
    assert steps == ["out(i0,i1) = a0(i0,i2) * a0(i2,i1)", "out = a0(i0,i1) * a0(i1,i0)"]


def test_parts_that_are_read_twice_are_twice_in_a_path() -> None:
    i, j, k, n, m = map(IndexVar, "ijknm")
    factors = [Access("A", pair) for pair in ((i, j), (j, k), (k, n), (n, i))]
    square = Part(Access("p", (i, n)), Binary(BinaryOp.MUL, Access("A", (i, m)), Access("A", (m, n))))
    value = Binary(BinaryOp.MUL, Access("p", (i, k)), Access("p", (k, i)))
    assert planned_path(factors, Rewriting((square,), value)) == [(0, 1), (0, 1), (0, 1)]
    assert planned_path(factors, None) == [(0, 1, 2, 3)]
    # What is no tree of the factors is one loop nest.
    assert planned_path(factors[:3], Rewriting((square,), value)) == [(0, 1, 2)]


def test_steps_sum_over_what_no_other_operand_has() -> None:
    a, b = chain(0.3, 40, 2)
    path = ["einsum_path", (0,), (0, 1)]
    assert [str(step).split()[-1] for step in ms.einsum_path("ij,kl->k", a, b, optimize=path).steps] == [
        "ij->",
        "kl,->k",
    ]
    expected = np.einsum("ij,kl->k", a.to_numpy(), b.to_numpy())
    np.testing.assert_allclose(ms.einsum("ij,kl->k", a, b, optimize=path), expected)
    with pytest.raises(ms.OperandError, match="expected optimize=True or False with semiring="):
        ms.einsum("ij,jk->ik", a, b, optimize=path, semiring="min_plus")


def test_paths_are_numpys() -> None:
    factors = chain(0.4, 60)
    path = ms.einsum_path("ij,jk,kl,lm->im", *factors).path
    arrays = [factor.to_numpy() for factor in factors]
    np.testing.assert_allclose(np.einsum("ij,jk,kl,lm->im", *arrays, optimize=path), np.linalg.multi_dot(arrays))


def test_the_process_decides_where_no_argument_does() -> None:
    factors = chain(0.4, 60)
    ms.set_optimize("off")
    try:
        assert len(ms.einsum_path("ij,jk,kl,lm->im", *factors).steps) == 1
        assert len(ms.einsum_path("ij,jk,kl,lm->im", *factors, optimize=True).steps) == 3
    finally:
        ms.set_optimize(None)


def test_fused_kernels_stay_one() -> None:
    a, b = chain(0.05, 60)[0], np.ones((60, 8))
    assert len(ms.einsum_path("ij,ik,jk->ij", a, b, b).steps) == 1
    np.testing.assert_allclose(ms.einsum("ij,ik,jk->ij", a, b, b).to_numpy(), a.to_numpy() * (b @ b.T))


def test_many_operands_are_joined_greedily() -> None:
    factors = [np.random.default_rng(n).integers(-2, 3, (2, 2)).astype(float) for n in range(10)]
    text = "ab,bc,cd,de,ef,fg,gh,hi,ij,jk->ak"
    result = ms.einsum(text, *(ms.tensor(f) if n % 2 else f for n, f in enumerate(factors)))
    np.testing.assert_array_equal(dense(result), np.linalg.multi_dot(factors))


def test_into_an_array_of_a_wider_type() -> None:
    a, out = np.arange(6, dtype=np.float32).reshape(2, 3), np.zeros(2)
    assert ms.einsum("ij->i", ms.tensor(a), out=out) is out
    np.testing.assert_array_equal(out, a.sum(axis=1))
    with pytest.raises(ms.DTypeError, match="float32 can be cast to by casting='safe'"):
        ms.einsum("ij->i", ms.tensor(a), out=np.zeros(2, np.int32))


@pytest.mark.parametrize("storage", ["dense", "CSR"])
def test_element_types_are_cast_as_casting_allows(storage: str) -> None:
    array = np.array([[1.75, 0.0], [-2.5, 3.0]])
    operand = array if storage == "dense" else ms.tensor(array, storage)
    for dtype, casting in [("f4", "same_kind"), ("c16", "safe"), (np.int64, "unsafe"), ("f8", "no")]:
        expected = np.einsum("ij->j", array, dtype=dtype, casting=casting)  # type: ignore[call-overload]
        found = ms.einsum("ij->j", operand, dtype=dtype, casting=casting)
        assert found.dtype == expected.dtype
        assert np.array_equal(found, expected)
    for dtype, casting in [("f4", "safe"), (np.int64, "same_kind")]:
        with pytest.raises(ms.DTypeError, match=f"cast to .* by casting='{casting}', but got float64"):
            ms.einsum("ij->j", operand, dtype=dtype, casting=casting)
    with pytest.raises(ms.OperandError, match=r"expected casting= one of no, equiv, .* but got 'same_value'"):
        ms.einsum("ij->j", operand, casting="same_value")
    with pytest.raises(ms.DTypeError, match="but got 'bad'"):
        ms.einsum("ij->j", operand, dtype="bad")
    assert ms.einsum("ij->j", operand, dtype="f32", casting="same_kind").dtype == np.float32


def test_dense_results_by_columns() -> None:
    A = ms.tensor(np.arange(6.0).reshape(2, 3))
    found = ms.einsum("ij,jk->ik", A, np.ones((3, 4)), order="F")
    assert found.flags.f_contiguous
    assert np.array_equal(found, np.arange(6.0).reshape(2, 3) @ np.ones((3, 4)))
    with pytest.raises(ms.OperandError, match="expected order= one of C, F, A, K, but got 'W'"):
        ms.einsum("ij->j", A, order="W")


def test_lists_of_subscripts_in_arrays() -> None:
    array = np.arange(9.0).reshape(3, 3)
    A = ms.tensor(array)
    assert ms.einsum(A, np.array([0, 0])) == array.trace()
    found = ms.einsum(A, np.array([0, 1]), A, range(1, 3), np.array([0, 2]))
    assert np.array_equal(found.to_numpy(), array @ array)
    for wrong in (np.array([0.0, 1.0]), np.array([[0, 1]]), "ij", 3):
        with pytest.raises(ms.SparseError):
            ms.einsum(A, wrong)


@pytest.mark.parametrize("kind", ["f4", "i4", "f8", "c16"])
@pytest.mark.parametrize("casting", ["safe", "same_kind", "unsafe"])
def test_arrays_for_results_are_cast_to_as_casting_allows(kind: str, casting: Any) -> None:
    array = np.array([[1.75, 0.0], [-2.5, 3.0]])
    for text, operands in [("ij->j", [array]), ("ij,jk,kl->il", [array] * 3)]:
        tensors = [ms.tensor(operand, "CSR") for operand in operands]
        out = np.zeros((2,) * len(text.partition("->")[2]), kind)
        try:
            expected = np.einsum(text, *operands, out=out.copy(), casting=casting)  # type: ignore[call-overload]
        except TypeError:
            with pytest.raises(ms.DTypeError, match=f"by casting='{casting}', but got {out.dtype}"):
                ms.einsum(text, *tensors, out=out, casting=casting)
        else:
            assert ms.einsum(text, *tensors, out=out, casting=casting) is out
            assert np.allclose(out, expected)
