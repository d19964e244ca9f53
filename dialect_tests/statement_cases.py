"""Statements as users write them, with sketches of operands, and random statements with data."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from benchmarks.libraries.own import taken
from benchmarks.programs import Workload
from benchmarks.programs.drawn import Array, Drawn, Graph, Number, OneOf, Tensor, Uniform

import mlir_sparse as ms
from mlir_sparse.encoding import AxisSketch, Sketch, TensorType
from mlir_sparse.plan.algebra.choose_rewriting import choose_rewriting
from mlir_sparse.plan.algebra.tensor_facts import TensorFacts
from mlir_sparse.runtime import operand_check
from mlir_sparse.spec import Rewriting
from mlir_sparse.tensor.sketch_of import sketch_of
from mlir_sparse.tensor.symmetric_matrix import is_symmetric

__all__ = [
    "RandomStatement",
    "drawn_facts",
    "kind_of_levels",
    "lied",
    "matrix",
    "random_statement",
    "rewritten",
    "vector",
    "workload_facts",
]

VARIABLES = "ijklm"
EXTENT = 5
MATRICES = (None, None, "CSR", "CSC", "COO", "DCSR")
OTHERS = {0: (None,), 1: (None, None, "SparseVector"), 2: MATRICES, 3: (None, "CSF", "COO")}


def kind_of_levels(storage: str) -> str:
    """Returns what tells storage of matrices apart where any order of dense and compressed levels is alike."""
    return "compressed" if storage in ("CSR", "CSC", "DCSR") else storage


def matrix(rows: int, columns: int, degree: float, storage: str = "CSR", *, largest: float = 0) -> TensorFacts:
    """Returns what is known of a matrix with so many entries a row; with hubs where a largest degree is given."""
    entries = rows * degree
    axes = []
    for extent in (rows, columns):
        mean = entries / extent
        hub = largest or 2 * mean
        axes.append(AxisSketch(float(extent), hub, entries * max(mean + 1, largest / 10)))
    return TensorFacts(TensorType.parse(f"f64[?,?] {storage}"), Sketch((rows, columns), entries, tuple(axes)))


def vector(*extents: int) -> TensorFacts:
    """Returns what is known of an array."""
    kind = TensorType.parse(f"f64[{','.join('?' * len(extents))}]")
    return TensorFacts(kind, Sketch(extents, float(np.prod(extents))))


def workload_facts(workload: Workload) -> dict[str, TensorFacts]:
    """Returns what is known of the inputs of a workload of the benchmark, at their full size."""
    return {name: drawn_facts(drawn) for name, drawn in workload.inputs.items()}


def drawn_facts(drawn: Drawn) -> TensorFacts:
    """Returns what is known of an input: large ones whose statistics are plain are not made for it."""
    match drawn:
        case Number():
            return vector()
        case Array(shape):
            return vector(*shape)
        case OneOf(extent):
            return vector(extent)
        case Uniform(rows, columns, per_row):
            return matrix(rows, columns, per_row, "CSC" if drawn.by_column else "CSR")
        case Graph(vertices, edges, power=0.0, lower=False):
            return replace(matrix(vertices, vertices, 2 * edges / vertices), symmetric=True)
        case Tensor(shape, entries):
            means = [entries / extent for extent in shape]
            axes = [AxisSketch(n, 2 * mean, entries * (mean + 1)) for n, mean in zip(shape, means, strict=True)]
            return TensorFacts(TensorType.parse("f64[?,?,?] CSF"), Sketch(shape, entries, tuple(axes)))
        case _:
            value = taken(drawn.made())
            symmetric = isinstance(value, ms.SparseTensor) and is_symmetric(value)
            return TensorFacts(operand_check.type_of(value), sketch_of(value), symmetric=symmetric)


def rewritten(
    text: str, facts: Mapping[str, TensorFacts], *, out: str | None = None, always: bool = False
) -> Rewriting | None:
    """Returns how a statement is rewritten for data of which a few numbers are known."""
    kinds = {name: one.kind for name, one in facts.items()}
    spec = ms.compile(text, tensors=kinds, out=out).spec
    return choose_rewriting(spec.explicit, facts, always=always, into_array=spec.output.encoding is None)


@dataclass(frozen=True, slots=True)
class RandomStatement:
    """A statement with operands.

    Args:
        text: index notation.
        operands: data by name.
    """

    text: str
    operands: dict[str, Any]


def lied(facts: Mapping[str, TensorFacts], rng: random.Random) -> dict[str, TensorFacts]:
    """Returns numbers that are not those of the data."""
    return {name: replace(one, sketch=_lie(one.sketch, rng)) for name, one in facts.items()}


def _lie(sketch: Sketch, rng: random.Random) -> Sketch:
    axes = (AxisSketch(1.0, rng.choice([0.0, 1.0, 1e6]), rng.choice([0.0, 1.0, 1e12])) for _ in sketch.axes)
    return replace(sketch, entries=rng.choice([0.0, 1.0, 10.0, 1e9]), axes=tuple(axes))


class _Writer:
    """Writes random sums of products of sums, in which tensors occur again at other variables."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.ranks: dict[str, int] = {}

    def access(self) -> str:
        if self.ranks and (len(self.ranks) > 6 or self.rng.random() < 0.4):
            name = self.rng.choice(list(self.ranks))
        else:
            name = "ABCDEFGH"[len(self.ranks)]
            self.ranks[name] = self.rng.choice([0, 1, 1, 2, 2, 2, 3]) if self.ranks else 2
        rank = self.ranks[name]
        return f"{name}({','.join(self.rng.sample(VARIABLES, rank))})" if rank else name

    def product(self, depth: int) -> str:
        return " * ".join(self.factor(depth) for _ in range(self.rng.randint(1, 4 - depth % 2)))

    def factor(self, depth: int) -> str:
        kind = self.rng.random()
        if depth == 0 or kind < 0.65:
            return self.access()
        if kind < 0.78:
            return f"({self.product(0)} + {self.product(depth - 1)})"
        if kind < 0.86:
            return f"({self.product(0)} - {self.product(depth - 1)})"
        if kind < 0.93:
            return f"abs({self.access()})"
        return str(self.rng.randint(1, 3))


def random_statement(seed: int, dtype: str = "int64") -> RandomStatement:
    """Returns a statement of small whole numbers, so that all ways to compute it give the same bits."""
    rng, draw = random.Random(seed), np.random.default_rng(seed)
    writer = _Writer(rng)
    value = " + ".join(writer.product(2) for _ in range(rng.randint(1, 2)))
    used = {access.tensor for access in ms.notation.reads(ms.parse(f"y = {value}").value)}
    free = sorted({str(v) for v in ms.parse(f"y = {value}").indices})
    target = rng.sample(free, min(len(free), rng.choice([0, 1, 1, 2])))
    operands: dict[str, Any] = {}
    for name, rank in writer.ranks.items():
        if name in used:
            shape = (EXTENT,) * rank
            array = (draw.integers(-2, 3, shape) * (draw.random(shape) < 0.6)).astype(dtype)
            storage = rng.choice(OTHERS[rank])
            operands[name] = array if storage is None else ms.tensor(array, storage)
    return RandomStatement(f"y({','.join(target)}) = {value}" if target else f"y = {value}", operands)
