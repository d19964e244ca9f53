"""Names of tasks: Dask takes those that begin alike to last equally long, and places pieces by that."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import mlir_sparse as ms

da = pytest.importorskip("dask.array")
msd = pytest.importorskip("mlir_sparse.dask")

N = 1024
GRID = sp.diags_array([np.full(N, 4.0), *[np.full(N, -1.0)] * 4], offsets=[0, -1, 1, -32, 32], shape=(N, N)).tocsr()


def _asked(parts: Any) -> Any:
    """Returns parts that are computed by tasks, so that tasks tell their images."""
    return parts.map_blocks(lambda part: part, dtype=parts.dtype, meta=parts._meta)


@pytest.mark.parametrize("at_hand", [True, False])
@pytest.mark.parametrize(
    ("text", "operands"),
    [
        ("y(i) = A(i,j) * x(j)", {"x": da.ones(N, chunks=128)}),
        ("y(i) = A(i,j) * x(j)", {"x": np.ones(N)}),
        ("C(i,k) = A(i,j) * P(j,k)", {"P": msd.from_tensor(ms.tensor(GRID), pieces=4)}),
        ("s = A(i,j) * x(i)", {"x": np.ones(N)}),
        ("y(j) = A(i,j) * x(i)", {"x": np.ones(N)}),
    ],
)
def test_only_pieces_begin_as_pieces_do(
    text: str, operands: dict[str, Any], at_hand: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dask.utils import key_split

    from mlir_sparse.dask.piece_tasks import computed_piece

    monkeypatch.setattr("mlir_sparse.dask.image_operands.TASK_NBYTES", 0)
    parts = msd.from_tensor(ms.tensor(GRID), pieces=12)  # so many that sums are joined twice
    found = msd.evaluate(text, A=parts if at_hand else _asked(parts), along="i", **operands)
    functions: dict[str, set[Any]] = {}
    for key, task in dict(found.dask.layers[found.name]).items():
        function = getattr(task, "func", None) or (task[0] if isinstance(task, tuple) else type(task))
        functions.setdefault(key_split(key), set()).add(function)
    labels = [label for label, own in functions.items() if computed_piece in own]
    assert len(labels) == 1
    assert functions[labels[0]] == {computed_piece}
    assert "".join(text.split()) in labels[0]  # the dashboard shows the statement


def test_schedulers_know_that_tasks_beside_pieces_are_short() -> None:
    scheduler = pytest.importorskip("distributed.scheduler")
    for label in ("image-send", "image-places", "piece-kernel", "operand-whole", "image-known", "part-division"):
        assert 0 < scheduler.TaskPrefix(label).duration_average <= 1e-3
