"""Kernels plan by types where data need not be known, and each call by its data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse import _native

CHAIN = "y(i) = A(i,j) * B(j,k) * x(k)"
TYPES = {"A": "f64[?,?] CSR", "B": "f64[?,?] CSR", "x": "f64[?]"}


def operands(extent: int, degree: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    count = extent * degree
    A, B = (
        ms.tensor((rng.integers(0, extent, (2, count)), rng.integers(1, 4, count) + 0.0), "CSR", shape=(extent,) * 2)
        for _ in "AB"
    )
    return {"A": A, "B": B, "x": rng.integers(1, 4, extent) + 0.0}


SMALL, LARGE = operands(30, 3), operands(3000, 40)


def parts(kernel: Any) -> list[int]:
    """Returns how many parts the plan of each compiled variant has."""
    return [len(build.spec.rewriting.parts) if build.spec.rewriting else 0 for build in kernel._builds.values()]


@pytest.mark.parametrize(
    ("text", "types", "made"),
    [
        (CHAIN, TYPES, ["y.part(j) = sum(k : B(j,k) * x(k))"]),
        ("y(j) = A(i,j) * A(i,k) * x(k)", {"A": "f64[?,?] CSR", "x": "f64[?]"}, ["y.part(i) = sum(k : A(i,k) * x(k))"]),
        ("y(i) = A(i,j) * exp(x(j))", {"A": "f64[?,?] CSR", "x": "f64[?]"}, ["y.part(j) = exp(x(j))"]),
        ("D(i,l) = A(i,j) * B(j,k) * C(k,l)", dict.fromkeys("ABC", "f64[?,?] CSR"), []),
        ("C(i,j) = S(i,j) * U(i,k) * V(j,k)", {"S": "f64[?,?] CSR", "U": "f64[?,?]", "V": "f64[?,?]"}, []),
        ("O(i,r) = T(i,j,k) * C(j,r) * D(k,r)", {"T": "f64[?,?,?] CSF", "C": "f64[?,?]", "D": "f64[?,?]"}, []),
        ("y(i) = A(i,j) * x(j)", {"A": "f64[?,?] CSR", "x": "f64[?]"}, []),
    ],
)
def test_types_alone_decide_what_is_best_for_all_sizes(text: str, types: dict[str, str], made: list[str]) -> None:
    kernel = ms.compile(text, **types)
    assert isinstance(kernel, ms.Kernel)
    rewriting = kernel.spec.rewriting
    assert (list(map(str, rewriting.parts)) if rewriting else []) == made
    written = ms.compile(text, **types, optimize="off")
    assert (kernel.ir() != written.ir()) == bool(made)
    assert "algebra" not in written.explain()


def test_it_is_said_that_types_alone_decided() -> None:
    explained = ms.compile(CHAIN, **TYPES).explain()
    assert "  because: it takes least for all sizes that the types leave open; calls are planned by" in explained
    open_types = dict.fromkeys("ABC", "f64[?,?] CSR")
    explained = ms.compile("D(i,l) = A(i,j) * B(j,k) * C(k,l)", **open_types).explain()
    assert "  because: the types do not say which way takes least; calls are planned by their data" in explained


def test_extents_of_types_count() -> None:
    types = {"A": "f64[?,?] CSR", "X": "f64[?,?]", "W": "f64[?,?]"}
    text = "H(i,h) = A(i,j) * X(j,f) * W(f,h)"
    assert ms.compile(text, **types).spec.rewriting is None
    narrow = {"A": "f64[50000,50000] CSR", "X": "f64[50000,512]", "W": "f64[512,16]"}
    found = ms.compile(text, **narrow).spec.rewriting
    assert [str(part.target) for part in found.parts] == ["H.part(j,h)"]


def test_calls_plan_by_their_data() -> None:
    kernel = ms.compile(CHAIN, **TYPES)
    for given in (SMALL, LARGE, SMALL, LARGE):
        np.testing.assert_array_equal(kernel(**given), ms.evaluate(CHAIN, **given, optimize="off"))
    assert sorted(parts(kernel)) == [0, 1]


@pytest.mark.parametrize(("factor", "again"), [(4, False), (10, False), (20, True)])
def test_data_16_times_off_is_planned_again(factor: int, again: bool) -> None:
    kernel = ms.compile("y(i) = A(i,j) * B(j,k) * x(k) + 2 * x(i)", **operands(100, 2))
    first = kernel._plans.known
    kernel(**operands(100 * factor, 2))
    assert (kernel._plans.known is not first) == again


@pytest.mark.parametrize("options", [{}, {"threads": 1}, {"deterministic": True}])
def test_repeated_calls_with_other_vectors(options: dict[str, Any]) -> None:
    kernel = ms.compile(CHAIN, **SMALL, **options)
    rng, dense = np.random.default_rng(1), SMALL["A"].to_scipy() @ SMALL["B"].to_scipy()
    for _ in range(4):
        x = rng.integers(0, 9, 30) + 0.0
        out = np.empty(30)
        assert kernel(SMALL["A"], SMALL["B"], x, out=out) is out
        np.testing.assert_array_equal(out, dense @ x)
        np.testing.assert_array_equal(kernel(x=list(x), A=SMALL["A"].to_scipy(), B=SMALL["B"]), dense @ x)
    with pytest.raises(ms.SparseError):
        kernel(SMALL["A"], SMALL["B"])
    with pytest.raises(ms.ExtentError):
        kernel(SMALL["A"], SMALL["B"], np.ones(31))


@pytest.mark.parametrize(("given", "made"), [({}, 1), (SMALL, 0), (LARGE, 1)])
def test_saved_kernels_keep_their_plans(given: dict[str, Any], made: int, tmp_path: Any) -> None:
    kernel = ms.compile(CHAIN, **TYPES)
    if given:
        kernel(**given)
    kernel.save(tmp_path / "kernel")
    loaded = ms.load(tmp_path / "kernel")
    for data in (SMALL, LARGE):
        np.testing.assert_array_equal(loaded(**data), ms.evaluate(CHAIN, **data, optimize="off"))
    assert set(parts(loaded)) == {made}
    loaded.save(tmp_path / "again")
    assert parts(ms.load(tmp_path / "again")) == parts(loaded)


def test_a_saved_kernel_has_its_own_variants_only(tmp_path: Any) -> None:
    """Another kernel of the same text was called with other data."""
    other, kernel = ms.compile(CHAIN, **TYPES), ms.compile(CHAIN, **TYPES)
    other(**LARGE)
    kernel(**SMALL)
    kernel.save(tmp_path / "kernel")
    assert parts(ms.load(tmp_path / "kernel")) == [0]


def test_empty_operands() -> None:
    kernel = ms.compile(CHAIN, **TYPES)
    empty = ms.tensor(np.zeros((3, 3)), "CSR")
    np.testing.assert_array_equal(kernel(empty, empty, np.ones(3)), np.zeros(3))
    none = ms.tensor(np.zeros((0, 0)), "CSR")
    assert kernel(none, none, np.ones(0)).shape == (0,)
    np.testing.assert_array_equal(kernel(**LARGE), ms.evaluate(CHAIN, **LARGE, optimize="off"))


def test_native_calls_look_at_sizes() -> None:
    """A call of one loop nest is native; operands that are 16 times off come back to be planned."""
    kernel, plans = ms.compile(CHAIN, **operands(40, 2)), list[object]()
    assert isinstance(kernel, ms.Kernel)
    for extent, count in ((40, 1), (50, 1), (30, 1), (1000, 2), (900, 2), (20, 3)):
        given = operands(extent, 2)
        for _ in range(2):
            np.testing.assert_array_equal(kernel(**given), ms.evaluate(CHAIN, **given, optimize="off"))
            assert isinstance(kernel._last, _native.SizedLauncher)
        plans.append(kernel._plans.known)
        assert len(set(map(id, plans))) == count


def test_bounds_are_for_operands() -> None:
    kernel = ms.compile(CHAIN, **SMALL, optimize="off")
    assert isinstance(kernel, ms.Kernel)
    kernel(**SMALL)
    assert isinstance(kernel._last, _native.Launcher)
    given = SMALL["A"], SMALL["B"], SMALL["x"]
    for bounds, fits in (
        ([(0, 90), (0, 90), (30, 30)], True),
        ([(0, 9)], False),
        ([(0, 90), (0, 90), (31, 99)], False),
    ):
        assert (_native.SizedLauncher(kernel._last, bounds).direct(given) is not None) == fits
    with pytest.raises(ValueError, match="expected bounds for operands alone, one for each"):
        _native.SizedLauncher(kernel._last, [(0, 90)] * 4)
