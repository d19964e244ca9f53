"""The kernels of the GPU path, run on the CPU by the emulator, against the oracle: every way that a call may choose."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests import oracle
from dialect_tests.conditions import CONTEXTS, HAS_CONTEXTS, LLVMLITE, PTXAS
from dialect_tests.crossing import crossed
from mlir_sparse.compile import gpu_build
from mlir_sparse.compile.gpu_build import GpuBuild
from mlir_sparse.encoding import TensorType
from mlir_sparse.program import size_values as sizes
from mlir_sparse.runtime import operand_check

pytest.importorskip("llvmlite", reason=LLVMLITE)
from dialect_tests.gpu.emulator import Emulated
from dialect_tests.gpu.host import run_cases

if not HAS_CONTEXTS:
    pytest.skip(CONTEXTS, allow_module_level=True)

EXTENTS = {"i": 21, "j": 13, "k": 9, "l": 6, "r": 5}
SPMV = "y(i) = A(i,j) * x(j)"
SPMM = "C(i,k) = A(i,j) * B(j,k)"
SDDMM = "C(i,j) = A(i,j) * B(i,k) * D(k,j)"
TTV = "C(i,j) = A(i,j,k) * b(k)"
TTM = "C(i,j,l) = A(i,j,k) * B(k,l)"
MTTKRP = "C(i,r) = A(i,j,k) * B(j,r) * D(k,r)"
MATRICES = ("CSR", "CSC", "COO", "DCSR", "SoA-COO", "ELL", "SlotELL", "DIA", "BSR(2,2)", "BSR(4,4)")
CUBES = ("CSF", "COO", "CSF(2,1,0)", "(i, j, k) -> (i : dense, j : compressed, k : compressed)")
CASES = [
    *((text, name, "dense") for text in (SPMV, SPMM) for name in MATRICES),
    *((SDDMM, name, "dense") for name in ("CSR", "CSC", "COO", "ELL", "BSR(2,2)")),
    *((SDDMM, name, name) for name in ("CSR", "COO", "CSC")),
    *((text, name, "dense") for text in (TTV, TTM, MTTKRP) for name in CUBES),
    ("C(i,j,k) = 3 * A(i,j,k)", "CSF", "CSF"),
    ("C(i,j) = A(i,j) * B(i,j)", "CSR", "dense"),
    ("C(i,j) = A(i,j) + B(i,j)", "CSR", "dense"),
    ("C(i,j) = A(i,j) * B(i,j)", "COO", "COO"),
    ("a = A(i,j) * B(i,j)", "CSR", "dense"),
    ("a = A(i,j) * B(i,j)", "COO", "dense"),
    ("y(i) = sum(j : A(i,j))", "CSR", "dense"),
    ("y(j) = prod(i : A(i,j))", "CSR", "dense"),
    ("a = prod(i, j : 1 + B(i,j) / 9)", None, "dense"),
    *(("y(i) = sum(j : w() * A(i,j) * x(j))", name, "dense") for name in ("DIA", "BSR(2,2)", "Banded(30, 30)")),
    ("y(j) = A(i,j) * x(i)", "CSR", "dense"),
    ("y(i) = b(i) - A(i,j) * x(j)", "CSR", "dense"),
    ("C(i,k) = B(i,j) * D(j,k)", None, "dense"),
    ("C(i,j) = sqrt(A(i,j)) * b(j)", "CSR", "CSR"),
    ("C(i,j) = exp(B(i,j)) + floor(B(i,j)) / 3", None, "dense"),
    (SPMV, "RowBlocked(4)", "dense"),
    ("y(j) = A(i,j) * x(i)", "DIA", "dense"),
    ("y(j) = A(i,j) * x(i)", "BCOO", "dense"),
    ("C(i,l) = A(i,j) * B(j,k) * D(k,l)", "CSR", "dense"),
    ("C(i,j,k) = B(i,j) * D(j,k) + 1", None, "dense"),
]


def operands(text: str, name: str | None, dtype: np.dtype | type = np.float64, *, density: float = 0.3, **extents: int):
    """Returns operands by name as they are passed, and as arrays; A is stored as named."""
    rng, sizes = np.random.default_rng(7), EXTENTS | extents
    passed, plain = {}, {}
    assignment = ms.parse(text)
    shapes = {a.tensor: [sizes[str(s)] for s in a.subscripts] for a in ms.notation.reads(assignment.value)}
    for tensor in shapes:
        array = rng.integers(1, 4, shapes[tensor]).astype(dtype)
        if tensor == "A":
            array = np.where(rng.random(shapes[tensor]) < density, array, np.zeros(1, dtype)).astype(dtype)
        plain[tensor] = array
        passed[tensor] = ms.tensor(array, name) if tensor == "A" and name else array
    return passed, plain


def built(text: str, values: dict, out: str, chip: str = "sm_90") -> GpuBuild:
    return _built(text, tuple((name, operand_check.type_of(value)) for name, value in values.items()), out, chip)


@cache
def _built(text: str, types: tuple[tuple[str, TensorType], ...], out: str, chip: str) -> GpuBuild:
    kernel = ms.compile(text, tensors=dict(types), out=out)
    return GpuBuild(kernel.spec.with_open_blocks().with_output_widths(), chip)


def check(text: str, name: str | None, out: str = "dense", dtype: np.dtype | type = np.float64, **options) -> None:
    passed, plain = operands(text, name, dtype, **options)
    expected = oracle.evaluate(text, plain)
    for number, result in run_cases(built(text, passed, out), passed).items():
        found = result.to_numpy() if isinstance(result, ms.SparseTensor) else result
        # Entries of the structure are there whatever their values.
        assert not isinstance(result, ms.SparseTensor) or result.nse == passed["A"].nse
        try:
            oracle.assert_close(found, expected, terms=40)
        except AssertionError as error:
            raise AssertionError(f"case {number}: {error}") from error


@pytest.mark.parametrize(("text", "name", "out"), CASES)
def test_numbers(text: str, name: str | None, out: str) -> None:
    check(text, name, out)


DTYPES = [np.dtype(d) for d in ("?", "i1", "i2", "i4", "i8", "f2", "f4", "c8", "c16")] + [np.dtype(ml_dtypes.bfloat16)]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_element_types_in_shuffles_and_atomics(dtype: np.dtype) -> None:
    check(SPMV, "CSR", dtype=dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_element_types_of_matrices(dtype: np.dtype) -> None:
    check(SPMM, "CSC", dtype=dtype)


def shifted(array: np.ndarray, shift: int) -> np.ndarray:
    """Returns an array that begins so many bytes after a multiple of 16."""
    room = np.zeros(array.nbytes + 32, np.uint8)
    begin = -room.ctypes.data % 16 + shift
    made = room[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
    made[...] = array
    return made


WIDE = [np.dtype(d) for d in ("f2", "f4", "f8", "i1", "c8")] + [np.dtype(ml_dtypes.bfloat16)]


def most_together(dtype: np.dtype) -> int:
    """Returns how many columns a thread takes together where their number allows it."""
    return {"c": 1, "f": min(4, 16 // dtype.itemsize)}.get(dtype.kind, 4)


@crossed(
    classes={"columns": lambda columns: math.gcd(columns, 4), "dtype": most_together},
    columns=[1, 3, 4, 31, 32, 64, 126, 128, 130, 260],
    dtype=WIDE,
)
def test_columns_that_a_thread_takes_together(columns: int, dtype: np.dtype) -> None:
    """Adjacent ones are read by one access where all rows begin at a multiple: the emulation checks addresses."""
    passed, plain = operands(SPMM, "CSR", dtype, k=columns, i=9, density=0.5)
    expected, ways = oracle.evaluate(SPMM, plain), {}
    for shift in (0, dtype.itemsize, 8):
        passed["B"] = shifted(plain["B"], shift)
        build = built(SPMM, passed, "dense")
        results = run_cases(build, passed)
        for result in results.values():
            oracle.assert_close(result, expected, terms=40)
        ways[shift] = {build.mapped[0].cases[number].adjacent for number in results if number >= 0}
    most = most_together(dtype)
    assert max(ways[0]) == (most if columns % most == 0 else 2 if most > 1 and columns % 2 == 0 else 1)
    assert max(ways[dtype.itemsize]) == 1


@pytest.mark.parametrize("name", ["CSF", CUBES[-1]])
@pytest.mark.parametrize("rank", [8, 32, 132])
def test_columns_of_fibres_that_a_thread_takes_together(name: str, rank: int) -> None:
    check(MTTKRP, name, dtype=np.float32, r=rank, density=0.6)


@pytest.mark.parametrize("operator", ["max", "min", "prod", "or"])
def test_other_reductions(operator: str) -> None:
    name = "A" if operator == "or" else "B"
    text = f"y(i) = {operator}(j : {name}(i,j) * x(j))"
    passed, plain = operands(text, "CSR")
    for result in run_cases(built(text, passed, "dense"), passed).values():
        oracle.assert_close(result, oracle.evaluate(text, plain), terms=40)


@pytest.mark.parametrize("operator", ["min", "max", "or"])
def test_updates_reduce_by_their_operator(operator: str) -> None:
    text = f"y(i) {operator}= A(i,j)"
    passed, plain = operands(text, "CSR", np.float64)
    target = np.arange(21.0) - 10
    passed, plain = {"y": target, **passed}, {"y": target, **plain}
    expected = oracle.evaluate(text, plain)
    for result in run_cases(built(text, passed, "dense"), passed).values():
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("text", ["alpha * A(i,j) * x(j)", "alpha * (A(i,j) * x(j))"])
def test_factors_are_multiplied_where_they_are_written(text: str) -> None:
    A, x = np.full((3, 40), 1e-200), np.full(40, 1e-200)
    passed = {"alpha": np.array(1e200), "A": ms.tensor(A, "CSR"), "x": x}
    wanted = 4e-199 if "(A" not in text else 0.0
    for result in run_cases(built(f"y(i) = {text}", passed, "dense"), passed).values():
        np.testing.assert_allclose(result, wanted, rtol=1e-14)


@pytest.mark.parametrize("ring", ["min_plus", "max_times"])
def test_semirings(ring: str) -> None:
    passed, plain = operands(SPMV, "CSR")
    types = {name: operand_check.type_of(value) for name, value in passed.items()}
    build = GpuBuild(ms.compile(SPMV, tensors=types, semiring=ring).spec.with_output_widths(), "sm_80")
    terms = plain["A"] + plain["x"] if ring == "min_plus" else plain["A"] * plain["x"]
    lost, best = (np.inf, np.min) if ring == "min_plus" else (0.0, np.max)
    expected = best(np.where(plain["A"] != 0, terms, lost), axis=1)
    for result in run_cases(build, passed).values():
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("text", [SPMV, SPMM, SDDMM])
@pytest.mark.parametrize("name", ["CSR", "COO", "BSR(2,2)"])
def test_empty_and_one_entry(text: str, name: str) -> None:
    check(text, name, density=0.0)
    check(text, name, density=1.0, i=1, j=1, k=1)


@pytest.mark.parametrize("extents", [{"i": 0}, {"j": 0}, {"k": 0}])
def test_no_extent(extents: dict[str, int]) -> None:
    check(SPMM, "CSR", **extents)


def test_rows_whose_terms_a_block_makes_together() -> None:
    """Blocks of many rows, of several chunks, of rows that reach over all chunks, and of none."""
    rng = np.random.default_rng(3)
    A = np.where(rng.random((600, 3000)) < 0.005, rng.integers(1, 5, (600, 3000)), 0).astype(np.float64)
    A[[4, 300]] = rng.integers(1, 5, (2, 3000))
    A[510:] = 0
    passed = {"A": ms.tensor(A), "x": rng.integers(1, 5, 3000).astype(float)}
    results = run_cases(built(SPMV, passed, "dense"), passed, most=2)
    assert len(results) == 8
    for result in results.values():
        np.testing.assert_array_equal(result, A @ passed["x"])


def test_terms_that_depend_on_the_row_are_not_made_by_others() -> None:
    build = built("y(i) = A(i,j) * x(j)", operands(SPMV, "CSR")[0], "dense")
    assert any(case.name == "staged" for mapped in build.mapped for case in mapped.cases)
    text = "y(i) = sum(j : A(i,j) * x(j) * b(i))"
    build = built(text, operands(text, "CSR")[0], "dense")
    assert not any(case.name == "staged" for mapped in build.mapped for case in mapped.cases)


@pytest.mark.parametrize("name", ["CSR", "CSC", "COO", "DCSR"])
def test_long_rows_among_short_ones(name: str) -> None:
    """Rows of more entries than a warp has lanes, and than a thread takes at a time."""
    rng = np.random.default_rng(3)
    A = np.where(rng.random((30, 300)) < 0.02, 1.0, 0.0)
    A[[4, 17]] = rng.integers(1, 5, (2, 300))
    A[20:25] = 0
    x = rng.integers(1, 5, 300).astype(float)
    passed = {"A": ms.tensor(A, name), "x": x}
    for result in run_cases(built(SPMV, passed, "dense"), passed).values():
        np.testing.assert_array_equal(result, A @ x)


def test_two_sparse_operands() -> None:
    """Rows are those of both, and what is below is merged by a thread."""
    rng = np.random.default_rng(5)
    A, B = (np.where(rng.random((21, 21)) < 0.2, rng.integers(1, 4, (21, 21)), 0).astype(float) for _ in "AB")
    passed = {"A": ms.tensor(A, "CSR"), "B": ms.tensor(B, "CSR")}
    texts = {"C(i,j) = A(i,j) + B(i,j)": A + B, "C(i,j) = A(i,j) * B(i,j)": A * B, "C(i,j) = A(i,k) * B(k,j)": A @ B}
    for text, expected in texts.items():
        for result in run_cases(built(text, passed, "dense"), passed).values():
            np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(("text", "name"), [(SPMM, "CSR"), (MTTKRP, "CSF")])
@pytest.mark.parametrize("columns", [70, 129])
def test_several_columns_a_thread(text: str, name: str, columns: int) -> None:
    check(text, name, **{"k" if text == SPMM else "r": columns})


def test_warps_whose_first_and_last_lane_only_are_within_found_elements() -> None:
    """Of 8 entries a lane: the last ones of the first and the last lane are in one fibre, those between in others."""
    check("y(j) = A(i,j,k) * b(k)", "COO", density=1.0, i=40, j=8, k=31)
    rows = np.repeat([*range(31), 0], 8)
    values, x = np.arange(1.0, 257.0), np.arange(1.0, 9.0)
    coordinates = np.stack([rows, np.tile(np.arange(8), 32)])
    A = ms.tensor((coordinates, values), "UnorderedCOO", shape=(31, 8))
    passed = {"A": A, "x": x}
    expected = np.zeros(31)
    np.add.at(expected, rows, values * x[coordinates[1]])
    for result in run_cases(built(SPMV, passed, "dense"), passed).values():
        np.testing.assert_array_equal(result, expected)


def test_narrow_widths() -> None:
    passed, plain = operands(SPMV, "CSR")
    passed["A"] = passed["A"].convert(passed["A"].encoding.with_widths(8, 16))
    for result in run_cases(built(SPMV, passed, "dense"), passed).values():
        oracle.assert_close(result, oracle.evaluate(SPMV, plain), terms=40)


def test_added_to_what_is_there() -> None:
    text = "y(i) += A(i,j) * x(j)"
    passed, plain = operands(text, "CSR")
    y = np.arange(21.0)
    types = {name: operand_check.type_of(value) for name, value in passed.items()}
    build = GpuBuild(
        ms.compile(text, tensors={**types, "y": operand_check.type_of(y)}).spec.with_output_widths(), "sm_90"
    )
    for result in run_cases(build, {**passed, "y": y}, out=y).values():
        oracle.assert_close(result, oracle.evaluate(text, plain, target=y), terms=40)


# -- which of them a call takes ------------------------------------------------------------------------------------


def chosen(rows: int, entries: int, longest: int) -> str:
    passed, _ = operands(SPMV, "CSR")
    program = built(SPMV, passed, "dense").emulated
    known = {sizes.LevelSize: rows, sizes.Stored: entries, sizes.Longest: longest}
    launches = program.launches(lambda count: count.value if isinstance(count, sizes.Fixed) else known[type(count)])
    return launches[-1].kernel


def test_a_call_takes_lanes_by_the_mean_and_entries_by_the_longest_row() -> None:
    assert chosen(1000, 2500, 10) == "kernel_thread"
    assert chosen(1000, 5000, 5) == "kernel_staged"
    assert chosen(1000, 30000, 256) == "kernel_staged"
    assert chosen(1000, 30000, 257) == "kernel_16_lanes"
    assert chosen(1000, 60000, 200) == "kernel_warp"
    assert chosen(1000, 2500, 2000) == "kernel_warp"
    assert chosen(1000, 9000, 5000) == "kernel_staged_entries"


@pytest.mark.parametrize(
    ("columns", "kernel"), [("B(i,k) * D(k,j)", "kernel_thread"), ("B(i,k) * D(j,k)", "kernel_warp")]
)
def test_lanes_share_an_entry_where_they_read_side_by_side(columns: str, kernel: str) -> None:
    text = f"C(i,j) = A(i,j) * {columns}"
    passed, _ = operands(text, "CSR", k=64)
    build = built(text, passed, "CSR")
    launches = build.emulated.launches(lambda count: count.value if isinstance(count, sizes.Fixed) else 64)
    assert launches[-1].kernel == kernel
    assert ("for comparison only" in build.explain()) == (kernel == "kernel_thread")
    check(text, "CSR", "CSR", k=64)


# -- PTX -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chip", ["sm_80", "sm_90"])
def test_ptx_has_an_entry_for_each_kernel(chip: str, tmp_path: Path) -> None:
    passed, _ = operands(SPMV, "CSR")
    build = built(SPMV, passed, "dense", chip)
    text = build.text("ptx")
    assert f".target {chip}" in text
    kernels = {launch.kernel for step in build.launches.steps for _, some in step.cases for launch in some}
    assert all(f".entry {kernel}(" in text for kernel in kernels)
    if shutil.which("ptxas") is None:
        pytest.skip(PTXAS)
    Path(tmp_path, "kernel.ptx").write_text(text)
    command = ["ptxas", "-arch", chip, "-v", str(tmp_path / "kernel.ptx"), "-o", "/dev/null"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    assert said.count("0 bytes spill stores, 0 bytes spill loads") == len(kernels)


@pytest.mark.parametrize("chip", ["sm_80", "sm_90"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_adjacent_columns_are_loaded_by_one_instruction_and_no_register_is_spilled(
    dtype: type, chip: str, tmp_path: Path
) -> None:
    passed, _ = operands(SPMM, "CSR", dtype)
    text = built(SPMM, passed, "dense", chip).text("ptx")
    wide = {np.float16: "v4.b16", np.float32: "v4.b32", np.float64: "v2.b64"}[dtype]
    stored = {np.float16: "v2.b32"}.get(dtype, wide)  # two halves a word
    (entry,) = re.findall(r"\.entry kernel_adjacent_by_4\(.*?^}", text, re.MULTILINE | re.DOTALL)
    # Four entries at a time and up to three that are left over.
    assert entry.count(f"ld.global.nc.{wide}") == (14 if dtype is np.float64 else 7)
    assert entry.count(f"st.global.{stored}") == (2 if dtype is np.float64 else 1)
    if shutil.which("ptxas") is None:
        pytest.skip(PTXAS)
    Path(tmp_path, "kernel.ptx").write_text(text)
    command = ["ptxas", "-arch", chip, "-v", str(tmp_path / "kernel.ptx"), "-o", "/dev/null"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    assert said.count("0 bytes spill stores, 0 bytes spill loads") == text.count(".entry ")


def test_what_a_block_shares_fits_for_the_widest_type() -> None:
    passed, _ = operands(SPMV, "CSR", np.complex128)
    sizes = re.findall(r"\.shared [^\n]*\[(\d+)\];", built(SPMV, passed, "dense").text("ptx"))
    assert len(sizes) == 2
    assert max(map(int, sizes)) <= 48 << 10


# -- what is refused -----------------------------------------------------------------------------------------------


def refused(text: str, out: str, **formats: str) -> str:
    types = {name: f"f64[{','.join('?' * (len(kind) and rank))}] {kind}" for name, (kind, rank) in formats.items()}
    with pytest.raises(ms.UnsupportedError) as caught:
        GpuBuild(ms.compile(text, tensors=types, out=out).spec.with_output_widths(), "sm_90").mapped  # noqa: B018
    return str(caught.value)


def test_refusals_say_what_to_do() -> None:
    merged = refused("y(i) = max(A(i,j), B(i,j))", "dense", A=("DCSR", 2), B=("DCSR", 2))
    assert merged.startswith("expected one operand that says which i there are, for a GPU, but got A(i,j) and B(i,j)")
    converted = refused("y(i) = max(A(i,j), B(j,i))", "dense", A=("CSR", 2), B=("CSR", 2))
    assert "convert it before, or use target='cpu'" in converted


def test_unknown_chips_are_refused() -> None:
    passed, _ = operands(SPMV, "CSR")
    with pytest.raises(ms.UnsupportedError, match=r"expected a GPU of sm_80, .*, but got 'sm_10'"):
        built(SPMV, passed, "dense", "sm_10").text("ptx")


def test_explain_tells_the_mapping() -> None:
    passed, _ = operands(SPMV, "CSC")
    assert (
        built(SPMV, passed, "dense")
        .explain()
        .endswith(
            "  into y: f64[?] dense\n"
            "  on threads: atomic, because j is summed and outermost in A(i,j)\n"
            "    thread: blocks of 1 x 256 threads\n"
            "      j, i: entries as one loop, to rows of threads\n"
            "      results are added atomically, in an order that varies\n"
            "  because: accumulates from the identity"
        )
    )


def test_functions_without_an_instruction_need_the_library_of_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    passed, _ = operands("y(i) = exp(x(i))", None)
    monkeypatch.setattr(gpu_build, "find_library", lambda: None)
    with pytest.raises(ms.UnsupportedError) as caught:
        built("y(i) = exp(x(i))", passed, "dense").text("ptx")
    assert str(caught.value) == (
        "expected CUDA's libdevice.10.bc for exp on a GPU, but found none: "
        "set MLIR_SPARSE_LIBDEVICE to its path, or use target='cpu'"
    )


def test_ptx_needs_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    passed, _ = operands(SPMV, "DCSR")
    monkeypatch.setattr(gpu_build.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ms.MissingPackageError, match=r"pip install 'mlir-sparse\[gpu\]'"):
        built(SPMV, passed, "dense").text("ptx")


def test_passes_have_reasons_and_snapshots() -> None:
    passed, _ = operands(SPMV, "CSR")
    trace = built(SPMV, passed, "dense").trace()
    assert "gpu.launch_func" in trace.diff("map-loops-to-gpu")
    assert trace[-1].name == "gpu-to-ptx"


# -- the emulator itself -------------------------------------------------------------------------------------------

DIVERGENT = """
define ptx_kernel void @lost(ptr %y) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %odd = and i32 %t, 1
  %is = icmp eq i32 %odd, 1
  br i1 %is, label %alone, label %end
alone:
  %v = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %t, i32 1, i32 31)
  store i32 %v, ptr %y
  br label %end
end:
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
"""


def test_threads_that_do_not_come_to_an_exchange_are_found() -> None:
    place = np.zeros(1, np.int32)
    with pytest.raises(AssertionError, match="a thread did not come"):
        Emulated(DIVERGENT).launch("lost", (1, 1, 1), (32, 1, 1), [place.ctypes.data])


APART = """
@held = internal addrspace(3) global [64 x i32] undef
define ptx_kernel void @turned(ptr %y, i64 %early) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %wide = zext i32 %t to i64
  %is = icmp slt i64 %wide, %early
  br i1 %is, label %end, label %on
on:
  %mine = getelementptr [64 x i32], ptr addrspace(3) @held, i64 0, i64 %wide
  store i32 %t, ptr addrspace(3) %mine
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %other = sub i64 63, %wide
  %theirs = getelementptr [64 x i32], ptr addrspace(3) @held, i64 0, i64 %other
  %got = load i32, ptr addrspace(3) %theirs
  %place = getelementptr i32, ptr %y, i64 %wide
  store i32 %got, ptr %place
  br label %end
end:
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
"""


def test_threads_of_a_block_wait_for_each_other() -> None:
    places = np.zeros(64, np.int32)
    Emulated(APART).launch("turned", (1, 1, 1), (64, 1, 1), [places.ctypes.data, 0])
    np.testing.assert_array_equal(places, np.arange(64)[::-1])
    with pytest.raises(AssertionError, match="a thread did not come"):
        Emulated(APART).launch("turned", (1, 1, 1), (64, 1, 1), [places.ctypes.data, 3])
