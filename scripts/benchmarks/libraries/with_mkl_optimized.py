"""MKL after its optimize step, which copies the matrix into a form of its own: time that is not counted.

That form is for as many threads as there are at the time, and takes them whatever is said later: each number has its
own, made when it is first called.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.libraries import IN_PLACE, Call, Calls, Prepare
from benchmarks.libraries.mkl_handles import Handle, set_threads, threads
from benchmarks.libraries.with_mkl import in_place, plain

__all__ = ["CALLS", "plain", "set_threads"]


def _spmv(o: Mapping[str, Any]) -> Calls:
    made: dict[int, Call] = {}

    def call() -> Any:
        number = threads()
        if number not in made:
            made[number] = in_place(Handle(o["A"]).optimized(), o["x"])[IN_PLACE]
        return made[number]()

    return {IN_PLACE: call}


CALLS: Mapping[str, Prepare] = {f"spmv-{storage}": _spmv for storage in ("csr", "coo", "bsr")}
