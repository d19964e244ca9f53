"""The section `shapes` of the benchmark: inputs of any size, loops in C as a peer, and what is said of the results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks import data, tuned
from benchmarks.__main__ import main
from benchmarks.contests import Contest
from benchmarks.entries import fibers
from benchmarks.kernels import KERNELS
from benchmarks.libraries import FORCED, IN_PLACE, NEW, OURS, compiled_c, library
from benchmarks.libraries.own import TEXTS
from benchmarks.machine import processor_of
from benchmarks.match import WRONG, Match, Outcome
from benchmarks.referee import Judgement, kernel_of, operands_of
from benchmarks.report import Row, row_of
from benchmarks.roofline import Roofline
from benchmarks.rounds import Entrant, until_time_is_up
from benchmarks.shapes import matrix_shapes, shape_inputs
from benchmarks.shapes.matrix_shapes import MATRICES, elements, grid, kronecker
from benchmarks.shapes.shape_contests import DEFAULT_SIZE, FEW_PEERS, LARGE, STREAMING, contests
from benchmarks.shapes.shape_inputs import SHAPES, made, named, size_of
from benchmarks.shapes.shape_kernels import SHAPE_KERNELS
from benchmarks.shapes.shape_summary import case_table, summarized
from benchmarks.shapes.side_by_side import side_by_side
from benchmarks.shapes.tensor_shapes import TENSORS, long_fibres, short_fibres
from click.testing import CliRunner

_TINY = contests([1000])
# A contest of each kernel, and other sections' kernels that there are loops in C for.
_ONE_EACH = {contest.kernel: contest.source for contest in _TINY.values()}
_ONE_EACH |= {"mattransmul CSC": "web, 1e3", "SpMV DIA": "bands, 1e3", "SpMV BSR 4 x 4": "tiny"}
_ONE_EACH |= dict.fromkeys(("TTM CSF", "MTTKRP CSF", "MTTKRP COO"), "short fibres, 1e3")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("inputs")


@pytest.mark.parametrize("entries", [1000, 30_000])
@pytest.mark.parametrize("shape", MATRICES)
def test_matrices_have_about_their_size_and_are_the_same_again(shape: str, entries: int) -> None:
    A, again = made(named(shape, entries)), made(named(shape, entries))
    assert 0.5 * entries < A.nnz < 1.1 * entries
    assert A.indices.dtype == A.indptr.dtype == np.int32
    assert A.data.dtype == np.float64
    assert (A.data != 0).all()
    assert (np.diff(A.indices)[np.diff(np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))) == 0] > 0).all()
    for name in ("data", "indices", "indptr"):
        assert np.array_equal(getattr(A, name), getattr(again, name))


@pytest.mark.parametrize("shape", MATRICES)
def test_chunks_leave_no_seam(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not drawn is the same in chunks of any size; what is drawn is as much."""
    whole = made(named(shape, 20_000))
    monkeypatch.setattr(matrix_shapes, "_CHUNK", 700)
    monkeypatch.setattr(matrix_shapes, "_PLACES", 3001)
    parts = made(named(shape, 20_000))
    assert parts.shape == whole.shape
    if shape in ("5-point grid", "7-point grid", "FEM of 3", "FEM of 6", "bands"):
        assert np.array_equal(parts.indptr, whole.indptr)
        assert np.array_equal(parts.indices, whole.indices)
    assert abs(parts.nnz - whole.nnz) < 0.05 * whole.nnz


def test_grids_are_those_of_differences_and_elements_have_full_blocks() -> None:
    for dimensions in (2, 3):
        A = grid(2000, dimensions)
        side = round(A.shape[0] ** (1 / dimensions))
        assert np.array_equal(A.toarray(), data.grid(*(side,) * dimensions).toarray())
    A = elements(20_000, 3, 3)
    assert A.tobsr((3, 3)).nnz == A.nnz
    assert np.diff(A.indptr).max() == 81
    assert np.array_equal(A.toarray() != 0, A.toarray().T != 0)


def test_few_vertices_of_a_graph_have_many_neighbours() -> None:
    A = kronecker(50_000, 16, shuffled=True)
    lengths = np.sort(np.diff(A.indptr))
    assert lengths[-1] > 10 * lengths.mean()
    assert lengths[: lengths.size // 2].sum() < 0.2 * lengths.sum()


@pytest.mark.parametrize("shape", TENSORS)
def test_tensors_are_sorted_and_the_same_again(shape: str) -> None:
    T, again = made(named(shape, 20_000)), made(named(shape, 20_000))
    keys = np.ravel_multi_index(tuple(T.coords.T.astype(np.int64)), T.shape)
    assert (np.diff(keys) > 0).all()
    assert 10_000 < T.values.size <= 20_000
    assert np.array_equal(T.coords, again.coords)
    assert np.array_equal(T.values, again.values)


def test_fibres_are_short_and_long() -> None:
    short, long = fibers(short_fibres(30_000)), fibers(long_fibres(30_000))
    assert short.values.size < 1.1 * short.crd[1].size
    assert long.values.size > 50 * long.crd[1].size


def test_inputs_are_named_by_shape_and_size() -> None:
    assert named("uniform", 1_000_000) == "uniform, 1e6"
    assert named("uniform", 1234) == "uniform, 1234"
    assert [size_of(named("web", size)) for size in (1000, 1234, 10**8)] == [1000, 1234, 10**8]
    assert size_of("FEM 62k") == 0
    with pytest.raises(KeyError, match="expected a shape"):
        shape_inputs.made("sphere, 1e6")


def test_contests_name_what_there_is() -> None:
    everything = contests([1000, LARGE])
    assert {contest.kernel for contest in everything.values()} <= KERNELS.keys() | SHAPE_KERNELS.keys()
    assert {contest.source.rpartition(", ")[0] for contest in everything.values()} == SHAPES.keys()
    large = [contest for contest in everything.values() if size_of(contest.source) == LARGE]
    assert {contest.kernel for contest in large} == STREAMING.keys()


@pytest.mark.parametrize("kernel", _ONE_EACH)
@pytest.mark.parametrize("name", ["C", OURS])
def test_loops_in_c_and_ours_agree_with_the_reference(name: str, kernel: str, inputs: Path, tmp_path: Path) -> None:
    try:
        module = library(name)
    except ImportError as error:
        pytest.skip(str(error))
    operands, known = operands_of(kernel, _ONE_EACH[kernel], inputs), kernel_of(kernel)
    assert Judgement.write(kernel, operands, tmp_path)["bytes"] > 0
    prepared = module.CALLS[known.call](operands)
    calls = prepared if isinstance(prepared, Mapping) else {NEW: prepared}
    for threads in (1, 2):
        module.set_threads(threads)
        for call in calls.values():
            for _ in range(2):  # nothing is left from the call before
                assert Judgement.read(tmp_path).error(module.plain(call())) <= known.tolerance


def test_a_wrong_loop_in_c_is_seen(inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not _has_compiler():
        pytest.skip("no C compiler")
    text = (compiled_c.SOURCES / "products.c").read_text()
    (tmp_path / "products.c").write_text(text.replace("total += wide(values[p])", "total -= wide(values[p])"))
    (tmp_path / "element.h").write_text((compiled_c.SOURCES / "element.h").read_text())
    module = library("C")
    monkeypatch.setattr(compiled_c, "SOURCES", tmp_path)
    compiled_c.compiled.cache_clear()
    operands = operands_of("SpMV CSR", "uniform, 1e3", inputs)
    Judgement.write("SpMV CSR", operands, tmp_path)
    try:
        wrong = module.CALLS["spmv-csr"](operands)[IN_PLACE]()
    finally:
        compiled_c.compiled.cache_clear()
    assert Judgement.read(tmp_path).error(wrong) > 1


def test_without_a_compiler_the_peer_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    made = Match(["C"], tmp_path, [1])
    try:
        _, said = made.prepare("SpMV CSR", "tiny")
    finally:
        made.stop()
    assert said["C"]["reason"].startswith("not installed: expected a C compiler on PATH, cc, gcc, clang, or in CC")


def test_what_a_compiler_refuses_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not _has_compiler():
        pytest.skip("no C compiler")
    for name in ("element.h", "broken.c"):
        (tmp_path / name).write_text("#error too old\n")
    monkeypatch.setattr(compiled_c, "SOURCES", tmp_path)
    with pytest.raises(ImportError, match=r"to compile broken\.c for f64, but: .*too old"):
        compiled_c.compiled("broken", "f64")


def _has_compiler() -> bool:
    try:
        return bool(compiled_c.compiler())
    except ImportError:
        return False


def test_numba_keeps_code_for_several_threads_apart() -> None:
    """Its cache knows code by the text of a function, and would run that for one thread on two."""
    pytest.importorskip("numba")
    with_numba = library("numba")
    loops = library("numba").dense.spmv_csr
    folders = {with_numba._compiled(loops, parallel=parallel)._cache.cache_path for parallel in (False, True)}
    assert len(folders) == 2


def test_the_package_takes_part_by_the_profile_of_another_machine(tmp_path: Path) -> None:
    made = Match([OURS], tmp_path, [1], profile="intel-xeon-family-6")
    try:
        outcome = made.play("SpMV CSR", "tiny", until_time_is_up(0.0))
    finally:
        made.stop()
    row = row_of("SpMV", Contest("SpMV CSR", "tiny", "SpMV CSR"), outcome, {1: _ROOFLINE})
    assert row.aside[FORCED][1] > 0
    assert row.fastest == {}


def test_where_memory_is_short_few_are_asked(tmp_path: Path) -> None:
    made = Match([OURS, "SciPy", "C"], tmp_path, [1])
    try:
        outcome = made.play("row sums", "5-point grid, 1e3", until_time_is_up(0.0), FEW_PEERS)
    finally:
        made.stop()
    assert {entrant.library for entrant in outcome.samples} | outcome.absent.keys() == {OURS, *FEW_PEERS}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--profile", "abacus"], "expected a file or one of amd-epyc-family-25"),
        (["shapes", "--sizes", "many"], "expected numbers of entries in --sizes, as 1e3 1e6, but got many"),
    ],
)
def test_what_cannot_be_measured_is_named_at_once(arguments: list[str], said: str) -> None:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert said in " ".join(result.output.replace("│", " ").split())


def test_saved_results_are_shown_without_a_measurement() -> None:
    result = CliRunner().invoke(main, ["--show"])
    assert result.exit_code == 0
    assert "| SpMV CSR |" in result.output


def test_a_peer_with_a_wrong_result_is_left_out_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Match([OURS, "C", "SciPy"], tmp_path, [1])
    said = {
        OURS: {"error": 0.0, "variants": [NEW], "threads": [1]},
        "C": {"error": np.inf, "variants": [NEW], "threads": [1]},
        "SciPy": {"error": 1e-16, "variants": [NEW], "threads": [1]},
    }
    monkeypatch.setattr(made, "prepare", lambda *_: ({"bytes": 1, "flops": 0}, said))
    outcome = made.entered("SpMV CSR", "tiny")
    assert {entrant.library for entrant in outcome.samples} == {OURS, "SciPy"}
    assert outcome.absent["C"].startswith(f"{WRONG}: its error is inf")


_ROOFLINE = Roofline({1 << 20: 1e10, 1 << 40: 1e9}, 1e9)
_OURS = Entrant(OURS, IN_PLACE, 1)


def _row(kernel: str, source: str, seconds: float, **others: float) -> Row:
    """Returns a row by the times of ours and of peers on one thread, with a gigabyte moved at a gigabyte a second."""
    samples = {_OURS: [seconds] * 3, **{Entrant(name, IN_PLACE, 1): [taken] * 3 for name, taken in others.items()}}
    outcome = Outcome(samples, {"bytes": 10**9, "flops": 0}, 0.0)
    return row_of(f"{kernel}, {source}", Contest(kernel, source, kernel, 1.1), outcome, {1: _ROOFLINE})


def test_kernels_count_once_each_whatever_their_inputs() -> None:
    rows = [_row("SpMV CSR", named(shape, 1000), 1.0, C=2.0) for shape in ("web", "social", "circuit")]
    rows += [_row("SpMV CSR", "uniform, 1e3", 1.0, C=0.5), _row("A + B", "web, 1e3", 1.6, C=2.0)]
    (found,) = summarized(rows)
    assert found.kernels["SpMV CSR"] == pytest.approx((0.5**3 * 2) ** (1 / 4))
    assert found.mean == pytest.approx((0.5**0.5 * 0.8) ** 0.5)
    assert found.above == [(2.0, "SpMV CSR, uniform, 1e3", "C")]
    assert found.failures == ["all kernels: 0.75 > 0.75", "SpMV CSR, uniform, 1e3: 2.00 > 1.10"]
    assert "missed:" in str(found)


def test_what_streams_is_held_against_the_bandwidth_and_grows_with_its_entries() -> None:
    shape = STREAMING["row sums"][0]
    rows = [_row("row sums", named(shape, size), seconds, C=9.0) for size, seconds in ((10**5, 1.2), (10**7, 1.6))]
    rows.append(_row("min-plus SpMV", named(shape, DEFAULT_SIZE), 5.0, C=9.0))
    (found,) = summarized(rows)
    assert found.roofline == {f"row sums, {shape}, 1e7": pytest.approx(1.6)}
    assert found.growth == {f"row sums, {shape}": pytest.approx(1.6 / 1.2)}
    assert [line.partition(":")[2] for line in found.failures] == [
        " 1.60 > 1.5 of the roofline",
        " an entry takes 1.33 > 1.3 times",
    ]


def test_weak_loops_in_numba_and_another_profile_are_told() -> None:
    rows = [_row("SpMV CSR", "web, 1e3", 1.0, C=2.0, numba=3.0, **{FORCED: 1.3})]
    rows.append(_row("A + B", "web, 1e3", 1.0, C=2.0, numba=2.0))
    (found,) = summarized(rows)
    assert found.loops == [(1.5, "SpMV CSR, web, 1e3"), (1.0, "A + B, web, 1e3")]
    assert found.forced == {"SpMV CSR": pytest.approx(1.3)}
    assert rows[0].fastest == {1: "C"}  # the other profile is no peer
    assert "numba by C above 1.10:\n   1.50  SpMV CSR, web, 1e3\n" in str(found)
    assert "| SpMV CSR | web, 1e3 | 1e+03 | 0.50 | C | 1.0 | 1.50 |" in case_table(rows)


def test_wrong_results_are_failures() -> None:
    row = _row("SpMV CSR", "web, 1e3", 1.0, C=2.0)
    wrong = replace(row, error=1e-3, absent={"numba": f"{WRONG}: its error is 1"})
    (found,) = summarized([wrong])
    assert found.failures == [f"{row.name}: wrong, or without a result"]
    assert found.wrong_peers == [f"numba in {row.name}, {WRONG}: its error is 1"]
    assert replace(wrong, tolerance=1e-2).verdict == "ok"


def test_results_of_machines_stand_beside_each_other(tmp_path: Path) -> None:
    def record(family: int, ratio: float) -> dict[str, Any]:
        rows = [{"group": "SpMV CSR", "ratios": {"1": ratio, "2": 0.5}}, {"group": "SpMV CSR", "ratios": {"1": 1.0}}]
        machine = {"processor": "AMD EPYC", "family": family}
        return {"date": "2026-11-26T00:00:00", "commit": "abc", "machine": machine, "results": rows}

    (tmp_path / "2026-11-20-a.json").write_text(json.dumps(record(25, 9.0)))
    (tmp_path / "2026-11-21-b.json").write_text(json.dumps(record(25, 0.25)))
    (tmp_path / "2026-11-22-c-shapes.json").write_text(json.dumps(record(26, 0.16)))
    (tmp_path / "2026-11-23-d-programs.json").write_text(json.dumps({**record(26, 0.1), "results": [{"name": "x"}]}))
    head, _, line = side_by_side(tmp_path).splitlines()
    assert head.split(" | ")[1:] == [
        "AMD EPYC, family 25 (abc, 2026-11-26)",
        "AMD EPYC, family 26, shapes (abc, 2026-11-26) |",
    ]
    assert line == "| SpMV CSR | 0.50 / 0.50 | 0.40 / 0.50 |"
    assert processor_of({"processor": "Xeon", "family": 6, "model": 143}) == "Xeon, family 6, model 143"


def test_what_is_tuned_has_a_text_and_is_of_the_section_asked_for() -> None:
    of_shapes, of_others = tuned.contests_of(("shapes", "TTV", "min-plus")), tuned.contests_of(("TTV",))
    assert {contest.kernel for contest in of_shapes.values()} == {"TTV CSF", "TTV COO"}  # a text alone is no semiring
    assert {size_of(contest.source) for contest in of_shapes.values()} == {DEFAULT_SIZE}
    assert {size_of(contest.source) for contest in of_others.values()} == {0}
    assert all(kernel_of(contest.kernel).call in TEXTS for contest in tuned.contests_of(()).values())
