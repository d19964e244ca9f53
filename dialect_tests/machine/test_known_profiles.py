"""Profiles of machines: what they say, how they are read, and which of them plans go by."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.statement_cases import matrix, rewritten, vector
from mlir_sparse.machine import (
    FAR_SIZES,
    PROFILES,
    MachineProfile,
    MachineTimes,
    Processor,
    known_profiles,
    machine_profile,
    shipped_profiles,
)
from mlir_sparse.plan.algebra import part_store

SHIPPED = sorted(shipped_profiles())
ZEN_3, ZEN_4 = "amd-epyc-family-25", "amd-epyc-family-25-model-17"
AMD = shipped_profiles()[ZEN_3]


@pytest.fixture(params=SHIPPED)
def times(request: pytest.FixtureRequest) -> MachineTimes:
    """The times of each shipped profile."""
    return shipped_profiles()[request.param].times


@pytest.fixture
def anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Has the profile of the process looked for again, and no setting that names one."""
    monkeypatch.delenv("MLIR_SPARSE_MACHINE")
    machine_profile.cache_clear()
    yield monkeypatch
    machine_profile.cache_clear()


def test_times_are_plausible(times: MachineTimes) -> None:
    """What holds on any processor: nothing is free, and what reads further memory or more of it takes longer."""
    assert all(np.min(getattr(times, field.name)) > 0 for field in fields(times))
    assert times.look_up < times.meet
    assert times.multiply_add < times.lane < times.far_line > times.near_line
    assert times.append < times.insert
    assert sorted(times.far_look_ups) == list(times.far_look_ups)
    assert times.look_up < times.far_look_ups[0]
    assert sorted(times.far_scatters) == list(times.far_scatters)
    assert times.look_up <= times.scatter
    assert times.enter < times.far_enters[0] < times.far_enters[-1]
    assert times.convert < times.far_converts[0] < times.far_converts[-1]
    assert times.write < times.fresh_write
    assert times.call < times.sparse_result


def test_times_grow_with_arrays(times: MachineTimes) -> None:
    """Between the sizes that were measured a time is between theirs; beyond the last it is that of the last."""
    sizes_of_arrays = [0.0, 1.0, 1000.0, 65536.0, 1e5, 262144.0, 5e5, 1048576.0, 3e6, 16777216.0, 1e12]
    for time, near, far in (
        (times.look_up_in, times.look_up, times.far_look_ups),
        (times.scatter_in, times.scatter, times.far_scatters),
        (times.enter_in, times.enter, times.far_enters),
        (times.convert_into, times.convert, times.far_converts),
    ):
        found = [time(size) for size in sizes_of_arrays]
        assert found == sorted(found)
        assert found[:4] == [near] * 4
        assert [time(size) for size in FAR_SIZES] == pytest.approx(far)
        assert found[-1] == far[-1]


@pytest.mark.parametrize("name", SHIPPED)
def test_a_profile_is_the_text_that_it_prints(name: str) -> None:
    text = Path(PROFILES, f"{name}.json").read_text()
    assert MachineProfile.parse(text).text == text


def broken_texts() -> Iterator[str]:
    read = json.loads(AMD.text)
    yield from ("", "null", "[]", "{}", AMD.text[:100], AMD.text.replace('"version": 4', '"version": 3'))
    yield json.dumps({**read, "processor": {**read["processor"], "model": 1}})
    yield json.dumps({**read, "processor": {}})
    for name, value in (("walk", -1), ("walk", [1.0, 2.0]), ("far_enters", 3.0), ("near", "many"), ("call", 1e999)):
        yield json.dumps({**read, "times": {**read["times"], name: value}})
    yield json.dumps({**read, "times": {name: time for name, time in read["times"].items() if name != "meet"}})
    for name, value in (("wake", 0), ("wake", [1.0]), ("caches", [1.0, 2.0]), ("far_entries", 3.0), ("page", "4 KB")):
        yield json.dumps({**read, "figures": {**read["figures"], name: value}})
    yield json.dumps({**read, "figures": {}})
    unlike: tuple[Any, ...] = ({"speed": 3}, {"far": 1.5}, {"far": -1}, {"far": True}, {"far": 1 << 70}, [], None)
    for known in unlike:
        yield json.dumps({**read, "known": known})
    yield json.dumps({**read, "notes": 7})
    yield json.dumps({**read, "disturbance": None})


@pytest.mark.parametrize("text", list(broken_texts()))
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - whoever reads a file says which
        MachineProfile.parse(text)


def test_the_nearest_make_is_taken(anew: pytest.MonkeyPatch) -> None:
    for processor, name in (
        (Processor("x86_64", "AuthenticAMD", "25", "1", "AMD EPYC 7763", "avx2"), ZEN_3),
        (Processor("x86_64", "AuthenticAMD", "25", "33", "AMD Ryzen 9 5950X", "avx2"), ZEN_3),
        (Processor("x86_64", "AuthenticAMD", "25", "80", "AMD Ryzen 7 5700G", "avx2"), ZEN_3),
        (Processor("x86_64", "AuthenticAMD", "23", "49", "AMD EPYC 7742", "avx2"), ZEN_3),
        (Processor("x86_64", "AuthenticAMD", "25", "17", "AMD EPYC 9654", "avx512f"), ZEN_4),
        (Processor("x86_64", "AuthenticAMD", "25", "97", "AMD Ryzen 9 7950X", "avx512f"), ZEN_4),
        (Processor("x86_64", "AuthenticAMD", "25", "160", "AMD EPYC 9754", "avx512f"), ZEN_4),
        (Processor("x86_64", "AuthenticAMD", "26", "2", "AMD EPYC 9575F", "avx512f"), ZEN_4),
        (Processor("x86_64", "GenuineIntel", "6", "85", "Intel Xeon Gold 6248", "avx512f"), "intel-xeon-family-6"),
        (Processor("x86_64", "GenuineIntel", "6", "79", "Intel Xeon E5-2698", "avx2"), "intel-xeon-family-6"),
        (Processor("aarch64", "0x41", "8", "0xd40", "0x41", "sve"), ZEN_3),
    ):
        anew.setattr(known_profiles, "this_processor", lambda here=processor: here)
        machine_profile.cache_clear()
        assert machine_profile() == shipped_profiles()[name]


def test_a_setting_names_a_profile_or_a_file(anew: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mine = replace(AMD, times=replace(AMD.times, walk=99.0))
    path = tmp_path / "mine.json"
    path.write_text(mine.text)
    for asked, expected in (*shipped_profiles().items(), (str(path), mine)):
        anew.setenv("MLIR_SPARSE_MACHINE", asked)
        machine_profile.cache_clear()
        assert machine_profile() == expected
    path.write_text("{")
    for asked in (str(path), "z80", str(tmp_path)):
        anew.setenv("MLIR_SPARSE_MACHINE", asked)
        machine_profile.cache_clear()
        expected_names = f"expected the name of a profile \\({', '.join(SHIPPED)}\\), or a file"
        with pytest.raises(ms.SettingError, match=expected_names) as caught:
            machine_profile()
        assert repr(asked) in str(caught.value)


def test_plans_say_whose_times_they_go_by() -> None:
    A = ms.tensor(np.eye(2000), "CSR")
    explained = ms.compile("y(i) = A(i,j) * A(j,k) * x(k)", A=A, x=np.ones(2000)).explain()
    assert "estimates: by the times of steps on AMD EPYC, family 25 [amd-epyc-family-25]\n" in explained


def test_functions_between_rows_are_computed_there_where_they_take_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass that makes the sums first, and multiplies them later, must be worth it."""
    facts = {"A": matrix(50_000, 50_000, 20), "x": vector(50_000), "z": vector(50_000)}
    for name, apart in ((ZEN_3, True), (ZEN_4, False)):
        profile = shipped_profiles()[name]
        monkeypatch.setattr(part_store, "machine_profile", lambda profile=profile: profile)
        assert (rewritten("y(i) = exp(x(i)) * A(i,j) * z(j)", facts) is not None) == apart


def test_plans_differ_by_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of columns are added to in no order, and read in one: by what that takes they are made or gathered for."""
    matrix_facts = matrix(50_000, 50_000, 40)
    for share, gathers in ((1.0, False), (3.0, True)):
        far = tuple(share * time for time in AMD.times.far_look_ups)
        times = replace(AMD.times, scatter=share * AMD.times.look_up, far_scatters=far)
        monkeypatch.setattr(part_store, "machine_profile", lambda times=times: replace(AMD, times=times))
        found = rewritten("s = A(i,j) * B(j,k)", {"A": matrix_facts, "B": matrix_facts})
        assert found is not None
        assert (len(found.parts) == 1) == gathers
