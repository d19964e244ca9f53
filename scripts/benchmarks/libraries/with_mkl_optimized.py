"""MKL after its optimize step, which copies the matrix into a form of its own: time that is not counted."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.libraries import Prepare
from benchmarks.libraries.mkl_handles import Handle, set_threads
from benchmarks.libraries.with_mkl import in_place, plain

__all__ = ["CALLS", "plain", "set_threads"]

CALLS: Mapping[str, Prepare] = {
    f"spmv-{storage}": lambda o: in_place(Handle(o["A"]).optimized(), o["x"]) for storage in ("csr", "coo", "bsr")
}
