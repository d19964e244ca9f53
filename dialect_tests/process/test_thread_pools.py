"""threadpoolctl lists and limits the threads of this package, whichever is imported first."""

from __future__ import annotations

import subprocess
import sys

import pytest

import mlir_sparse as ms

threadpoolctl = pytest.importorskip("threadpoolctl", reason="expected threadpoolctl (extra test)")


def _own() -> list[dict[str, object]]:
    return [one for one in threadpoolctl.threadpool_info() if one["user_api"] == "mlir_sparse"]


def test_threads_are_listed_once() -> None:
    (row,) = _own()
    assert row["internal_api"] == "mlir_sparse"
    assert row["num_threads"] == ms.get_num_threads()
    assert row["version"] == ms.__version__
    assert str(row["filepath"]).rpartition("/")[2].startswith("_native.")


def test_limits_hold_for_all_libraries_and_for_this_one() -> None:
    before = ms.get_num_threads()
    for api in (None, "mlir_sparse"):
        with threadpoolctl.threadpool_limits(limits=1, user_api=api):
            assert ms.get_num_threads() == 1
            assert [row["num_threads"] for row in _own()] == [1]
        assert ms.get_num_threads() == before
    with threadpoolctl.threadpool_limits(limits={"mlir_sparse": 3}):
        assert ms.get_num_threads() == 3
    with threadpoolctl.threadpool_limits(limits=1, user_api="blas"):
        assert ms.get_num_threads() == before
    ms.set_num_threads(None)


@pytest.mark.parametrize("order", ["threadpoolctl, mlir_sparse", "mlir_sparse, threadpoolctl"])
def test_either_may_be_imported_first(order: str) -> None:
    program = (
        f"import sys, {order}\n"
        "print(sum(one['user_api'] == 'mlir_sparse' for one in threadpoolctl.threadpool_info()))\n"
        "print(*[one for one in sys.meta_path if type(one).__name__ == '_WhenImported'])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1"]


def test_it_is_not_imported_for_it_and_may_be_missing() -> None:
    program = """
import sys, mlir_sparse
assert "threadpoolctl" not in sys.modules
sys.path = [one for one in sys.path if "site-packages" not in one]
try:
    import threadpoolctl
except ModuleNotFoundError as error:
    print(error.name)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["threadpoolctl"]
