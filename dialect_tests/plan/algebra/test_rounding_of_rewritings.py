"""Rewritten statements round within 4 n eps of the sum of absolute terms, held against exact fractions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests import crossing
from dialect_tests.statement_cases import EXTENT, VARIABLES, RandomStatement, random_statement
from mlir_sparse.compile import Kernel
from mlir_sparse.notation import Access, Assignment, Binary, BinaryOp, Call, Expr, Literal, Negate, Reduce, walk
from mlir_sparse.plan.algebra.choose_rewriting import ranked_ways
from mlir_sparse.plan.algebra.tensor_facts import TensorFacts
from mlir_sparse.runtime import operand_check
from mlir_sparse.tensor.sketch_of import sketch_of

Exact = np.ndarray[Any, Any]


def exact(node: Expr, operands: dict[str, Any], *, absolute: bool) -> Exact:
    """Returns the value of an expression in fractions, with an axis for each variable; of absolute terms if asked."""
    if isinstance(node, Access):
        names = [variable.name for variable in node.indices]
        array = np.vectorize(Fraction, otypes=[object])(dense(operands[node.tensor]))
        order = sorted(range(len(names)), key=lambda axis: VARIABLES.index(names[axis]))
        found = np.transpose(array, order).reshape([EXTENT if v in names else 1 for v in VARIABLES])
        return np.abs(found) if absolute else found
    if isinstance(node, Literal):
        return np.full((1,) * len(VARIABLES), Fraction(node.value), object)
    below = [exact(child, operands, absolute=absolute) for child in ms.notation.children(node)]
    match node:
        case Negate():
            return below[0] if absolute else -below[0]
        case Binary(BinaryOp.MUL):
            return below[0] * below[1]
        case Binary(op):
            return below[0] - below[1] if op is BinaryOp.SUB and not absolute else below[0] + below[1]
        case Call("abs"):
            return np.abs(below[0])
        case Reduce(_, indices):
            axes = tuple(VARIABLES.index(variable.name) for variable in indices)
            return below[0].sum(axis=axes, keepdims=True)
        case _:
            raise AssertionError(node)


def dense(value: Any) -> Any:
    return value.to_numpy() if isinstance(value, ms.SparseTensor) else value


def with_fractions(case: RandomStatement, seed: int) -> RandomStatement:
    """Returns a statement with numbers that round."""
    rng = np.random.default_rng(seed)
    found = {}
    for name, value in case.operands.items():
        array = dense(value) * rng.uniform(0.5, 1.5, dense(value).shape)
        found[name] = ms.tensor(array, value.encoding) if isinstance(value, ms.SparseTensor) else np.asarray(array)
    return RandomStatement(case.text, found)


def terms(assignment: Assignment) -> int:
    """Returns how many numbers an element of the result is computed from at most."""
    bound = {v for node in walk(assignment.value) if isinstance(node, Reduce) for v in node.indices}
    return sum(1 for _ in walk(assignment.value)) + int(EXTENT ** len(bound))


@pytest.mark.parametrize("seed", crossing.seeds(6))
def test_no_way_rounds_more_than_its_terms_allow(seed: int) -> None:
    case = with_fractions(random_statement(seed, "float64"), seed)
    kernel = ms.compile(case.text, tensors=case.operands, out="dense", optimize="off")
    assert isinstance(kernel, Kernel)
    explicit = kernel.spec.explicit
    value, sizes = (exact(explicit.value, case.operands, absolute=absolute) for absolute in (False, True))
    axes = [VARIABLES.index(variable.name) for variable in explicit.target.indices]
    shape = [EXTENT if VARIABLES.index(v) in axes else 1 for v in VARIABLES]
    allowed = 4 * terms(explicit) * Fraction(np.finfo(float).eps) * np.broadcast_to(sizes, shape)
    facts = {n: TensorFacts(operand_check.type_of(v), sketch_of(v)) for n, v in converted(case.operands).items()}
    ways = ranked_ways(explicit, facts) or [None]
    for way in ways[:: len(ways) // 3 + 1]:
        found = Kernel(replace(kernel.spec, rewriting=way and way.rewriting))(**case.operands)
        wide = np.vectorize(Fraction, otypes=[object])(np.transpose(found, np.argsort(axes)).reshape(shape))
        assert (np.abs(wide - np.broadcast_to(value, shape)) <= allowed).all(), f"{case.text}: {way}"


def converted(operands: dict[str, Any]) -> dict[str, Any]:
    return {name: operand_check.value_of(name, value) for name, value in operands.items()}
