"""Other libraries: for each kernel they have, a function from operands to the call to time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.data import Operands

__all__ = ["PEERS", "Call", "Prepare"]

Call = Callable[[], Any]
Prepare = Callable[[Operands], Call]

PEERS: Mapping[str, Mapping[str, Prepare]] = {
    "SciPy": {
        "spmv": lambda o: lambda: o["A"] @ o["x"],
        "spmv-out": lambda o: lambda: o["A"] @ o["x"],
        "spmm": lambda o: lambda: o["A"] @ o["X"],
        "pack": lambda o: o["A"].tocsr,
    },
}
