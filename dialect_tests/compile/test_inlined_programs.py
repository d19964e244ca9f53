"""Random programs computed as they are written, and with every value inlined that may be: the same numbers."""

from __future__ import annotations

import random
import re
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests import crossing
from mlir_sparse import notation

optimizer = import_module("mlir_sparse.compile.comprehension.comprehension_optimizer")

SIZES = "NMK"
STORAGE = {1: (None, None, "SparseVector"), 2: (None, "CSR", "CSC", "DCSR", "COO")}


class Program:
    """Draws a comprehension of whole tensors, some of which are updated."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.sizes = {size: self.random.choice((3, 4, 6, 1, 0)) for size in SIZES}
        self.tensors = {name: self._drawn(SIZES, self.random.choice((1, 2, 2))) for name in "ABC"}
        self.operands = {name: self._operand(sizes) for name, sizes in self.tensors.items()}
        heads = [f"double({','.join(sizes)}) {name}" for name, sizes in self.tensors.items()]
        assigned: list[str] = []
        lines = [self._statement(number, assigned) for number in range(self.random.randint(2, 4))]
        results = [name for name in assigned if self.random.random() < 0.4] or assigned[-1:]
        self.text = f"def f({', '.join(heads)}) -> ({', '.join(results)}) {{ {'  '.join(lines)} }}"

    def _drawn(self, choices: str, count: int) -> tuple[str, ...]:
        return tuple(self.random.choice(choices) for _ in range(count))

    def _operand(self, sizes: tuple[str, ...]) -> Any:
        shape = tuple(self.sizes[size] for size in sizes)
        rng = np.random.default_rng(self.random.getrandbits(32))
        array = np.where(rng.random(shape) < 0.5, 0, rng.integers(-2, 3, shape)).astype(float)
        storage = self.random.choice(STORAGE[len(sizes)])
        return array if storage is None else ms.tensor(array, storage)

    def _access(self) -> str:
        name = self.random.choice(sorted(self.tensors))
        taken: list[str] = []
        for size in self.tensors[name]:
            free = [f"{size.lower()}{number}" for number in range(2) if f"{size.lower()}{number}" not in taken]
            taken += free[:1] if not free else [self.random.choice(free)]
        return f"{name}({','.join(taken)})" if taken else name

    def _value(self, depth: int) -> str:
        if depth == 0:
            return self._access()
        left, right = self._value(depth - 1), self._value(self.random.randrange(depth))
        functions = (f"abs({self._access()})", f"square({self._access()})", f"max({self._access()}, {self._access()})")
        return self.random.choice(
            (f"({left} * {right})",) * 4 + (f"({left} + {right})", f"({left} - {right})", *functions)
        )

    def _statement(self, number: int, assigned: list[str]) -> str:
        value = self._value(self.random.choice((1, 1, 2)))
        variables = sorted(set(re.findall(r"\b[nmk][01]\b", value)))
        kept = self.random.sample(variables, min(len(variables), self.random.choice((0, 1, 2, 2))))
        sizes = tuple(name[0].upper() for name in kept)
        again = [name for name in assigned if self.tensors[name] == sizes and name not in value]
        if again and self.random.random() < 0.4:
            name, op = self.random.choice(again), self.random.choice(("=", "+="))
        else:
            name, op = f"T{number + 2}", self.random.choice(("=", "=", "=", "+=!", "max=!"))
            self.tensors[name] = sizes
            assigned.append(name)
        return f"{name}({','.join(kept)}) {op} {value}" if kept else f"{name} {op} {value}"


@pytest.mark.parametrize("seed", crossing.seeds(6))
def test_inlined_values_change_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program(seed)
    expected = ms.evaluate(program.text, **program.operands, optimize="off")
    plan = optimizer.plan_statements
    monkeypatch.setattr(optimizer, "plan_statements", lambda *given, **more: plan(*given, always=True, **more))
    optimizer._plan.cache_clear()
    found = ms.evaluate(program.text, **program.operands)
    for one, other in zip(*(each if isinstance(each, tuple) else (each,) for each in (found, expected)), strict=True):
        assert (type(one), one.dtype, one.shape) == (type(other), other.dtype, other.shape)
        if isinstance(one, ms.SparseTensor):
            assert one.encoding == other.encoding
        dense = [each.to_numpy() if isinstance(each, ms.SparseTensor) else each for each in (one, other)]
        np.testing.assert_array_equal(*dense, err_msg=program.text)


def test_values_that_are_read_twice_are_not_inlined_for_ever() -> None:
    """Each value that is inlined would double the statements after it."""
    count = 40
    steps = "  ".join(f"z{n + 1}(i) = z{n}(i) + z{n}(i) * y(i)" for n in range(count))
    x, y = np.arange(5.0), np.full(5, 0.01)
    kernel = ms.compile(f"def f(double(N) z0, double(N) y) -> (z{count}) {{ {steps} }}", z0=x, y=y)
    assert isinstance(kernel, ms.ComprehensionKernel)
    reads = [len([*notation.reads(one.spec.assignment.value)]) for one in kernel.kernels]
    assert 1 < len(reads) <= count
    assert max(reads) <= 64
