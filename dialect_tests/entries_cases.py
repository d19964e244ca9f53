"""Random kernels on stored entries: semirings, masks, operators and monoids, with what NumPy makes of them."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import mlir_sparse as ms
from dialect_tests.calls import Call, Results, Trial
from dialect_tests.entries_oracle import Entries, Meaning, Regions, entries_of, evaluate
from mlir_sparse.notation import Apply, Assignment, AssignOp, Binary, BinaryOp, Expr, parse
from mlir_sparse.testing.reference.reference_sums import Sides

__all__ = [
    "MASKED",
    "OPERATED",
    "SEMIRINGS",
    "TEXTS",
    "Case",
    "cases",
    "compare",
    "operator_case",
    "run",
    "semiring_case",
    "trial",
]

Array = np.ndarray[Any, Any]

TEXTS = (
    "y(i) = A(i,j) * x(j)",
    "y(j) = A(i,j) * x(i)",
    "C(i,j) = A(i,k) * B(k,j)",
    "C(i,j) = A(i,j) + B(i,j)",
    "C(i,j) = A(i,j) * B(i,j)",
    "C(i,j) = A(j,i) + B(i,j)",
    "C(i,j) = A(i,j) + B(i,j) + D(i,j)",
    "C(i,j) = A(i,j) * B(i,j) + D(i,j)",
    "C(i,j) = A(i,k) * B(k,j) + D(i,j)",
    "C(i,j) = (A(i,j) + B(i,j)) * x(j)",
    "y(i) = A(i,j) * (B(j,k) * x(k))",
    "C(i,j) = 2 * A(i,j)",
    "y(i) = A(i,j)",
    "y(j) = A(i,j)",
    "y(i) = A(i,j) * x(j) + z(i)",
    "y(j) = A(i,j) * x(i) + z(j)",
    "y(i) += A(i,j) * x(j)",
    "a = A(i,j)",
)
MASKED = (
    "C(i,j) = A(i,j) if M(i,j)",
    "C(i,j) = A(i,j) if not M(i,j)",
    "C(i,j) = A(i,j) if m(i)",
    "C(i,j) = A(i,j) if not m(i)",
    "C(i,j) = A(i,k) * B(k,j) if M(i,j)",
    "C(i,j) = A(i,k) * B(k,j) if not M(i,j)",
    "C(i,j) = A(i,j) + B(i,j) if M(i,j)",
    "C(i,j) = A(i,j) + B(i,j) if not M(i,j)",
    "C(i,j) = x(i) * w(j) if M(i,j)",
    "C(i,j) = x(i) * w(j) if not M(i,j)",
    "y(i) = A(i,j) * x(j) if m(i)",
    "y(i) = A(i,j) * x(j) if not m(i)",
    "y(i) = A(i,j) * x(j) + z(i) if not m(i)",
    "y(i) += A(i,j) * x(j) if m(i)",
    "y(i) = x(i) if m(i)",
    "y(i) = x(i) if not m(i)",
)
OPERATED = (
    "C(i,j) = f(A(i,j), B(i,j))",
    "C(i,j) = f(A(i,j), B(j,i))",
    "y(i) = f(x(i), w(i))",
    "C(i,j) = u(A(i,j))",
    "C(i,j) = f(u(A(i,j)), B(i,j))",
    "C(i,j) = f(A(i,j), g(B(i,j), D(i,j)))",
    "C(i,j) = f(A(i,j), x(j))",
    "C(i,j) = f(x(i), A(i,j))",
    "C(i,j) = f(A(i,j), B(i,j) * D(i,j))",
    "C(i,j) = f(A(i,j), B(i,k) * D(k,j))",
    "C(i,j) = f(A(i,j), B(i,j)) + D(i,j)",
    "y(i) = f(A(i,j), x(j))",
    "y(j) = f(A(i,j), B(i,j))",
    "y(i) = m(j : A(i,j))",
    "y(j) = m(i : A(i,j))",
    "y(i) = m(j : f(A(i,j), x(j)))",
    "C(i,j) = m(k : f(A(i,k), B(k,j)))",
    "a = m(i, j : A(i,j))",
)
SEMIRINGS = (
    *("plus_times", "min_plus", "max_plus", "min_max", "max_min", "max_times", "or_and", "plus_pair", "any_pair"),
    *("plus_first", "plus_second", "min_first", "min_second"),
)
FORMATS = ("CSR", "CSC", "DCSR", "COO", "BSR(2, 2)", "DIA", "dense")
RESULTS = {0: (), 1: ("SparseVector",), 2: ("CSR", "CSC", "DCSR", "COO", "BSR(2, 2)")}

_MULTIPLY = {
    "plus": np.add,
    "times": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.logical_and,
    "pair": lambda a, b: np.ones(np.broadcast_shapes(np.shape(a), np.shape(b)), np.int64),
    "first": lambda a, b: a + 0 * b,
    "second": lambda a, b: b + 0 * a,
}
# Python's function and the regions as `ms.operator` takes them, and the same for NumPy.
_BINARY: dict[str, tuple[dict[str, Any], Regions]] = {
    "product": ({"function": lambda a, b: a * b + 1}, Regions(lambda a, b: a * b + 1)),
    "difference": (
        {"function": lambda a, b: a - b, "left": "keep", "right": "keep"},
        Regions(lambda a, b: a - b, lambda a: a, lambda b: b),
    ),
    "without": ({"function": lambda a, b: None, "left": "keep"}, Regions(None, lambda a: a)),
    "either": (
        {"function": lambda a, b: None, "left": lambda a: 2 * a, "right": "keep"},
        Regions(None, lambda a: 2 * a, lambda b: b),
    ),
    "leaning": (
        {"function": lambda a, b: a + 2 * b, "left": lambda a: a + 1},
        Regions(lambda a, b: a + 2 * b, lambda a: a + 1),
    ),
    "constant": (
        {"function": lambda a, b: a + 2 * b, "right": 3},
        Regions(lambda a, b: a + 2 * b, None, lambda b: 3 + 0 * b),
    ),
    "larger": (
        {"function": lambda a, b: ms.where(abs(a) > abs(b), a, b), "left": "keep", "right": "keep"},
        Regions(lambda a, b: np.where(np.abs(a) > np.abs(b), a, b), lambda a: a, lambda b: b),
    ),
}
_UNARY: dict[str, tuple[dict[str, Any], Regions]] = {
    "square": ({"function": lambda a: a * a + 1}, Regions(lambda a: a * a + 1)),
    "filled": ({"function": lambda a: a + 1, "absent": 7}, Regions(lambda a: a + 1, absent=7)),
    "complement": ({"function": lambda a: None, "absent": 3}, Regions(None, absent=3)),
}
_MONOIDS = {
    "product": (ms.monoid(lambda a, b: a * b, 1), np.multiply, 1),
    "largest": (ms.monoid(np.maximum, -100), np.maximum, -100),
}


@dataclass(frozen=True)
class Case:
    """One kernel with its data.

    Args:
        text: the notation.
        operands: tensors, operators and monoids by name.
        semiring: the name of a semiring, or None.
        out: the storage asked for.
        wanted: what NumPy makes of it.
        zero: the value of what is no entry.
    """

    text: str
    operands: Mapping[str, Any]
    semiring: str | None
    out: str | None
    wanted: Entries
    zero: Any

    def __str__(self) -> str:
        stored = {name: str(getattr(value, "encoding", "dense")) for name, value in self.operands.items()}
        return f"{self.text} [{self.semiring}] -> {self.out}, {self.wanted.values.dtype}: {stored}"


def _tensors(names: Mapping[str, int], rng: random.Random, dtype: Any) -> dict[str, Any]:
    size = rng.choice([1, 2, 4, 5])
    found: dict[str, Any] = {}
    for name, rank in names.items():
        drawn = np.array([rng.choice([0, 0, 1, 2, 3, -1]) for _ in range(size**rank)], dtype).reshape((size,) * rank)
        storage = rng.choice(FORMATS if rank == 2 else ("dense", "SparseVector"))
        found[name] = drawn if storage == "dense" else ms.tensor(drawn, storage)
    return found


def _ranks(assignment: Assignment) -> dict[str, int]:
    return {name: 2 if name.isupper() else 1 for name in assignment.inputs}


def _zero(add: str, dtype: Any) -> Any:
    kind = np.dtype(dtype)
    if kind == np.bool_:
        return add == "min"
    if add in ("min", "max"):
        infinite = kind.kind == "f"
        least, greatest = (-np.inf, np.inf) if infinite else (np.iinfo(kind).min, np.iinfo(kind).max)
        return greatest if add == "min" else least
    return 0


def _counted(node: Expr, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Returns the type of an expression whose products are counts."""
    match node:
        case Binary(BinaryOp.MUL):
            return np.dtype(np.int64)
        case Binary(_, left, right):
            return np.result_type(_counted(left, dtype), _counted(right, dtype))
        case Apply(_, (_, body)):
            return _counted(body, dtype)
        case _:
            return dtype


def semiring_case(rng: random.Random, texts: tuple[str, ...] = TEXTS, name: str | None = None) -> Case:
    """Draws a kernel under a semiring."""
    text = rng.choice(texts)
    name = name or rng.choice(SEMIRINGS)
    if name == "any_pair" and ("+" in text or "*" not in text):
        name = "or_and"  # which of several unlike values `any` takes is not said
    add, multiply = name.split("_")
    assignment = parse(text)
    # Sums of truth values count, their products do not, and beside a number they are one: what these give is said
    # part by part, elsewhere.
    truth = add != "plus" and "2" not in text
    dtype = rng.choice([np.float64, np.int32, np.int8, *[np.bool_] * truth])
    tensors = _tensors(_ranks(assignment), rng, dtype)
    result: Any = dtype
    if name == "or_and":
        result = np.int8 if dtype is np.int8 else np.bool_
    elif name == "any_pair":
        result = np.int8
    elif multiply == "pair":
        result = _counted(assignment.value, np.dtype(dtype))
        result = np.result_type(result, dtype) if assignment.op is AssignOp.ADD else result
    adding = {"plus": np.add, "min": np.minimum, "max": np.maximum, "or": np.logical_or, "any": lambda a, b: b}
    lift = (lambda a: a != 0) if add == "or" else (lambda a: a)
    zero = _zero(add, result)
    laws = ms.semiring(name).laws  # held against brute force by test_laws
    sides = Sides(laws.left, laws.right, laws.minus)
    meaning = Meaning(adding[add], zero, _MULTIPLY[multiply], lift=lift, sides=sides)
    return _case(text, assignment, tensors, {}, name, meaning, result, rng)


def operator_case(rng: random.Random, texts: tuple[str, ...] = OPERATED, name: str | None = None) -> Case:
    """Draws a kernel with operators and a monoid."""
    text = rng.choice(texts)
    f, g = name or rng.choice(list(_BINARY)), rng.choice(list(_BINARY))
    u, m = rng.choice(list(_UNARY)), rng.choice(list(_MONOIDS))
    regions = {"f": _BINARY[f][1], "g": _BINARY[g][1], "u": _UNARY[u][1]}
    known: dict[str, Any] = {
        "f": ms.operator(**_BINARY[f][0]),
        "g": ms.operator(**_BINARY[g][0]),
        "u": ms.operator(**_UNARY[u][0]),
        "m": _MONOIDS[m][0],
    }
    known = {name: value for name, value in known.items() if f"{name}(" in text}
    assignment = parse(text, known)
    dtype = rng.choice([np.float64, np.int32])
    tensors = _tensors(_ranks(assignment), rng, dtype)
    zero = _MONOIDS[m][2] if "m" in known else 0
    meaning = Meaning(zero=zero, operators=regions, monoids={"m": _MONOIDS[m][1:]})
    return _case(text, assignment, tensors, known, None, meaning, dtype, rng)


def _case(
    text: str,
    assignment: Assignment,
    tensors: dict[str, Any],
    known: dict[str, Any],
    name: str | None,
    meaning: Meaning,
    dtype: Any,
    rng: random.Random,
) -> Case:
    masks = {n for n in ("M", "m") if n in tensors and not isinstance(tensors[n], ms.SparseTensor)}
    wanted = evaluate(assignment, tensors, meaning, dtype, masks)
    results = RESULTS[len(assignment.target.subscripts)]
    out = rng.choice([None, "dense", *results])
    return Case(text, {**tensors, **known}, name, out, wanted, meaning.zero)


def cases() -> st.SearchStrategy[Case]:
    """Draws kernels on stored entries of every kind."""
    kinds = [semiring_case, lambda rng: semiring_case(rng, MASKED), operator_case]
    return st.builds(lambda kind, number: kind(random.Random(number)), st.sampled_from(kinds), st.integers(0, 2**32))


def compare(case: Case) -> bool:
    """Compares what a kernel gives with what it should.

    Returns:
        whether it ran; False where it is refused by name.
    """
    try:
        run(case)
    except ms.UnsupportedError:
        return False
    return True


def trial(case: Case) -> Trial:
    """Returns the call that a case is, and NumPy's judgement of it."""

    def judge(results: Results) -> None:
        (got,) = results
        if isinstance(got, ms.SparseTensor):
            values, present = entries_of(got)
            got = np.where(present, values, np.asarray(case.zero).astype(values.dtype))
        assert got.dtype == case.wanted.values.dtype, str(case)
        np.testing.assert_allclose(got, case.wanted.values, rtol=1e-12, err_msg=str(case))

    return Trial(Call(case.text, case.operands, case.out, case.semiring), judge)


def run(case: Case) -> None:
    """Evaluates a case and compares with NumPy.

    Raises:
        UnsupportedError: for a case that is refused by name.
    """
    trial(case).run()
