"""The script that measures on a GPU, over stand-ins: what it checks, what it keeps, what ends early."""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks import (
    data,
    gpu_cases,
    gpu_checks,
    gpu_data,
    gpu_goals,
    gpu_head,
    gpu_inputs,
    gpu_measure,
    gpu_ways,
    gpu_worker,
)
from benchmarks import gpu as bench
from benchmarks.gpu_cases import CASES, KERNELS, types_of
from benchmarks.gpu_measure import Result
from benchmarks.gpu_prepare import Kernels, _chunks_of, _crowded, _kernel
from click.testing import CliRunner

import mlir_sparse as ms
from dialect_tests.conditions import LLVMLITE
from dialect_tests.device.fake import ILLEGAL_ADDRESS, Gpu
from dialect_tests.device.test_library import with_scales
from mlir_sparse import _cuda, device
from mlir_sparse.compile.gpu_kernel import GpuKernel
from mlir_sparse.device import Device, from_host
from mlir_sparse.program.launch_values import Choice, Launch
from mlir_sparse.runtime.device.run_launches import DeviceProgram


def library_kernels(*names: str) -> dict[tuple[str, str, str], GpuKernel]:
    found = {}
    for name, dtype in dict.fromkeys((c.kernel, c.dtype) for c in CASES.values() if c.kernel in names):
        found[name, dtype, "library"] = _kernel(name, types_of(name, dtype), "cuda:sm_90", "library")
    return found


def emulated(gpu: Gpu, kernel: GpuKernel, prefix: str) -> GpuKernel:
    """Lets the stand-in run a kernel's code by the emulation, under names of its own."""
    pytest.importorskip("llvmlite", reason=LLVMLITE)
    from dialect_tests.gpu.emulator import Emulated

    for types, one in list(kernel._programs.items()):
        inputs = tuple(zip(kernel.parameters, types, strict=True))
        run = Emulated(kernel._build(replace(kernel.spec, inputs=inputs)).llvm_ir)

        def renamed(step: Launch, run: Any = run) -> Launch:
            gpu.kernel(
                f"{prefix}{step.kernel}",
                lambda grid, block, slots: run.launch(step.kernel, grid, block, slots),
                len(step.parameters),
            )
            return replace(step, kernel=f"{prefix}{step.kernel}")

        steps = tuple(
            Choice(tuple((tests, tuple(map(renamed, launches))) for tests, launches in step.cases))
            if isinstance(step, Choice)
            else renamed(step)
            for step in one.program.steps
        )
        ptx = one.program.ptx.replace(".entry ", f".entry {prefix}")
        program = replace(one.program, ptx=ptx, steps=steps)
        kernel._programs[types] = DeviceProgram(program, one.operands, one._label)
    return kernel


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves out what takes seconds: rates, other libraries, repeated calls."""
    monkeypatch.setattr(gpu_head, "_gpu_versions", dict)
    monkeypatch.setattr(gpu_data, "_torch", lambda: None)
    monkeypatch.setattr(gpu_head, "_copy_rate", lambda where, seconds: 1000.0)
    monkeypatch.setattr(gpu_head, "_matrix_rate", lambda seconds: None)
    monkeypatch.setattr(gpu_head, "overhead", lambda kernel, operands: {"added": 5.0})
    monkeypatch.setattr(gpu_worker, "overhead", lambda kernel, operands: {"added": 5.0})
    monkeypatch.setattr(gpu_measure, "seconds_of", lambda call, seconds, on_host=False: (call() is None or 1e-3, 0.0))


def test_results_are_checked_and_kept_as_they_come(gpu: Gpu, quiet: None, tmp_path: Path) -> None:
    with_scales(gpu)
    spmv = emulated(gpu, _kernel("SpMV", types_of("SpMV", "f64"), "cuda:sm_90", "codegen"), "one_")
    made = {**library_kernels("SpGEMM", "2:4 SpMM"), ("SpMV", "f64", "codegen"): spmv}
    held = Kernels("abc", made, [], b"", {"SpGEMM via codegen": "expected"})
    (tmp_path / "kernels").write_bytes(pickle.dumps(held))
    words = ["SpGEMM", "2:4", "SpMV f64, tiny uniform"]
    options = ["--tiny", "--tune", "--together", "--save", "--output", str(tmp_path)]
    run = CliRunner().invoke(bench.main, [*options, "--kernels", str(tmp_path / "kernels"), *words])
    assert run.exit_code == 0, run.output
    (path,) = tmp_path.glob("gpu-*-abc.json")
    kept = json.loads(path.read_text())
    assert (kept["device"], kept["chip"], kept["driver"]) == ("Stand-in 0", "sm_90", "CUDA 13.0")
    assert [result["verdict"] for result in kept["results"]] == ["ok"] * 4
    assert all(result["error"]["library"] <= 1 for result in kept["results"] if "SpMV" not in result["name"])
    assert kept["bounds"][-1].startswith("reached       microseconds of a warm call")
    (tuned,) = (result for result in kept["results"] if result["name"].startswith("SpMV"))
    assert tuned["taken"] in tuned["ways"]
    assert {way.split()[0] for way in tuned["ways"]} >= {"one_kernel_thread", "one_kernel_4_lanes", "one_kernel_warp"}
    assert any("rows x" in way for way in tuned["ways"])
    assert all(error <= 4 for error in tuned["error"].values())


def test_a_wrong_number_and_a_failure_are_said(gpu: Gpu, quiet: None) -> None:
    kernels = library_kernels("SpGEMM")
    name = "SpGEMM f32, tiny grid"
    loaded = CASES[name].load("f32")
    assert gpu_measure._error(kernels["SpGEMM", "f32", "library"](*loaded.operands), loaded, "f32") < 2
    loaded.expected.data[0] *= 1.01
    assert gpu_measure._error(kernels["SpGEMM", "f32", "library"](*loaded.operands), loaded, "f32") > 64
    gpu.sparse.fail("cusparseSpGEMM_compute", 11)
    result = gpu_measure.measure(name, CASES[name], kernels, 0.01)
    assert result.verdict.startswith("DeviceMemoryError: cusparseSpGEMM_compute failed")


def test_checks_are_of_every_way(gpu: Gpu) -> None:
    number = gpu_checks.Check(gpu_checks.SPMV, "CSR")
    made = ms.compile(number.text, target="cuda:sm_90", via="codegen", out="dense", tensors=number.types)
    kernel = emulated(gpu, made.compile_for(*(number.types[name] for name in made.parameters)), "one_")
    result = gpu_measure.check(number, kernel)
    assert result.verdict == "ok"
    assert len(result.error) >= 6
    assert gpu_measure.check(number, None).verdict == "not compiled"
    gpu.driver.fail("cuLaunchKernel", 1)
    assert gpu_measure.check(number, kernel).verdict.startswith("DeviceError: cuLaunchKernel of one_kernel_")


def test_ways_that_are_right_for_some_operands_are_timed_of_those(gpu: Gpu) -> None:
    kernel = emulated(gpu, _kernel("SpMM", types_of("SpMM", "f32"), "cuda:sm_90", "codegen"), "one_")
    A = ms.tensor(np.eye(6, dtype=np.float32), "CSR").to("cuda")
    for columns, right in ((64, True), (63, False)):
        B = np.arange(6.0 * columns, dtype=np.float32).reshape(6, columns)
        found = gpu_ways.ways(kernel)
        assert {"one_kernel_adjacent_by_2 32x8", "one_kernel_adjacent_by_4 8x32"} <= set(found)
        for name, way in found.items():
            assert np.array_equal(way(A, from_host(B, Device(0))).to_numpy(), B)
            assert (gpu_ways.taken(way) == name) == (right or "adjacent" not in name)
    way = found["one_kernel_adjacent_by_4 32x8"]
    lower = gpu_ways.resized(way, 0.5)
    assert lower is not None
    assert gpu_ways._label(next(iter(lower._programs.values())).program) == "one_kernel_adjacent_by_4 32x4"
    assert gpu_ways.resized(way, 2.0) is None


def test_all_checks_and_cases_have_types_and_data() -> None:
    for one in gpu_checks.CHECKS:
        assert set(one.types) == set(one.shapes)
    passed, expected, scale = gpu_checks.data_of(gpu_checks.Check(gpu_checks.TTV, "CSF"))
    assert np.allclose(np.einsum("ijk,k->ij", passed["A"].to_numpy(), passed["b"]), expected)
    assert scale.shape == expected.shape
    assert {case.kernel for case in CASES.values()} == set(KERNELS)
    order = bench.chosen((), tiny=False)
    assert [name.startswith("check ") for name in order] == sorted([n.startswith("check ") for n in order])[::-1]
    musts = [CASES[name].must for name in order if name in CASES]
    assert musts == sorted(musts)[::-1]


def test_large_matrices_are_those_that_are_made_slowly() -> None:
    for sides in ((12, 11), (5, 6, 7), (9,)):
        made, known = gpu_inputs.grid(*sides), data.grid(*sides)
        assert np.array_equal(made.indptr, known.indptr)
        assert np.array_equal(made.indices, known.indices)
    for made in (gpu_inputs.uniform(90, 4), gpu_inputs.power_rows(20000, 60000)):
        again = made.copy()
        again.has_canonical_format = False
        again.sum_duplicates()
        assert again.nnz == made.nnz
        assert abs(again - made).nnz == 0
    assert np.diff(made.indptr).max() > 90  # of 3 on average


def test_chunks_of_other_sizes_are_other_kernels() -> None:
    with _chunks_of(16):
        other = _kernel("SpMV", types_of("SpMV", "f32"), "cuda:sm_90", "codegen")
    usual = _kernel("SpMV", types_of("SpMV", "f32"), "cuda:sm_90", "codegen")
    (one,), (two,) = other._programs.values(), usual._programs.values()
    assert one.program.ptx != two.program.ptx
    (three,) = _crowded(usual)._programs.values()
    assert three.program.ptx.count(".minnctapersm 8") == 2
    assert ".minnctapersm" not in two.program.ptx


def test_bounds_are_told_by_the_worst_figure() -> None:
    name = "5-point grid 4500^2, 101M"
    results = {
        f"SpMV f32, {name}": Result("", {"codegen": 1.0, "library": 0.95, "PyTorch (cuSPARSE)": 2.0}, gigabytes=700.0),
        f"SpMV f64, {name}": Result("", {"codegen": 1.0, "library": 0.5}, gigabytes=700.0),
        "MTTKRP rank 32 f32, 9 x 9, 81": Result("", {"codegen": 1.0}),
        "MTTKRP on the CPU f32, 9 x 9, 81": Result("", {"CPU, 2 threads": 7.0}),
        "2:4 SpMM f16, 4096^3": Result("", {"library": 1.0, "dense cuBLAS (PyTorch)": 1.4}),
        "SDDMM k=64 f32, grid": Result("", {"codegen": 1.0}, verdict="WRONG"),
    }
    assert gpu_goals.choices({"a": Result("a", ways={"x": 2e-6, "y": 1e-6}, taken="x"), "b": Result("b")}) == (
        " 2.00  a: takes x 2.0 us, fastest y 1.0 us"
    )
    head = {"copy GB/s": 1000.0, "call, us": {"added": 11.0}}
    lines = gpu_goals.table(head, results).splitlines()
    assert lines[0] == (
        "NOT REACHED   SpMV f32/f64 CSR on grids, speed beside cuSPARSE, at least 0.9: 0.50 "
        f"(SpMV f32, {name} 0.95, SpMV f64, {name} 0.50)"
    )
    assert [line.split("  ")[0].strip() for line in lines] == [
        "NOT REACHED",
        "NOT MEASURED",
        "NOT REACHED",
        "NOT MEASURED",
        "NOT MEASURED",
        "reached",
        "reached",
        "NOT REACHED",
    ]


def test_a_broken_device_ends_a_process_and_time_ends_all(
    gpu: Gpu, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "kernels").write_bytes(pickle.dumps(Kernels("abc", library_kernels("SpGEMM"), [], b"", {})))
    names = ("SpGEMM f32, tiny grid", "SpGEMM f32, tiny uniform")
    plan = gpu_worker.Plan(str(tmp_path / "kernels"), names, 0.01, False, time.time() + 60, head=False)
    broken = gpu_measure.measure

    def breaks(*given: Any, **named: Any) -> Result:
        gpu.driver.fail("cuStreamSynchronize", ILLEGAL_ADDRESS)
        return Result(names[0], verdict="DeviceError: illegal address")

    monkeypatch.setattr(gpu_worker, "measure", breaks)
    monkeypatch.setattr(gpu_worker.device, "synchronize", lambda: _cuda.synchronize(0, 0))
    assert [next(iter(event)) for event in gpu_worker.here(plan)] == ["starts", "result", "broken"]
    gpu.driver.fail("", 0)
    monkeypatch.setattr(gpu_worker, "measure", broken)
    late = replace(plan, until=time.time())
    told = [event["result"]["verdict"] for event in gpu_worker.here(late) if "result" in event]
    assert told == ["not run: too little time is left"] * 2


class Process:
    """A process that ends at its second case, whichever that is."""

    def __init__(self, plan: gpu_worker.Plan) -> None:
        self.names = plan.names
        self.code = -11 if len(plan.names) > 1 else 0

    def kill(self) -> None:
        pass

    def wait(self) -> int:
        return self.code


def test_what_ends_a_process_ends_no_other_case(monkeypatch: pytest.MonkeyPatch) -> None:
    def events(process: Process, until: float) -> Iterator[dict[str, Any]]:
        yield {"starts": process.names[0]}
        yield {"result": asdict(Result(process.names[0]))}
        if process.code:
            yield {"starts": process.names[1]}

    monkeypatch.setattr(gpu_worker, "_started", Process)
    monkeypatch.setattr(gpu_worker, "_events", events)
    told: list[dict[str, Any]] = []
    gpu_worker.apart(gpu_worker.Plan("", ("a", "b", "c"), 0.1, False, time.time() + 60), told.append)
    results = {event["result"]["name"]: event["result"]["verdict"] for event in told if "result" in event}
    assert results == {"a": "ok", "b": "the process ended, or hung: -11", "c": "ok"}


def test_a_process_of_its_own_tells_why_nothing_could_be_measured(tmp_path: Path) -> None:
    """Without a driver nothing is measured, and no exception of the parent's hides why."""
    if ms.device.available():
        pytest.skip("this machine has a driver")
    (tmp_path / "kernels").write_bytes(pickle.dumps(Kernels("abc", {}, [], b"", {})))
    told: list[dict[str, Any]] = []
    plan = gpu_worker.Plan(str(tmp_path / "kernels"), ("SpMV f32, tiny grid",), 0.01, False, time.time() + 60)
    gpu_worker.apart(plan, told.append)
    assert "broken" in told[1]
    (result,) = (event["result"] for event in told if "result" in event)
    assert result["verdict"].startswith("DeviceError: no CUDA driver")


def test_the_small_cases_are_loaded(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_data, "_torch", lambda: None)
    for name, case in gpu_cases.CASES.items():
        if "tiny" in name and "CPU" not in name:
            loaded = case.load(case.dtype)
            assert loaded.moved > 0
            assert loaded.operations > 0
            assert np.all(loaded.scale.data > 0 if hasattr(loaded.scale, "tocsr") else loaded.scale >= 0)


def test_without_a_driver_nothing_is_measured() -> None:
    if device.available():
        pytest.skip("this machine has a driver")
    run = CliRunner().invoke(bench.main, [])
    assert run.exit_code == 1
    assert run.output == (
        "Error: no CUDA driver (libcuda.so.1) found: run this on a machine with a GPU, or --prepare kernels for one\n"
    )
