"""What branches, comparisons and selections of sparsified code are read as."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mlir_sparse._mlir import mlir_context, parse_module
from mlir_sparse.loops.model_branches import Branch, IntegerComparison, Lesser, Select
from mlir_sparse.loops.operation_index import Nest, Seen

TEXT = """
func.func @meet(%i: index, %j: index, %k: index) -> (index, index) {
  %less = arith.cmpi ult, %i, %j : index
  %two = arith.select %less, %i, %j : index
  %least = arith.minui %two, %k : index
  %more = arith.cmpi ult, %j, %i : index
  %other = arith.select %more, %i, %j : index
  %is_i = arith.cmpi eq, %i, %least : index
  %is_k = arith.cmpi eq, %k, %least : index
  %both = arith.andi %is_i, %is_k : i1
  %all = arith.andi %both, %less : i1
  %sum = scf.if %all -> (index) {
    %made = arith.addi %i, %j : index
    scf.yield %made : index
  } else {
    scf.yield %k : index
  }
  scf.if %less {
  }
  return %sum, %other : index, index
}
"""


@pytest.fixture
def nest() -> Iterator[Nest]:
    with mlir_context():
        module = parse_module(TEXT)
        (found,) = Seen(module).nests({})
        yield found


def test_branches_have_a_condition_and_sides(nest: Nest) -> None:
    chosen, alone = map(Branch, nest.named("scf.if"))
    i, j, k = nest.function.regions[0].blocks[0].arguments
    (made,) = chosen.then.body
    assert list(made.operands) == [i, j]
    assert chosen.then.ends == [made.results[0]]
    assert chosen.otherwise is not None
    assert (chosen.otherwise.body, chosen.otherwise.ends) == ([], [k])
    assert len(chosen.results) == 1
    assert (alone.otherwise, alone.then.body, alone.then.ends) == (None, [], [])
    assert Branch.of(made) is None
    alone.set_condition(chosen.condition)
    assert alone.condition == chosen.condition


def test_conditions_are_comparisons_that_all_hold(nest: Nest) -> None:
    chosen = Branch(nest.named("scf.if")[0])
    i, j, k = nest.function.regions[0].blocks[0].arguments
    (least,) = nest.named("arith.minui")
    equal = IntegerComparison.all_of(chosen.condition, "eq")
    assert [each.sides for each in equal] == [(i, least.results[0]), (k, least.results[0])]
    (less,) = IntegerComparison.all_of(chosen.condition, "ult")
    assert (less.left, less.right) == (i, j)
    assert less.truth == Branch(nest.named("scf.if")[1]).condition
    assert IntegerComparison.of(less.op, "eq") is None


def test_the_least_is_of_coordinates(nest: Nest) -> None:
    i, j, k = nest.function.regions[0].blocks[0].arguments
    (least,), (two, other) = nest.named("arith.minui"), nest.named("arith.select")
    choice, lesser = Select.of(two.results[0]), Lesser.of(least.results[0])
    assert choice is not None
    assert (choice.left, choice.right) == (i, j)
    assert lesser is not None
    assert (lesser.left, lesser.right, lesser.coordinates) == (two.results[0], k, [i, j, k])
    is_i, is_k = (op.results[0] for op in nest.named("arith.cmpi")[2:])
    assert [lesser.asked(coordinate) for coordinate in (i, j, k)] == [(is_i,), (), (is_k,)]
    assert Lesser.of(other.results[0]) is None
    assert Select.of(least.results[0]) is None
