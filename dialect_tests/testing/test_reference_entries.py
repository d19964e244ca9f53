"""`run --verify` on semirings, masks and operators: the reference against the oracle, and mistakes that it must see."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from dialect_tests.entries_cases import MASKED, Case, operator_case, semiring_case
from mlir_sparse.notation import Monoid, Operator, parse, under
from mlir_sparse.notation import semiring as semiring_named
from mlir_sparse.spec import infer_extents
from mlir_sparse.testing import Comparison, compare
from mlir_sparse.tools.cli import main
from mlir_sparse.tools.run_operands import as_operand


def compared(case: Case, result: np.ndarray) -> Comparison:
    """Compares a result with what the reference makes of a case."""
    known = {name: value for name, value in case.operands.items() if isinstance(value, Operator | Monoid)}
    tensors = {name: value for name, value in case.operands.items() if name not in known}
    assignment = under(parse(case.text, known), semiring_named(case.semiring or "plus_times"))
    extents = infer_extents(assignment, {n: t.shape for n, t in tensors.items()}, case.wanted.values.shape)
    operands = {name: as_operand(tensor) for name, tensor in tensors.items()}
    return compare(assignment, operands, {v.name: extent for v, extent in extents.items()}, as_operand(result))


@pytest.mark.parametrize("seed", range(40))
def test_reference_agrees_with_the_oracle(seed: int) -> None:
    """Two evaluators that share nothing agree on random kernels, and see one element that is wrong."""
    rng = random.Random(seed)
    case = [semiring_case, lambda r: semiring_case(r, MASKED), operator_case][seed % 3](rng)
    values = np.array(case.wanted.values)
    assert compared(case, values).passed, str(case)
    first = (0,) * values.ndim
    values[first] = not values[first] if values.dtype == bool else 77
    assert not compared(case, values).passed


MATRIX = "%%MatrixMarket matrix coordinate real general\n3 3 4\n1 1 1.5\n2 3 -2\n3 1 4\n3 2 0.25\n"


@pytest.mark.parametrize("semiring", ["min_plus", "or_and", "plus_pair"])
@pytest.mark.parametrize("mask", ["", " if M(i,j)", " if not M(i,j)"])
def test_run_verifies(semiring: str, mask: str, tmp_path: Path) -> None:
    """The command line takes semirings and masks, and checks what they give."""
    path = tmp_path / "a.mtx"
    path.write_text(MATRIX)
    masks = ["-f", "M:CSR", "-i", f"M={path}"] if mask else []
    arguments = [
        *("run", f"C(i,j) = A(i,k) * B(k,j) + D(i,j){mask}", "--semiring", semiring, "--verify", "--quiet"),
        *("-f", "A:CSR", "-i", f"A={path}", "-f", "B:CSC", "-i", f"B={path}", "-g", "D=random", *masks),
    ]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert "all equal" in result.output


def test_unknown_semirings_are_refused() -> None:
    """A semiring that does not exist is a message, not a traceback."""
    result = CliRunner().invoke(main, ["emit", "y(i) = A(i,j) * x(j)", "--semiring", "min_minus"])
    assert result.exit_code == 1
    assert "expected a semiring such as min_plus" in result.output
