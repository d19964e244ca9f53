"""A Python front end for MLIR's sparse_tensor dialect.

Say how tensors are stored (`encoding`, `tensor`), what to compute (index
notation), and get verified MLIR and kernels that run on NumPy and SciPy data
(`evaluate`, `compile`, `einsum`). Importing this loads no MLIR.
"""

from mlir_sparse.process.interpreters import require_main_interpreter

require_main_interpreter()

from mlir_sparse._native import __version__
from mlir_sparse.api import STAGES, Kernel, compile, evaluate, load, parse
from mlir_sparse.comprehend import ComprehensionKernel
from mlir_sparse.device import DeviceArray
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
    DenseResultWarning,
    DeviceError,
    DeviceMemoryError,
    DTypeError,
    EncodingError,
    EncodingSyntaxError,
    ExtentError,
    FileFormatError,
    IndexRangeError,
    LiteralError,
    MissingPackageError,
    NotationError,
    NotationSyntaxError,
    OperandError,
    PositionsError,
    RankError,
    ScheduleError,
    SettingError,
    SparseError,
    StorageError,
    TooLargeError,
    UnknownPresetError,
    UnknownTensorError,
    UnsupportedError,
    WidthError,
)
from mlir_sparse.kernel import Semiring, semiring
from mlir_sparse.notation import (
    Access,
    Assignment,
    Comprehension,
    IndexVar,
    Monoid,
    Operator,
    TensorVar,
    indices,
    monoid,
    operator,
    tensors,
    where,
)
from mlir_sparse.operations import einsum, einsum_path
from mlir_sparse.runtime import get_num_threads, set_num_threads
from mlir_sparse.schedule import Schedule
from mlir_sparse.tensor import DeviceTensor, LevelStorage, SparseTensor, read, tensor, to_device, write
from mlir_sparse.tuning import Tuning, tune

__all__ = [
    "DTYPES",
    "PRESETS",
    "STAGES",
    "Access",
    "Assignment",
    "BindingsError",
    "CompileError",
    "CompilerCrash",
    "Comprehension",
    "ComprehensionKernel",
    "CoordinatesError",
    "DType",
    "DTypeError",
    "DenseResultWarning",
    "DeviceArray",
    "DeviceError",
    "DeviceMemoryError",
    "DeviceTensor",
    "DimSlice",
    "Encoding",
    "EncodingError",
    "EncodingSyntaxError",
    "ExtentError",
    "FileFormatError",
    "IndexRangeError",
    "IndexVar",
    "Kernel",
    "LevelFormat",
    "LevelProperty",
    "LevelSpec",
    "LevelStorage",
    "LevelType",
    "LiteralError",
    "MissingPackageError",
    "Monoid",
    "NotationError",
    "NotationSyntaxError",
    "OperandError",
    "Operator",
    "PositionsError",
    "RankError",
    "Schedule",
    "ScheduleError",
    "Semiring",
    "SettingError",
    "SparseError",
    "SparseTensor",
    "StorageError",
    "TensorType",
    "TensorVar",
    "TooLargeError",
    "Tuning",
    "UnknownPresetError",
    "UnknownTensorError",
    "UnsupportedError",
    "WidthError",
    "__version__",
    "compile",
    "einsum",
    "einsum_path",
    "encoding",
    "evaluate",
    "get_num_threads",
    "indices",
    "load",
    "monoid",
    "operator",
    "parse",
    "read",
    "semiring",
    "set_num_threads",
    "tensor",
    "tensors",
    "to_device",
    "tune",
    "where",
    "write",
]
