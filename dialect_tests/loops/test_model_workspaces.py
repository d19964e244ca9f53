"""What rows of sparse results are read as, which gather in a workspace; and loops that are given other parts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mlir_sparse._mlir import ir, mlir_context, parse_module
from mlir_sparse.loops.effects import access_of
from mlir_sparse.loops.model import EMITTED, merging_loops
from mlir_sparse.loops.model_accesses import Compress, Expand
from mlir_sparse.loops.operation_index import Nest, Seen
from mlir_sparse.loops.regions import following, preceding, walk

ROWS = """
#CSR = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>
func.func @rows(%t: tensor<?x?xf64, #CSR>, %i: index, %j: index, %x: f64) -> tensor<?x?xf64, #CSR> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v, %f, %a, %none = sparse_tensor.expand %t : tensor<?x?xf64, #CSR> to memref<?xf64>, memref<?xi1>, memref<?xindex>
  %count = scf.for %k = %c0 to %j step %c1 iter_args(%so_far = %none) -> (index) {
    memref.store %x, %v[%k] : memref<?xf64>
    %more = arith.addi %so_far, %c1 : index
    scf.yield %more : index
  }
  %made = sparse_tensor.compress %v, %f, %a, %count into %t[%i]
    : memref<?xf64>, memref<?xi1>, memref<?xindex>, tensor<?x?xf64, #CSR>
  return %made : tensor<?x?xf64, #CSR>
}
"""
MERGE = """
func.func @merge(%n: index) -> index {
  %c0 = arith.constant 0 : index
  %r = scf.while (%p = %c0) : (index) -> index {
    %inside = arith.cmpi ult, %p, %n : index
    scf.condition(%inside) %p : index
  } do {
  ^bb0(%p: index):
    scf.yield %p : index
  } attributes {MARK}
  return %r : index
}
"""


@pytest.fixture(autouse=True)
def _context() -> Iterator[None]:
    with mlir_context():
        yield
        _modules.clear()


_modules: list[ir.Module] = []  # operations live as long as theirs


def _nest(text: str) -> Nest:
    _modules.append(parse_module(text))
    (found,) = Seen(_modules[-1]).nests({})
    return found


def test_rows_gather_in_a_workspace() -> None:
    nest = _nest(ROWS)
    tensor, i, j, _ = nest.function.regions[0].blocks[0].arguments
    (op,), (loop,) = nest.named("sparse_tensor.compress"), nest.for_loops
    row = Compress(op)
    assert (row.tensor, row.coordinates, row.count) == (tensor, [i], loop.results[0])
    workspace = row.workspace
    assert workspace is not None
    parts = [workspace.values, workspace.filled, workspace.added, workspace.count]
    assert parts == list(nest.named("sparse_tensor.expand")[0].results)
    assert loop.starts == [workspace.count]
    assert Expand.of(loop.results[0]) is None
    row.set_count(j)
    assert row.count == j


def test_loops_are_given_other_parts() -> None:
    (loop,) = _nest(ROWS).for_loops
    lower, upper, step = loop.limits
    assert (lower, upper) == loop.bounds
    loop.set_limits([upper, lower, step])
    assert loop.bounds == (upper, lower)
    loop.set_end(0, loop.carried[0])
    assert loop.ends == loop.carried
    assert loop.end.name == "scf.yield"


def test_accesses_move_to_another_element() -> None:
    nest = _nest(ROWS)
    (op,), (expand,) = nest.named("memref.store"), map(Expand, nest.named("sparse_tensor.expand"))
    access = access_of(op)
    assert access is not None
    access.move_to(access.buffer, expand.count)
    moved = access_of(op)
    assert moved is not None
    assert (moved.value, moved.address) == (access.value, (expand.values, expand.count))


@pytest.mark.parametrize(("mark", "count"), [(f'"{EMITTED}" = "i"', 1), ("", 0)])
def test_loops_that_merge_are_marked(mark: str, count: int) -> None:
    loops = merging_loops(_nest(MERGE.replace("MARK", mark)).function)
    assert [loop.lists is not None for loop in loops] == [True] * count
    for loop in loops:
        loop.set_condition(loop.condition)
        assert loop.test_end.name == "scf.condition"


def test_operations_stand_in_an_order() -> None:
    nest = _nest(ROWS)
    (loop,) = nest.for_loops
    before, behind = preceding(loop.op), following(loop.op)
    assert before is not None
    assert (before.name, behind.name) == ("sparse_tensor.expand", "sparse_tensor.compress")
    assert preceding(nest.named("arith.constant")[0]) is None
    names = [op.name for op in walk(loop.op)]
    assert names == ["scf.for", "memref.store", "arith.addi", "scf.yield"]
