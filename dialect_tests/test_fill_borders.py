"""No border takes a fill value for zero: whatever is public carries it, or refuses it by name."""

from __future__ import annotations

import copy
import io
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms

DENSE = np.full((4, 4), 3.0)
DENSE[0, 1], DENSE[2, 2], DENSE[3, 0] = 0.0, -1.0, 7.0
X = np.array([1.0, 2.0, 3.0, 4.0])
SPMV = "y(i) = A(i,j) * x(j)"
OTHER = ms.tensor(np.eye(4))
KERNEL = ms.compile(SPMV, A="f64[?,?] CSR", x="f64[?]")
DENSE_KERNEL = ms.compile(SPMV, A="f64[?,?]", x="f64[?]")

# What each public function does with a tensor, and what it gives for its elements; None where that is no array.
CALLS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "tensor": (ms.tensor, DENSE),
    "tensor encoding": (lambda A: ms.tensor(A, "DCSR"), DENSE),
    "tensor dtype": (lambda A: ms.tensor(A, dtype="f32"), DENSE),
    "tensor dense": (lambda A: ms.tensor(A, "dense"), DENSE),
    "tensor BSR": (lambda A: ms.tensor(A, "BSR", block=(2, 2)), DENSE),
    "tensor drop_zeros": (lambda A: ms.tensor(A, drop_zeros=True), DENSE),
    "tensor values": (lambda A: ms.tensor((np.array([[0], [1]]), A), shape=(4, 4)), None),
    "tensor fill_value": (lambda A: ms.tensor(A, fill_value=0), DENSE),
    "tensor of list": (lambda A: ms.tensor([A, A]), np.stack([DENSE, DENSE])),
    "from_coo": (lambda A: ms.from_coo([[0], [1]], A, (4, 4)), None),
    "compile": (lambda A: ms.compile(SPMV, A=A, x=X)(A, X), DENSE @ X),
    "compile dense": (lambda A: ms.compile(SPMV, A=A, x="f64[?]")(A, X), DENSE @ X),
    "evaluate": (lambda A: ms.evaluate(SPMV, A=A, x=X), DENSE @ X),
    "evaluate again": (lambda A: [ms.evaluate(SPMV, A=A, x=X) for _ in range(3)][-1], DENSE @ X),
    "evaluate tensors": (lambda A: ms.evaluate(SPMV, tensors={"A": A, "x": X}), DENSE @ X),
    "evaluate sparse": (lambda A: ms.evaluate("B(i,j) = 2 * A(i,j)", A=A), 2 * DENSE),
    "evaluate out": (lambda A: ms.evaluate("B(i,j) = 2 * A(i,j)", A=A, out="CSR"), 2 * DENSE),
    "evaluate product": (lambda A: ms.evaluate("B(i,j) = A(i,j) * C(i,j)", A=A, C=OTHER), DENSE * np.eye(4)),
    "evaluate SpGEMM": (lambda A: ms.evaluate("B(i,j) = A(i,k) * C(k,j)", A=A, C=OTHER), DENSE),
    "evaluate mask": (lambda A: ms.evaluate("y(i) = C(i,j) * x(j) if A(i,j)", A=A, C=OTHER, x=X), None),
    "evaluate stored": (lambda A: ms.evaluate("B(i,j) = stored(exp(A(i,j)))", A=A), None),
    "evaluate max": (lambda A: ms.evaluate("y(i) = max(j : A(i,j))", A=A), DENSE.max(axis=1)),
    "evaluate count": (lambda A: ms.evaluate("y(i) = count(j : A(i,j) > 0)", A=A), (DENSE > 0).sum(axis=1)),
    "evaluate gather": (
        lambda A: ms.evaluate("y(i) = A(I(i),i)", A=A, I=np.array([2, 1, 0, 3])),
        DENSE[[2, 1, 0, 3], range(4)],
    ),
    "evaluate off": (lambda A: ms.evaluate(SPMV, A=A, x=X, optimize="off"), DENSE @ X),
    "evaluate transposed": (lambda A: ms.evaluate("y(j) = A(i,j) * x(i)", A=A, x=X), X @ DENSE),
    "evaluate cuda": (lambda A: ms.evaluate(SPMV, A=A, x=X, target="cuda"), None),
    "comprehension": (
        lambda A: ms.evaluate("def f(double(M,N) A, double(N) x) -> (y) { y(i) +=! A(i,j) * x(j) }", A=A, x=X),
        DENSE @ X,
    ),
    "semiring of zero": (lambda A: ms.evaluate(SPMV, A=A, x=X, semiring="min_plus"), (DENSE + X).min(axis=1)),
    "operator": (
        lambda A: ms.evaluate("B(i,j) = f(A(i,j), C(i,j))", f=ms.operator(lambda a, b: a + b), A=A, C=OTHER),
        None,
    ),
    "kernel": (lambda A: KERNEL(A, X), None),
    "kernel of arrays": (lambda A: DENSE_KERNEL(A, X), None),
    "kernel out": (lambda A: KERNEL(OTHER, X, out=A), None),
    "kernel stats": (lambda A: KERNEL.compute(A, X, out=np.zeros(4)), None),
    "einsum": (lambda A: ms.einsum("ij,j->i", A, X), DENSE @ X),
    "einsum sparse": (lambda A: ms.einsum("ij,jk->ik", A, OTHER), DENSE),
    "einsum_path": (lambda A: ms.einsum_path("ij,j->i", A, X), None),
    "np.einsum": (lambda A: np.einsum("ij,j->i", A, X), DENSE @ X),
    "define": (lambda A: ms.define("L(i,j) = A(i,j) + 1.0", A=A).toarray(), DENSE + 1),
    "define used": (lambda A: ms.define("L(i,j) = A(i,j) + 1.0", A=A) @ X, (DENSE + 1) @ X),
    "assign": (lambda A: ms.assign(A, (0, 0), 5.0), None),
    "assign values": (lambda A: ms.assign(OTHER, slice(None), A), DENSE),
    "block": (lambda A: ms.block([[A, OTHER]]), np.hstack([DENSE, np.eye(4)])),
    "kron": (lambda A: ms.kron(A, OTHER), np.kron(DENSE, np.eye(4))),
    "kron right": (lambda A: ms.kron(OTHER, A), np.kron(np.eye(4), DENSE)),
    "tril": (ms.tril, np.tril(DENSE)),
    "triu": (ms.triu, np.triu(DENSE)),
    "diags": (lambda A: ms.diags(A[0], shape=(4, 4)), np.diag(DENSE[0])),
    "lazy": (lambda A: (ms.lazy(A) @ X).compute(), DENSE @ X),
    "lazy beside": (lambda A: (ms.lazy(OTHER) + A).compute(), DENSE + np.eye(4)),
    "lazy product": (lambda A: (ms.lazy(OTHER) @ A).compute(), DENSE),
    "lazy on the right": (lambda A: (A * ms.lazy(X)).compute(), DENSE * X),
    "compute": (lambda A: ms.compute(ms.lazy(A) * 2), DENSE * 2),
    "stream": (lambda A: ms.stream(SPMV, A=A, x=X), DENSE @ X),
    "source": (lambda A: ms.source(A), None),
    "tune": (lambda A: ms.tune(SPMV, A=A, x=X, budget=0.1), None),
    "to_device": (lambda A: ms.to_device(A), None),
    "adjoint": (lambda A: ms.adjoint(SPMV, ["x"], A=A, x=X), None),
    "linalg.solve_triangular": (lambda A: ms.linalg.solve_triangular(A, X), None),
    "linalg.solve": (lambda A: ms.linalg.solve(A, X), None),
    "linalg.ILU0": (lambda A: ms.linalg.ILU0(A), None),
    "linalg.IC0": (lambda A: ms.linalg.IC0(A), None),
    "linalg.Jacobi": (lambda A: ms.linalg.Jacobi(A), None),
    "linalg right side": (lambda A: ms.linalg.solve_triangular(OTHER, A), DENSE),
    "xp.asarray": (ms.xp.asarray, DENSE),
    "xp.sum": (lambda A: ms.xp.sum(A), DENSE.sum()),
    "xp.concat": (lambda A: ms.xp.concat([A, A]), np.concatenate([DENSE, DENSE])),
    "xp.concat others": (lambda A: ms.xp.concat([OTHER, A]), np.concatenate([np.eye(4), DENSE])),
    "xp.add": (lambda A: ms.xp.add(OTHER, A), DENSE + np.eye(4)),
    "xp.matmul": (lambda A: ms.xp.matmul(A, X), DENSE @ X),
    "xp.tril": (lambda A: ms.xp.tril(A), np.tril(DENSE)),
    "xp.unstack": (lambda A: np.stack([one.to_numpy() for one in ms.xp.unstack(A)]), DENSE),
    "xp.unique_values": (lambda A: ms.xp.unique_values(A), np.unique(DENSE)),
    "xp.unique_counts": (lambda A: ms.xp.unique_counts(A).counts, np.unique(DENSE, return_counts=True)[1]),
    "xp.cumulative_sum": (lambda A: ms.xp.cumulative_sum(A, axis=0), DENSE.cumsum(axis=0)),
    "xp.sort descending": (lambda A: ms.xp.sort(A, descending=True), np.flip(np.sort(DENSE), -1)),
    "xp.take_along_axis": (lambda A: ms.xp.take_along_axis(A, np.zeros((4, 1), int)), DENSE[:, :1]),
    "xp.meshgrid": (lambda A: ms.xp.meshgrid(A[0], X)[0], np.meshgrid(DENSE[0], X)[0]),
    "@": (lambda A: A @ X, DENSE @ X),
    "@ on the right": (lambda A: X @ A, X @ DENSE),
    "@ sparse": (lambda A: A @ OTHER, DENSE),
    "@ sparse on the right": (lambda A: OTHER @ A, DENSE),
    "+ sparse": (lambda A: OTHER + A, DENSE + np.eye(4)),
    "* sparse": (lambda A: OTHER * A, DENSE * np.eye(4)),
    "dot": (lambda A: OTHER.dot(A), DENSE),
    "np.dot": (lambda A: np.dot(A, OTHER), DENSE),
    "np.tensordot": (lambda A: np.tensordot(OTHER, A), np.tensordot(np.eye(4), DENSE)),
    "np.linalg.inv": (lambda A: np.linalg.inv(A), np.linalg.inv(DENSE)),
    "np.concatenate": (lambda A: np.concatenate([OTHER, A]), np.concatenate([np.eye(4), DENSE])),
    "np.where": (lambda A: np.where(OTHER != 0, A, OTHER), np.where(np.eye(4) != 0, DENSE, np.eye(4))),
    "np.add into": (lambda A: np.add(A, 1, out=np.zeros((4, 4))), DENSE + 1),
    "np.sum into": (lambda A: np.sum(A, axis=0, out=np.zeros(4)), DENSE.sum(axis=0)),
    "np.add at": (lambda A: np.add.at(np.zeros((4, 4)), slice(None), A), None),
    "np.array": (lambda A: np.array(A), DENSE),
    "np.asarray": (lambda A: np.asarray(A, np.float32), DENSE),
    "assigned to array": (lambda A: _assigned(np.zeros((4, 4)), A), DENSE),
    "list": (lambda A: np.stack([row.to_numpy() for row in A]), DENSE),
    "pickle": (lambda A: pickle.loads(pickle.dumps(A)), DENSE),
    "copy": (copy.copy, DENSE),
    "deepcopy": (copy.deepcopy, DENSE),
    "convert": (lambda A: A.convert("COO"), DENSE),
    "convert to blocks": (lambda A: A.convert("BSR", block=(2, 2)), DENSE),
    "with_values": (lambda A: ms.tensor(np.ones(16)).with_values(A), DENSE.reshape(-1)),
    "threads": (lambda A: ms.evaluate(SPMV, A=A, x=X, threads=2), DENSE @ X),
    "parse": (lambda A: ms.parse(A), None),
    "encoding": (lambda A: ms.encoding(A), None),
    "full": (lambda A: ms.full((4, 4), A), DENSE),
    **{
        f"to {name}": (lambda A, n=name: A.to(n), None)
        for name in ("scipy", "torch", "cupy", "jax", "graphblas", "cuda")
    },
    **{
        f"to {name}": (lambda A, n=name: A.to(n), None)
        for name in ("tensorflow", "arrow", "networkx", "igraph", "nope")
    },
    "to cpu": (lambda A: A.to("cpu"), DENSE),
    "to anndata": (lambda A: A.to("anndata", group=io.BytesIO()), None),
}
# Of the public functions those that no tensor is passed to, and classes.
_WITHOUT_TENSORS = (
    "arange eye get_num_threads get_optimize indices linspace load module monoid ones operator opt random read "
    "register_pass semiring set_num_threads set_optimize tensors tune_machine where zeros"
)


def _assigned(array: Any, value: Any) -> Any:
    array[...] = value
    return array


def test_every_public_function_is_asked() -> None:
    asked = {word for name in [*CALLS, "write"] for word in name.replace(".", " ").split()}
    functions = {name for name in ms.__all__ if callable(getattr(ms, name)) and not isinstance(getattr(ms, name), type)}
    assert functions - asked - set(_WITHOUT_TENSORS.split()) == set()


@pytest.mark.parametrize("name", CALLS)
def test_a_fill_value_is_carried_or_refused(name: str) -> None:
    call, wanted = CALLS[name]
    for storage in ("CSR", "COO"):
        tensor = ms.tensor(DENSE, storage, fill_value=3.0)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ms.DenseCopyWarning)
                found = call(tensor)
        except ms.SparseError:
            continue
        assert wanted is not None, found
        dense = found.to_numpy() if isinstance(found, ms.SparseTensor | ms.FilledTensor) else np.asarray(found)
        np.testing.assert_allclose(dense, wanted)


@pytest.mark.parametrize("name", ["a.mtx", "a.ttx", "a.tns", "a.mtx.gz"])
def test_files_without_fill_values_refuse_them(name: str, tmp_path: Path) -> None:
    with pytest.raises(ms.OperandError, match=r"got fill value 3\.0 of a FilledTensor where nothing is stored"):
        ms.write(tmp_path / name, ms.tensor(DENSE, fill_value=3.0))
    assert not list(tmp_path.iterdir())


def test_binsparse_files_hold_fill_values(tmp_path: Path) -> None:
    pytest.importorskip("binsparse")
    kinds: list[tuple[str, Any]] = [("f8", np.inf), ("f8", np.nan), ("f8", -0.0), ("i4", -3), ("?", True), ("c16", 1j)]
    for kind, fill in [*kinds, ("u1", 255), ("f2", 1.5)]:
        dense = np.full((4, 5), fill).astype(kind)
        dense[1, 2], dense[3, 0] = 0, 1
        for storage in ("CSR", "DCSC", "COO", "(i, j) -> (i : dense, j : compressed(nonordered))"):
            ms.write(tmp_path / "a.bsp.h5", ms.tensor(dense, storage, fill_value=fill))
            found = ms.read(tmp_path / "a.bsp.h5")
            assert isinstance(found, ms.FilledTensor)
            np.testing.assert_array_equal(found.to_numpy(), dense.astype(found.dtype))
            assert np.signbit(np.real(found.fill_value)) == np.signbit(np.real(np.asarray(fill, dense.dtype)))
            with pytest.raises(ms.SparseError, match="fill"):
                ms.source(tmp_path / "a.bsp.h5")


def test_scipy_refuses_or_leaves_it_to_the_tensor() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    A, S = ms.tensor(DENSE, fill_value=3.0), sparse.csr_array(np.eye(4))
    for call in (sparse.csr_array, sparse.coo_array, sparse.linalg.norm, lambda A: sparse.linalg.spsolve(S, A)):
        with pytest.raises((ms.SparseError, TypeError, ValueError)):
            call(A)
    for found in (S + A, A + S, S * A if isinstance(S, sparse.sparray) else A):
        dense = found.to_numpy() if isinstance(found, ms.SparseTensor | ms.FilledTensor) else np.asarray(found)
        assert dense.shape == (4, 4)
    np.testing.assert_array_equal((A + S).to_numpy(), DENSE + np.eye(4))
    np.testing.assert_array_equal((S + A).to_numpy(), DENSE + np.eye(4))


def test_pydatas_fill_values_come_in_and_go_out() -> None:
    sparse = pytest.importorskip("sparse")
    for kind, fill in (("f8", np.nan), ("f8", -0.0), ("i8", -3)):  # it compiles for each element type
        dense = np.full((4, 5), fill).astype(kind)
        dense[1, 2], dense[3, 0] = 0, 1
        coo = sparse.COO.from_numpy(dense, fill_value=np.asarray(fill, kind)[()])
        for source in (coo, sparse.GCXS(coo), sparse.GCXS(coo, compressed_axes=[1]), sparse.DOK(coo)):
            found = ms.tensor(source)
            assert isinstance(found, ms.FilledTensor)
            np.testing.assert_array_equal(found.to_numpy(), dense)
            back = found.to("pydata")
            np.testing.assert_array_equal(back.todense(), dense)
            np.testing.assert_array_equal(back.fill_value, found.fill_value)
            assert np.signbit(np.real(back.fill_value)) == np.signbit(np.real(found.fill_value))
        with pytest.raises(ms.UnsupportedError, match="fill value"):
            KERNEL(coo, X)
        with pytest.raises(ms.OperandError, match="expected fill_value="):
            ms.tensor(coo, fill_value=0)
        with pytest.raises(ms.UnsupportedError, match="fill value"):
            OTHER + sparse.COO.from_numpy(np.full((4, 4), 2.0), fill_value=2.0)


def test_dask_keeps_chunks_of_it() -> None:
    array = pytest.importorskip("dask.array")
    A = array.from_array(ms.tensor(DENSE, fill_value=3.0), chunks=(2, 2), asarray=False)
    np.testing.assert_array_equal((A + 1).compute().to_numpy(), DENSE + 1)
    assert A.sum().compute() == DENSE.sum()
    with pytest.raises(ms.SparseError):
        ms.evaluate(SPMV, A=A, x=X).compute()


def test_sources_of_parts_refuse_it_by_name() -> None:
    A = ms.tensor(DENSE, fill_value=3.0)
    for given in (A, [A, A]):
        with pytest.raises(ms.UnsupportedError, match=r"expected zeros .* for a source, but got fill value 3\.0"):
            ms.source(given)
