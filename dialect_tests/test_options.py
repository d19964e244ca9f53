"""Options mean the same wherever they are given: what one way refuses, all refuse, by the same words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import mlir_sparse as ms
from mlir_sparse.tools.cli import main

SPMV, SPMM = "y(i) = A(i,j) * x(j)", "C(i,j) = A(i,k) * B(k,j)"
RANGED = "y(i) = A(i,j) * x(j), i in 0:2"
EYE = ms.tensor(np.eye(4), "CSR")
WAYS: dict[str, Callable[..., Any]] = {
    "compile": lambda **options: ms.compile(SPMV, A=EYE, x=np.ones(4), **options),
    "evaluate": lambda **options: ms.evaluate(SPMV, A=EYE, x=np.ones(4), **options),
    "evaluate tensors=": lambda **options: ms.evaluate(SPMV, tensors={"A": EYE, "x": np.ones(4)}, **options),
    "compile a comprehension": lambda **options: ms.compile(COMPREHENSION, A=EYE, x=np.ones(4), **options),
    "evaluate a comprehension": lambda **options: ms.evaluate(COMPREHENSION, A=EYE, x=np.ones(4), **options),
}
COMPREHENSION = "def mv(double(M,K) A, double(K) x) -> (C) { C(i) +=! A(i,k) * x(k) }"
GPU = "cuda:sm_90"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"via": "nonsense"}, ms.UnsupportedError, "expected via= one of auto, codegen, library, but got 'nonsense'"),
        ({"via": None}, ms.UnsupportedError, "expected via= one of auto, codegen, library, but got None"),
        ({"via": "library"}, ms.UnsupportedError, "expected via= for target='cuda' only"),
        ({"via": "nonsense", "target": GPU}, ms.UnsupportedError, "expected via= one of auto, codegen, library"),
        ({"threads": 2, "target": GPU}, ms.ScheduleError, "expected threads= and deterministic= for target='cpu' only"),
        ({"deterministic": True, "target": GPU}, ms.ScheduleError, "expected threads= and deterministic= for target="),
        ({"deterministic": "no"}, ms.ScheduleError, "expected deterministic=True or False, but got 'no'"),
        ({"threads": 0}, ms.ScheduleError, "expected at least 1 thread, but got 0"),
        ({"threads": "2"}, ms.ScheduleError, "expected at least 1 thread, but got '2'"),
        ({"threads": 2.0}, ms.ScheduleError, "expected at least 1 thread, but got 2.0"),
        ({"target": "gpu"}, ms.UnsupportedError, "expected target='cpu', 'cuda' or a chip such as"),
        ({"target": None}, ms.UnsupportedError, "expected target='cpu', 'cuda' or a chip such as"),
        ({"target": "cuda:1"}, ms.UnsupportedError, "expected target='cpu', 'cuda' or a chip such as"),
        ({"schedule": 7}, ms.ScheduleError, "expected a Schedule or its text, but got int"),
        ({"schedule": "fast"}, ms.ScheduleError, "expected a schedule such as"),
        ({"schedule": "lanes=8 tile=64", "target": GPU}, ms.UnsupportedError, "expected a schedule with an order only"),
        ({"schedule": "tile=0", "target": GPU}, ms.UnsupportedError, "expected a schedule with an order only"),
        ({"schedule": "tuned", "target": GPU}, ms.UnsupportedError, "expected schedule='tuned' for target='cpu' only"),
        (
            {"schedule": "order=i,j", "target": GPU, "via": "library"},
            ms.UnsupportedError,
            "expected no schedule for via='library'",
        ),
    ],
    ids=str,
)
def test_refused_in_every_way(way: str, options: dict[str, Any], kind: type[ms.SparseError], message: str) -> None:
    with pytest.raises(kind) as caught:
        WAYS[way](**options)
    assert message in str(caught.value)


@pytest.mark.parametrize("way", ["compile", "evaluate"])
def test_a_tile_without_rows_to_hold(way: str) -> None:
    with pytest.raises(
        ms.UnsupportedError, match=r"expected no tile where no innermost loop runs over rows .*'tile=7'"
    ):
        WAYS[way](schedule="tile=7")
    WAYS[way](schedule="tile=0")  # none is what it has
    B = np.arange(12.0).reshape(4, 3)
    np.testing.assert_array_equal(ms.evaluate(SPMM, A=EYE, B=B, schedule="tile=7"), B)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--schedule", "tile=7"], "expected no tile where"),
        (["--target", GPU, "--schedule", "lanes=8 tile=64", "--stage", "plan"], "expected a schedule with an order"),
        (["--via", "library"], "expected via= for target='cuda' only"),
        (["--target", "gpu"], "expected target='cpu', 'cuda' or a chip"),
    ],
)
def test_the_command_line_refuses_the_same(arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(main, ["emit", SPMV, "-f", "A:CSR", *arguments])
    assert done.exit_code == 1
    assert message in done.output


def test_an_order_is_what_a_gpu_takes_of_a_schedule() -> None:
    asked = {"A": "f64[?,?] CSR", "B": "f64[?,?]", "target": GPU}
    texts = [ms.compile(SPMM, schedule=order, **asked).explain() for order in (None, "order=i,k,j", "order=i,j,k")]
    assert texts[0] == texts[1] != texts[2]


def test_what_is_right_is_taken_by_all() -> None:
    for options in ({}, {"threads": 1}, {"threads": 10**30}, {"deterministic": True}, {"via": "auto", "target": "cpu"}):
        for way in ("evaluate", "evaluate tensors=", "evaluate a comprehension"):
            np.testing.assert_array_equal(WAYS[way](**options), np.ones(4))
