"""Random comprehensions against their meaning, element by element."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import assume, event, given
from hypothesis import strategies as st

import mlir_sparse as ms
from dialect_tests.calls import Call, Results, Trial, densified
from dialect_tests.compile import comprehension_reference as reference
from dialect_tests.crossing import examples
from mlir_sparse.notation import Comprehension

Array = np.ndarray[Any, Any]

_PARAMETERS = {"A": ("M", "N"), "B": ("N", "N"), "u": ("N",), "v": ("M",)}
_STORAGE = {1: ["dense", "dense", "SparseVector"], 2: ["dense", "dense", "CSR", "CSC", "COO", "DCSR"]}
_SUBSCRIPTS = ["i", "j", "k", "i", "j", "k", "i + 1", "j - 1", "2*i", "i + k", "2*j + k", "N - 1 - i", "i + j"]


@dataclass(frozen=True)
class Case:
    """A program and its operands.

    Args:
        program: what to compute.
        operands: dense data.
        storage: by operand.
    """

    program: Comprehension
    operands: dict[str, Array]
    storage: dict[str, str]

    def __str__(self) -> str:
        shapes = {name: array.shape for name, array in self.operands.items()}
        return f"{self.program} {shapes} {self.storage}"


@st.composite
def _statements(draw: st.DrawFn) -> str:
    """Draws the text of one to three statements, of a meaning or not."""
    ranks = {name: len(sizes) for name, sizes in _PARAMETERS.items()}
    lines = []
    targets: dict[str, str] = {}
    for number in range(draw(st.integers(1, 3))):
        accesses = []
        for _ in range(draw(st.integers(1, 2))):
            name = draw(st.sampled_from(sorted(ranks)))
            subscripts = [draw(st.sampled_from(_SUBSCRIPTS)) for _ in range(ranks[name])]
            accesses.append(f"{name}({', '.join(subscripts)})")
        op = draw(st.sampled_from(["=", "=", "+=!", "+=!", "max=!", "min=!", "+="]))
        again = draw(st.booleans()) if targets else False
        variables = sorted({c for access in accesses for c in access.partition("(")[2] if c in "ijk"})
        if (again or op == "+=") and targets:
            name = draw(st.sampled_from(sorted(targets)))
            target = targets[name]
            # In place: what it reads of itself is what it assigns.
            accesses = [access for access in accesses if not access.startswith(name)] or ["A(i, j)"]
            if op == "=":
                accesses.append(target)
        else:
            name = f"T{number}"
            op = "+=!" if op == "+=" else op
            kept = draw(st.lists(st.sampled_from(variables), unique=True, max_size=2)) if variables else []
            target = f"{name}({', '.join(kept)})" if kept else name
            targets[name] = target
            ranks[name] = len(kept)
        # A sum is placed by rules of its own where the operator names no reduction: products have no choice.
        joint = " * " if op in ("=", "+=") else draw(st.sampled_from([" * ", " + ", " - "]))
        used = sorted({c for text in (target, *accesses) for c in text.partition("(")[2] if c in "ijk"})
        clauses = draw(st.lists(st.sampled_from(used), unique=True, max_size=2)) if used else []
        bounds = [f"{v} in {draw(st.sampled_from(['0:2', '0:1', '1:3', '0:N', '0:N - 1', '0:0']))}" for v in clauses]
        where = f" where {', '.join(bounds)}" if bounds and draw(st.booleans()) else ""
        lines.append(f"{target} {op} {joint.join(accesses)}{where}")
    parameters = ", ".join(f"double({','.join(sizes)}) {name}" for name, sizes in _PARAMETERS.items())
    body = "\n  ".join(lines)
    return f"def random({parameters}) -> ({', '.join(targets)}) {{\n  {body}\n}}"


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draws programs that parse, with data of few elements."""
    text = draw(_statements())
    try:
        program = ms.parse(text)
    except ms.SparseError:
        assume(False)
    assert isinstance(program, Comprehension)
    sizes = {"M": draw(st.integers(0, 4)), "N": draw(st.integers(0, 4))}
    random = np.random.default_rng(draw(st.integers(0, 9)))
    operands = {n: random.integers(-1, 3, [sizes[s] for s in of]).astype(np.float64) for n, of in _PARAMETERS.items()}
    storage = {name: draw(st.sampled_from(_STORAGE[len(of)])) for name, of in _PARAMETERS.items()}
    return Case(program, operands, storage)


def _call(case: Case) -> Call:
    operands = {
        name: array if case.storage[name] == "dense" else ms.tensor(array, case.storage[name])
        for name, array in case.operands.items()
    }
    return Call(case.program, operands)


def _expected(case: Case) -> dict[str, Array] | None:
    """Returns the results by name: none for a program that must be refused, None where they are not finite."""
    try:
        return reference.evaluate(case.program, case.operands)
    except reference.RefusedError:
        return {}
    except reference.InfiniteError:
        return None


def _judge(case: Case, results: Results, expected: dict[str, Array]) -> None:
    assert expected, f"expected a refusal, but got {results}"
    for name, result in zip(case.program.results, results, strict=True):
        np.testing.assert_array_equal(densified(result), expected[name])


def trial(case: Case) -> Trial | None:
    """Returns the call that a case is, and its meaning's judgement; None where it has no meaning, or no finite one."""
    expected = _expected(case)
    return Trial(_call(case), lambda results: _judge(case, results, expected)) if expected else None


def run(case: Case) -> None:
    """Computes a case and compares; what is refused must have no meaning, or be refused as not supported."""
    expected = _expected(case)
    if expected is None:
        return
    try:
        results = _call(case).results()
    except ms.ExtentError as error:
        if expected:
            raise AssertionError(f"expected {expected}, but got {error}") from error
        raise
    _judge(case, results, expected)


@given(cases())
@examples(40)
def test_a_program_computes_what_it_says_or_is_refused(case: Case) -> None:
    try:
        run(case)
    except (ms.ExtentError, ms.UnsupportedError):
        event("refused")
    else:
        event("computed")


@given(cases())
def test_a_program_reads_back_as_it_prints(case: Case) -> None:
    assert ms.parse(str(case.program)) == case.program
