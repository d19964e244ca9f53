"""Runs of neighbouring columns as vectors: what the pass leaves alone because it cannot know where buffers lie."""

from __future__ import annotations

import pytest

from mlir_sparse._mlir import mlir_context, parse_module
from mlir_sparse.pipeline.own import run_passes

SCATTER = """
func.func @kernel(%positions: memref<?xi32>, %columns: memref<?xi32>, %values: memref<?xf64>, %x: memref<?xf64>,
                  %y: memref<?xf64>, %n: index, %which: i1) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  {choice}
  scf.for %i = %c0 to %n step %c1 {{
    %factor = memref.load %x[%i] : memref<?xf64>
    %first = memref.load %positions[%i] : memref<?xi32>
    %begin = arith.index_castui %first : i32 to index
    %next = arith.addi %i, %c1 : index
    %last = memref.load %positions[%next] : memref<?xi32>
    %end = arith.index_castui %last : i32 to index
    scf.for %p = %begin to %end step %c1 {{
      %column = memref.load %columns[%p] : memref<?xi32>
      %j = arith.index_castui %column : i32 to index
      %so_far = memref.load {target}[%j] : memref<?xf64>
      %a = memref.load %values[%p] : memref<?xf64>
      %more = arith.mulf %a, %factor : f64
      %sum = arith.addf %so_far, %more : f64
      memref.store %sum, {target}[%j] : memref<?xf64>
    }}
  }}
  return
}}
"""
UNKNOWN = """%some = scf.if %which -> (memref<?xf64>) {
    scf.yield %y : memref<?xf64>
  } else {
    scf.yield %values : memref<?xf64>
  }"""


@pytest.mark.parametrize(("choice", "target", "runs"), [("", "%y", True), (UNKNOWN, "%some", False)])
def test_results_of_which_it_is_not_known_where_they_lie_stay_as_they_are(choice: str, target: str, runs: bool) -> None:
    with mlir_context():
        module = parse_module(SCATTER.format(choice=choice, target=target))
        run_passes(module, "builtin.module(scatter-runs{every=true})")
        assert ("vector" in str(module)) == runs
