"""Other libraries: for each kernel they have, a function from operands to the call to time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.data import Operands

__all__ = ["PEERS", "Call", "Prepare"]

Call = Callable[[], Any]
Prepare = Callable[[Operands], Call]


def _checked(matrix: Any) -> Any:
    matrix.check_format(full_check=True)  # ranges only, not the order
    return matrix


PEERS: Mapping[str, Mapping[str, Prepare]] = {
    "SciPy": {
        "spmv": lambda o: lambda: o["A"] @ o["x"],
        "spmv-out": lambda o: lambda: o["A"] @ o["x"],
        "spmm": lambda o: lambda: o["A"] @ o["X"],
        "pack": lambda o: o["A"].tocsr,
        "pack-csc": lambda o: o["A"].tocsc,
        "to-csc": lambda o: o["A"].tocsc,
        "to-coo": lambda o: lambda: o["A"].tocoo(copy=True),  # ours shares nothing with its source either
        "to-bsr": lambda o: lambda: o["A"].tobsr((4, 4)),
        "validate": lambda o: lambda: _checked(o["A"]),
    },
}
