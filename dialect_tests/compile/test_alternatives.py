"""`Kernel.alternatives`: the ways to compute a statement, as values that compile."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms

N = 1500
CHAIN = "y(i) = A(i,j) * B(j,k) * x(k)"
STATEMENTS = (
    CHAIN,
    "y(i) = (A(i,j) + B(i,j)) * x(j)",
    "s = A(i,j) * A(j,k) * A(k,l) * A(l,i)",
    "y(i) = A(i,j) * x(j) + A(i,j) * abs(x(j)) - B(i,j) * x(j)",
    "s = sum(j : A(i,j) * x(j)) / (1 + sum(k, l, m : A(k,l) * x(l) * B(k,m) * x(m)))",
    "y(i) = A(i,j) * exp(x(j)) * B(j,k)",
)


@pytest.fixture(scope="module")
def operands() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    A, B = (
        ms.tensor((rng.integers(0, N, (2, 9 * N)), rng.integers(1, 4, 9 * N) + 0.0), "CSR", shape=(N, N)) for _ in "AB"
    )
    return {"A": A, "B": B, "x": rng.integers(0, 3, N) + 0.0}


def read_by(text: str, operands: dict[str, Any]) -> dict[str, Any]:
    return {name: operands[name] for name in ms.parse(text).inputs}


@pytest.mark.parametrize("text", STATEMENTS)
def test_each_compiles_and_computes_the_same(text: str, operands: dict[str, Any]) -> None:
    given = read_by(text, operands)
    kernel = ms.compile(text, **given)
    assert isinstance(kernel, ms.Kernel)
    ways = kernel.alternatives()
    assert len(ways) > 1
    assert [way.nanoseconds for way in ways] == sorted(way.nanoseconds for way in ways)
    assert sum(way.is_as_written for way in ways) == 1
    assert len({str(way) for way in ways}) == len(ways)
    expected = ms.evaluate(text, **given, optimize="off")
    for way in ways:
        assert all(part.estimate is not None for part in way.parts)
        assert way.rules or way.is_as_written or way.parts
        chosen = ms.compile(way, **given)
        assert isinstance(chosen, ms.Kernel)
        assert chosen.spec.rewriting == way.spec.rewriting
        np.testing.assert_allclose(ms.evaluate(way, **given), expected, rtol=1e-12)
        np.testing.assert_allclose(chosen(**given), expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["int8", "float64"])
@pytest.mark.parametrize(
    "text",
    [
        "y(i) or= sum(j, k : C(i,j) * D(j,k) * x(k)) - 1",
        "y(i) and= sum(j, k : C(i,j) * D(j,k) * x(k)) - x(i)",
        "y(i) and= 1 - sum(j, k : C(i,j) * D(j,k) * x(k)) * sum(l, m : C(i,l) * D(l,m) * x(m))",
        "y or= sum(i, j, k : x(i) * C(i,j) * D(j,k) * x(k)) - 1",
    ],
)
def test_parts_of_what_a_truth_value_is_made_of_are_numbers(text: str, dtype: str) -> None:
    """`or=` asks whether the whole is zero: parts with truth values in place of numbers would not tell."""
    rank = len(ms.parse(text).target.subscripts)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        operands = {name: rng.integers(-2, 3, (6, 6)).astype(dtype) for name in "CD"}
        operands |= {"x": rng.integers(-2, 3, 6).astype(dtype), "y": np.full((6,) * rank, "and" in text, dtype)}
        ways = ms.compile(text, tensors=operands).alternatives()
        assert len(ways) > 1
        wanted = ms.evaluate(text, tensors=operands, optimize="off")
        for way in ways:
            np.testing.assert_array_equal(ms.evaluate(way, tensors=operands), wanted, err_msg=str(way))


def test_types_are_those_of_the_alternative(operands: dict[str, Any]) -> None:
    best, *_ = ms.compile(CHAIN, **operands).alternatives()
    kernel = ms.compile(best)
    np.testing.assert_array_equal(kernel(**operands), ms.evaluate(CHAIN, **operands))
    other = {name: ms.tensor(one, "COO") if name == "A" else one for name, one in operands.items()}
    np.testing.assert_array_equal(ms.evaluate(best, **other), ms.evaluate(CHAIN, **operands))
    with pytest.raises(ms.DTypeError, match="expected x of f64, as the alternative was found for, but got f32"):
        ms.compile(best, **{**operands, "x": operands["x"].astype("f4")})


def test_the_storage_of_the_result(operands: dict[str, Any]) -> None:
    given = {"A": operands["A"], "B": operands["B"]}
    kernel = ms.compile("C(i,l) = A(i,j) * B(j,k) * A(k,l)", **given, out="CSR")
    for way in kernel.alternatives():
        assert ms.evaluate(way, **given).encoding.map_text() == kernel.output.encoding.map_text()
        dense = ms.evaluate(way, **given, out="dense")
        np.testing.assert_allclose(dense, ms.evaluate(way, **given).to_numpy())
        out = np.zeros((N, N))
        assert ms.evaluate(way, **given, out=out) is out
        np.testing.assert_array_equal(out, dense)


def test_what_an_alternative_has_decided_is_refused(operands: dict[str, Any]) -> None:
    best = ms.compile(CHAIN, **operands).alternatives()[0]
    wrong: list[dict[str, Any]] = [
        {"optimize": "off"},
        {"semiring": "min_plus"},
        {"schedule": "order=i,j,k"},
        {"schedule": "tuned"},
        {"target": "cuda:sm_90"},
    ]
    for options in wrong:
        for call in (ms.compile, ms.evaluate):
            with pytest.raises(ms.UnsupportedError, match=f"expected no {next(iter(options))}= with an alternative"):
                call(best, **operands, **options)
    with pytest.raises(ms.UnknownTensorError):
        ms.evaluate(best, A=operands["A"])
    with pytest.raises(ms.UnknownTensorError, match="expected data for tensor A, but got none: pass A="):
        ms.evaluate(best)
    assert ms.compile(best, **operands, schedule="lanes=0", threads=1).threads == 1


def test_data_at_hand(operands: dict[str, Any]) -> None:
    kernel = ms.compile(CHAIN, A="f64[?,?] CSR", B="f64[?,?] CSR", x="f64[?]")
    found, expected = kernel.alternatives(**operands), ms.compile(CHAIN, **operands).alternatives()
    assert list(map(str, found)) == list(map(str, expected))
    with pytest.raises(ms.OperandError, match="expected data to estimate for, but got none"):
        kernel.alternatives()
    assert "rewritten: y(i)" in kernel.explain(operands["A"], operands["B"], operands["x"])


def test_one_way_where_rules_know_no_other(operands: dict[str, Any]) -> None:
    kernel = ms.compile("y(i) = max(j : A(i,j) * x(j))", A=operands["A"], x=operands["x"])
    (only,) = kernel.alternatives()
    assert (only.is_as_written, only.nanoseconds) == (True, None)
    assert str(only) == f"as written: {kernel.spec.explicit}"
    assert "algebra" not in kernel.explain()


def test_values(operands: dict[str, Any]) -> None:
    for way in ms.compile(CHAIN, **operands).alternatives():
        assert pickle.loads(pickle.dumps(way)) == way
        first, *_ = str(way).splitlines()
        assert first == f"{'as written' if way.is_as_written else 'rewritten'}: {way.statement}"


def test_what_is_explained_survives(operands: dict[str, Any], tmp_path: Any) -> None:
    kernel = ms.compile(CHAIN, **operands)
    assert kernel.account[0].startswith("rewritten: ")
    assert [line.split(":")[0].strip() for line in kernel.account[2:]] in (
        ["because", "rules", "estimates"],
        ["because", "next", "rules", "estimates"],
    )
    kernel.save(tmp_path / "kernel")
    assert ms.load(tmp_path / "kernel").account == kernel.account
    assert pickle.loads(pickle.dumps(kernel)).account == kernel.account
    chosen = ms.compile(kernel.alternatives()[0])
    assert chosen.account == kernel.account[:2]


def test_ways_of_statements_with_index_variables_as_values_take_what_users_give() -> None:
    rng = np.random.default_rng(0)
    A = ms.tensor(np.where(rng.random((5, 6)) < 0.5, rng.integers(1, 4, (5, 6)), 0), "CSR")
    B = ms.tensor(np.where(rng.random((6, 4)) < 0.5, rng.integers(1, 4, (6, 4)), 0), "CSR")
    text = "C(i,j) = A(i,k) * where(k < j, B(k,j), 1) * i"
    expected = ms.evaluate(text, A=A, B=B, optimize="off")
    ways = ms.compile(text, A=A, B=B).alternatives()
    assert ways
    for way in ways:
        for found in (ms.compile(way, A=A, B=B)(A, B), ms.compile(way)(A, B), ms.evaluate(way, A=A, B=B)):
            assert np.array_equal(np.asarray(found), np.asarray(expected))


KINDS_OF_KERNELS: dict[str, tuple[str, dict[str, Any]]] = {
    "planned": ("y(i) = A(i,j) * B(j,k) * x(k)", {}),
    "as written": ("y(i) = A(i,j) * x(j)", {"optimize": "off"}),
    "defined": ("y(i) = M(i,j) * x(j)", {}),
    "comprehension": ("def f(double(N,N) A, double(N) x) -> (y) { t(i) = A(i,j) * x(j)  y(j) = A(i,j) * t(i) }", {}),
    "device": ("y(i) = A(i,j) * x(j)", {"target": "cuda:sm_90"}),
}


@pytest.mark.parametrize("kind", KINDS_OF_KERNELS)
def test_every_kernel_explains_the_plan_for_data(kind: str) -> None:
    text, options = KINDS_OF_KERNELS[kind]
    entries, x = ms.tensor(np.eye(6)), np.ones(6)
    given: dict[str, Any] = {"A": entries, "B": entries, "x": x}
    given["M"] = ms.define("M(i,j) = U(i,k) * V(j,k)", U=np.ones((6, 2)), V=np.ones((6, 2)))
    kernel = ms.compile(text, tensors={name: one for name, one in given.items() if f"{name}(" in text}, **options)
    operands = {name: given[name] for name in kernel.parameters}
    told = kernel.explain(**operands)
    assert told == kernel.explain(*operands.values())
    assert told.splitlines()[-1] == kernel.explain().splitlines()[-1]
    last = kernel.parameters[-1]
    with pytest.raises(ms.UnknownTensorError, match=f"data for tensor {last}"):
        kernel.explain(**{name: one for name, one in operands.items() if name != last})
    with pytest.raises((ms.UnknownTensorError, ms.OperandError), match="nobody"):
        kernel.explain(**operands, nobody=1)
