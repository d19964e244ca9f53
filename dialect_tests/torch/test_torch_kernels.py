"""`mlir_sparse.torch`: gradcheck and gradgradcheck over kernels and storages, PyTorch's sparse tensors, graphs, layers.

Each kernel meets one storage and each storage one kernel; MLIR_SPARSE_ALL_GRADIENTS=1 takes all pairs.
"""

from __future__ import annotations

import copy
import io
import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms

torch = pytest.importorskip("torch", reason="expected PyTorch (extra torch)")

import mlir_sparse.torch as mst  # noqa: E402 - where PyTorch is there

RNG = np.random.default_rng(20)
TEXTS: list[tuple[str, dict[str, tuple[int, ...]]]] = [
    ("y(i) = A(i,j) * x(j)", {"x": (5,)}),
    ("y(j) = A(i,j) * x(i)", {"x": (6,)}),
    ("Y(i,k) = A(i,j) * B(j,k)", {"B": (5, 3)}),
    ("Y(k,j) = B(k,i) * A(i,j)", {"B": (2, 6)}),
    ("y(i) = A(i,j) * U(i,k) * V(j,k)", {"U": (6, 2), "V": (5, 2)}),
    ("s = A(i,j) * x(j) * z(i)", {"x": (5,), "z": (6,)}),
    ("s = sqrt(sum(i, j : A(i,j) ** 2) + 1.0)", {}),
    ("y(i) = b(i) - A(i,j) * x(j)", {"b": (6,), "x": (5,)}),
    ("y(i) = tanh(sum(j : A(i,j) * x(j)))", {"x": (5,)}),
    ("Y(i,k) = relu(sum(j : A(i,j) * B(j,k)))", {"B": (5, 2)}),
    ("y(i) = max(j : A(i,j) * x(j) + c(j))", {"x": (5,), "c": (5,)}),
    ("y(i) = min(j : A(i,j) + c(j))", {"c": (5,)}),
    ("y(i) = A(i,j) * x(j) / (1.0 + square(z(i)))", {"x": (5,), "z": (6,)}),
    ("y(i) += A(i,j) * x(j)", {"x": (5,), "y": (6,)}),
    ("y(i) = exp(A(i,j)) * x(j)", {"x": (5,)}),
    ("y(i,k) = A(I(i),j) * B(j,k)", {"B": (5, 2)}),
    ("y(i) = A(i,j) * A(i,k) * W(j,k)", {"W": (5, 5)}),
    ("y(k) = A(i,j) * x(j + k)", {"x": (8,)}),
    ("Y(i,j) = A(i,j) * x(j) + B(i,j)", {"x": (5,), "B": (6, 5)}),
    ("y(i) = prod(j : A(i,j) + c(j))", {"c": (5,)}),
]
STORAGES: list[tuple[str, dict[str, Any]]] = [
    ("CSR", {}), ("CSC", {}), ("DCSR", {}), ("COO", {}), ("BSR", {"block": (2, 2)}), ("DIA", {}), ("ELL", {}),
    ("Dense", {}),
]  # fmt: skip
ALL = [(kernel, storage) for kernel in range(len(TEXTS)) for storage in range(len(STORAGES))]
PAIRS = ALL if os.environ.get("MLIR_SPARSE_ALL_GRADIENTS") else [(k, k % len(STORAGES)) for k in range(len(TEXTS))]


def matrix(storage: int) -> ms.SparseTensor:
    name, parameters = STORAGES[storage]
    values = np.where(RNG.random((6, 5)) < 0.5, RNG.standard_normal((6, 5)), 0)
    return ms.tensor(values).convert(name, **parameters)


def leaf(array: Any) -> Any:
    return torch.tensor(np.asarray(array), dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize(("kernel", "storage"), PAIRS, ids=[f"{TEXTS[k][0][:30]} {STORAGES[s][0]}" for k, s in PAIRS])
def test_gradients_of_both_orders(kernel: int, storage: int) -> None:
    text, shapes = TEXTS[kernel]
    A = matrix(storage)
    inside = torch.tensor(mst.kernel("y(i) = A(i,j)", A=A).inside("A").numpy(), dtype=torch.float64)
    function = mst.kernel(text, A=A)
    names = [name for name in function.notation.inputs if name not in ("A", "I")]
    rows = torch.tensor([1, 1, 4])

    def call(values: Any, *others: Any) -> Any:
        more = {"I": rows} if "I(" in text else {}
        return function(A=values * inside, **dict(zip(names, others, strict=True)), **more)

    given = [leaf(A.storage.values), *(leaf(RNG.standard_normal(shapes[name])) for name in names)]
    assert torch.autograd.gradcheck(call, given, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(call, given)


# -- tensors of PyTorch ---------------------------------------------------------------------------------------

LAYOUTS = [
    lambda x: x.to_sparse_csr(),
    lambda x: x.to_sparse_csc(),
    lambda x: x.to_sparse_coo(),
    lambda x: x.to_sparse_bsr((2, 2)),
]


@pytest.mark.parametrize("layout", LAYOUTS, ids=["csr", "csc", "coo", "bsr"])
def test_sparse_tensors_get_gradients_on_their_pattern(layout: Any) -> None:
    dense = torch.tensor(np.where(RNG.random((6, 4)) < 0.5, RNG.standard_normal((6, 4)), 0))
    S, B = layout(dense).requires_grad_(), leaf(RNG.standard_normal((4, 3)))
    Y = mst.kernel("Y(i,k) = A(i,j) * B(j,k)")(S, B)
    torch.testing.assert_close(Y, dense @ B)
    of_s, of_b = torch.autograd.grad(Y.square().sum(), (S, B))
    expected = 2 * Y @ B.T
    pattern = layout(torch.ones_like(dense) * (dense != 0)).to_dense() != 0
    assert of_s.layout == S.layout
    stored = of_s.to_dense() != 0
    torch.testing.assert_close(of_s.to_dense()[pattern], expected[pattern])
    assert bool((stored >= pattern).all())
    torch.testing.assert_close(of_b, dense.T @ (2 * Y))


def test_sparse_results_are_sparse_tensors() -> None:
    left, right = torch.eye(4).double().to_sparse_csr(), torch.ones(4, 3).double().to_sparse_csr()
    left.requires_grad_()
    C = mst.kernel("C(i,j) = A(i,k) * B(k,j)", out="CSR")(left, right)
    assert C.layout == torch.sparse_csr
    (gradient,) = torch.autograd.grad(C.values().sum(), left)
    assert gradient.values().tolist() == [3, 3, 3, 3]


@pytest.mark.parametrize("layout", LAYOUTS, ids=["csr", "csc", "coo", "bsr"])
def test_penalties_of_gradients_of_sparse_tensors(layout: Any) -> None:
    dense = torch.tensor(np.where(RNG.random((6, 4)) < 0.5, RNG.standard_normal((6, 4)), 0))
    product = mst.kernel("y(i) = A(i,j) * A(i,j) * x(j)")
    pattern = layout(torch.ones_like(dense) * (dense != 0)).to_dense()

    def penalty(y: Any, A: Any, x: Any) -> Any:
        of_a, of_x = torch.autograd.grad(y.square().sum(), (A, x), create_graph=True)
        if of_a.layout == torch.strided:
            of_a = of_a * pattern
        else:
            of_a = (of_a.coalesce() if of_a.layout == torch.sparse_coo else of_a).values()
        return of_a.square().sum() + (of_x**3).sum()

    A, x = layout(dense).requires_grad_(), leaf(RNG.standard_normal(4))
    found = torch.autograd.grad(penalty(product(A, x), A, x), (A, x))
    plain = dense.clone().requires_grad_()
    wanted = torch.autograd.grad(penalty((plain * plain) @ x, plain, x), (plain, x))
    torch.testing.assert_close(found[0].to_dense(), wanted[0] * pattern)
    torch.testing.assert_close(found[1], wanted[1])


@pytest.mark.parametrize("storage", ["CSR", "CSC", "COO", "BSR(2, 2)", "ELL"])
@pytest.mark.parametrize("use", [lambda y: y, lambda y: y + y, lambda y: 2 * y], ids=["plain", "sum", "multiple"])
def test_sparse_results_are_differentiable_twice(storage: str, use: Any) -> None:
    A = ms.tensor(np.where(RNG.random((4, 6)) < 0.5, RNG.standard_normal((4, 6)), 0), storage)
    squares = mst.kernel("Y(i,j) = A(i,j) * A(i,j) * x(j)", A=A, out=storage)
    given = leaf(A.storage.values.copy()), leaf(RNG.standard_normal(6)), leaf(RNG.standard_normal((4, 6)))

    def call(values: Any, x: Any, weights: Any) -> Any:
        return use(squares(values, x)).to_dense() * weights

    assert torch.autograd.gradcheck(call, given)
    assert torch.autograd.gradgradcheck(call, given)


@pytest.mark.parametrize("storage", ["CSR", "COO"])
def test_a_gradient_of_another_pattern_is_read_at_the_results_entries(storage: str) -> None:
    from mlir_sparse.gradients import ValueStructure
    from mlir_sparse.torch.sparse_values import as_torch_sparse

    values, other = leaf(np.array([1.0, 2.0])), leaf(np.array([5.0, 7.0, 11.0]))
    result = as_torch_sparse(ValueStructure(ms.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], storage)), values)
    given = as_torch_sparse(ValueStructure(ms.tensor([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]], storage)), other)
    (found,) = torch.autograd.grad(result, values, given, create_graph=True)
    assert found.tolist() == [7, 0]
    assert torch.autograd.grad(found.sum(), other)[0].tolist() == [0, 1, 0]


def test_a_pattern_as_result_gives_values() -> None:
    P = ms.tensor(np.eye(4)[:, :3], "CSR")
    U, V = leaf(RNG.standard_normal((4, 2))), leaf(RNG.standard_normal((3, 2)))
    sampled = mst.kernel("S(i,j) = U(i,k) * V(j,k)", out=P)
    torch.testing.assert_close(sampled(U, V), (U @ V.T).diagonal())
    assert torch.autograd.gradgradcheck(sampled, (U, V))


def test_comprehensions_have_several_results() -> None:
    pooled = mst.kernel(
        "def f(double(M,K) A, double(K,N) B) -> (C, P) { C(i,j) +=! A(i,k) * B(k,j)  P(i) max=! C(i,j) }"
    )
    A, B = leaf(RNG.standard_normal((3, 4))), leaf(RNG.standard_normal((4, 2)))
    _, P = pooled(A, B)
    torch.testing.assert_close(P, (A @ B).amax(1))
    assert torch.autograd.gradcheck(lambda a, b: tuple(pooled(a, b)), (A, B))
    (only,) = torch.autograd.grad(P.sum(), A)
    torch.testing.assert_close(only, torch.autograd.grad((A @ B).amax(1).sum(), A)[0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex128])
def test_other_element_types_agree_with_pytorch(dtype: Any) -> None:
    A, x = torch.randn(3, 4, dtype=dtype, requires_grad=True), torch.randn(4, dtype=dtype, requires_grad=True)
    ours = mst.kernel("y(i) = A(i,j) * x(j)")(A, x)
    for one, other in zip(
        torch.autograd.grad(ours.abs().sum(), (A, x)), torch.autograd.grad((A @ x).abs().sum(), (A, x)), strict=True
    ):
        torch.testing.assert_close(one, other)


def test_real_operands_of_complex_results_have_real_gradients() -> None:
    A, x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True), torch.randn(4, dtype=torch.complex128)
    (ours,) = torch.autograd.grad(mst.kernel("y(i) = A(i,j) * x(j)")(A, x).abs().sum(), A)
    (expected,) = torch.autograd.grad((A.to(x.dtype) @ x).abs().sum(), A)
    torch.testing.assert_close(ours, expected)


def test_ties_are_shared_as_amax_does() -> None:
    X = torch.tensor([[2.0, 1.0, 2.0], [3.0, 3.0, 3.0]], requires_grad=True)
    (ours,) = torch.autograd.grad(mst.kernel("y(i) = max(j : X(i,j))")(X).sum(), X)
    (expected,) = torch.autograd.grad(X.amax(1).sum(), X)
    torch.testing.assert_close(ours, expected)


def test_what_is_constant_has_no_gradient_and_the_rest_has() -> None:
    x, z = leaf([1.5, 2.5]), leaf([1.0, 2.0])
    y = mst.kernel("y(i) = floor(x(i)) * z(i)")(x, z)
    assert torch.autograd.grad(y.sum(), (x, z), allow_unused=True, materialize_grads=True)[0].tolist() == [0, 0]


def test_cotangents_that_are_expanded_and_results_that_are_operands() -> None:
    x = leaf([1.0, 2.0])
    y = mst.kernel("y(i) = x(i)")(x)
    assert y.data_ptr() != x.data_ptr()
    assert torch.autograd.grad(y.sum(), x)[0].tolist() == [1, 1]


# -- graphs and layers ----------------------------------------------------------------------------------------


def test_graphs_hold_kernels_as_one_operator() -> None:
    A = matrix(0)
    spmm = mst.kernel("Y(i,k) = A(i,j) * B(j,k)", A=A)
    compiled = torch.compile(lambda v, b: spmm(v, b).sin().sum(), backend="aot_eager", fullgraph=True)
    for columns in (3, 4):
        v, B = leaf(A.storage.values), leaf(RNG.standard_normal((5, columns)))
        ours = torch.autograd.grad(compiled(v, B), (v, B))
        expected = torch.autograd.grad(spmm(v, B).sin().sum(), (v, B))
        torch.testing.assert_close(ours, expected)


@pytest.mark.parametrize("kind", ["csr", "coo", "tensor", "fixed"])
def test_graphs_break_at_sparse_operands(kind: str) -> None:
    A, B = matrix(0), leaf(RNG.standard_normal((5, 3)))
    fixed = {"A": A} if kind == "fixed" else {}
    spmm = mst.kernel("Y(i,k) = A(i,j) * B(j,k)", **fixed)
    operand = {
        "csr": lambda: A.to("torch"),
        "coo": lambda: A.to("torch").to_sparse_coo(),
        "tensor": lambda: A,
        "fixed": lambda: torch.tensor(A.storage.values),
    }[kind]()
    held = torch.compile(lambda b: spmm(operand, b).sin().sum(), backend="aot_eager")
    passed = torch.compile(lambda a, b: spmm(a, b).sin().sum(), backend="aot_eager")
    expected = (torch.tensor(A.to_numpy()) @ B).sin().sum()
    (gradient,) = torch.autograd.grad(expected, B)
    for found in (held(B), passed(operand, B)):
        torch.testing.assert_close(found, expected)
        torch.testing.assert_close(torch.autograd.grad(found, B)[0], gradient)


def test_transforms_of_functions() -> None:
    """As of PyTorch's own functions: forward mode, batches, and one inside of the other."""
    func, A, x = torch.func, matrix(0), torch.tensor(RNG.standard_normal(5))
    dense, spmv = torch.tensor(A.to_numpy()), mst.kernel("y(i) = tanh(sum(j : A(i,j) * x(j)))")
    many = torch.stack([x, 2 * x, -x])

    def ours(v: Any) -> Any:
        return spmv(A, v)

    def theirs(v: Any) -> Any:
        return torch.tanh(dense @ v)

    for transformed in (
        lambda f: func.jvp(f, (x,), (many[1],)),
        lambda f: func.jacfwd(f)(x),
        lambda f: func.jacrev(f)(x),
        lambda f: func.hessian(f)(x),
        lambda f: func.jacfwd(func.jacfwd(f))(x),
        lambda f: func.vmap(f)(many),
        lambda f: func.vmap(f, in_dims=1, out_dims=1)(many.T),
        lambda f: func.vmap(func.jacrev(f))(many),
        lambda f: func.grad(lambda v: f(v).sum())(x),
        lambda f: torch.compile(lambda v: func.jvp(f, (v,), (many[1],)), backend="aot_eager")(x),
    ):
        torch.testing.assert_close(transformed(ours), transformed(theirs))


def test_forward_mode_of_stored_values_of_complex_numbers() -> None:
    A = ms.tensor(matrix(0).to_numpy() * (1 + 2j), "CSR")
    spmv = mst.kernel("y(i) = A(i,j) * x(j)", A=A)
    values, x = torch.tensor(A.storage.values), torch.tensor(RNG.standard_normal(5) + 1j)
    turned = 1j * values
    _, tangent = torch.func.jvp(spmv, (values, x), (turned, x))
    torch.testing.assert_close(tangent, spmv(turned, x) + spmv(values, x))


def test_the_operator_passes_pytorchs_own_check() -> None:
    from mlir_sparse.torch.program_operator import program_operator, traced_key

    spmv = mst.kernel("y(i) = A(i,j) * x(j)", A=matrix(0))
    v, x = leaf(matrix(0).storage.values), leaf(np.ones(5))
    v = leaf(np.ones(spmv.inside("A").numel()))
    key = traced_key(spmv.number, "torch.float64,1;torch.float64,1")
    torch.library.opcheck(program_operator(), (key, [v, x]))


def test_a_layer_trains_its_stored_weights() -> None:
    torch.manual_seed(0)
    W = matrix(0)
    layer = mst.SparseLinear(W, keep_values=False)
    goal = torch.tensor(W.to_numpy())
    x = torch.randn(64, 5, dtype=torch.float64)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.2)
    for _ in range(200):
        optimizer.zero_grad()
        loss = (layer(x) - x @ goal.T).square().mean()
        loss.backward()
        optimizer.step()
    assert float(loss.detach()) < 1e-3
    torch.testing.assert_close(layer(x.reshape(4, 16, 5)).reshape(64, 6), layer(x))
    other = copy.deepcopy(layer)
    torch.testing.assert_close(other(x), layer(x))
    assert "entries=" in repr(layer)


def test_a_layer_is_saved_and_pickled() -> None:
    model = torch.nn.Sequential(mst.SparseLinear(matrix(0)), torch.nn.ReLU())
    x = torch.randn(3, 5, dtype=torch.float64)
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    for other in (pickle.loads(pickle.dumps(model)), torch.load(file, weights_only=False)):
        assert type(other[0]) is mst.SparseLinear
        torch.testing.assert_close(other(x), model(x))
        other(x).sum().backward()
        assert other[0].weight.grad is not None


def test_kernels_pickle() -> None:
    spmv = pickle.loads(pickle.dumps(mst.kernel("y(i) = A(i,j) * x(j)", A=matrix(1))))
    A = matrix(1)
    assert spmv(A, torch.ones(5, dtype=torch.float64)).shape == (6,)


# -- refusals -------------------------------------------------------------------------------------------------


def test_bad_input_is_refused_by_name() -> None:
    A = matrix(0)
    spmv = mst.kernel("y(i) = A(i,j) * x(j)", A=A)
    x = torch.ones(5, dtype=torch.float64)
    with pytest.raises(ms.UnknownTensorError, match="expected data for x"):
        spmv(A)
    with pytest.raises(ms.StorageError, match=r"expected .* values, one for each that is stored, but got 2"):
        spmv(torch.ones(2, dtype=torch.float64), x)
    with pytest.raises(ms.OperandError, match="but got list"):
        spmv(A, [1.0] * 5)
    with pytest.raises(ms.UnsupportedError, match="the semiring min_plus"):
        mst.kernel("y(i) = A(i,j) * x(j)", semiring="min_plus")
    with pytest.raises(ms.UnsupportedError, match="but got a slice"):
        mst.kernel("y(i) = A(i,j) * x(j)", A=A.slice(slice(0, 2), slice(0, 2)))
    with pytest.raises(ms.DTypeError, match="expected a result in floating point"):
        mst.kernel("y(i) = A(i,j) * x(j)")(torch.ones(2, 2, dtype=torch.int64), torch.ones(2, dtype=torch.int64))
    with pytest.raises(ms.UnsupportedError, match="entries depend on structure alone"):
        mst.kernel("y(i) = x(i) if m(i)", out="SparseVector")(x, x)
    unsorted = torch.sparse_csr_tensor(torch.tensor([0, 2]), torch.tensor([1, 0]), torch.ones(2), (1, 2))
    with pytest.raises(ms.StorageError):
        mst.kernel("y(i) = A(i,j) * x(j)")(unsorted, torch.ones(2))


def test_importing_the_package_does_not_import_pytorch() -> None:
    code = "import mlir_sparse as ms, sys; ms.torch.kernel; print('torch' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


def test_operands_without_data_give_results_without_data() -> None:
    spmm = ms.torch.kernel("Y(i,k) = A(i,j) * B(j,k)")
    A, B = torch.ones(4, 3, dtype=torch.float64), torch.ones(3, 2, dtype=torch.float64)
    for left, right in ((A, B.to("meta")), (A.to("meta"), B), (A.to("meta"), B.to("meta"))):
        found = spmm(left, right)
        assert found.device.type == "meta"
        assert found.shape == (4, 2)
    assert spmm(A, B).device.type == "cpu"
