"""A Python front end for MLIR's sparse_tensor dialect.

Say how tensors are stored (`encoding`, `tensor`), what to compute (index
notation), and get verified MLIR and kernels that run on NumPy and SciPy data
(`evaluate`, `compile`, `einsum`). Importing this loads no MLIR.
"""

from mlir_sparse._native import __version__
from mlir_sparse.api import STAGES, Kernel, compile, einsum, evaluate, parse
from mlir_sparse.dtypes import DTYPES, DType
from mlir_sparse.encoding import (
    PRESETS,
    DimSlice,
    Encoding,
    LevelFormat,
    LevelProperty,
    LevelSpec,
    LevelType,
    TensorType,
    encoding,
)
from mlir_sparse.errors import (
    BindingsError,
    CompileError,
    CompilerCrash,
    CoordinatesError,
    DeviceError,
    DTypeError,
    EncodingError,
    EncodingSyntaxError,
    ExtentError,
    FileFormatError,
    NotationError,
    NotationSyntaxError,
    OperandError,
    PositionsError,
    RankError,
    SparseError,
    StorageError,
    TooLargeError,
    UnknownPresetError,
    UnknownTensorError,
    UnsupportedError,
    WidthError,
)
from mlir_sparse.notation import Access, Assignment, IndexVar, TensorVar, indices, tensors
from mlir_sparse.tensor import LevelStorage, SparseTensor, tensor

__all__ = [
    "DTYPES",
    "PRESETS",
    "STAGES",
    "Access",
    "Assignment",
    "BindingsError",
    "CompileError",
    "CompilerCrash",
    "CoordinatesError",
    "DType",
    "DTypeError",
    "DeviceError",
    "DimSlice",
    "Encoding",
    "EncodingError",
    "EncodingSyntaxError",
    "ExtentError",
    "FileFormatError",
    "IndexVar",
    "Kernel",
    "LevelFormat",
    "LevelProperty",
    "LevelSpec",
    "LevelStorage",
    "LevelType",
    "NotationError",
    "NotationSyntaxError",
    "OperandError",
    "PositionsError",
    "RankError",
    "SparseError",
    "SparseTensor",
    "StorageError",
    "TensorType",
    "TensorVar",
    "TooLargeError",
    "UnknownPresetError",
    "UnknownTensorError",
    "UnsupportedError",
    "WidthError",
    "__version__",
    "compile",
    "einsum",
    "encoding",
    "evaluate",
    "indices",
    "parse",
    "tensor",
    "tensors",
]
