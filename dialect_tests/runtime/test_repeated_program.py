"""Kernels of several steps called again: on the same types and shapes, on others, and into arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import mlir_sparse as ms
from mlir_sparse import _native
from mlir_sparse.runtime import run_steps
from mlir_sparse.runtime.repeated_program import RepeatedProgram

# Nested sums are two steps, with or without optimization.
TEXT = "y(i) = alpha * A(i,j) * exp(sum(k : B(j,k) * x(k)))"


def operands(rows: int = 5, columns: int = 4, seed: int = 0, **changed: Any) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    made: dict[str, Any] = {"alpha": np.float64(2.0)}
    for name, shape in (("A", (rows, columns)), ("B", (columns, rows))):
        made[name] = ms.tensor(np.where(rng.random(shape) < 0.5, rng.random(shape), 0), "CSR")
    return made | {"x": rng.random(rows)} | changed


def expected(o: dict[str, Any]) -> Any:
    return o["alpha"] * (o["A"].to_numpy() @ np.exp(o["B"].to_numpy() @ o["x"]))


@pytest.fixture(params=[_native.ProgramLauncher, RepeatedProgram])
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A kernel that was called once; one native call, or step by step, as programs of other steps than calls are."""
    if request.param is RepeatedProgram:
        monkeypatch.setattr(run_steps, "native_program", lambda *_: None)
    text = TEXT if request.param is _native.ProgramLauncher else TEXT.replace("y(i)", "z(i)")  # two kernels
    made = ms.compile(text, **operands(), optimize="off")
    made(**operands())
    assert isinstance(made._last, request.param)
    return made


@pytest.mark.parametrize(("rows", "columns"), [(5, 4), (4, 5), (1, 1), (0, 4), (5, 0)])
def test_other_data_and_other_shapes(kernel: Any, rows: int, columns: int) -> None:
    for seed in range(3):
        given = operands(rows, columns, seed)
        np.testing.assert_allclose(kernel(**given), expected(given), rtol=1e-14)


def test_results_are_new_arrays(kernel: Any) -> None:
    first = kernel(**operands())
    kept = first.copy()
    kernel(**operands(seed=1))
    np.testing.assert_array_equal(first, kept)


def test_into_arrays(kernel: Any) -> None:
    given = operands(seed=1)
    out = np.full(5, np.nan)
    assert kernel(**given, out=out) is out
    np.testing.assert_allclose(out, expected(given), rtol=1e-14)
    strided = np.full(10, np.nan)[::2]
    assert kernel(**given, out=strided) is strided
    np.testing.assert_allclose(strided, expected(given), rtol=1e-14)


def test_an_operand_as_the_result(kernel: Any) -> None:
    given = operands(seed=1)
    wanted = expected(given)
    assert kernel(**given, out=given["x"]) is given["x"]
    np.testing.assert_allclose(given["x"], wanted, rtol=1e-14)


@pytest.mark.parametrize(
    "changed",
    [
        {"x": np.arange(10.0)[::2]},
        {"x": [1.0, 2.0, 3.0, 4.0, 5.0]},
        {"x": np.frombuffer(b"\0" * 41, np.uint8)[1:].view(np.float64)},
        {"x": np.arange(5.0).astype(">f8")},
        {"alpha": 2.0},
        {"alpha": 2},
        {"alpha": np.array(2.0)},
        {"A": scipy.sparse.csr_array(np.eye(5, 4))},
    ],
)
def test_operands_in_other_forms(kernel: Any, changed: dict[str, Any]) -> None:
    given = operands(**changed)
    dense = {name: ms.tensor(value) if name == "A" else np.asarray(value, float) for name, value in changed.items()}
    np.testing.assert_allclose(kernel(**given), expected(operands(**dense)), rtol=1e-14)


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"x": np.zeros(6)}, ms.ExtentError),
        ({"x": np.zeros(5, np.float32)}, ms.DTypeError),
        ({"x": np.zeros((5, 1))}, ms.RankError),
        ({"A": np.eye(5, 4)}, ms.OperandError),
        ({"A": ms.tensor(np.eye(5, 4), "CSC")}, ms.OperandError),
        ({"x": None}, ms.OperandError),
    ],
)
def test_what_does_not_fit_is_refused_as_at_first(kernel: Any, changed: dict[str, Any], error: type) -> None:
    with pytest.raises(error):
        kernel(**operands(**changed))
    given = operands(seed=2)
    np.testing.assert_allclose(kernel(**given), expected(given), rtol=1e-14)


def test_an_array_that_may_not_be_written_is_refused(kernel: Any) -> None:
    out = np.zeros(5)
    out.flags.writeable = False
    with pytest.raises(ms.OperandError):
        kernel(**operands(), out=out)
    assert not out.any()


def test_sparse_results() -> None:
    rng = np.random.default_rng(0)
    made = [ms.tensor(np.where(rng.random((6, 6)) < 0.4, rng.random((6, 6)), 0), "CSR") for _ in range(6)]
    kernel = ms.compile("D(i,l) = A(i,j) * (B(j,k) * C(k,l))", A=made[0], B=made[0], C=made[0], out="CSR")
    for A, B, C in (made[:3], made[3:]):
        product = A.to_numpy() @ B.to_numpy() @ C.to_numpy()
        np.testing.assert_allclose(kernel(A, B, C).to_numpy(), product, rtol=1e-13)
    with pytest.raises(ms.OperandError):
        kernel(*made[:3], out=np.zeros((6, 6)))
    with pytest.raises(ms.ExtentError):
        kernel(*made[:2], ms.tensor(np.eye(7), "CSR"))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_results_of_products_of_arrays(dtype: Any) -> None:
    """More entries and fewer, in small results and in large ones."""
    rng = np.random.default_rng(0)
    text = "R(i,j) = L(i,j) * (sum(f : S(i,f) * v(f)) + sum(g : P(j,g) * w(g)))"
    rest = {name: rng.integers(-3, 4, shape).astype(dtype) for name, shape in (("S", (500, 40)), ("P", (400, 40)))}
    rest |= {name: rng.integers(-3, 4, 40).astype(dtype) for name in "vw"}
    factors = np.add.outer(rest["S"] @ rest["v"], rest["P"] @ rest["w"])
    drawn = [np.where(rng.random((500, 400)) < share, 1, 0).astype(dtype) for share in (0.1, 0.5, 0.0, 0.01, 0.1)]
    kernel = ms.compile(text, L=ms.tensor(drawn[0], "CSR"), **rest, out="CSR")
    seen = []
    for dense in drawn:
        for _ in range(2):
            found = kernel(L=ms.tensor(dense, "CSR"), **rest)
            seen.append((found, found.to_numpy()))
            np.testing.assert_array_equal(seen[-1][1], dense * factors)
        assert isinstance(kernel._last, _native.ProgramLauncher)
    for found, as_it_was in seen:  # no later call has written to it
        np.testing.assert_array_equal(found.to_numpy(), as_it_was)


def test_arrays_from_sparse_parts() -> None:
    """The storage of a part is another in each call."""
    rng = np.random.default_rng(0)
    made = [np.where(rng.random((6, 6)) < 0.4, rng.random((6, 6)), 0) for _ in range(4)]
    operands = [ms.tensor(one, "CSR") for one in made]
    kernel = ms.compile("s = P(i,j) * P(i,j) * (A(i,j) * sum(k : A(i,k) * A(k,j)))", P=operands[0], A=operands[0])
    steps = ms.compile("y(i) = sum(j : B(i,j) * (A(i,j) * sum(k : A(i,k) * A(k,j))))", A=operands[0], B=operands[0])
    for A, dense in zip(operands, made, strict=True):
        masked = dense * (dense @ dense)
        np.testing.assert_allclose(kernel(P=A, A=A), (dense**2 * masked).sum(), rtol=1e-13)
        np.testing.assert_allclose(steps(A=A, B=A), (dense * masked).sum(1), rtol=1e-13)


def test_statements_with_sparse_parts() -> None:
    rng = np.random.default_rng(1)
    places = rng.integers(0, 400, (2, 6000))
    tensors = [ms.tensor((places, rng.random(6000)), "CSR", shape=(400, 400)) for _ in range(3)]
    kernel = ms.compile("s = A(i,j) * A(j,k) * A(k,l) * A(l,i)", A=tensors[0])
    assert "s.part" in kernel.explain()
    for A in tensors:
        product = A.to_numpy() @ A.to_numpy()
        np.testing.assert_allclose(kernel(A), (product * product.T).sum(), rtol=1e-12)


def test_limits_hold_for_further_calls() -> None:
    for optimize in ("auto", "off"):
        limited = ms.compile(TEXT, **operands(), threads=1, optimize=optimize)
        for seed in range(2):
            given = operands(seed=seed)
            np.testing.assert_allclose(limited(**given), expected(given), rtol=1e-14)


# Elements of the result are there before what is added to them.
SCATTER = "p(j) = d * A(i,j) * r(i) * w(i) + t"


def scattered(rows: int = 6, columns: int = 6, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    A = ms.tensor(np.where(rng.random((rows, columns)) < 0.5, rng.random((rows, columns)), 0), "CSR")
    return {"d": np.float64(0.5), "A": A, "r": rng.random(rows), "w": rng.random(rows), "t": np.float64(2.0)}


def expected_of_scatter(o: dict[str, Any]) -> Any:
    return o["d"] * (o["A"].to_numpy().T @ (o["r"] * o["w"])) + o["t"]


def test_a_result_that_is_written_by_several_calls() -> None:
    kernel = ms.compile(SCATTER, **scattered())
    for seed in range(3):
        given = scattered(seed=seed)
        np.testing.assert_allclose(kernel(**given), expected_of_scatter(given), rtol=1e-14)
        out = np.full(6, np.nan)
        assert kernel(**given, out=out) is out
        np.testing.assert_allclose(out, expected_of_scatter(given), rtol=1e-14)


def test_nothing_is_written_before_all_operands_fit() -> None:
    """The first step of the program fills the result: none may have it as an operand, also by another view."""
    kernel = ms.compile(SCATTER, **scattered())
    for _ in range(3):
        for name in ("r", "w"):
            for view in (lambda one: one, lambda one: one[::-1], lambda one: one[::1]):
                given = scattered(seed=1)
                shared = given[name]
                given[name] = view(shared)
                wanted = expected_of_scatter(given)
                kernel(**given, out=shared)
                np.testing.assert_allclose(shared, wanted, rtol=1e-14)
        given, out = scattered(seed=2), np.zeros(6)
        with pytest.raises(ms.ExtentError):
            kernel(**{**given, "w": np.ones(7)}, out=out)
        with pytest.raises(ms.DTypeError):
            kernel(**{**given, "w": np.ones(6, np.float32)}, out=out)
        with pytest.raises(ms.ExtentError):
            kernel(**given, out=np.zeros(7))
        assert not out.any()


def test_the_values_of_an_operand_as_the_result() -> None:
    given, places = scattered(1, 6), np.arange(6, dtype=np.int32)
    kernel = ms.compile(SCATTER, **given)
    for _ in range(3):
        A = ms.SparseTensor.from_levels("CSR", (1, 6), [None, places[:2] * 6], [None, places], np.arange(6.0))
        changed = {**given, "A": A}
        wanted, values = expected_of_scatter(changed), A.storage.values
        kernel(**changed, out=values)
        np.testing.assert_allclose(values, wanted, rtol=1e-14)


def test_new_tensors_take_the_short_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """What native calls read of a tensor is made by them where it is not there yet."""
    for kernel, inputs in (
        (ms.compile(SCATTER, **scattered()), scattered),
        (
            ms.compile("y(i) = A(i,j) * x(j)", A="f64[?,?] CSR", x="f64[?]"),
            lambda seed: {"A": scattered()["A"], "x": np.ones(6)},
        ),
    ):
        kernel(**inputs(seed=0))
        with monkeypatch.context() as patched:
            patched.setattr(ms.Kernel, "_call", lambda *_, **__: pytest.fail("expected the short path"))
            for seed in range(3):
                assert kernel(**inputs(seed=seed)) is not None


@pytest.mark.parametrize("text", ["y(j) = A(i,j) * r(i)", "y(i) = r(i) * A(i,j) * r(j)"])
def test_operands_in_another_order_and_twice(text: str) -> None:
    given = scattered()
    operands = {"A": given["A"], "r": given["r"]}
    kernel = ms.compile(text, **operands)
    dense = given["A"].to_numpy()
    wanted = dense.T @ given["r"] if "y(j)" in text else given["r"] * (dense @ given["r"])
    for _ in range(3):
        np.testing.assert_allclose(kernel(**operands), wanted, rtol=1e-14)
        with pytest.raises(ms.ExtentError):
            kernel(A=given["A"], r=np.ones(7))


def test_plans_of_programs_hold_for_sizes_like_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each short path looks at the numbers of entries: sixteen times as many are planned again."""
    rng = np.random.default_rng(3)

    def drawn(count: int) -> ms.SparseTensor:
        return ms.tensor((rng.integers(0, 2000, (2, count)), np.ones(count)), "CSR", shape=(2000, 2000))

    x, small, large = rng.random(2000), drawn(2000), drawn(120_000)
    for text in ("s = A(i,j) * B(j,k) * A(k,l)", "y(i) = A(i,j) * B(j,k) * x(k)"):
        given = {"x": x} if "x(" in text else {}
        kernel = ms.compile(text, A=small, B=small, **given)
        planned: list[object] = []
        plans, way = kernel._plans, kernel._plans.way
        monkeypatch.setattr(plans, "way", lambda values, way=way, planned=planned: planned.append(1) or way(values))
        for A, looks in ((small, 1), (small, 0), (large, 1), (large, 0), (drawn(119_000), 0), (small, 1)):
            planned.clear()
            dense = A.to_scipy()
            wanted = dense.sum(0) @ (dense @ dense.sum(1)) if not given else dense @ (dense @ x)
            np.testing.assert_allclose(kernel(A=A, B=A, **given), wanted, rtol=1e-10)
            assert len(planned) == looks


# -- rows at places ------------------------------------------------------------------------------------------------

GATHERED = {
    "of a part": "y(i) = sum(j : A(P(i),j) * x(j))",
    "of an operand": "y(i) = sum(j : A(i,j) * exp(w(P(j))))",
    "lines": "Y(i,k) = sum(j : A(P(i),j) * X(j,k))",
}


def gathered(places: np.ndarray[Any, Any], rows: int = 40, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    A = ms.tensor(scipy.sparse.random_array((rows, places.size), density=0.4, format="csr", random_state=rng))
    return {"A": A, "P": places, "x": rng.random(places.size), "w": rng.random(rows), "X": rng.random((places.size, 3))}


def by_numpy(name: str, o: dict[str, Any]) -> Any:
    a, places = o["A"].to_numpy(), o["P"].astype(np.int64)
    if name == "of an operand":
        return a @ np.exp(o["w"][places])
    return (a @ (o["x"] if name == "of a part" else o["X"]))[places]


@pytest.mark.parametrize("name", GATHERED)
@pytest.mark.parametrize("dtype", ["i8", "i4", "i2", "i1"])
def test_rows_at_places(name: str, dtype: str) -> None:
    kernel = None
    for seed in range(4):
        places = np.random.default_rng(seed).integers(0, 40, 30).astype(dtype)
        given = {key: one for key, one in gathered(places, seed=seed).items() if f"{key}(" in GATHERED[name]}
        kernel = kernel or ms.compile(GATHERED[name], **given, optimize="auto")
        found = kernel(**given)
        np.testing.assert_allclose(found, by_numpy(name, gathered(places, seed=seed)), rtol=1e-13)
        out = np.full(found.shape, np.nan)
        assert kernel(**given, out=out) is out
        np.testing.assert_array_equal(out, found)


@pytest.mark.parametrize("name", GATHERED)
@pytest.mark.parametrize("wrong", [-1, 40, 1 << 40])
def test_a_place_that_is_no_row_is_named_in_any_call(name: str, wrong: int) -> None:
    places = np.random.default_rng(0).integers(0, 40, 30)
    given = {key: one for key, one in gathered(places).items() if f"{key}(" in GATHERED[name]}
    kernel = ms.compile(GATHERED[name], **given)
    kernel(**given)
    for _ in range(3):
        places[17] = wrong  # in place, in what calls know
        with pytest.raises(ms.CoordinatesError, match=f"but got {wrong} at"):
            kernel(**given)
        places[17] = 39
        np.testing.assert_allclose(kernel(**given), by_numpy(name, gathered(places)), rtol=1e-13)


def test_the_result_may_not_be_the_places_or_what_they_are_of() -> None:
    places = np.random.default_rng(0).integers(0, 30, 30)
    given = {key: one for key, one in gathered(places, rows=30).items() if key in "APx"}
    kernel = ms.compile(GATHERED["of a part"], **given)
    expected = kernel(**given)
    out = given["x"]
    assert kernel(**given, out=out) is out
    np.testing.assert_allclose(out, expected, rtol=1e-13)


def test_rows_at_places_are_one_native_call() -> None:
    places = np.random.default_rng(0).integers(0, 40, 30)
    given = {key: one for key, one in gathered(places).items() if key in "APw"}
    kernel = ms.compile(GATHERED["of an operand"], **given)
    assert "pick" in kernel.explain()
    kernel(**given)
    assert isinstance(kernel._last, _native.ProgramLauncher)
