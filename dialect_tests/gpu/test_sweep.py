"""Kernels by storage on emulated threads, against the oracle; and what is refused, so that a new refusal shows."""

from __future__ import annotations

from functools import cache

import ml_dtypes
import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests import crossing, oracle
from dialect_tests.conditions import CONTEXTS, HAS_CONTEXTS, LLVMLITE
from dialect_tests.crossing import crossed
from mlir_sparse.compile.gpu_build import GpuBuild
from mlir_sparse.runtime import operand_check

pytest.importorskip("llvmlite", reason=LLVMLITE)
from dialect_tests.gpu.host import run_cases

if not HAS_CONTEXTS:
    pytest.skip(CONTEXTS, allow_module_level=True)

EXTENTS = {"i": 12, "j": 12, "k": 12, "l": 6, "r": 5}
MATRICES = (
    *("CSR", "CSC", "COO", "SoA-COO", "UnorderedCOO", "DCSR", "DCSC", "ELL", "SlotELL", "HashedRows", "DIA", "Banded"),
    *("Skyline", "LowerTriangular", "BSR(2,2)", "BSR(3,2)", "RowBlocked(4)", "NV24"),
)
CUBES = (
    *("CSF", "COO", "CSF(2,1,0)", "(i, j, k) -> (i : dense, j : compressed, k : compressed)"),
    "(i, j, k) -> (i : compressed, j : dense, k : compressed)",
)
BLOCKS = {"BSR(2,2)", "BSR(3,2)", "RowBlocked(4)", "NV24"}
SKEWED = {"DIA", "Banded"}
INTERVALS = {"Skyline", "LowerTriangular"}
OWN_LOOPS = {*BLOCKS, *SKEWED, *INTERVALS, "SlotELL", "HashedRows"}
UNSEARCHED = {"SlotELL", "HashedRows", "UnorderedCOO"}
# Of each kernel, into a dense result: what it is not made for, all by name.
MATRIX_KERNELS: dict[str, set[str]] = {
    "y(i) = A(i,j) * x(j)": set(),
    "y(j) = A(i,j) * x(i)": set(),
    "y(i) = b(i) - A(i,j) * x(j)": set(),
    "C(i,k) = A(i,j) * B(j,k)": set(),
    "C(j,k) = A(i,j) * B(i,k)": set(),
    "C(i,j) = A(i,j) * B(i,k) * D(k,j)": SKEWED,
    "C(i,j) = A(i,j) + B(i,j)": set(),
    "C(j,i) = A(i,j)": set(),
    "C(i,j) = A(i,j) + S(i,j)": set(),
    "y(j) = sum(i : A(i,j))": set(),
    "a = sum(i, j : A(i,j))": set(),
    "y(i) = max(j : A(i,j))": {*OWN_LOOPS, "UnorderedCOO"},
    "y(j) = max(i : A(i,j))": {*OWN_LOOPS, "UnorderedCOO"},
    "C(i,j) = A(i,j) * S(i,j)": UNSEARCHED,
    "C(i,j) = max(A(i,j), S(i,j))": UNSEARCHED,
    "a = A(i,j) * S(i,j)": {*UNSEARCHED, *SKEWED},
    "C(i,k) = A(i,j) * S(j,k)": {*OWN_LOOPS, "UnorderedCOO"},
    "y(k) = A(i,k) * A(i,j) * x(j)": {*OWN_LOOPS, "UnorderedCOO", "CSC", "DCSC"},
}
CUBE_KERNELS: dict[str, set[str]] = {
    "C(i,j) = A(i,j,k) * b(k)": set(),
    "C(i,j,l) = A(i,j,k) * B(k,l)": set(),
    "C(i,r) = A(i,j,k) * B(j,r) * D(k,r)": set(),
    "a = A(i,j,k) * S(i,j,k)": set(),
}
KERNELS = {**dict.fromkeys(MATRIX_KERNELS, MATRICES), **dict.fromkeys(CUBE_KERNELS, CUBES)}
REFUSED = {**MATRIX_KERNELS, **CUBE_KERNELS}


def kept(name: str, array: np.ndarray) -> np.ndarray:
    """Returns the entries that the storage has room for."""
    if array.ndim > 2:
        return array
    i, j = np.indices(array.shape)
    match name:
        case "Banded":
            return np.where(abs(j - i) <= 1, array, 0)
        case "Skyline" | "LowerTriangular":
            return np.where(j <= i, array, 0)
        case "NV24":
            before = np.cumsum((array != 0).reshape(-1, 4), axis=1).reshape(array.shape)
            return np.where(before <= 2, array, 0)
        case _:
            return array


@cache
def operands(text: str, name: str, dtype: str) -> tuple[dict[str, object], dict[str, np.ndarray]]:
    """Returns operands as they are passed, and as arrays; A and S are stored as named."""
    rng = np.random.default_rng(7)
    passed: dict[str, object] = {}
    plain: dict[str, np.ndarray] = {}
    for access in ms.notation.reads(ms.parse(text).value):
        if access.tensor in plain:
            continue
        shape = [EXTENTS[str(subscript)] for subscript in access.subscripts]
        array = rng.integers(1, 4, shape).astype(dtype)
        if access.tensor in ("A", "S"):
            array = kept(name, np.where(rng.random(shape) < 0.3, array, 0)).astype(dtype)
        plain[access.tensor] = array
        passed[access.tensor] = ms.tensor(array, name) if access.tensor in ("A", "S") else array
    return passed, plain


def built(text: str, name: str, dtype: str) -> GpuBuild:
    types = {tensor: operand_check.type_of(value) for tensor, value in operands(text, name, dtype)[0].items()}
    return GpuBuild(ms.compile(text, tensors=types, out="dense").spec.with_open_blocks().with_output_widths(), "sm_90")


def check(text: str, name: str, dtype: str) -> None:
    passed, plain = operands(text, name, dtype)
    expected = oracle.evaluate(text, plain)
    for number, result in run_cases(built(text, name, dtype), passed).items():
        try:
            oracle.assert_close(result, expected, terms=40)
        except AssertionError as error:
            raise AssertionError(f"case {number}: {error}") from error


def cases(refused: bool) -> list[tuple[str, str]]:
    return [(text, name) for text, names in KERNELS.items() for name in names if (name in REFUSED[text]) == refused]


def kind_of_text(text: str) -> tuple[int, bool, bool]:
    """Returns what tells kernels apart: the rank of the result, whether two operands are sparse, what is reduced."""
    return len(ms.parse(text).target.subscripts), "S(" in text, "max(" in text


def kind_of_storage(name: str) -> object:
    """Returns the loops that storage gets: those of levels for all that have none of their own."""
    lists, slots = {"COO", "SoA-COO", "UnorderedCOO"}, {"SlotELL", "HashedRows"}
    sets = (SKEWED, INTERVALS, {"CSR", "CSC"}, {"DCSR", "DCSC"}, lists, slots, {"BSR(2,2)", "BSR(3,2)"})
    return next((number for number, names in enumerate(sets) if name in names), name)


def numbers() -> list[tuple[str, str]]:
    """Returns kernels by storage: each storage with each kind of kernel, each kernel with each kind of storage."""
    run = cases(refused=False)
    if crossing.is_whole():
        return run
    pairs = {(t, n): frozenset({(t, kind_of_storage(n)), (kind_of_text(t), n)}) for t, n in run}
    return crossing.cover(pairs)


@pytest.mark.parametrize(("text", "name"), numbers())
def test_numbers(text: str, name: str) -> None:
    check(text, name, "float64")


@pytest.mark.parametrize(("text", "name"), cases(refused=True))
def test_refused_by_name(text: str, name: str) -> None:
    """What is refused no longer is to leave the table."""
    with pytest.raises(ms.UnsupportedError, match=r"^expected (?s:.)*, but got (?s:.)*use target='cpu'$"):
        built(text, name, "float64").mapped  # noqa: B018


@crossed(
    text=["y(i) = A(i,j) * x(j)", "y(j) = A(i,j) * x(i)", "C(i,j) = A(i,j) * B(i,k) * D(k,j)"],
    name=["CSR", "COO", "DIA", "BSR(2,2)", "NV24"],
    dtype=["float16", "int32"],
)
def test_other_element_types(text: str, name: str, dtype: str) -> None:
    if name not in REFUSED[text]:
        check(text, name, dtype)


# -- numbers of 16 bits --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)], ids=str)
@pytest.mark.parametrize("name", ["CSR", "CSC", "COO", "DCSR", "BSR(2,2)", "DIA", "NV24"])
def test_sums_are_made_in_32_bits_and_rounded_once(name: str, dtype: np.dtype) -> None:
    """Of 3000 terms a sum in f16 is off by hundreds of its last bits, and one in bf16 stands still at 256."""
    rng = np.random.default_rng(1)
    A = kept(name, rng.random((4, 3000))).astype(dtype)
    x = rng.random(3000).astype(dtype)
    passed = {"A": ms.tensor(A, name), "x": x}
    types = {tensor: operand_check.type_of(value) for tensor, value in passed.items()}
    kernel = ms.compile("y(i) = A(i,j) * x(j)", tensors=types)
    build = GpuBuild(kernel.spec.with_open_blocks().with_output_widths(), "sm_90")
    exact = A.astype(float) @ x.astype(float)
    # Where rows of unlike lengths are divided by entries, each warp adds what it has to memory.
    added = 1 if name != "CSR" else 3000 // 256 + 2
    ways = build.mapped[0].cases
    for number, result in run_cases(build, passed).items():
        rounds = added if number < 0 or ways[number].atomic else 1
        assert np.abs(result.astype(float) / exact - 1).max() <= rounds * oracle.tolerance(dtype) / 4


# -- what is looked up ---------------------------------------------------------------------------------------------


def mixed(text: str, first: str, second: str, A: np.ndarray, S: np.ndarray, **more: np.ndarray) -> None:
    passed = {"A": ms.tensor(A, first), "S": ms.tensor(S, second), **more}
    types = {tensor: operand_check.type_of(value) for tensor, value in passed.items()}
    kernel = ms.compile(text, tensors=types, out="dense")
    build = GpuBuild(kernel.spec.with_open_blocks().with_output_widths(), "sm_90")
    expected = oracle.evaluate(text, {"A": A, "S": S, **more})
    for result in run_cases(build, passed).values():
        oracle.assert_close(result, expected, terms=40)


@crossed(
    classes={"first": kind_of_storage, "second": kind_of_storage},
    first=["CSR", "COO", "UnorderedCOO", "BSR(2,2)", "DCSC"],
    second=[name for name in MATRICES if name not in UNSEARCHED],
    text=["a = A(i,j) * S(i,j)", "y(j) = A(i,j) * S(i,j) * x(i)"],
)
def test_storage_of_two_kinds(first: str, second: str, text: str) -> None:
    rng = np.random.default_rng(11)
    A, S = (np.where(rng.random((12, 12)) < 0.4, rng.integers(1, 4, (12, 12)), 0).astype(float) for _ in "AS")
    more = {"x": rng.integers(1, 4, 12).astype(float)} if "x(" in text else {}
    mixed(text, first, second, A, kept(second, S), **more)


@crossed(first=["CSR", "COO", "DCSR"], second=["DCSR", "COO", "SoA-COO", "CSR"], density=[0.0, 0.1, 1.0])
def test_rows_are_looked_up(first: str, second: str, density: float) -> None:
    rng = np.random.default_rng(13)
    A, S = (np.where(rng.random((9, 9)) < density, rng.integers(1, 4, (9, 9)), 0).astype(float) for _ in "AS")
    mixed("C(i,k) = A(i,j) * S(j,k)", first, second, A, S)
    mixed("y(i) = A(i,j) * S(j,k) * x(k)", first, second, A, S, x=rng.integers(1, 4, 9).astype(float))


@pytest.mark.parametrize("second", ["CSF", "(j, k, l) -> (j : compressed, k : dense, l : compressed)"])
def test_rows_of_tensors_are_looked_up(second: str) -> None:
    rng = np.random.default_rng(13)
    A, S = (np.where(rng.random(s) < 0.3, rng.integers(1, 4, s), 0).astype(float) for s in ((5, 7), (7, 4, 6)))
    text = "C(i,k) = A(i,j) * S(j,k,l) * x(l)"
    passed = {"A": ms.tensor(A, "COO"), "S": ms.tensor(S, second), "x": np.arange(1.0, 7.0)}
    types = {tensor: operand_check.type_of(value) for tensor, value in passed.items()}
    try:
        build = GpuBuild(ms.compile(text, tensors=types, out="dense").spec.with_output_widths(), "sm_90")
        build.mapped  # noqa: B018
    except ms.UnsupportedError:
        assert second != "CSF"
        return
    expected = oracle.evaluate(text, {"A": A, "S": S, "x": passed["x"]})
    for result in run_cases(build, passed).values():
        oracle.assert_close(result, expected, terms=40)


@crossed(
    text=[
        "C(i,j) = A(i,j) * S(i,j)",
        "C(i,j) = max(A(i,j), S(i,j))",
        "C(i,j) = A(i,j) - S(i,j)",
        "a = A(i,j) * S(i,j)",
    ],
    name=["DCSR", "COO", "BSR(2,2)", "DIA"],
    shape=[(11, 7), (1, 1), (0, 5), (5, 0)],
)
def test_shapes_that_blocks_do_not_fill_and_empty_ones(text: str, name: str, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(11)
    A, S = (np.where(rng.random(shape) < 0.4, rng.integers(1, 4, shape), 0).astype(float) for _ in "AS")
    mixed(text, "CSR" if "*" in text else name, name, A, S)


def test_what_is_not_there_is_no_factor() -> None:
    """Not even of what is no number: an entry of both operands is a term, and nothing else is."""
    A = np.array([[np.inf, 2.0, np.nan], [0.0, np.inf, 3.0]])
    S = np.array([[0.0, 5.0, 0.0], [7.0, 0.0, 11.0]])
    expected = np.array([[0.0, 10.0, 0.0], [0.0, 0.0, 33.0]])
    for name in ("CSR", "DCSR", "COO", "BSR(1,1)", "CSC"):
        passed = {"A": ms.tensor(A, "COO"), "S": ms.tensor(S, name)}
        types = {tensor: operand_check.type_of(value) for tensor, value in passed.items()}
        for text, numbers in (("C(i,j) = A(i,j) * S(i,j)", expected), ("y(i) = A(i,j) * S(i,j)", expected.sum(1))):
            kernel = ms.compile(text, tensors=types, out="dense")
            build = GpuBuild(kernel.spec.with_open_blocks().with_output_widths(), "sm_90")
            for result in run_cases(build, passed).values():
                np.testing.assert_array_equal(result, numbers)


CSB = "(i, j) -> (i floordiv 2 : dense, j floordiv 2 : dense, i mod 2 : compressed(nonunique), j mod 2 : singleton)"


@pytest.mark.parametrize(("text", "name"), [("y(i) = A(i,j) * x(j)", CSB), ("C(k,j) = B(k,i) * A(i,j)", "NV24")])
def test_blocks_that_loops_are_not_known_for_are_refused(text: str, name: str) -> None:
    tensors = {"A": f"f64[?,?] {name}", "x": "f64[?]", "B": "f64[?,?]"}
    read = {tensor: tensors[tensor] for tensor in ms.parse(text).inputs}
    build = GpuBuild(ms.compile(text, tensors=read, out="dense").spec.with_output_widths(), "sm_90")
    with pytest.raises(ms.UnsupportedError, match=r"^expected dense blocks of a matrix, or n of m of its rows"):
        build.mapped  # noqa: B018


def test_functions_that_a_gpu_has_not_are_refused() -> None:
    """By a named error, for the compiler ends the process over them."""
    build = GpuBuild(ms.compile("y(i) = pow(x(i), z(i))", x="i32[?]", z="i32[?]").spec.with_output_widths(), "sm_90")
    with pytest.raises(ms.UnsupportedError, match=r"but got math\.ipowi: convert operands"):
        assert build.llvm_ir


# -- operators of the user's ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["CSR", "ELL", "DIA", "BSR(2,2)"])
def test_operators_are_told_by_what_they_do(name: str) -> None:
    """One that is called as another, and one whose sums start elsewhere."""
    text = "y(i) = A(i,j) * x(j)"
    passed, plain = operands(text, name, "float64")
    either = ms.monoid(lambda a, b: a + b - a * b, 0.0, name="max")
    floor = ms.monoid(lambda a, b: ms.notation.call("max", a, b), 5.0, name="max")
    terms = np.where(plain["A"] != 0, plain["A"] * plain["x"], 0)
    expected = {
        either: 1 - np.prod(1 - terms, axis=1),
        floor: np.maximum(np.max(terms, axis=1), 5.0),
    }
    types = {tensor: operand_check.type_of(value) for tensor, value in passed.items()}
    for add, numbers in expected.items():
        kernel = ms.compile(text, tensors=types, semiring=ms.semiring(add, "times"))
        try:
            build = GpuBuild(kernel.spec.with_open_blocks().with_output_widths(), "sm_90")
            build.mapped  # noqa: B018
        except ms.UnsupportedError:
            assert name in OWN_LOOPS
            continue
        for result in run_cases(build, passed).values():
            np.testing.assert_array_equal(result, numbers)
