"""What loops of sparsified code are read as: each part by its name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mlir_sparse._mlir import ir, mlir_context, parse_module
from mlir_sparse.loops.effects import access_of
from mlir_sparse.loops.model import ForLoop, loop_of
from mlir_sparse.loops.model_accesses import Accumulate, Gather, Insert, NamedRow, Segment, StreamAccess, is_next
from mlir_sparse.loops.operation_index import Nest, Seen
from mlir_sparse.loops.value_origins import base_and_offset, outermost
from mlir_sparse.program.loop_form import LoopForm

ROWS = """
func.func @rows(%pos: memref<?xi32>, %crd: memref<?xi32>, %val: memref<?xf64>, %y: memref<?xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %begin = memref.load %pos[%i] : memref<?xi32>
    %lower = arith.index_castui %begin : i32 to index
    %after = arith.addi %i, %c1 : index
    %end = memref.load %pos[%after] : memref<?xi32>
    %upper = arith.index_castui %end : i32 to index
    scf.for %p = %lower to %upper step %c1 {
      %c = memref.load %crd[%p] : memref<?xi32>
      %j = arith.index_castui %c : i32 to index
      %a = memref.load %val[%p] : memref<?xf64>
      %before = memref.load %y[%j] : memref<?xf64>
      %sum = arith.addf %before, %a : f64
      memref.store %sum, %y[%j] : memref<?xf64>
    }
  }
  return
}
"""
NAMED = ROWS.replace(
    "%begin = memref.load %pos[%i]",
    "%k = memref.load %crd[%i] : memref<?xi32>\n"
    "    %row = arith.index_castui %k : i32 to index\n    %begin = memref.load %pos[%row]",
)
MERGE = """
func.func @merge(%n: index, %m: index, %half: memref<?xi32>) -> (index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.while (%p = %c0, %q = %c1) : (index, index) -> (index, index) {
    %left = arith.cmpi ult, %p, %n : index
    %right = arith.cmpi ult, %q, %m : index
    %both = arith.andi %left, %right : i1
    scf.condition(%both) %p, %q : index, index
  } do {
  ^bb0(%p: index, %q: index):
    %next = arith.addi %p, %c1 : index
    scf.yield %next, %q : index, index
  }
  return %r#0, %r#1 : index, index
}
"""
INSERT = """
#CSR = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>
func.func @insert(%t: tensor<?x?xf64, #CSR>, %v: f64, %i: index, %j: index) -> tensor<?x?xf64, #CSR> {
  %made = tensor.insert %v into %t[%i, %j] : tensor<?x?xf64, #CSR>
  return %made : tensor<?x?xf64, #CSR>
}
"""


@pytest.fixture(autouse=True)
def _context() -> Iterator[None]:
    with mlir_context():
        yield
        _modules.clear()


_modules: list[ir.Module] = []  # operations live as long as theirs


def nest(text: str) -> Nest:
    _modules.append(parse_module(text))
    (found,) = Seen(_modules[-1]).nests({})
    return found


def test_loops_over_rows_and_their_entries() -> None:
    rows = nest(ROWS)
    entries, level = rows.for_loops
    arguments = list(rows.function.regions[0].blocks[0].arguments)
    assert (level.form, entries.form) == (LoopForm.DENSE, LoopForm.POSITIONS)
    assert (level.is_over_level, entries.is_over_level) == (True, False)
    assert (level.is_over_entries, entries.is_over_entries) == (False, True)
    assert level.step == entries.step == 1
    assert level.upper == arguments[4]
    assert level.starts == level.carried == level.ends == level.results == []
    assert entries.around == level.op
    assert [op.name for op in entries.body][-1] == "memref.store"
    assert [loop.op for loop in rows.innermost_loops] == [entries.op]
    assert Segment.of(level) is None
    assert Segment.of(entries) == Segment(arguments[0], level.index)


def test_loops_over_rows_that_coordinates_name() -> None:
    entries, level = nest(NAMED).for_loops
    row = NamedRow.of(entries)
    assert row is not None
    assert (row.coordinate.at, row.is_of_entry) == ((level.index,), True)
    assert row.begin.op.result == entries.lower.owner.operands[0]
    assert NamedRow.of(level) is None
    assert all(NamedRow.of(loop) is None for loop in nest(ROWS).for_loops)


def test_rows_that_other_entries_name() -> None:
    later = "%later = arith.addi %i, %c1 : index\n    %k = memref.load %crd[%later]"
    entries, level = nest(NAMED.replace("%k = memref.load %crd[%i]", later)).for_loops
    row = NamedRow.of(entries)
    assert row is not None
    assert not row.is_of_entry
    assert base_and_offset(row.coordinate.at[0]) == (level.index, 1)


def test_how_many_turns_loops_have_and_whose_index_a_value_is() -> None:
    entries, level = nest(ROWS).for_loops
    assert (entries.trip_count, level.trip_count) == (None, None)
    assert nest(ROWS.replace("%i = %c0 to %n", "%i = %c0 to %c1")).for_loops[1].trip_count == 1
    assert nest(ROWS.replace("%i = %c0 to %n", "%i = %c1 to %c1")).for_loops[1].trip_count is None
    assert ForLoop.of_index(level.index) == level
    assert ForLoop.of_index(level.upper) is None
    assert ForLoop.of_index(level.lower) is None


def test_the_outermost_loop_before_which_values_are_known() -> None:
    entries, level = nest(ROWS).for_loops
    store = entries.body[-1]
    assert outermost(store) == outermost(store, level.upper) == level.op
    assert outermost(store, entries.upper) == entries.op
    assert outermost(store, entries.index) == store


def test_what_a_turn_reads_and_writes() -> None:
    rows = nest(ROWS)
    entries = rows.for_loops[0]
    _, crd, val, y, _ = rows.function.regions[0].blocks[0].arguments
    assert [stream.access.buffer for stream in StreamAccess.all_of(entries)] == [crd, val]
    gathers = [gather for op in entries.body if (gather := Gather.of(op)) is not None]
    assert [gather.access.buffer for gather in gathers] == [y, y]
    assert {gather.coordinate.buffer for gather in gathers} == {crd}
    accesses = [access for op in entries.body if (access := access_of(op)) is not None]
    total = Accumulate.of(accesses[-1], accesses)
    assert total is not None
    assert (total.load, total.store) == (accesses[2], accesses[3])
    assert Accumulate.of(accesses[-1], accesses[:2]) is None


def test_a_number_and_the_next() -> None:
    level = nest(ROWS).for_loops[1]
    _, _, after, *_ = level.body
    assert is_next(level.index, after.results[0])
    assert not is_next(after.results[0], level.index)
    assert not is_next(level.index, level.index)


def test_carried_values() -> None:
    text = ROWS.replace(
        "scf.for %i = %c0 to %n step %c1 {", "%r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %c1) -> (index) {"
    )
    text = text.replace(
        "    }\n  }\n  return", "    }\n    %t = arith.addi %s, %i : index\n    scf.yield %t : index\n  }\n  return"
    )
    level = nest(text).for_loops[1]
    (start,), (carried,), (end,), (result,) = level.starts, level.carried, level.ends, level.results
    assert level.body[-1].results[0] == end
    assert list(level.body[-1].operands) == [carried, level.index]
    other = level.bounds[1]
    level.set_start(0, other)
    level.set_lower(other)
    assert (level.starts, level.lower) == ([other], other)
    assert start != other
    assert list(result.uses) == []


def test_loops_that_merge() -> None:
    found = nest(MERGE)
    (merge,) = found.while_loops
    n, m, _ = found.function.regions[0].blocks[0].arguments
    assert merge.form is LoopForm.MERGE
    lists = merge.lists
    assert lists is not None
    assert [(each.number, each.end) for each in lists] == [(0, n), (1, m)]
    assert [each.begin for each in lists] == merge.starts
    assert [each.position for each in lists] == merge.carried
    assert merge.passed == merge.tested
    assert [op.name for op in merge.test] == ["arith.cmpi", "arith.cmpi", "arith.andi"]
    assert [op.name for op in merge.body] == ["arith.addi"]
    assert merge.ends == [merge.body[0].results[0], merge.carried[1]]
    assert len(merge.starts) == len(merge.results) == 2
    assert merge.around == found.function


def test_another_condition_goes_through_no_lists() -> None:
    (merge,) = nest(MERGE.replace("cmpi ult, %q", "cmpi ugt, %q")).while_loops
    assert merge.form is None
    assert merge.lists is None


def test_insertions() -> None:
    (op,) = nest(INSERT).named("tensor.insert")
    found = Insert.of(op.results[0])
    assert found is not None
    tensor, value, *at = op.parent.regions[0].blocks[0].arguments
    assert (found.value, found.tensor, found.coordinates) == (value, tensor, at)
    assert Insert.of(value) is None


def test_other_operations_are_no_loops() -> None:
    function = nest(ROWS).function
    assert loop_of(function) is None
    assert isinstance(loop_of(nest(ROWS).for_loops[0].op), ForLoop)
