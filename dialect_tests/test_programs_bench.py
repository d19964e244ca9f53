"""What the benchmark says of whole statements: who runs the same code, how long is sampled, which bounds are missed."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from benchmarks.libraries import BY_HAND, NEW, OFF, OURS
from benchmarks.libraries.programs_own import plan_of
from benchmarks.match import Match, Outcome
from benchmarks.paired_ratio import PairedRatio, paired_ratio
from benchmarks.programs import WORKLOADS
from benchmarks.programs.deciding_rounds import SameCode, of_threads, questions, until_decided
from benchmarks.programs.program_rows import ProgramRow, missing_program, program_row
from benchmarks.programs.program_summary import program_table, summaries
from benchmarks.programs.steps import is_one_step
from benchmarks.rounds import Entrant, Samples

from dialect_tests.crossing import is_whole

# Statements of each kind, on inputs of a few rows; all of them in the whole run.
_SOME = ("A B C D, D nearly empty", "covariance over a star join", "tailed triangles", "BFS, to the end")
_TRIANGLES = WORKLOADS["programs, triangles"]
_OURS, _OFF, _HAND = Entrant(OURS, NEW, 1), Entrant(OFF, NEW, 1), Entrant(BY_HAND, "plan 1", 1)
_OTHER_HAND = Entrant(BY_HAND, "plan 2", 1)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Match]:
    made = Match([OURS, OFF, BY_HAND, "SciPy", "DuckDB"], tmp_path_factory.mktemp("inputs"), [1])
    yield made
    made.stop()


@pytest.mark.parametrize("name", [name for name in WORKLOADS if is_whole() or name.endswith(_SOME)])
def test_statements_and_plans_by_hand_agree_with_the_reference(programs: Match, name: str) -> None:
    _, said = programs.prepare(name, "200")
    reasons = {who: answer["reason"] for who, answer in said.items() if "reason" in answer}
    assert {who for who in reasons if who != "DuckDB"} == set()
    assert reasons.get("DuckDB", "has no such kernel").startswith(("has no such", "not installed"))
    assert all(answer["error"] < 1e-12 for who, answer in said.items() if who not in reasons)
    assert len(said[BY_HAND]["variants"]) == len(WORKLOADS[name].by_hand)
    if "to the end" not in name:
        assert programs.account(name, "200")["milliseconds"] < 1000


def test_ways_of_ours_are_sampled_in_one_process(programs: Match) -> None:
    workload = WORKLOADS["programs, 3-stars"]
    entered = programs.entered("programs, 3-stars", "200")
    assert {entrant.library for entrant in entered.samples} >= {OURS, OFF, BY_HAND, "SciPy"}
    asked = questions(workload, entered.samples, [1], SameCode())
    outcome = programs.sampled(entered, until_decided(asked, 0.0), times=1)
    assert all(samples and min(samples) > 0 for samples in outcome.samples.values())  # busy machines ask for more
    assert program_row("programs, 3-stars", workload, outcome, {}, 1, SameCode()).seconds.keys() >= {OURS, BY_HAND}


@pytest.mark.parametrize(
    ("name", "as_written", "as_by_hand"),
    [
        ("MMM, CSR by CSC", True, ["plan 1"]),  # the other plan converts an operand
        ("exp(x(i)) A x", True, ["plan 2"]),  # a plan multiplies by an array of NumPy's
        ("(A + B) x", False, ["plan 1"]),  # rewritten to what is written by hand
        ("A B x", False, []),
        ("PageRank, 10 steps", False, []),  # its kernel looks at vectors first
        ("(A @ B).sum()", False, []),
    ],
)
def test_the_same_code_on_the_same_operands_is_known(name: str, as_written: bool, as_by_hand: list[str]) -> None:
    workload = WORKLOADS[f"programs, {name}"]
    found = plan_of(f"programs, {name}", workload.shrunk(20).operands())
    assert (found["as_written"], found["as_by_hand"]) == (as_written, as_by_hand)


def test_plans_that_do_more_than_a_step_are_told_apart() -> None:
    tensors = {"A": np.ones((2, 2)), "x": np.ones(2)}
    plans: dict[Any, bool] = {
        lambda step, A, x: step("y(i) = A(i,j) * x(j)", A=A, x=x): True,
        lambda step, A, x: step("y(i) = A(i,j) * x(j)", A=A, x=np.exp(x)): False,
        lambda step, A, x: step("y(i) = A(i,j) * x(j)", A=A, x=x) * 2: False,
        lambda step, A, x: np.sqrt(step("y(i) = A(i,j) * x(j)", A=A, x=x)): False,
        lambda step, A, x: step("z(i) = y(i)", y=step("y(i) = A(i,j) * x(j)", A=A, x=x)): False,
        lambda step, A, x: A @ x: False,
    }
    assert [is_one_step(plan, tensors) for plan in plans] == list(plans.values())


def _noisy(ratio: float, rounds: int, seed: int = 0, noise: float = 0.1) -> PairedRatio:
    """Returns the ratio of two calls on a machine of which slow spells come and go."""
    draw = random.Random(seed)
    spells = [math.exp(2 * abs(draw.gauss(0, 0.5))) for _ in range(rounds)]
    ours = [ratio * spell * math.exp(draw.gauss(0, noise)) for spell in spells]
    return paired_ratio(ours, [spell * math.exp(draw.gauss(0, noise)) for spell in spells])


def test_a_slow_spell_does_not_change_a_paired_ratio() -> None:
    found = paired_ratio([1.0, 5.0, 1.1, 9.9, 1.0], [1.0, 5.0, 1.1, 3.3, 1.0])
    assert (found.median, found.low, found.high, found.rounds) == (1.0, 1.0, pytest.approx(3.0), 5)
    assert paired_ratio([2.0, 4.0, 1.0], [1.0]).rounds == 1  # the other took part in the first round
    assert found.inverse().high == 1.0
    assert str(paired_ratio([1.1], [1.0])) == "1.10 (1.10 to 1.10 in 1)"


def test_the_interval_of_thousands_of_rounds() -> None:
    rounds = 5000  # short calls have so many: 2 to that power is no float
    found = paired_ratio([1.0 + number / rounds for number in range(rounds)], [1.0] * rounds)
    deviations = (found.high - found.median) * rounds / math.sqrt(rounds / 4)
    assert 2.5 < deviations < 2.65  # as the normal distribution has 99 of 100 within 2.576
    assert str(PairedRatio(1.1, 1.0, 1.2, 8)) == "1.10 (1.00 to 1.20)"


def test_the_interval_holds_the_median_in_99_of_100_cases() -> None:
    found = [_noisy(1.2, rounds, seed) for rounds in (8, 13, 40) for seed in range(1000)]
    assert 0.985 < sum(one.low <= 1.2 <= one.high for one in found) / len(found) < 0.999


def test_the_interval_narrows_with_rounds() -> None:
    widths = [
        sum((found := _noisy(1.0, rounds, seed)).high - found.low for seed in range(50)) for rounds in (8, 32, 128)
    ]
    assert all(wide > 1.6 * narrow for wide, narrow in pairwise(widths))


@pytest.mark.parametrize(
    ("ratio", "is_decided"),
    [
        (PairedRatio(1.0, 0.98, 1.02, 8), True),
        (PairedRatio(1.15, 1.11, 1.2, 8), True),
        (PairedRatio(1.05, 0.98, 1.12, 800), False),
        (PairedRatio(1.0, 0.98, 1.02, 7), False),  # a few rounds have to be far from the bound
        (PairedRatio(0.7, 0.6, 0.8, 3), True),
        (PairedRatio(1.4, 1.3, 1.5, 3), False),
        (PairedRatio(1.6, 1.5, 1.7, 3), True),
        (PairedRatio(1.6, 1.6, 1.6, 1), False),
        (PairedRatio(2.6, 2.6, 2.6, 1), True),
    ],
)
def test_rounds_go_on_until_a_bound_is_outside_the_interval(ratio: PairedRatio, is_decided: bool) -> None:
    assert ratio.is_decided(1.10) is is_decided


def _played(times: dict[Entrant, Sequence[float]], same: SameCode, seconds: float = 1e9) -> Samples:
    """Returns the samples of calls that take these times by round, the last ones again and again."""
    samples: dict[Entrant, list[float]] = {entrant: [] for entrant in times}
    rounds, taken = until_decided(questions(_TRIANGLES, times, [1], same), seconds), 0.0
    while chosen := rounds(samples, taken):
        for entrant in chosen:
            found, given = samples[entrant], times[entrant]
            found.append(given[min(len(found), len(given) - 1)])
            taken += found[-1]
    return samples


def test_who_is_decided_on_is_sampled_no_more() -> None:
    draw = random.Random(3)
    near = [math.exp(draw.gauss(0, 0.2)) for _ in range(10_000)]
    peer, database = Entrant("SciPy", NEW, 1), Entrant("DuckDB", NEW, 1)
    times = {_OURS: [1.0], _OFF: [8.0], _HAND: near, _OTHER_HAND: [0.5], peer: [3.0], database: [30.0]}
    found = {entrant: len(samples) for entrant, samples in _played(times, SameCode()).items()}
    assert (found[_OFF], found[_OTHER_HAND], found[peer], found[database]) == (3, 8, 3, 1)
    assert 8 < found[_HAND] == found[_OURS] < 1000


def test_time_ends_what_is_undecided() -> None:
    swaying = [0.9, 1.0] * 5000  # 1.1 and 1 times as fast: the bound itself
    found = _played({_OURS: [1.0], _HAND: swaying, _OFF: [9.0]}, SameCode(), 100)
    assert 30 < len(found[_HAND]) < 60
    assert len(_played({_OURS: [1.0], _HAND: [1.0], _OFF: [4.0]}, SameCode(), 0.0)[_HAND]) == 3


def test_what_misses_its_bound_is_sampled_until_that_is_decided() -> None:
    assert len(_played({_OURS: [1.0], _HAND: [0.8], _OFF: [9.0]}, SameCode(), 8.0)[_HAND]) == 8
    assert len(_played({_OURS: [1.0], _HAND: [1.0], _OFF: [9.0]}, SameCode(), 8.0)[_HAND]) == 3
    swaying = [0.85, 0.93] * 5000  # 1.18 and 1.08 times as fast: on both sides of the bound
    found = _played({_OURS: [1.0], _HAND: swaying, _OFF: [9.0]}, SameCode(), 100)
    assert 240 < len(found[_HAND]) < 360  # six times as long


def test_one_slow_spell_does_not_decide_on_a_plan_by_hand() -> None:
    found = _played({_OURS: [1.0], _HAND: [100.0, 0.8], _OFF: [9.0]}, SameCode())
    assert len(found[_HAND]) >= 8
    assert paired_ratio(found[_OURS], found[_HAND]).median == 1.25


def test_two_of_the_same_code_are_sampled_for_information() -> None:
    same = SameCode(as_written=False, by_hand=("plan 1",))
    found = _played({_OURS: [1.0], _HAND: [0.9, 1.0] * 5000, _OFF: [4.0]}, same)
    assert len(found[_HAND]) == 3


def test_a_call_with_fewer_threads_counts_where_there_is_no_other() -> None:
    known = [Entrant(OURS, NEW, 1), Entrant(OURS, NEW, 2), Entrant("SciPy", NEW, 1), _HAND]
    assert of_threads(known, 2) == [Entrant(OURS, NEW, 2), Entrant("SciPy", NEW, 1), _HAND]


def _program(auto: float, hand: float, off: float, same: SameCode | None = None, **more: float) -> ProgramRow:
    times = {_OURS: auto, _HAND: 2 * hand, _OTHER_HAND: hand, _OFF: off}
    times |= {Entrant(name, NEW, 1): seconds for name, seconds in more.items()}
    outcome = Outcome({entrant: [seconds, 2 * seconds] for entrant, seconds in times.items()}, {}, 0.0)
    return program_row("programs, triangles", _TRIANGLES, outcome, {"milliseconds": 0.5}, 1, same or SameCode())


def test_what_statements_miss_is_named() -> None:
    assert _program(1.0, 1.0, 3.0, DuckDB=5.0).verdict == "ok"
    missed = _program(1.2, 1.0, 1.1, DuckDB=2.0).missed
    assert missed == [
        "auto / hand 1.20 (1.20 to 1.20 in 2) > 1.10",
        "auto / off 1.09 (1.09 to 1.09 in 2) > 1.03",
        "auto / DuckDB 0.60 (0.60 to 0.60 in 2) > 0.20",
        "off / auto 0.9 (0.9 to 0.9) < 3",
    ]
    assert _program(1.0, 1.0, 3.0).best_peer is None
    assert missing_program("programs, x", _TRIANGLES, "out of luck", 1).missed == ["no result: out of luck"]


def test_the_ratio_of_one_code_to_itself_is_not_judged() -> None:
    as_written = SameCode(as_written=True)
    assert _program(1.1, 1.0, 1.0, as_written).missed == ["off / auto 0.9 (0.9 to 0.9) < 3"]
    fastest = _program(1.2, 1.0, 4.0, SameCode(by_hand=("plan 2",)))
    assert (fastest.missed, fastest.cells()[3]) == ([], "same code")
    # Another plan that is faster than the one with our code is missed all the same.
    slower = _program(1.2, 1.0, 4.0, SameCode(by_hand=("plan 1",)))
    assert slower.missed == ["auto / hand 1.20 (1.20 to 1.20 in 2) > 1.10"]
    # One that is slower does not hide that the fastest has our code.
    assert _program(0.9, 1.0, 4.0, SameCode(by_hand=("plan 1",))).cells()[3] == "same code"


def test_a_bound_that_nobody_was_there_for_is_missed() -> None:
    outcome = Outcome({_OURS: [1.0], _OFF: [9.0]}, {}, 0.0, {BY_HAND: "refused: no", "DuckDB": "not installed: duckdb"})
    row = program_row("programs, triangles", _TRIANGLES, outcome, {}, 1, SameCode())
    assert row.missed == ["auto / hand not known: refused: no", "auto / DuckDB not known: not installed: duckdb"]


def test_statements_are_summed_up() -> None:
    rows = [_program(1.0, 1.0, 4.0, SciPy=2.0), _program(1.21, 1.0, 4.84)]
    (found,) = summaries(rows)
    assert (found.workloads, found.missed, found.worst) == (2, 1, (1.21, "triangles"))
    assert (found.to_hand.median, found.faster, found.to_peer) == pytest.approx((1.1, 4.0, 0.5))
    assert found.misses
    table = program_table(rows)
    assert "| triangles | 1 | 1e+03 ms | 1.00 (1.00 to 1.00 in 2) | 4.0 (3) | 0.50 SciPy | 0.50 | ok |" in table
    assert "| times as fast as one fused nest | threads | mlir_sparse | by hand | SciPy | PyTorch |" in table
    assert "auto / hand 1.100 (1.100 to 1.100) in the geometric mean (over 1.05), 1.21 at worst (triangles)" in table


def test_one_code_counts_as_one_in_the_mean() -> None:
    rows = [_program(1.0, 1.0, 4.0), _program(1.44, 1.0, 9.0, SameCode(True, ("plan 1", "plan 2")))]
    (found,) = summaries(rows)
    assert (found.to_hand.median, found.faster, found.to_off) == (1.0, pytest.approx(2.0), (0.25, "triangles"))
    assert not summaries([_program(1.0, 1.0, 4.0, DuckDB=6.0)])[0].misses


def test_factors_are_counted_as_often_as_they_are_read() -> None:
    found = {name.partition(", ")[2]: workload.factors for name, workload in WORKLOADS.items()}
    assert (found["4-cycles"], found["A x / norm(A x)"], found["MMM, CSR by CSR"]) == (4, 6, 2)
    assert (found["scores of sales, two tables"], found["defined: scaled, twice"]) == (5, 7)


def test_factors_of_products_that_are_multiplied_out_are_counted() -> None:
    """The loss as it is written has a square of a difference, and multiplied out a product of four matrices."""
    found = {name.partition(", ")[2]: workload.factors for name, workload in WORKLOADS.items()}
    assert (found["ALS loss"], found['ALS loss, "algebra"'], found["C = A B; y = C x"]) == (3, 4, 3)
