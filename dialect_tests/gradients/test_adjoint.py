"""`ms.adjoint`: the text of derivatives, their numbers, and what has none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.adjoint_numbers import greatest_error
from mlir_sparse.notation import FUNCTIONS
from mlir_sparse.notation.adjoint import DERIVATIVES

RNG = np.random.default_rng(20)


def dense(*shape: int) -> Any:
    return RNG.standard_normal(shape)


def sparse(shape: tuple[int, ...], storage: str = "CSR", **parameters: Any) -> ms.SparseTensor:
    found = ms.tensor(np.where(RNG.random(shape) < 0.5, RNG.standard_normal(shape), 0)).convert(storage, **parameters)
    if found.storage.values.size > 2 and not found.encoding.has_padding:
        found.storage.values[1] = 0.0  # an explicit zero
    return found


@pytest.mark.parametrize(
    ("text", "wrt", "types", "expected"),
    [
        ("Y(i,k) = A(i,j) * B(j,k)", "A", {}, "dA(i,j) = dY(i,k) * B(j,k)"),
        ("Y(i,k) = A(i,j) * B(j,k)", "A", {"A": "f64[?,?] CSR"}, "dA(i,j) = dY(i,k) * B(j,k) if A(i,j)"),
        ("y(i) = b(i) - A(i,j) * x(j)", "bx", {}, "db(i) = dy(i)\ndx(j) = -(dy(i) * A(i,j))"),
        ("y(i) = A(i,j) * x(j)", "A", {"x": "c128[?]"}, "dA(i,j) = real(dy(i) * conj(x(j)))"),
        ("y(i) = A(i,j) * x(j)", "x", {"x": "c128[?]"}, "dx(j) = dy(i) * A(i,j)"),
        ("s = imag(z(i))", "z", {"z": "c128[?]"}, "dz(i) = 1.0j * ds"),
        ("y(i) = abs(A(i,j) * x(j))", "x", {"x": "c128[?]"}, "dx(j) = dy(i) * sign(A(i,j) * x(j)) * A(i,j)"),
        ("y(i) = x(i) ** 3", "x", {}, "dx(i) = 3 * dy(i) * pow(x(i), 2)"),
        ("y(i) = A(i,j) * x(j) if M(i)", "x", {}, "dx(j) = dy(i) * A(i,j) if M(i)"),
        ("y(i) += A(i,j) * x(j)", "xy", {}, "dx(j) = dy(i) * A(i,j)\ndy1(i) = dy(i)"),
        ("y(i) = A(i,j) * B(j,k) * A(k,l)", "A", {},
         "dA(i,j) = dy(i) * sum(l : A(k,l)) * B(j,k) + dy(i1) * sum(j1 : A(i1,j1) * B(j1,i))"),
        ("y(i) = x(2*i + k) * w(k)", "x", {},
         "dx(m) = at_x(i,k,m) * (dy(i) * w(k))\nwith\n  at_x(i,k,m) = 1 if 2*i + k == m"),
    ],
)  # fmt: skip
def test_derivatives_are_notation(text: str, wrt: str, types: dict[str, str], expected: str) -> None:
    assert str(ms.adjoint(text, list(wrt), tensors=types)) == expected


def test_what_to_differentiate_by_has_a_name_that_tensors_may_have() -> None:
    text = "y(i) = A(i,j) * x(j)"
    assert str(ms.adjoint(text, wrt="x")) == str(ms.adjoint(text, "x"))
    assert str(ms.adjoint("y(i) = wrt(i) * x(i)", "x", wrt="f64[?]")) == "dx(i) = dy(i) * wrt(i)"
    with pytest.raises(ms.OperandError, match="expected the operand to differentiate by"):
        ms.adjoint(text)


def test_names_of_users_are_never_taken() -> None:
    found = ms.adjoint("Y(dA,k) = A(dA,j) * dY(j,k) * dA1(at_A)", "A", A="f64[?,?] CSR")
    assert found.results == {"A": "dA2"}
    assert found.cotangents == {"Y": "dY1"}
    assert str(found) == "dA2(dA,j) = dY1(dA,k) * sum(at_A : dA1(at_A)) * dY(j,k) if A(dA,j)"


def test_what_is_printed_computes_the_gradient() -> None:
    A, B, dY = sparse((6, 5)), dense(5, 3), dense(6, 3)
    found = ms.adjoint("Y(i,k) = A(i,j) * B(j,k)", ["A", "B"], A=A)
    to_a, to_b = map(str, found.statements)
    gradient = ms.evaluate(to_a, A=A, B=B, dY=dY, out=A.encoding)
    np.testing.assert_array_equal(gradient.storage.coordinates[1], A.storage.coordinates[1])
    rows, columns = A.to_coo()[0]
    np.testing.assert_allclose(gradient.storage.values, (dY @ B.T)[rows, columns])
    np.testing.assert_allclose(ms.evaluate(to_b, A=A, dY=dY), A.to_numpy().T @ dY)


def test_selections_are_definitions_that_evaluate_takes() -> None:
    found = ms.adjoint("y(i,k) = X(I(i),k)", "X")
    (definition,) = found.definitions.values()
    at = ms.define(definition, I=np.array([2, 2, 0]), shape=(None, 4))
    dy = dense(3, 2)
    expected = np.zeros((4, 2))
    np.add.at(expected, [2, 2, 0], dy)
    np.testing.assert_allclose(ms.evaluate(str(found.statements[-1]), at_X=at, dy=dy), expected)


KERNELS: list[tuple[str, dict[str, Any]]] = [
    ("y(i) = A(i,j) * A(j,k) * x(k)", {"A": sparse((5, 5)), "x": dense(5)}),
    ("y(i) = A(i,i) * x(i)", {"A": sparse((5, 5)), "x": dense(5)}),
    ("y(i) = exp(x(i)) / sum(j : exp(x(j)))", {"x": dense(5)}),
    ("y(i) = max(j : A(i,j)) + min(j : X(i,j))", {"A": sparse((4, 5)), "X": dense(4, 5)}),
    ("y(i) = prod(j : X(i,j))", {"X": np.array([[1.5, 0, 2.0], [0, 0, 3.0], [2.0, 1.0, -1.0]])}),
    ("y(i) = x(2*i + k) * w(k)", {"x": dense(9), "w": dense(3)}),
    ("y(i,k) = A(I(i),k)", {"A": sparse((4, 3)), "I": np.array([2, 2, 0])}),
    ("y(i,k) = X(I(i) ,k) * A(i,k)", {"X": dense(4, 3), "A": sparse((2, 3)), "I": np.array([3, 3])}),
    ("s = A(i,j) * x(j) * z(i)", {"A": sparse((4, 5)), "x": dense(5), "z": dense(4)}),
    ("y(i) = sum(j : x(i) + B(i,j))", {"x": dense(4), "B": dense(4, 3)}),
    ("y(i) = A(i,j) * x(j) if M(i)", {"A": sparse((4, 5)), "x": dense(5), "M": sparse((4,), "SparseVector")}),
    ("y(i) = x(i) - x(i + 1) where i in 0:2", {"x": dense(5)}),
    ("y(i) = stored(exp(A(i,j)) + x(j))", {"A": sparse((4, 5)), "x": dense(5)}),
    ("M(i,r) = X(i,j,k) * P(j,r) * Q(k,r)", {"X": sparse((3, 4, 5), "CSF"), "P": dense(4, 2), "Q": dense(5, 2)}),
    ("y(i) = sqrt(sum(j : A(i,j) ** 2) + 1.0)", {"A": sparse((4, 5))}),
    ("y(i) += A(i,j) * x(j)", {"A": sparse((4, 5)), "x": dense(5), "y": dense(4)}),
    ("y(i) *= A(i,j) + 1.5", {"A": sparse((4, 5)), "y": dense(4)}),
    ("C(i,j) = A(i,k) * B(k,j)", {"A": sparse((4, 5)), "B": sparse((5, 3), "CSC")}),
    ("s(i) = A(i,j) * where(x(j) > 0, x(j) ** 2, -x(j))", {"A": sparse((4, 5)), "x": dense(5)}),
    (
        "def f(double(M,K) A, double(K,N) B) -> (C, P) { C(i,j) +=! A(i,k) * B(k,j)  P(i) max=! C(i,j)  C(i,j) *= 2 }",
        {"A": sparse((4, 5)), "B": dense(5, 3)},
    ),
]


@pytest.mark.parametrize(("text", "operands"), KERNELS, ids=[text[:40] for text, _ in KERNELS])
def test_adjoints_agree_with_numeric_differences(text: str, operands: dict[str, Any]) -> None:
    assert greatest_error(text, operands, 2, RNG) < 2e-5


def _complex(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)


COMPLEX: list[str] = [
    "C(i,k) = Z(i,j) * conj(W(j,k)) * r(i)",
    "C(i,k) = A(i,j) * W(j,k) * z(k)",
    "C(i,j) = A(i,j) * W(i,k) * V(j,k)",
    "s = abs(Z(i,j) * z(j))",
    "y(i) = abs(z(i)) * r(i) * w(i)",
    "y(i) = real(Z(i,j)) * w(j)",
    "y(i) = imag(Z(i,j) * w(j)) * r(i)",
    "y(i) = angle(z(i)) * w(i) + angle(r(i))",
    "y(i) = sign(z(i)) * sign(w(i))",
    "y(i) = z(i) ** w(i) + r(i) ** z(i) + z(i) ** complex(1.5, 0.5)",
    "y(i) = z(i) * 2j + conj(3j * w(i)) + abs(r(i))",
    "y(i) = z(i) / (Z(i,j) * w(j) + 3)",
    "y(i) = max(j : real(Z(i,j) * z(j)))",
    "y(i) = prod(j : W(i,j))",
    "y(i) = where(real(z(i)) > imag(w(i)), z(i) * w(i), w(i))",
    "y(i) = A(i,j) * z(j) if r(i)",
    "y(i) = acosh(z(i)) + asinh(z(i)) + atanh(z(i)) + acos(z(i))",
    "def f(c128(M,K) Z, c128(K) z) -> (o) { y(i) = abs(Z(i,j) * z(j))  o(i) = y(i) * z(i) + imag(z(i)) }",
]


@pytest.mark.parametrize("text", COMPLEX, ids=[text[:40] for text in COMPLEX])
@pytest.mark.parametrize("storage", ["CSR", "COO", None])
def test_complex_adjoints_agree_with_numeric_differences(text: str, storage: str | None) -> None:
    known = {"Z": _complex(4, 4), "W": _complex(4, 4), "V": _complex(4, 4), "z": _complex(4), "w": _complex(4),
             "r": RNG.uniform(0.5, 1.5, 4), "A": RNG.standard_normal((4, 4))}  # fmt: skip
    if storage is not None:
        known |= {name: ms.tensor(np.where(RNG.random((4, 4)) < 0.5, known[name], 0)).convert(storage) for name in "AZ"}
    operands = {name: known[name] for name in ms.parse(text).inputs}
    assert greatest_error(text, operands, 2, RNG) < 2e-5


STORAGES: list[tuple[str, dict[str, Any]]] = [
    ("CSR", {}), ("DCSC", {}), ("COO", {}), ("NonuniqueCOO", {}), ("BSR", {"block": (2, 2)}),
    ("BSR", {"block": (4, 3)}),
    ("DIA", {}), ("HashedRows", {}), ("SlotELL", {}), ("LooseCSR", {}), ("Dense", {}),
]  # fmt: skip


@pytest.mark.parametrize(("storage", "parameters"), STORAGES, ids=[f"{n}{p or ''}" for n, p in STORAGES])
def test_every_storage_has_gradients(storage: str, parameters: dict[str, Any]) -> None:
    A = sparse((6, 5), storage, **parameters)
    assert greatest_error("Y(i,k) = A(i,j) * B(j,k)", {"A": A, "B": dense(5, 2)}, 2, RNG) < 2e-5


def test_entries_stored_twice_have_a_gradient_each() -> None:
    A = ms.SparseTensor.from_levels(
        "(i, j) -> (i : compressed(nonunique), j : singleton(nonunique))", (2, 2), [[0, 3], None],
        [[0, 0, 1], [1, 1, 0]], [1.0, 2.0, 3.0],
    )  # fmt: skip
    assert A.to_numpy().tolist() == [[0, 3], [3, 0]]
    assert greatest_error("y(i) = A(i,j) * x(j)", {"A": A, "x": dense(2)}, 2, RNG) < 2e-5


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1), (0, 0)])
@pytest.mark.filterwarnings("ignore:invalid value")  # the greatest of nothing is infinite
def test_small_extents(shape: tuple[int, int]) -> None:
    A, x = ms.tensor(np.ones(shape), "CSR"), dense(shape[1])
    assert greatest_error("y(i) = A(i,j) * x(j) + max(k : A(i,k) + 0.5)", {"A": A, "x": x}, 1, RNG) < 2e-5


# -- functions ----------------------------------------------------------------------------------------------

DOMAINS = {"acosh": (1.2, 3.0), "log": (0.3, 3), "log2": (0.3, 3), "log10": (0.3, 3), "sqrt": (0.3, 3),
           "rsqrt": (0.3, 3),
           "asin": (-0.8, 0.8), "acos": (-0.8, 0.8), "atanh": (-0.8, 0.8), "log1p": (-0.5, 2), "pow": (0.5, 2),
           "cbrt": (0.5, 2), "reciprocal": (0.5, 2), "remainder": (2.1, 2.9), "fmod": (2.1, 2.9)}  # fmt: skip
ROUNDED = {"f16", "bf16", "f32"}  # casts, whose steps are larger than those of differences
DIFFERENTIABLE = [
    name for name, known in DERIVATIVES.items() if not known.reason and any(known.formulas) and name not in ROUNDED
]


def test_each_function_has_derivatives_or_a_reason() -> None:
    assert set(DERIVATIVES) == set(FUNCTIONS)
    for name, known in DERIVATIVES.items():
        assert known.reason or len(known.formulas) == FUNCTIONS[name].arity


@pytest.mark.parametrize("group", [DIFFERENTIABLE[at::6] for at in range(6)], ids=" ".join)
def test_functions_agree_with_numeric_differences(group: list[str]) -> None:
    for name in group:
        low, high = DOMAINS.get(name, (-1.5, 1.5))
        operands = {letter: RNG.uniform(low, high, 5) for letter in "xyz"[: FUNCTIONS[name].arity]}
        call = f"{name}({', '.join(f'{letter}(i)' for letter in operands)})"
        smooth = name not in ("floor_divide", "heaviside", "copysign")
        assert greatest_error(f"r(i) = {call}", operands, 2 if smooth else 1, RNG) < 5e-5, name


def test_equal_values_share_the_cotangent() -> None:
    """As `torch.amax` and `torch.maximum` do."""
    values = {"X": np.array([[2.0, 1.0, 2.0]]), "a": np.ones(1), "b": np.ones(1)}
    found = ms.adjoint("y(i) = max(j : X(i,j))", "X")
    for step in found.statements:
        values[step.target.tensor] = ms.evaluate(step, tensors={n: values[n] for n in step.inputs if n != "dy"} | (
            {"dy": np.ones(1)} if "dy" in step.inputs else {}))  # fmt: skip
    assert values["dX"].tolist() == [[0.5, 0, 0.5]]
    halves = ms.adjoint("y(i) = max(a(i), b(i))", "a").statements[0]
    assert ms.evaluate(halves, a=values["a"], b=values["b"], dy=np.ones(1)).tolist() == [0.5]


# -- refusals -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wrt", "more", "error", "words"),
    [
        ("y(i) = A(i,j) * x(j)", "A", {"semiring": "min_plus"}, ms.UnsupportedError, "the semiring min_plus"),
        ("y(i) = A(i,j) * x(j)", "A", {"semiring": "or_and"}, ms.UnsupportedError, "the semiring or_and"),
        ("y(i) = A(i,j) * x(j)", "A", {"A": "i64[?,?] CSR"}, ms.DTypeError, "expected A in floating point"),
        ("y(i) = A(i,j) * x(j)", "z", {}, ms.UnknownTensorError, "expected an operand of"),
        ("y(i) = A(i,j) * x(j)", "A", {"B": "f64[?]"}, ms.UnknownTensorError, "but got B"),
        ("y(i) = z(i) if x(i)", "x", {}, ms.UnsupportedError, "is a mask, of which the structure alone counts"),
        ("y(i) = X(I(i))", "I", {}, ms.UnsupportedError, "is a subscript"),
        ("y(i) = floor(x(i))", "x", {}, ms.UnsupportedError, "floor is constant nearly everywhere"),
        ("y(i) = argmax(j : X(i,j))", "X", {}, ms.UnsupportedError, "argmax is constant"),
        ("y(i) = bitwise_and(x(i), z(i))", "x", {}, ms.UnsupportedError, "a function of integers"),
        ("y(i) = f(x(i), z(i))", "x", {"f": ms.operator(lambda a, b: a + b)}, ms.UnsupportedError, "the operator f"),
        ("y(i) = round(x(i)) * 2", "x", {"x": "c128[?]"}, ms.UnsupportedError, "round of complex numbers"),
        ("y(i) = A(i,j)", "A", {"A": ms.tensor(np.eye(3)).slice(slice(0, 2), slice(0, 2))}, ms.UnsupportedError,
         "but got a slice"),
        ("y(i) = A(i,j)", "A", {"A": ms.define("L(i,j) = U(i) * U(j)", U=np.ones(3))}, ms.UnsupportedError,
         "to be stored in place"),
    ],
    ids=range(14),
)  # fmt: skip
def test_what_has_no_derivative_is_refused_by_name(
    text: str, wrt: str, more: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        ms.adjoint(text, wrt, **more)
