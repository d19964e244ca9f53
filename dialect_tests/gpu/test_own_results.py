"""Sparse results with a structure of their own, counted and filled by the emulator, against the oracle and the CPU."""

from __future__ import annotations

import itertools
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests import oracle
from dialect_tests.conditions import CONTEXTS, HAS_CONTEXTS, LLVMLITE, PTXAS
from dialect_tests.crossing import crossed
from mlir_sparse.compile.cpu_kernel import Kernel
from mlir_sparse.compile.gpu_build import GpuBuild
from mlir_sparse.encoding import TensorType
from mlir_sparse.program.launch_program import MakeShared
from mlir_sparse.program.size_values import Extent, Parts, Product
from mlir_sparse.runtime import operand_check

pytest.importorskip("llvmlite", reason=LLVMLITE)
from dialect_tests.gpu.host import run_cases

if not HAS_CONTEXTS:
    pytest.skip(CONTEXTS, allow_module_level=True)

EXTENTS = {"i": 21, "j": 13, "k": 7, "l": 4}
SUM, PRODUCT = "C(i,j) = A(i,j) + B(i,j)", "C(i,j) = A(i,j) * B(i,j)"
TTV, TTM = "C(i,j) = A(i,j,k) * x(k)", "C(i,j,l) = A(i,j,k) * D(k,l)"
ROWS_OF_TTM = "(i, j, l) -> (i : dense, j : compressed, l : dense)"
ROWS = "(i, j, k) -> (i : dense, j : compressed, k : compressed)"
FIBRES = "(i, j, k, l) -> (i : dense, j : compressed, k : compressed, l : compressed)"
PAGES = "(i, j, k) -> (i : dense, j : dense, k : compressed)"
CASES = [
    *((text, out, {"A": name, "B": name}) for text in (SUM, PRODUCT) for name, out in (("CSR", "CSR"), ("CSC", "CSC"))),
    *((text, "COO", {"A": "CSR", "B": "CSR"}) for text in (SUM, PRODUCT)),
    ("C(j,i) = A(i,j) + B(i,j)", "CSC", {"A": "CSR", "B": "CSR"}),
    ("C(i,j) = A(i,j) - 2 * B(i,j)", "CSR", {"A": "CSR", "B": "CSR"}),
    ("C(i,j) = A(i,j) > B(i,j)", "CSR", {"A": "CSR", "B": "CSR"}),
    ("C(i,j) = max(A(i,j), B(i,j))", "CSR", {"A": "CSR", "B": "CSR"}),
    ("C(i,j) = A(i,j) + B(i,j) + D(i,j)", "CSR", {"A": "CSR", "B": "CSR", "D": "CSR"}),
    ("C(i,j) = A(i,j) + B(i,j) - D(i,j) * E(i,j) + F(i,j)", "CSR", dict.fromkeys("ABDEF", "CSR")),
    ("C(i,j) = (A(i,j) + B(i,j)) * D(i,j)", "CSR", {"A": "CSR", "B": "CSR"}),
    (PRODUCT, "CSR", {"A": "CSR", "B": "DCSR"}),
    (PRODUCT, "CSR", {"A": "ELL", "B": "CSR"}),
    ("C(i,j) = A(i,j) * x(j)", "COO", {"A": "CSR"}),
    ("C(i,j) = A(i,j) * x(j)", "CSR", {"A": "DCSR"}),
    *((TTV, out, {"A": name}) for name, out in ((ROWS, "CSR"), ("CSF", "CSR"), ("CSF", "DCSR"))),
    (TTM, ROWS_OF_TTM, {"A": ROWS}),
    (TTM, "(i, j, l) -> (i : compressed, j : compressed, l : dense)", {"A": "CSF"}),
    ("C(i,j) = 2 * sum(k : A(i,j,k) * x(k))", "CSR", {"A": ROWS}),
    ("C(j,i) = A(i,j,k) * x(k)", "CSC", {"A": ROWS}),
    ("C(i,j) = B(i,j) * A(i,j,k) * x(k)", "CSR", {"A": ROWS}),
    ("C(i,j) = A(i,j,k) * x(k) + B(i,j)", "CSR", {"A": ROWS, "B": "CSR"}),
    ("C(i,j) = A(i,j,k,l) * B(k,l)", "CSR", {"A": FIBRES}),
    ("C(i,j,k) = A(i,j,k,l) * x(l)", "CSF", {"A": "CSF"}),
    *(("y(i) = A(i,j) * x(j)", "(i) -> (i : compressed)", {"A": name}) for name in ("DCSR", "CSR")),
    (SUM, "DCSR", {"A": "CSR", "B": "CSR"}),
    (SUM, "DCSC", {"A": "CSC", "B": "CSC"}),
    *(("C(i,j,k) = A(i,j,k) + B(i,j,k)", out, {"A": ROWS, "B": ROWS}) for out in (ROWS, "CSF")),
    ("C(i,j,k) = A(i,j,k) * B(i,j,k)", ROWS, {"A": ROWS, "B": ROWS}),
    ("C(i,j,k) = A(i,j,k) * B(j,k)", ROWS, {"A": ROWS, "B": "CSR"}),
    ("C(i,j,k) = A(i,j,k) * B(i,j,k)", PAGES, {"A": "CSF", "B": PAGES}),
    ("C(i,j,k,l) = A(i,j,k,l) + B(i,j,k,l)", "CSF", {"A": FIBRES, "B": FIBRES}),
    (TTV, "COO", {"A": ROWS}),
    ("C(i,j,k) = A(i,j,k) + B(i,j,k)", PAGES, {"A": PAGES, "B": PAGES}),
    ("C(i,j,k) = A(i,j,k) + B(i,j,k)", "COO", {"A": ROWS, "B": ROWS}),
]


def operands(
    text: str, storage: dict[str, str], dtype: Any = np.float64, *, density: float = 0.3, **extents: int
) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """Returns operands by name as they are passed, and as arrays."""
    rng, sizes = np.random.default_rng(7), EXTENTS | extents
    passed, plain = {}, {}
    for access in ms.notation.reads(ms.parse(text).value):
        shape = [sizes[str(subscript)] for subscript in access.subscripts]
        array = rng.integers(1, 4, shape).astype(dtype)
        if access.tensor in storage:
            array = np.where(rng.random(shape) < density, array, np.zeros(1, dtype)).astype(dtype)
        plain[access.tensor] = array
        passed[access.tensor] = ms.tensor(array, storage[access.tensor]) if access.tensor in storage else array
    return passed, plain


@cache
def compiled(text: str, types: tuple[tuple[str, TensorType], ...], out: str) -> tuple[Kernel, GpuBuild]:
    kernel = ms.compile(text, tensors=dict(types), out=out)
    return kernel, GpuBuild(kernel.spec.with_open_blocks().with_output_widths(), "sm_90")


def results(text: str, out: str, passed: dict[str, Any]) -> tuple[ms.SparseTensor, list[ms.SparseTensor]]:
    """Returns what the CPU makes of operands, and what the emulator does."""
    types = tuple((name, operand_check.type_of(value)) for name, value in passed.items())
    kernel, build = compiled(text, types, out)
    return kernel(**passed), list(run_cases(build, passed).values())


def check(text: str, out: str, passed: dict[str, Any], plain: dict[str, Any]) -> None:
    expected = oracle.evaluate(text, plain)
    cpu, found = results(text, out, passed)
    for result in found:
        # All rules of the storage hold: coordinates are in order, and within the extents.
        ms.SparseTensor.from_levels(
            result.encoding, result.shape, result.storage.positions, result.storage.coordinates, result.storage.values
        )
        oracle.assert_close(result.to_numpy(), expected, terms=40)
        assert result.encoding == cpu.encoding
        for here, there in zip(result.storage.buffers(), cpu.storage.buffers(), strict=True):
            assert here.dtype == there.dtype
            np.testing.assert_array_equal(here, there)


@pytest.mark.parametrize(("text", "out", "storage"), CASES)
def test_numbers_and_structure(text: str, out: str, storage: dict[str, str]) -> None:
    check(text, out, *operands(text, storage))


DTYPES = [np.dtype(d) for d in ("?", "i1", "i2", "i4", "i8", "f2", "f4", "c8", "c16")] + [np.dtype(ml_dtypes.bfloat16)]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_element_types(dtype: np.dtype[Any]) -> None:
    check(SUM, "CSR", *operands(SUM, {"A": "CSR", "B": "CSR"}, dtype))


@crossed(
    extents=[{"i": 0}, {"j": 0}, {"density": 0.0}, {"i": 1, "j": 1, "density": 1.0}, {"density": 1.0}],
    out=["CSR", "COO", "DCSR"],
    text=[SUM, PRODUCT],
)
def test_nothing_and_everything(text: str, out: str, extents: dict[str, Any]) -> None:
    check(text, out, *operands(text, {"A": "CSR", "B": "CSR"}, **extents))


def test_no_pages() -> None:
    text = "C(i,j,k) = A(i,j,k) + B(i,j,k)"
    for stored, extents in itertools.product((PAGES, ROWS), ({"i": 0}, {"j": 0}, {"k": 0}, {"density": 0.02})):
        check(text, stored, *operands(text, {"A": stored, "B": stored}, **extents))


@pytest.mark.parametrize("rows", [511, 512, 513, 2000, 20000])
def test_rows_of_several_parts_of_the_scan(rows: int) -> None:
    """Empty rows, long ones, and parts that end within a warp's turn."""
    rng = np.random.default_rng(rows)
    A, B = (np.where(rng.random((rows, 5)) < 0.1, rng.integers(1, 4, (rows, 5)), 0).astype(float) for _ in "AB")
    A[rows // 3 : rows // 2] = B[rows // 3 : rows // 2] = 0
    A[rows - 1] = 1
    check(SUM, "CSR", {"A": ms.tensor(A, "CSR"), "B": ms.tensor(B, "CSR")}, {"A": A, "B": B})


def test_a_result_over_the_fibres_of_an_operand_shares_its_levels() -> None:
    passed, _ = operands(TTV, {"A": ROWS})
    types = tuple((name, operand_check.type_of(value)) for name, value in passed.items())
    program = compiled(TTV, types, "CSR")[1].emulated
    assert program.assembled is None
    assert program.rows is not None
    assert (program.rows.structure, program.rows.depth, program.rows.variables) == ("A", 2, ("i", "j"))
    text = "C(i,j) = B(i,j) * A(i,j,k) * x(k)"
    passed, _ = operands(text, {"A": ROWS})
    types = tuple((name, operand_check.type_of(value)) for name, value in passed.items())
    (made,) = compiled(text, types, "CSR")[1].emulated.makes
    assert isinstance(made, MakeShared)
    assert (made.operand, made.shape) == ("A", (Extent("i"), Extent("j")))


@pytest.mark.parametrize("extents", [{"i": 0}, {"j": 0}, {"k": 0}, {"density": 0.0}, {"density": 1.0}], ids=str)
def test_no_fibres_and_full_ones(extents: dict[str, Any]) -> None:
    check(TTV, "CSR", *operands(TTV, {"A": ROWS}, **extents))
    check(TTM, ROWS_OF_TTM, *operands(TTM, {"A": ROWS}, **extents))


def test_parts_are_few_and_never_none() -> None:
    parts = Parts(Product((Extent("i"),)), least=512, most=2048)
    assert [parts.number(pieces) for pieces in (0, 1, 512, 513, 1 << 40)] == [2, 2, 2, 3, 2049]


@pytest.mark.parametrize("widths", [(8, 8), (16, 32), (64, 64)])
def test_widths(widths: tuple[int, int]) -> None:
    passed, plain = operands(SUM, {"A": "CSR", "B": "CSR"})
    passed = {name: value.convert(value.encoding.with_widths(*widths)) for name, value in passed.items()}
    check(SUM, "CSR", passed, plain)
    narrow = ms.encoding("CSR", rank=2).with_widths(16, 8)
    cpu, found = results(SUM, narrow.to_text(), passed)
    assert all(result.encoding == cpu.encoding for result in found)
    assert [buffer.dtype for buffer in found[0].storage.buffers()[:2]] == [np.uint16, np.uint8]


@pytest.mark.parametrize("out", ["CSR", "DCSR"])
def test_ptx_is_taken(out: str, tmp_path: Path) -> None:
    passed, _ = operands(SUM, {"A": "CSR", "B": "CSR"})
    types = tuple((name, operand_check.type_of(value)) for name, value in passed.items())
    text = compiled(SUM, types, out)[1].text("ptx")
    kernels = ("kernel_count_thread", "kernel_sums", "kernel_begins", "kernel_fill_thread")
    assert all(f".entry {kernel}(" in text for kernel in kernels)
    assert ".local" not in text
    if shutil.which("ptxas") is None:
        pytest.skip(PTXAS)
    Path(tmp_path, "kernel.ptx").write_text(text)
    command = ["ptxas", "-arch", "sm_90", "-v", str(tmp_path / "kernel.ptx"), "-o", "/dev/null"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    assert said.count("0 bytes spill stores, 0 bytes spill loads") == len(kernels)


def mapped(text: str, out: str, **storage: str) -> GpuBuild:
    ranks = {access.tensor: len(access.subscripts) for access in ms.notation.reads(ms.parse(text).value)}
    types = {name: f"f64[{','.join('?' * rank)}] {storage.get(name, '')}" for name, rank in ranks.items()}
    return GpuBuild(ms.compile(text, tensors=types, out=out).spec.with_output_widths(), "sm_90")


def test_explain_says_what_is_waited_for() -> None:
    told = mapped(SUM, "CSR", A="CSR", B="CSR").explain()
    assert (
        "  on threads: a thread each i\n"
        "    entries of each i are counted, then stored from where sums of the counts say; "
        "between the two the host reads how many there are, and reserves exactly that\n"
    ) in told


@pytest.mark.parametrize(
    ("text", "out", "storage", "said"),
    [
        (
            "C(i,j,k) = A(i,j,k) + B(i,j,k)",
            "CSF",
            {"A": "CSF", "B": "CSF"},
            "expected a dense level for i beside a sparse result, for a GPU, but got A(i,j,k) and B",
        ),
        (
            SUM,
            "ELL",
            {"A": "CSR", "B": "CSR"},
            "expected a sparse result that a GPU's loops can fill, but got C stored",
        ),
        (TTM, "CSF", {"A": "CSF"}, "expected a sparse result with the levels that A has above its fibres, for a GPU"),
        (SUM, "CSR", {"A": "CSR", "B": "DCSR"}, "expected a dense level for i beside a sparse result"),
        (SUM, "CSR", {"A": "CSR", "B": "COO"}, "expected operands stored as a tree of levels beside a sparse result"),
        (
            "C(i,j) = A(i,k) * B(k,j)",
            "CSR",
            {"A": "CSR", "B": "CSR"},
            "in the order of their storage, not i, k, j; but",
        ),
        (
            "C(i,j) = A(i,j)",
            "CSR",
            {"A": "CSC"},
            "expected a sparse result that a GPU's loops can fill, but got C stor",
        ),
        (
            "C(i,j) = " + " + ".join(f"{n}(i,j)" for n in "ABDEF"),
            "CSR",
            dict.fromkeys("ABDEF", "CSR"),
            "but got t.1 = A",
        ),
    ],
)
def test_refusals_say_what_to_do(text: str, out: str, storage: dict[str, str], said: str) -> None:
    with pytest.raises(ms.UnsupportedError) as caught:
        mapped(text, out, **storage).mapped  # noqa: B018
    assert said in str(caught.value)
    assert str(caught.value).endswith("use target='cpu'")
