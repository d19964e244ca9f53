"""Adjoints beside numeric differences: along one random direction for each operand, of any order.

The product of complex cotangents and steps is the real part of `vdot`: cotangents are PyTorch's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import mlir_sparse as ms
from mlir_sparse.compile import parse
from mlir_sparse.gradients import DifferentiableProgram, ValueStructure, program_of
from mlir_sparse.runtime.device.device_operands import type_of_given

Array = np.ndarray[Any, Any]
STEP = 1e-6


def program(text: str, operands: Mapping[str, Any]) -> DifferentiableProgram:
    """Returns the program of a text for operands; results are arrays."""
    structures = {name: ValueStructure(value) for name, value in operands.items() if isinstance(value, ms.SparseTensor)}
    types = {name: type_of_given(name, value) for name, value in operands.items()}
    return program_of(parse(text), types, structures)


def arrays_of(one: DifferentiableProgram, operands: Mapping[str, Any]) -> list[Array]:
    """Returns the operands as arrays of values."""
    given = [operands[name] for name in one.inputs]
    return [value.storage.values if isinstance(value, ms.SparseTensor) else np.asarray(value) for value in given]


def greatest_error(text: str, operands: Mapping[str, Any], order: int, rng: np.random.Generator) -> float:
    """Returns the greatest relative difference of a directional derivative from the numeric one, up to an order."""
    one = program(text, operands)
    return _error(one, arrays_of(one, operands), order, rng)


def _error(one: DifferentiableProgram, arrays: Sequence[Array], order: int, rng: np.random.Generator) -> float:
    wanted = [name for name, kind in one.types.items() if kind.dtype.kind in "fc"]
    below, names = one.adjoint(wanted)
    targets = one.outputs.values()
    cotangents = [_drawn(one, t, found.shape, rng) for t, found in zip(targets, one(arrays), strict=True)]
    found = dict(zip(names, below([*arrays, *cotangents]), strict=True)) if below else {}
    worst = 0.0
    for at, name in enumerate(one.inputs):
        if name not in wanted:
            continue
        step = _drawn(one, name, arrays[at].shape, rng)
        ends = [one([np.asarray(a + side * step) if k == at else a for k, a in enumerate(arrays)])
                for side in (STEP, -STEP)]  # fmt: skip
        numeric = sum(
            float(np.vdot(c, (high - low) / (2 * STEP)).real)
            for high, low, c in zip(ends[0], ends[1], cotangents, strict=True)
        )
        gradient = found.get(name, np.zeros_like(arrays[at]))
        assert gradient.shape == arrays[at].shape
        assert gradient.dtype == arrays[at].dtype
        worst = max(worst, abs(numeric - float(np.vdot(gradient, step).real)) / max(1.0, abs(numeric)))
    if order > 1 and below is not None:
        worst = max(worst, _error(below, [*arrays, *cotangents], order - 1, rng))
    return worst


def _drawn(one: DifferentiableProgram, name: str, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    drawn = np.asarray(rng.standard_normal(shape))
    if one.kinds[one.like.get(name, name)].dtype.is_complex:
        drawn = drawn + 1j * rng.standard_normal(shape)
    structure = one.structures.get(name)
    return drawn if structure is None else drawn * structure.inside()
