"""Pipelines as text: what MLIR parses, each pass with its reason."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import mlir_sparse as ms
from mlir_sparse import pipeline
from mlir_sparse._mlir import bindings, mlir_context
from mlir_sparse.pipeline import Pass, Pipeline
from mlir_sparse.pipeline.own_passes import OWN_PASSES


@pytest.mark.parametrize("lanes", [0, 4, 8])
def test_mlir_parses_the_pipelines(lanes: int) -> None:
    passes = pipeline.sparsifier(lanes).then(pipeline.cpu()).passes
    whole = Pipeline(tuple(step for step in passes if step.name not in OWN_PASSES))
    with mlir_context():
        parsed = bindings().module("passmanager").PassManager.parse(str(whole))
    names = re.findall(r"[a-z][\w-]+(?=[,{)])", str(whole))
    for name in (part for part in names if "-" in part and "=" not in part):
        assert name in str(parsed)
    assert f"vl={lanes}" in str(parsed)


def test_every_pass_says_why() -> None:
    for step in (*pipeline.sparsifier(8).passes, *pipeline.cpu().passes):
        assert len(step.reason.split()) >= 2, step


def test_no_parallelism_that_the_front_end_did_not_prove() -> None:
    assert "parallelization-strategy=none" in str(pipeline.sparsifier(8))
    assert "sparse-emit-strategy=functional" in str(pipeline.sparsifier(8))


def test_printing() -> None:
    inner = Pass("p", "a test", (("flag", True), ("n", 3), ("s", "x")), on_functions=True)
    assert str(Pipeline((inner, Pass("q", "a test")))) == "builtin.module(func.func(p{flag=true n=3 s=x}),q)"


def test_lanes_fit_the_host() -> None:
    assert pipeline.vector_lanes() in (0, 2, 4, 8, 16)


# Every optional pass is taken out in turn; what is left computes the same, in pieces and whole.
WITHOUT = """
import os
os.environ["MLIR_SPARSE_CACHE"] = "off"
import numpy as np
import mlir_sparse as ms
from mlir_sparse import _native, pipeline
from mlir_sparse.compile import entry_points

_native.set_piece_work(1)
dense = np.zeros((20, 24))
dense[::3, ::2] = np.arange(7 * 12).reshape(7, 12) % 5 - 2.0
lower = np.tril(dense)
x, B = np.arange(24) % 4.0, np.arange(24 * 17).reshape(24, 17) % 3.0
C = np.roll(dense, 1, 1)
KERNELS = [
    ("y(i) = A(i,j) * x(j)", {"A": "CSR", "x": None}, None, dense @ x),
    ("y(i) = A(i,j) * x(j)", {"A": "COO", "x": None}, None, dense @ x),
    ("y(i) = A(i,j) * x(j)", {"A": "SlotELL", "x": None}, None, dense @ x),
    ("y(j) = A(i,j) * z(i)", {"A": "CSR", "z": None}, None, dense.T @ x[:20]),
    ("Y(i,k) = A(i,j) * B(j,k)", {"A": "CSR", "B": None}, None, dense @ B),
    ("Y(i,k) = A(i,j) * B(j,k)", {"A": "BSR", "B": None}, None, dense @ B),
    ("Y(i,j) = A(i,j) + C(i,j)", {"A": "CSR", "C": "CSR"}, "CSR", dense + C),
    ("Y(i,j) = L(i,j)", {"L": "CSR"}, "dense", lower),
]
DATA = {"A": dense, "C": C, "L": lower, "x": x, "z": x[:20], "B": B}
sparsifier, cpu = pipeline.sparsifier, pipeline.cpu

def check():
    entry_points._compiled.cache_clear()
    for threads in (1, 3):
        ms.set_num_threads(threads)
        for text, stored, out, expected in KERNELS:
            block = {"block": (4, 4)}
            operands = {
                n: DATA[n] if s is None else ms.tensor(DATA[n], s, **(block if s == "BSR" else {}))
                for n, s in stored.items()
            }
            found = ms.compile(text, out=out, tensors=operands)(**operands)
            found = found.to_numpy() if isinstance(found, ms.SparseTensor) else found
            assert np.array_equal(found, expected), (text, stored, threads)

def without(name, whole):
    return whole.without(name) if any(step.name == name for step in whole.passes) else whole

for name in NAMES:
    pipeline.sparsifier = lambda *rest, name=name, **options: without(name, sparsifier(*rest, **options))
    pipeline.cpu = lambda name=name: without(name, cpu())
    print(name, flush=True)
    check()
"""


def test_optional_passes_are_optional() -> None:
    every = (*pipeline.sparsifier(8).passes, *pipeline.sparsifier(8, "assemble").passes, *pipeline.cpu().passes)
    names = list(dict.fromkeys(step.name for step in every if step.optional))
    assert {"register-tile", "prefetch-rows", "sparse-vectorization"} <= set(names)
    program = WITHOUT.replace("NAMES", repr(names))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, f"without {done.stdout.split()[-1:]}: {done.stderr}"
    assert done.stdout.split() == names


@pytest.mark.parametrize("name", ["bound-rows", "assemble-sparse-results", "cse", "no-such-pass"])
def test_passes_that_code_is_wrong_without_cannot_be_taken_out(name: str) -> None:
    whole = pipeline.sparsifier(0, "assemble").then(pipeline.cpu())
    with pytest.raises(ms.UnsupportedError, match=rf"expected a pass that can be taken out .*, but got '{name}'"):
        whole.without(name)
    assert "register-tile" not in str(whole.without("register-tile"))
