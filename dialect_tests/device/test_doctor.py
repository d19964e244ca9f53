"""What `mlir-sparse doctor` says of devices, and of machines without."""

from __future__ import annotations

import pytest

from dialect_tests.device.fake import Gpu
from mlir_sparse import device
from mlir_sparse.tools.doctor import _devices


def test_devices_and_libraries_are_shown(gpu: Gpu) -> None:
    found = {finding.name: finding.found for finding in _devices()}
    assert list(found) == ["CUDA driver", "cuda:0", "cuda:1", "cuSPARSE", "cuSPARSELt"]
    assert found["CUDA driver"] == f"CUDA 13.0, 2 device(s), {gpu.driver.path}"
    assert found["cuda:1"] == "Stand-in 1, sm_90, 1 GiB free of 1 GiB"
    assert found["cuSPARSE"] == f"12503, {gpu.sparse.path}"
    assert found["cuSPARSELt"] == f"602, {gpu.structured.path}"


def test_without_a_driver_it_says_what_does_not_work() -> None:
    if device.available():
        pytest.skip("this machine has a driver")
    found = {finding.name: finding for finding in _devices()}
    assert "no CUDA driver (libcuda.so.1) found" in found["CUDA driver"].found
    assert found["CUDA driver"].needed == 'running with target="cuda"'
    assert found["cuSPARSE"].needed == 'via="library"'
