"""Encodings: how a tensor is stored, from and to the dialect's attribute text."""

from mlir_sparse.encoding.build import encoding
from mlir_sparse.encoding.encoding import Encoding
from mlir_sparse.encoding.level import LevelFormat, LevelProperty, LevelType
from mlir_sparse.encoding.level_map import LevelSpec
from mlir_sparse.encoding.parser import parse_encoding
from mlir_sparse.encoding.preset import Preset
from mlir_sparse.encoding.presets import PRESETS, preset_encoding
from mlir_sparse.encoding.slice import DimSlice
from mlir_sparse.encoding.tensor_type import TensorType
from mlir_sparse.encoding.value import TypedValue

__all__ = [
    "PRESETS",
    "DimSlice",
    "Encoding",
    "LevelFormat",
    "LevelProperty",
    "LevelSpec",
    "LevelType",
    "Preset",
    "TensorType",
    "TypedValue",
    "encoding",
    "parse_encoding",
    "preset_encoding",
]
