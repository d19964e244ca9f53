"""The same graphs on Ray's scheduler, where Ray is installed: `pip install ray pandas`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.as_array import as_array
from dialect_tests.comprehension_cases import CHAIN

msd = pytest.importorskip("mlir_sparse.dask")
ray = pytest.importorskip("ray", reason="Ray is no dependency, as graphs are Dask's: install it to run them there")
scheduler = pytest.importorskip("ray.util.dask", exc_type=ImportError, reason="Ray's scheduler for Dask needs pandas")

N = 120
random = np.random.default_rng(3)
D = random.random((N, N)) * (random.random((N, N)) < 0.1)
x = random.random(N)


@pytest.fixture(scope="module")
def get() -> Iterator[Any]:
    """Gives Ray's scheduler on two processes of this machine."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}.items():
            patch.setenv(name, value)
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=200 << 20)
        try:
            yield scheduler.ray_dask_get
        finally:
            ray.shutdown()


def _reads(low: int, high: int) -> np.ndarray:
    return D[low:high]


STATEMENTS = {
    "y(i) = A(i,j) * x(j)": {},
    "y(j) = A(i,j) * x(i)": {},
    "C(i,k) = A(i,j) * B(j,k)": {},
    "y(i) = A(i,j) * B(j,k) * x(k)": {},
    "y(i) = A(i,j) + x(j)": {"semiring": "min_plus"},
    CHAIN.format(outputs="y"): {"optimize": "off"},
    CHAIN.format(outputs="y, C"): {},
}


@pytest.mark.parametrize("text", STATEMENTS)
def test_ray_computes_what_the_whole_gives(text: str, get: Any) -> None:
    names = ms.parse(text).inputs
    whole = {"A": ms.tensor(D, "CSR"), "B": ms.tensor(D.T.copy(), "DCSR"), "x": x}
    read = msd.from_source(_reads, shape=(N, N), type="f64[?,?] CSR", cuts=[0, 50, 60, N])
    parts = {"A": read, "B": msd.from_tensor(whole["B"], pieces=3), "x": x}
    expected = ms.evaluate(text, tensors={name: whole[name] for name in names}, **STATEMENTS[text])
    made = ms.evaluate(text, tensors={name: parts[name] for name in names}, **STATEMENTS[text])
    pairs = zip(made, expected, strict=True) if isinstance(made, tuple) else [(made, expected)]
    for one, other in pairs:
        np.testing.assert_allclose(as_array(one.compute(scheduler=get)), as_array(other), rtol=1e-12)


def test_rays_processes_run_the_kernels(get: Any) -> None:
    import dask.array as da

    A = msd.from_tensor(ms.tensor(D, "CSR"), pieces=4)
    processes = da.map_blocks(_process, A, dtype=np.int64, chunks=(1, 1)).compute(scheduler=get)
    assert os.getpid() not in processes
    total = (A + A.T).sum(axis=0).compute(scheduler=get)
    np.testing.assert_allclose(total, (D + D.T).sum(axis=0), rtol=1e-12)


def _process(part: Any) -> np.ndarray:
    assert isinstance(part, ms.SparseTensor)
    return np.full((1, 1), os.getpid())
