"""Messages end, however long what users give is."""

from __future__ import annotations

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse.errors import CompileError, SparseError

LONG = "9" * 10_000


@pytest.mark.parametrize(
    "call",
    [
        lambda: ms.encoding(LONG),
        lambda: ms.encoding(f"({LONG}) -> (i : dense)"),
        lambda: ms.parse(LONG),
        lambda: ms.parse(f"y(i) = A(i) + x{LONG} +"),
        lambda: ms.compile("y(i) = A(i)", A="f64[?]", schedule=f"lanes={LONG}"),
        lambda: ms.compile("y(i) = A(i)", A=f"f64[?] {LONG}"),
        lambda: ms.evaluate("y(i) = A(i)", **{f"x{LONG}": np.ones(2)}),
        lambda: ms.write(f"a.{LONG}", np.ones(2)),
        lambda: ms.tensor(LONG),
        lambda: ms.einsum(LONG, np.ones(2)),
    ],
)
def test_messages_end(call: object) -> None:
    with pytest.raises(SparseError) as caught:
        call()  # type: ignore[operator]
    assert str(caught.value).startswith(("expected", "notation:", "encoding:", "type:", "einsum:"))
    assert len(str(caught.value)) < 2500


def test_what_mlir_says_is_kept_whole() -> None:
    assert CompileError(LONG).message == LONG
    assert SparseError(f"expected {LONG}: do this").message.endswith("9: do this")
