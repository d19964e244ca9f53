"""Pipelines as text: what MLIR parses, each pass with its reason."""

from __future__ import annotations

import re

import pytest

from mlir_sparse import pipeline
from mlir_sparse._mlir import bindings, mlir_context
from mlir_sparse.pipeline import Pass, Pipeline
from mlir_sparse.pipeline.own import OWN_PASSES


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
