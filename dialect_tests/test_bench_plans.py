"""What the optimizer makes of the benchmark: nearly all kernels run the code of their statement as it is written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from benchmarks.contests import CONTESTS
from benchmarks.inputs import load
from benchmarks.kernels import KERNELS
from benchmarks.libraries.own import PRODUCT, TEXTS, taken
from benchmarks.libraries.programs_own import declared
from benchmarks.programs import WORKLOADS

import mlir_sparse as ms
from dialect_tests.crossing import is_whole
from mlir_sparse.compile.cpu_kernel import Kernel
from mlir_sparse.compile.statement_optimizer import depends_on_data

# The package's statement of each kernel, with the storage of its result.
_STATEMENTS = {"spgemm-values": (PRODUCT, "CSR"), **TEXTS}
_KERNELS = [name for name, kernel in KERNELS.items() if kernel.call in _STATEMENTS]
# Those of which data decide how they are computed: rules apply to three factors.
_OPEN = ("SDDMM k = 8", "SDDMM k = 32", "SDDMM k = 64", "MTTKRP CSF", "MTTKRP COO", "triangles")
# Calls look whether x has few entries first: loops would go through their rows alone.
_LOOKS_AT_VECTORS = ("mattransmul CSR",)
_OPEN_CONTESTS = [name for name, contest in CONTESTS.items() if contest.kernel in _OPEN]
_LARGE = "knowledge 8M"  # takes half a minute to draw

# Whole statements that are computed as they are written, on data of the benchmark's sizes.
_AS_WRITTEN = (
    *("trace(A B)", "MMM, CSR by CSR", "MMM, CSR by CSC", "exp(x(i)) A x", "x' A z", "a (b + c), a sparse"),
    *("BFS, first step", "SDDMM", "TTM", "TTM chain", "MTTKRP"),
)
# Those whose parentheses are followed, as no way is better: by estimate they gain nothing.
_FOLLOWED = ("X' (X w - y)", "scores of sales, two tables")
# By estimate the others take at most this part of the time of the statement as it is written.
_GAIN = 0.8
# What loops of a user's, several statements or defined tensors are: no statement of their own.
_OTHERS = ("C = A B; y = C x", "(A @ B).sum()", "BFS, to the end", "PageRank, 10 steps")
_SINGLE = {
    name.partition(", ")[2]: workload
    for name, workload in WORKLOADS.items()
    if not workload.definitions and not name.endswith(_OTHERS)
}
_SOME = ("BATAX, 5 a row", "a (b + c), a sparse", "scores of sales, two tables", "SDDMM", "3-stars")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("inputs")


def _both(text: str, out: str, tensors: Mapping[str, Any], optimize: str = "auto") -> tuple[Kernel, Kernel]:
    kernels = [ms.compile(text, tensors=tensors, out=out, optimize=how) for how in (optimize, "off")]
    assert all(isinstance(kernel, Kernel) for kernel in kernels)
    return kernels[0], kernels[1]


def _operands(kernel: str, source: str, folder: Path) -> dict[str, Any]:
    return {name: taken(one) for name, one in KERNELS[kernel].operands(load(source, folder)).items()}


def _run_the_same(auto: Kernel, off: Kernel) -> bool:
    """Returns whether two kernels have one specification, so that they share what is compiled, and one module."""
    return auto.spec == off.spec and auto.ir() == off.ir() and auto._builds is off._builds


def test_the_tables_name_kernels_and_statements() -> None:
    assert {*_OPEN, *_LOOKS_AT_VECTORS} <= set(_KERNELS)
    assert {*_AS_WRITTEN, *_FOLLOWED, *_SOME} <= set(_SINGLE)
    assert {KERNELS[name].call for name in set(KERNELS) - set(_KERNELS)} & set(_STATEMENTS) == set()


@pytest.mark.parametrize("kernel", _KERNELS)
def test_kernels_run_the_code_of_their_statement(kernel: str, inputs: Path) -> None:
    text, out = _STATEMENTS[KERNELS[kernel].call]
    rank = 3 if text.partition("=")[2].count("T(i,j,k)") else 2
    tensors = _operands(kernel, "tiny tensor" if rank == 3 else "tiny grid" if "DIA" in kernel else "tiny", inputs)
    auto, off = _both(text, out, tensors)
    assert _run_the_same(auto, off)
    # Of the others this holds on data of any size.
    assert depends_on_data(auto.spec, "auto") is (kernel in _OPEN)
    assert (type(auto) is type(off)) is (kernel not in _LOOKS_AT_VECTORS)


@pytest.mark.parametrize("name", [name for name in _OPEN_CONTESTS if is_whole() or _LARGE not in name])
def test_kernels_that_data_decide_on_run_it_on_data_of_the_benchmark(name: str, inputs: Path) -> None:
    contest = CONTESTS[name]
    text, out = _STATEMENTS[KERNELS[contest.kernel].call]
    assert _run_the_same(*_both(text, out, _operands(contest.kernel, contest.source, inputs)))


@pytest.mark.parametrize("name", [name for name in _SINGLE if is_whole() or name in _SOME])
def test_whole_statements_are_rewritten_where_they_gain_by_estimate(name: str) -> None:
    workload = _SINGLE[name]
    auto, off = _both(workload.text, workload.out, declared(workload, workload.operands()), workload.optimize)
    assert _run_the_same(auto, off) is (name in _AS_WRITTEN)
    if name not in _AS_WRITTEN:
        ways = auto.alternatives()
        (taken_way,) = (way for way in ways if way.spec.rewriting == auto.spec.rewriting)
        (written,) = (way for way in ways if way.is_as_written)
        assert taken_way.nanoseconds <= (1.05 if name in _FOLLOWED else _GAIN) * written.nanoseconds
