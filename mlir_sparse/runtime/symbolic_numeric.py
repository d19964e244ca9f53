"""The two phases of a program: symbolic, for the structure of the result, and numeric, for its values.

Kjolstad et al. 2017, section 5.2, distinguish code that assembles from code that computes. Everything that a program
assembles (the structures of temporaries, and the moves of entries in conversions) is kept with the tensor that
`assemble` returns, so that `compute` neither sorts nor allocates structure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.encoding import Encoding
from mlir_sparse.errors import StorageError
from mlir_sparse.program import Conversion, SharedLevels
from mlir_sparse.runtime.function_call import FunctionCall, Value, compute_into
from mlir_sparse.runtime.narrowed_values import narrowed
from mlir_sparse.runtime.run_steps import Executable, run_step
from mlir_sparse.tensor import LevelStorage, SparseTensor, tensor
from mlir_sparse.tensor.stored_fibres import shared_structure

__all__ = ["Structures", "assemble", "compute"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Structures:
    """The structures that a program assembled for a result.

    Args:
        program: the identity of the program.
        tensors: the sparse temporaries by name, whose values `compute` writes.
        places: for each conversion of a computed value, by the name of its result: the number of each entry in the
            operand, from 1, and 0 for padding.
    """

    program: str
    tensors: dict[str, SparseTensor] = field(default_factory=dict)
    places: dict[str, Array] = field(default_factory=dict)


def assemble(executable: Executable, program: str, inputs: Mapping[str, Value], extents: Mapping[str, int]) -> Value:
    """Runs the symbolic phase: returns the result with its structure and zeros for values.

    Args:
        executable: the program.
        program: the identity of the program.
        inputs: as for `Executable.run`.
        extents: likewise.
    """
    values: dict[str, Value] = dict(inputs)
    known = Structures(program)
    for step in executable.steps:
        result = values[step.result] = run_step(step, values, extents)
        if not isinstance(result, SparseTensor) or (isinstance(step, Conversion) and step.operand in inputs):
            continue
        operand = values[step.operand] if isinstance(step, Conversion) else None
        if isinstance(step, Conversion) and isinstance(operand, SparseTensor) and _keeps_entries(result.encoding):
            known.places[step.result] = _places(operand, step, result.encoding)
        if step.result != executable.result:
            known.tensors[step.result] = result
    result = values[executable.result]
    if not isinstance(result, SparseTensor):
        return np.zeros_like(result)
    result.storage.values[...] = 0
    result._structures = known
    return result


def compute(
    executable: Executable,
    computing: Executable,
    program: str,
    inputs: Mapping[str, Value],
    extents: Mapping[str, int],
    out: SparseTensor,
) -> None:
    """Runs the numeric phase: computes the values of a result, given its structure.

    Args:
        executable: the program that assembles results.
        computing: the program that computes values of given structures.
        program: the identity of the program.
        inputs: as for `Executable.run`.
        extents: likewise.
        out: a tensor of the result's type and shape, for its values.

    Raises:
        StorageError: if the result has another structure; the values are undefined then.
    """
    known = out._structures
    if not isinstance(known, Structures) or known.program != program:
        known = Structures(program)
    values: dict[str, Value] = dict(inputs)
    for step, numeric in zip(executable.steps, computing.steps, strict=True):
        last = step.result == executable.result
        structure = out if last else known.tensors.get(step.result)
        if isinstance(numeric, FunctionCall) and numeric.buffers is not None and structure is not None:
            _call(numeric, values, extents, structure)
            values[step.result] = structure
        elif isinstance(step, Conversion) and step.result in known.places and structure is not None:
            _move(values[step.operand], known.places[step.result], step, structure)
            values[step.result] = structure
        elif isinstance(step, Conversion) and last and isinstance(values[step.operand], np.ndarray):
            _sample(values[step.operand], step, out)
            values[step.result] = out
        elif isinstance(step, SharedLevels) and last:
            _write_rows(step, values, out)
            values[step.result] = out
        else:
            values[step.result] = run_step(step, values, extents)
    result = values[executable.result]
    if result is not out:
        assert isinstance(result, SparseTensor)
        _copy(result, out)


def _keeps_entries(encoding: Encoding) -> bool:
    """Returns whether a conversion to an encoding depends on the structure only, and not on the values."""
    # Formats that choose coordinates for padding, such as n:m, keep entries by their values.
    chosen = any(kind.functions.fills and kind.functions.coordinates is not None for kind in encoding.level_types)
    return not chosen and encoding.explicit_val is None


def _places(operand: SparseTensor, step: Conversion, encoding: Encoding) -> Array:
    """Returns for each entry of a conversion its number in the operand, from 1; 0 for padding."""
    numbered = _numbered(operand)
    if step.drop_zeros:
        numbered.storage.values[_values(operand, step) == 0] = 0
        numbered = tensor(numbered, encoding, drop_zeros=True)
    return numbered.convert(encoding).storage.values


def _numbered(source: SparseTensor) -> SparseTensor:
    """Returns a tensor of the same structure with the values 1, 2, 3 and so on, in storage order."""
    *structure, values = source.storage.buffers()
    encoding = replace(source.encoding, explicit_val=None)
    buffers = (*structure, np.arange(1, len(values) + 1, dtype=np.int64))
    storage = LevelStorage.from_buffers(encoding, source.storage.level_sizes, buffers)
    return SparseTensor._trusted(encoding, source.shape, storage)


def _call(step: FunctionCall, values: Mapping[str, Value], extents: Mapping[str, int], structure: SparseTensor) -> None:
    target = structure.storage.values
    operands = [values[name] for name in step.nest.operands]
    buffers = [b for o in operands for b in (o.storage.buffers() if isinstance(o, SparseTensor) else (o,))]
    # Loops that read the values they write would get new values in place of old ones.
    results = np.empty_like(target) if any(np.may_share_memory(target, buffer) for buffer in buffers) else target
    compute_into(step, values, extents, structure, results)
    if results is not target:
        target[...] = results


def _move(operand: Value, places: Array, step: Conversion, out: SparseTensor) -> None:
    assert isinstance(operand, SparseTensor)
    target, source = out.storage.values, _values(operand, step)
    padded = np.concatenate([np.zeros(1, source.dtype), source])
    target[...] = padded[places]
    if step.drop_zeros and (entries := int(np.count_nonzero(source))) != np.count_nonzero(target):
        raise _lost(step, int(entries))


def _values(operand: SparseTensor, step: Conversion) -> Array:
    """Returns the values of an operand in the element type of a conversion."""
    values = narrowed(operand.storage.values, step.type.dtype)
    assert isinstance(values, np.ndarray)
    return values


def _sample(dense: Value, step: Conversion, out: SparseTensor) -> None:
    """Copies the entries of a structure from a dense value, and refuses other nonzero elements."""
    dense = narrowed(dense, step.type.dtype)
    assert isinstance(dense, np.ndarray)
    coordinates, numbers = _numbered(out).to_coo()
    found = dense[tuple(coordinates)]
    missing = np.asarray(step.missing, dense.dtype)
    entries = np.count_nonzero(dense != missing)
    if np.count_nonzero(found != missing) != entries:
        raise _lost(step, int(entries))
    out.storage.values[...] = 0
    out.storage.values[numbers - 1] = found


def _lost(step: Conversion, entries: int) -> StorageError:
    return StorageError(
        f"expected entries of {step.result} at all {entries} places that have a value, but got a structure "
        f"without some of them: assemble it from operands like these"
    )


def _write_rows(step: SharedLevels, values: Mapping[str, Value], out: SparseTensor) -> None:
    """Copies rows below the levels of another tensor, if the result has those: they are not copied to compare them."""
    rows, tensor_ = values[step.operand], values[step.structure]
    assert isinstance(rows, np.ndarray)
    assert isinstance(tensor_, SparseTensor)
    _copy_values(shared_structure(tensor_, step.depth), rows.reshape(-1), out)


def _copy(result: SparseTensor, out: SparseTensor) -> None:
    """Copies the values of a result that was assembled again, if it has the structure."""
    *structure, values = result.storage.buffers()
    _copy_values(structure, values, out)


def _copy_values(structure: Sequence[Array], values: Array, out: SparseTensor) -> None:
    *given, target = out.storage.buffers()
    if len(values) != len(target) or not all(map(np.array_equal, structure, given)):
        raise StorageError(
            f"expected out with the structure of the result, {len(values)} entries, but got another of {len(target)}: "
            f"assemble it from operands of the same structure"
        )
    target[...] = values
