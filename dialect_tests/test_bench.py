"""The benchmark's harness, on inputs of a few hundred entries: who takes part, what is compared, what is said of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from benchmarks.before import SLOWER, changed
from benchmarks.canonical import Entries, absolute, error_between, nbytes, plain
from benchmarks.contests import CONTESTS, GROUPS, Contest
from benchmarks.data import blocky, circuit, grid, power_rows, shifted
from benchmarks.entries import fibers, mixed, moved, skewed, slots
from benchmarks.inputs import INPUTS, load
from benchmarks.kernels import KERNELS
from benchmarks.libraries import BEFORE, IN_PLACE, NEW, OURS
from benchmarks.match import Match, NoResultError, Outcome
from benchmarks.plot import plot
from benchmarks.report import Row, missing_row, row_of
from benchmarks.roofline import Roofline
from benchmarks.rounds import Entrant, is_far_behind, until_time_is_up
from benchmarks.standing import markdown, standings

_ROOFLINE = Roofline({1 << 20: 1e10, 1 << 28: 2e9}, 1e9)
_OURS, _PEER = Entrant(OURS, IN_PLACE, 1), Entrant("SciPy", NEW, 1)


@pytest.fixture(scope="module")
def match(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Match]:
    made = Match([OURS, "SciPy", "NumPy"], tmp_path_factory.mktemp("inputs"), [1, 2])
    yield made
    made.stop()


def _tiny(kernel: str) -> str:
    of_tensors = kernel.split()[0] in ("TTV", "TTM", "MTTKRP", "INNERPROD", "plus2", "plus3")
    return "tiny tensor" if of_tensors else "tiny grid" if "DIA" in kernel else "tiny"


# One of those that differ in sizes only, and what is kept beside the table.
_KERNELS = {KERNELS[name].call: name for name in (*GROUPS, "SpGEMM, values only", "pack", "to-bsr", "ell-to-csr")}


@pytest.mark.parametrize("kernel", _KERNELS.values())
def test_ours_and_the_peers_agree_with_the_reference(match: Match, kernel: str) -> None:
    work, said = match.prepare(kernel, _tiny(kernel))
    assert work["bytes"] > 0
    assert said[OURS]["error"] < 1e-14
    assert all(answer.get("error", 0.0) < 1e-14 for answer in said.values())
    assert {answer.get("reason", "has no such kernel") for answer in said.values()} == {"has no such kernel"}


def test_a_contest_samples_all_in_turn(match: Match) -> None:
    outcome = match.play("SpMV CSR", "tiny", until_time_is_up(0.0))
    names = [str(entrant) for entrant in outcome.samples]
    assert set(names) == {OURS, f"{OURS}, 2 threads", f"{OURS}, new result", f"{OURS}, new result, 2 threads", "SciPy"}
    assert all(samples and min(samples) > 0 for samples in outcome.samples.values())
    # Who is far behind, as any may be on a busy machine, takes part in the first rounds only.
    assert all(len(samples) >= 3 for entrant, samples in outcome.samples.items() if entrant.library == OURS)
    assert outcome.absent == {"NumPy": "has no such kernel"}
    assert outcome.pair("SciPy", 2) == (Entrant(OURS, NEW, 2), Entrant("SciPy", NEW, 1))


def test_a_library_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('no torch here')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    made = Match(["PyTorch"], tmp_path, [1])
    try:
        _, said = made.prepare("SpMV CSR", "tiny")
    finally:
        made.stop()
    assert said["PyTorch"] == {"reason": "not installed: no torch here"}


def test_a_contest_without_our_result_is_a_row_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Match([OURS], tmp_path, [1])
    monkeypatch.setattr(made, "prepare", lambda *_: ({}, {OURS: {"reason": "refused: out of luck"}}))
    with pytest.raises(NoResultError, match="refused: out of luck"):
        made.play("SpMV CSR", "tiny", until_time_is_up(0.0))
    row = missing_row("SpMV", Contest("SpMV CSR", "tiny", "SpMV CSR", 1.25), "refused: out of luck")
    assert (row.verdict, str(row).split()) == ("NO RESULT", ["SpMV", "NO", "RESULT:", "refused:", "out", "of", "luck"])
    assert standings([row, _row([1.0], [8.0])])[0].failures == ["1 without a right result"]


def test_another_checkout_takes_part_with_its_own_interpreter(tmp_path: Path) -> None:
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    made = Match([OURS], tmp_path, [1], against=tmp_path)
    try:
        outcome = made.play("SpMV CSR", "tiny", until_time_is_up(0.0))
    finally:
        made.stop()
    row = row_of("SpMV", Contest("SpMV CSR", "tiny", "", SLOWER), outcome, {1: _ROOFLINE})
    assert row.fastest == {1: BEFORE}
    assert row.against[BEFORE][1] > 0


def test_what_is_slower_in_medians_and_least_times_is_named() -> None:
    def row(name: str, ratio: float, quiet: float) -> Row:
        return Row(name, "s", {}, {}, ratio, SLOWER, 5, quiet={1: quiet}, against={BEFORE: {1: ratio}})

    text = changed([row("a", 1.2, 1.1), row("b", 1.2, 1.0), row("c", 0.5, 0.5)])
    assert text.splitlines() == [
        "time / time before, 3 contests:",
        f"  on 1: {(1.2 * 1.2 * 0.5) ** (1 / 3):.3f}",
        "    1.20 (of least times 1.10)  a",
    ]


def test_contests_name_what_there_is() -> None:
    assert {contest.kernel for contest in CONTESTS.values()} <= KERNELS.keys()
    assert {contest.source for contest in CONTESTS.values()} <= INPUTS.keys()
    assert {contest.group for contest in CONTESTS.values()} == {"", *GROUPS}


def test_inputs_come_back_from_their_folder(tmp_path: Path) -> None:
    for name in ("tiny", "tiny tensor"):
        first, again = load(name, tmp_path), load(name, tmp_path)
        assert np.array_equal(plain(first).keys, plain(again).keys)  # type: ignore[union-attr]
        assert np.array_equal(plain(first).keys, plain(INPUTS[name]()).keys)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("matrix", "rows", "entries"),
    [
        (grid(4, 5), 20, 4 * 5 * 5 - 2 * (4 + 5)),
        (grid(3, 4, 5), 60, 7 * 60 - 2 * (3 * 4 + 4 * 5 + 3 * 5)),
        (power_rows(20_000, 60_000), 20_000, 60_000),
        (circuit(1000, 5600), 1000, 5600),
    ],
)
def test_matrices_have_their_size(matrix: Any, rows: int, entries: int) -> None:
    assert (matrix.shape, matrix.nnz) == ((rows, rows), entries)
    assert matrix.has_canonical_format
    assert matrix.indices.dtype == matrix.indptr.dtype == np.int32


def test_grids_are_those_of_differences() -> None:
    assert np.array_equal(grid(3).toarray(), [[2, -1, 0], [-1, 2, -1], [0, -1, 2]])
    two = np.kron(grid(3).toarray(), np.eye(2)) + np.kron(np.eye(3), grid(2).toarray())
    assert np.array_equal(grid(3, 2).toarray(), two)


def test_blocks_are_full() -> None:
    A = blocky(40, 6, 4)
    assert A.tobsr((4, 4)).nnz == A.nnz == (A.data != 0).sum()


def test_other_storage_holds_the_same_entries() -> None:
    T = skewed((7, 9, 11), 120, 40, 1.5, 13)
    assert plain(fibers(T)).keys.tolist() == plain(T).keys.tolist()  # type: ignore[union-attr]
    assert sorted(moved(T, 1).values) == sorted(T.values)
    kept = np.intersect1d(plain(mixed(T)).keys, plain(T).keys).size  # type: ignore[union-attr]
    assert 60 <= kept < 120
    A, x = INPUTS["tiny"](), np.arange(60.0)
    E = slots(A)
    assert np.allclose((E.values * x[E.columns]).sum(0), A @ x)
    assert np.array_equal(shifted(A, 1).toarray(), np.roll(A.toarray(), 1, axis=1))


def test_wrong_results_are_seen() -> None:
    A = INPUTS["tiny"]()
    expected, scale = plain(A), plain(absolute(A))
    off = A.copy()
    off.data[3] += 1e-6
    assert error_between(plain(off), expected, scale) > 1e-7
    fewer = A.copy()
    fewer.data[3] = 0
    assert error_between(plain(fewer), expected, scale) == np.inf
    assert error_between(A.toarray(), expected, scale) == error_between(expected, A.toarray(), A.toarray()) == 0
    assert error_between(np.zeros(3), np.zeros(4), np.zeros(4)) == np.inf
    assert error_between(np.array([np.nan]), np.ones(1), np.ones(1)) != 0
    assert nbytes({}) == 0
    assert nbytes(A) == A.data.nbytes + A.indices.nbytes + A.indptr.nbytes


def test_zeros_are_no_entries() -> None:
    A = scipy.sparse.coo_array(([1.0, 0.0], ([0, 1], [1, 0])), shape=(2, 2))
    found = plain(A)
    assert isinstance(found, Entries)
    assert found.keys.tolist() == [1]


def _row(ours: list[float], theirs: list[float], error: float = 0.0, gain: float | None = None) -> Row:
    contest = Contest("SpMV CSR", "tiny", "SpMV CSR", 1.25, gain)
    samples = {_OURS: ours, Entrant(OURS, NEW, 1): [2 * t for t in ours], Entrant(OURS, IN_PLACE, 2): ours}
    samples |= {_PEER: theirs, Entrant("numba", IN_PLACE, 1): theirs, Entrant("MKL optimized", IN_PLACE, 1): theirs}
    outcome = Outcome(samples, {"bytes": 1 << 20, "flops": 0}, error)
    return row_of("SpMV", contest, outcome, {1: _ROOFLINE, 2: _ROOFLINE})


def test_who_is_far_behind_takes_part_in_few_rounds() -> None:
    rounds = until_time_is_up(1.0)
    samples = {_OURS: [1.0, 1.0], _PEER: [5.0, 5.0], Entrant("numba", NEW, 1): [30.0], Entrant("MKL", NEW, 1): [1.0]}
    assert [e.library for e in rounds(samples, 0.0)] == [OURS, "SciPy", "MKL"]
    assert is_far_behind(_PEER, {**samples, _PEER: [5.0] * 3})
    assert not rounds({_OURS: [1.0] * 5}, 1.0)
    assert rounds({_OURS: [1.0] * 4}, 1.0)
    assert not rounds({_OURS: [1.0] * 3}, 4.0)


def test_a_row_compares_like_with_like() -> None:
    row = _row([2.0, 3.0, 2.0], [4.0, 4.0, 4.0])
    assert row.against == {"SciPy": {1: 1.0, 2: 0.5}, "numba": {1: 0.5, 2: 0.5}}  # SciPy's result is new
    assert (row.ratios, row.fastest[1], row.aside) == ({1: 1.0, 2: 0.5}, "SciPy", {"MKL optimized": {1: 0.5, 2: 0.5}})
    assert row.roofline[1] == pytest.approx(2.0 / (2**20 / 1e10))
    assert row.verdict == "ok"


def test_verdicts() -> None:
    assert _row([1.0], [2.0], gain=1.7).verdict == "gains little"
    assert _row([3.0], [2.0]).verdict == "over"
    assert _row([1.0], [9.0], error=np.inf).verdict == "WRONG"
    assert _row([1.0], [9.0], error=np.nan).verdict == "WRONG"


def test_the_roofline_is_of_bytes_or_operations() -> None:
    assert _ROOFLINE.seconds({"bytes": 1000, "flops": 0}) == 1e-7
    assert _ROOFLINE.seconds({"bytes": 1 << 21, "flops": 0}) == (1 << 21) / 2e9  # larger than what the cache holds
    assert _ROOFLINE.seconds({"bytes": 1000, "flops": 10**9}) == 1.0


def test_standings_say_what_is_not_reached(tmp_path: Path) -> None:
    one, two = standings([_row([1.0], [8.0]), _row([3.0], [4.0], gain=1.7)])
    assert (one.threads, one.worst, two.gain) == (1, 1.5, 1.0)
    assert one.mean == pytest.approx((0.25 * 1.5) ** 0.5)
    assert one.failures == ["tiny 1.50 > 1.25"]
    assert two.failures == ["gain 1.00 < 1.70"]
    assert "| SpMV CSR | 1 | 0.61 |" in markdown([one, two])
    pytest.importorskip("matplotlib")
    plot([one, two], tmp_path / "standing.svg")
    assert "SpMV CSR" in (tmp_path / "standing.svg").read_text() or (tmp_path / "standing.svg").stat().st_size > 1000
