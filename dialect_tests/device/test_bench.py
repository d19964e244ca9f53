"""The script that measures on a GPU, over stand-ins: what it checks, what it keeps."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
from benchmarks import gpu as bench
from benchmarks import gpu_cases
from benchmarks.gpu_cases import CASES, KERNELS
from click.testing import CliRunner

import mlir_sparse as ms
from dialect_tests.device.fake import Gpu
from dialect_tests.device.test_library import with_scales


def library_kernels(*names: str) -> dict[tuple[str, str, str], ms.Kernel]:
    found = {}
    for name, dtype in {(case.kernel, case.dtype) for case in CASES.values() if case.kernel in names}:
        kinds = {key: kind.replace("T[", f"{dtype}[") for key, kind in KERNELS[name].types.items()}
        found[name, dtype, "library"] = ms.compile(
            KERNELS[name].text, target="cuda:sm_90", via="library", out=KERNELS[name].out, tensors=kinds
        )
    return found


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves out what takes seconds: rates, other libraries, and kernels that are compiled."""
    monkeypatch.setattr(bench, "_gpu_versions", dict)
    monkeypatch.setattr(gpu_cases, "_torch", lambda: None)
    monkeypatch.setattr(bench, "_copy_rate", lambda where, seconds: 1.0)
    monkeypatch.setattr(bench, "_matrix_rate", lambda seconds: None)
    monkeypatch.setattr(bench, "overhead", lambda kernel, operands: {"added": 0.0})
    monkeypatch.setattr(bench, "_time", lambda call, seconds, on_host=False: call() and 1e-3)


@pytest.mark.usefixtures("quiet")
def test_results_are_checked_and_kept(gpu: Gpu, tmp_path: Path) -> None:
    with_scales(gpu)
    made = library_kernels("SpGEMM", "2:4 SpMM")
    made["SpMV", "f64", "codegen"] = next(iter(made.values()))
    (tmp_path / "kernels").write_bytes(pickle.dumps({"commit": "abc", "kernels": made, "cpu": b""}))
    options = ["--tiny", "--save", "--output", str(tmp_path), "--kernels", str(tmp_path / "kernels"), "SpGEMM", "2:4"]
    run = CliRunner().invoke(bench.main, options)
    assert run.exit_code == 0, run.output
    (path,) = tmp_path.glob("gpu-*-abc.json")
    kept = json.loads(path.read_text())
    assert (kept["device"], kept["chip"], kept["driver"]) == ("Stand-in 0", "sm_90", "CUDA 13.0")
    assert [result["verdict"] for result in kept["results"]] == ["ok"] * 3
    assert all(result["error"]["library"] <= 1 for result in kept["results"])


@pytest.mark.usefixtures("quiet")
def test_a_wrong_number_and_a_failure_are_said(gpu: Gpu) -> None:
    kernels = library_kernels("SpGEMM")
    name = "SpGEMM f32, tiny grid"
    loaded = CASES[name].load("f32")
    assert bench._error(kernels["SpGEMM", "f32", "library"](*loaded.operands), loaded, "f32") == 0
    loaded.expected.data[0] *= 1.01
    assert bench._error(kernels["SpGEMM", "f32", "library"](*loaded.operands), loaded, "f32") > 64
    gpu.sparse.fail("cusparseSpGEMM_compute", 11)
    result = bench.measure(name, CASES[name], kernels, 0.01)
    assert result.verdict.startswith("DeviceMemoryError: cusparseSpGEMM_compute failed")
