"""What figures of machines decide: numbers in code, of the profiles that are shipped and of machines made up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse import _native, pipeline
from mlir_sparse.loops.emit_prefetch import PrefetchDistances
from mlir_sparse.loops.vector_options import Target
from mlir_sparse.machine import CHOICES, MachineFigures, MachineProfile, machine_profile, shipped_profiles
from mlir_sparse.machine.machine_figures import ENTRY_DISTANCES, LENGTHS, ROW_DISTANCES, WORKING_SETS
from mlir_sparse.machine.measured_figures import measured_figures
from mlir_sparse.pipeline import machine_vectors
from mlir_sparse.runtime import blas_threads, blocks_of_rows, linked_program

AMD, INTEL = (shipped_profiles()[name] for name in ("amd-epyc-family-25", "intel-xeon-family-6"))
MEGABYTE = 1 << 20


def chosen(**figures: Any) -> MachineProfile:
    """Returns the profile of a machine of which some figures are known."""
    return replace(AMD, figures=MachineFigures(**figures), known=())


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> Iterator[MachineProfile]:
    """Has plans go by the profile of a machine unlike others."""
    caches = (float(16 << 10), float(3 * MEGABYTE), float(12 * MEGABYTE))
    figures = MachineFigures(
        caches=caches,
        kept_lines=(5.0, 5.0, 9.0, 20.0),
        past_lines=(9.0, 9.0, 9.0, 8.0),
        scatter=5.0,
        stores=4.0,
        wrong_guess=3.0,
        wake=40_000.0,
        far_entries=(3.0, 2.0, 1.0, 2.0, 3.0, 4.0),
        near_entries=(1.0, 2.0, 2.0, 2.0, 2.0, 2.0),
        named_lines=(9.0, 8.0, 7.0, 6.0, 5.0, 4.0),
        read_lines=(1.0, 2.0, 4.0, 64.0),
    )
    found = replace(AMD, figures=figures, known=(), times=replace(AMD.times, multiply_add=1.0))
    path = f"{tmp_path}/unlike.json"
    with open(path, "w") as file:
        file.write(found.text)
    monkeypatch.setenv("MLIR_SPARSE_MACHINE", path)
    machine_profile.cache_clear()
    yield found
    monkeypatch.undo()
    machine_profile.cache_clear()
    linked_program._tell_of_machine(machine_profile())


def test_what_is_not_known_is_as_on_most_machines() -> None:
    unknown = chosen()
    assert set(unknown.choices) == set(CHOICES)
    assert (unknown.number("far"), unknown.number("near"), unknown.number("rows")) == (768, 256, 8)
    assert str(unknown.choices["rows"]).endswith(": not measured on this make, as on most")


def test_entries_are_asked_for_at_the_middle_of_the_distances_that_are_as_good() -> None:
    for times, expected in (
        ((9, 9, 1, 9, 9, 9), 256),
        ((9, 1.0, 1.02, 1.01, 9, 9), 256),
        ((1, 1, 1, 1, 1, 1), 512),
        ((1, 9, 9, 9, 9, 1), 64),
        ((9, 9, 9, 9, 1.01, 1), 2048),
    ):
        found = chosen(far_entries=tuple(map(float, times)))
        assert found.number("far") == expected
        assert found.number("near") == 256  # of which nothing is known
    found = chosen(far_entries=(2.0, 1.5, 1.1, 0.9, 1.4, 1.6))
    expected_text = (
        "entries that caches do not hold are asked for 512 ahead: 2 ns an entry at 64, 0.9 ns an entry at 512"
    )
    assert str(found.choices["far"]).startswith(expected_text)


def test_rows_are_asked_for_though_no_distance_is_best() -> None:
    assert chosen(named_lines=(1.0, 9.0, 9.0, 9.0, 9.0, 9.0)).number("rows") == 0
    assert chosen(named_lines=(9.0, 5.0, 4.0, 4.0, 4.0, 9.0)).number("rows") == 8


def test_rows_are_not_asked_for_where_they_come_no_sooner() -> None:
    distances = PrefetchDistances.of({"rows": "0"})
    assert (distances.rows, distances.summed_rows, distances.results) == (0, 0, 0)
    assert Target(512, distances=distances).prefetch_distance(1 << 20, 64) == 0
    assert (PrefetchDistances(rows=2).results, PrefetchDistances(rows=8).results) == (1, 2)


def test_large_results_are_stored_past_caches_where_that_takes_less() -> None:
    kept = (1.0, 2.0, 4.0, 8.0)
    assert chosen(kept_lines=kept, past_lines=(4.0, 4.0, 4.0, 4.0)).number("few") == WORKING_SETS[2] // 12
    between = chosen(kept_lines=kept, past_lines=(4.0, 4.0, 8.0, 4.0)).number("few")
    assert WORKING_SETS[2] // 12 < between < WORKING_SETS[3] // 12
    never = chosen(kept_lines=kept, past_lines=(9.0, 9.0, 9.0, 9.0)).choices["few"]
    assert str(never) == "no result is stored past the caches: a line is 8 ns kept, 9 past them, of 64 MB"
    assert chosen(kept_lines=kept, past_lines=(0.5, 0.5, 0.5, 0.5)).number("few") == WORKING_SETS[0] // 12
    assert chosen(kept_lines=kept).number("few") == 1 << 19  # past them nothing was measured


def test_rests_of_rows_are_scattered_where_that_takes_less_than_a_wrong_guess() -> None:
    assert chosen(scatter=6.0, stores=3.0, wrong_guess=5.0).number("scatters") == 1
    assert chosen(scatter=12.0, stores=2.0, wrong_guess=4.0).number("scatters") == 0
    assert chosen(scatter=1.0, stores=2.0).number("scatters") == 0
    assert INTEL.number("scatters") == 1
    assert AMD.number("scatters") == 0


def test_threads_are_woken_for_work_that_takes_longer_than_waking() -> None:
    entries = (1.0,) * len(ENTRY_DISTANCES)
    assert chosen(wake=11_000.0, far_entries=entries).number("chunk") == 1 << 15
    assert chosen(wake=44_000.0, far_entries=entries).number("chunk") == 1 << 17
    assert chosen(wake=1.0, far_entries=entries).number("chunk") == 1 << 12
    assert chosen(wake=1e9, far_entries=entries).number("chunk") == 1 << 18


def test_threads_wait_awake_as_long_as_it_takes_to_wake_a_few() -> None:
    assert chosen().number("watch") == 100
    assert chosen(wake=17_000.0).number("watch") == 102
    assert chosen(wake=1.0).number("watch") == 20
    assert chosen(wake=1e9).number("watch") == 1000


def test_sizes_of_caches_decide_sizes_of_blocks() -> None:
    small = chosen(caches=(32768.0, 524288.0, 32.0 * MEGABYTE))
    large = chosen(caches=(32768.0, 2.0 * MEGABYTE, 64.0 * MEGABYTE))
    assert (small.number("block"), large.number("block")) == (4 * MEGABYTE, 3 * MEGABYTE // 2)
    assert (small.number("joined_chunk"), large.number("joined_chunk")) == (1 << 15, 1 << 17)
    assert (small.number("held"), large.number("held")) == (1 << 21, 1 << 22)


def test_lines_read_in_order_are_asked_for_where_they_come_sooner_so() -> None:
    entries = {"far_entries": (2.0,) * 5 + (1.2,), "near_entries": (0.9,) * 5 + (0.75,)}
    assert chosen(**entries).number("alone") == 1
    assert chosen(read_lines=(1.0, 1.0, 4.1, 6.5), **entries).number("alone") == 0
    assert chosen(read_lines=(1.0, 1.0, 4.2, 5.0), **entries).number("alone") == 1
    assert chosen(read_lines=(1.0, 1.0, 2.0, 6.6), **entries).number("alone") == 1
    assert (AMD.number("alone"), INTEL.number("alone")) == (0, 1)


@pytest.mark.parametrize("profile", shipped_profiles().values())
def test_choices_of_shipped_profiles_are_plausible(profile: MachineProfile) -> None:
    number = {name: profile.number(name) for name in CHOICES}
    assert 64 <= number["near"] <= 2048
    assert 64 <= number["far"] <= 2048
    assert 2 <= number["rows"] <= 32
    assert 12 * number["few"] >= MEGABYTE
    assert 12 * number["few"] <= 64 * MEGABYTE or number["few"] == 1 << 62  # where stores past the caches gain nothing
    assert 1 << 12 <= number["chunk"] <= number["joined_chunk"] * 4
    assert profile.notes


def test_choices_of_makes_differ() -> None:
    """What a profile says is what passes and native code are told, and kernels of one are not taken for another."""
    passes = {}
    for profile in (AMD, INTEL):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(machine_vectors, "machine_profile", lambda profile=profile: profile)
            passes[profile.name] = str(pipeline.sparsifier().then(pipeline.cpu()))
    assert len(set(passes.values())) == 2


def test_a_profile_decides_what_is_compiled(made_up: MachineProfile, monkeypatch: pytest.MonkeyPatch) -> None:
    text = str(pipeline.sparsifier().then(pipeline.cpu()))
    assert "prefetch-streams{far=256 alone=1}" in text
    assert "prefetch-rows{rows=32}" in text
    assert re.search(r"sum-rows\{every=\w+ long=\w+ far=256 near=64 held=786432\}", text)
    assert re.search(r"nontemporal-stores\{few=\d+ floats=\w+\}", text)
    assert "far=256 near=64 held=786432 rows=32" in pipeline.host_text()
    for features, scatters in ((frozenset({"avx512f"}), True), (frozenset(), False)):
        monkeypatch.setattr(machine_vectors, "cpu_features", lambda features=features: features)
        assert pipeline.scatters_fast() == scatters
    A, x = ms.tensor(np.eye(20), "CSR"), np.arange(20.0)
    kernel = ms.compile("y(i) = A(i,j) * x(j)", A=A, x=x)
    assert np.array_equal(kernel(A, x), x)
    assert "llvm.mlir.constant(256 : index)" in kernel.ir("llvm")
    explained = kernel.explain()
    assert f"\n\nby the profile {machine_profile().name}\n  entries that caches do not hold" in explained
    assert "asked for 256 ahead: 3 ns an entry at 64, 1 ns an entry at 256, 4 ns an entry at 2048" in explained


def test_a_profile_decides_what_native_code_and_blas_do(made_up: MachineProfile) -> None:
    A = ms.tensor(np.eye(5), "CSR")
    linked_program._tell_of_machine(machine_profile())
    assert _native.piece_work() == made_up.number("chunk") == 1 << 17
    _native.set_piece_work(7)  # what is set goes before
    linked_program._tell_of_machine(AMD)
    assert _native.piece_work() == 7
    _native.set_piece_work(0)
    assert _native.piece_work() == AMD.number("chunk")
    assert blocks_of_rows._block_bytes() == made_up.number("block") == 9 * MEGABYTE // 4
    assert blas_threads._work(by_vector=False) == 1 << 20
    assert blas_threads._work(by_vector=True) == 1 << 17
    assert A.nse == 5


def test_figures_are_measured_in_the_form_that_profiles_have() -> None:
    found = measured_figures()
    for name in MachineFigures.__slots__:
        value = getattr(found, name)
        if value is None:
            assert name in ("caches", "gather", "scatter")  # the system does not say, the processor has none
            continue
        assert (len(value) if isinstance(value, tuple) else None) == LENGTHS.get(name)
        assert np.all(np.isfinite(value))
        assert np.min(value) > 0
    profile = replace(AMD, figures=found)
    assert MachineProfile.parse(profile.text).text == profile.text
    assert found.latencies is not None
    assert found.latencies[-1] > found.latencies[0]  # memory is further than a cache
    assert len(found.named_lines or ()) == len(ROW_DISTANCES)


@pytest.mark.parametrize("known", [(), (("far", 3), ("scatters", 1))])
@pytest.mark.parametrize("profile", [AMD, INTEL, chosen(), chosen(wake=40_000.0)], ids=["amd", "intel", "none", "wake"])
def test_numbers_are_those_of_the_choices(profile: MachineProfile, known: tuple[tuple[str, int], ...]) -> None:
    """They are found one by one, as the first kernel of a process needs some."""
    fresh = replace(profile, known=known)
    assert {name: fresh.number(name) for name in CHOICES} == {name: one.number for name, one in fresh.choices.items()}
