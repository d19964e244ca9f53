"""The names of level formats, and the table of their classes."""

from __future__ import annotations

from enum import Enum

from mlir_sparse.encoding.levels.batch_level import BatchLevel
from mlir_sparse.encoding.levels.compressed_level import CompressedLevel
from mlir_sparse.encoding.levels.dense_level import DenseLevel
from mlir_sparse.encoding.levels.hashed_level import HashedLevel
from mlir_sparse.encoding.levels.level_functions import LevelFunctions
from mlir_sparse.encoding.levels.loose_compressed_level import LooseCompressedLevel
from mlir_sparse.encoding.levels.offset_level import OffsetLevel
from mlir_sparse.encoding.levels.range_level import RangeLevel
from mlir_sparse.encoding.levels.singleton_level import SingletonLevel
from mlir_sparse.encoding.levels.structured_level import StructuredLevel

__all__ = ["LEVEL_FUNCTIONS", "LevelFormat"]


class LevelFormat(Enum):
    """How a level stores its coordinates; `LEVEL_FUNCTIONS` has the class of each format."""

    DENSE = "dense"
    BATCH = "batch"
    COMPRESSED = "compressed"
    LOOSE_COMPRESSED = "loose_compressed"
    SINGLETON = "singleton"
    STRUCTURED = "structured"
    RANGE = "range"
    OFFSET = "offset"
    HASHED = "hashed"

    # A call looks members up dozens of times; Enum's own hash would hash their names each time.
    __hash__ = object.__hash__


LEVEL_FUNCTIONS: dict[LevelFormat, LevelFunctions] = {
    LevelFormat.DENSE: DenseLevel(),
    LevelFormat.BATCH: BatchLevel(),
    LevelFormat.COMPRESSED: CompressedLevel(),
    LevelFormat.LOOSE_COMPRESSED: LooseCompressedLevel(),
    LevelFormat.SINGLETON: SingletonLevel(),
    LevelFormat.STRUCTURED: StructuredLevel(),
    LevelFormat.RANGE: RangeLevel(),
    LevelFormat.OFFSET: OffsetLevel(),
    LevelFormat.HASHED: HashedLevel(),
}
