"""Programs to JSON and back, with a table of encodings: those that the reader knows anyway are not written out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import get_args

from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import Encoding, TensorType, encoding
from mlir_sparse.errors import SparseError
from mlir_sparse.program.blocks import BlockArray, Blocks
from mlir_sparse.program.cuts import Cut, StoredCut
from mlir_sparse.program.entry_bounds import EntryBounds
from mlir_sparse.program.nest_call import Argument, NestCall
from mlir_sparse.program.program_steps import ProgramSteps
from mlir_sparse.program.steps import NativeStep
from mlir_sparse.program.subscript_data import Gathered, IndexSum
from mlir_sparse.program.value_codec import Plain, ValueCodec

__all__ = ["read_steps", "write_steps"]

_CLASSES = (
    *(
        Argument,
        BlockArray,
        Blocks,
        Cut,
        EntryBounds,
        Gathered,
        IndexSum,
        NestCall,
        ProgramSteps,
        StoredCut,
        TensorType,
    ),
    *get_args(NativeStep),
)


def write_steps(program: ProgramSteps, known: Sequence[Encoding | None]) -> str:
    """Returns the steps of a program as JSON; `read_steps` takes the same known encodings."""
    codec = _StepCodec(known)
    data = codec.written(program)
    return json.dumps([data, [item.to_text() for item in codec.table[len(known) :] if item is not None]])


def read_steps(text: str | bytes, known: Sequence[Encoding | None]) -> ProgramSteps:
    """Returns the steps of a text by `write_steps`.

    Raises:
        ValueError: for any other text.
    """
    try:
        data, more = json.loads(text)
        codec = _StepCodec([*known, *map(encoding, more)])
        return codec.read(data, ProgramSteps)
    except (RecursionError, SparseError, TypeError, ValueError) as error:
        raise ValueError(f"expected the steps of a program, but got {type(error).__name__}: {error}") from None


class _StepCodec(ValueCodec):
    """Writes encodings by their places in a table, which begins with the known ones."""

    def __init__(self, known: Sequence[Encoding | None]) -> None:
        super().__init__(_CLASSES)
        self.table = list(known)
        self.makers |= {"complex": complex, "DType": DType, "Encoding": self.table.__getitem__}

    def written(self, value: object) -> Plain:
        match value:
            case complex():
                return ["complex", value.real, value.imag]
            case DType():
                return ["DType", value.name]
            case Encoding():
                if value not in self.table:
                    self.table.append(value)
                return ["Encoding", self.table.index(value)]
            case _:
                return super().written(value)
