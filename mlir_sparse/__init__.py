"""A Python front end for MLIR's sparse_tensor dialect.

Declare how tensors are stored (`encoding`, `tensor`) and what to compute (index notation), and get verified MLIR and
kernels that run on NumPy and SciPy data (`evaluate`, `compile`, `einsum`). Importing this loads no MLIR.
"""

from mlir_sparse.process.interpreters import require_main_interpreter

require_main_interpreter()

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

try:
    from mlir_sparse._native import __version__
except ModuleNotFoundError as error:
    from mlir_sparse.process.unbuilt_sources import unbuilt

    raise unbuilt(error) from None
from mlir_sparse.compile import (
    STAGES,
    Kernel,
    compile,
    evaluate,
    get_optimize,
    parse,
    set_optimize,
)
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
from mlir_sparse.encoding.bindings_objects import install_parsers
from mlir_sparse.errors import (
    BindingsError,
    CompileError,
    CompilerCrash,
    CoordinatesError,
    DenseCopyWarning,
    DenseResultWarning,
    DeviceError,
    DeviceMemoryError,
    DistributedError,
    DisturbedMeasurementWarning,
    DTypeError,
    EncodingError,
    EncodingSyntaxError,
    ExtentError,
    FileFormatError,
    IndexRangeError,
    LiteralError,
    MissingPackageError,
    ModuleError,
    NoFunctionError,
    NotationError,
    NotationSyntaxError,
    NotRecordedError,
    OperandError,
    PositionsError,
    ProgramError,
    RankError,
    ScheduleError,
    SettingError,
    SingularMatrixError,
    SourceError,
    SparseError,
    StorageError,
    TooLargeError,
    UnknownPresetError,
    UnknownTensorError,
    UnsupportedError,
    WidthError,
)
from mlir_sparse.lazy import lazy
from mlir_sparse.notation import (
    Access,
    Assignment,
    Comprehension,
    IndexVar,
    Monoid,
    Operator,
    Semiring,
    TensorVar,
    indices,
    monoid,
    operator,
    semiring,
    tensors,
    where,
)
from mlir_sparse.plan.schedule import Schedule
from mlir_sparse.process.first_use import at_first_use
from mlir_sparse.process.forks import importing
from mlir_sparse.process.thread_pools import list_in_threadpoolctl
from mlir_sparse.runtime import get_num_threads, set_num_threads
from mlir_sparse.spec import Alternative
from mlir_sparse.tensor import FilledTensor, LevelStorage, SparseTensor, tensor
from mlir_sparse.tensor.python_operators import install

if TYPE_CHECKING:
    from mlir_sparse import linalg
    from mlir_sparse.arrays import array_namespace as xp
    from mlir_sparse.arrays.assigned_parts import assign
    from mlir_sparse.arrays.creation import (
        arange,
        block,
        diags,
        eye,
        from_coo,
        full,
        kron,
        linspace,
        ones,
        random,
        tril,
        triu,
        zeros,
    )
    from mlir_sparse.arrays.einsum import einsum, einsum_path
    from mlir_sparse.compile import ComprehensionKernel, DefinedTensor, Tuning, define, load, tune, tune_machine
    from mlir_sparse.compile.modules import UserModule, module, opt
    from mlir_sparse.compile.stream import stream
    from mlir_sparse.gradients.adjoint_entry import adjoint
    from mlir_sparse.lazy import LazyArray, compute
    from mlir_sparse.loops.remarks import Remark
    from mlir_sparse.notation.adjoint import Adjoint
    from mlir_sparse.pipeline.user_passes import register_pass
    from mlir_sparse.tensor import DeviceTensor, read, to_device, write
    from mlir_sparse.tensor.files.open_source import source
    from mlir_sparse.tensor.files.tensor_source import TensorSource
else:
    __getattr__ = at_first_use(
        __name__,
        {
            "arrays": ("einsum", "einsum_path"),
            "arrays.assigned_parts": ("assign",),
            "arrays.creation": (
                *("arange", "block", "diags", "eye", "from_coo", "full", "kron", "linspace", "ones", "random"),
                *("tril", "triu", "zeros"),
            ),
            "arrays.operations": ("xp",),
            "compile.comprehension.comprehension_kernel": ("ComprehensionKernel",),
            "compile.definitions.defined_tensor": ("DefinedTensor", "define"),
            "compile.load_kernel": ("load",),
            "compile.modules": ("UserModule", "module", "opt"),
            "compile.stream": ("stream",),
            "compile.tuning.tune": ("Tuning", "tune"),
            "compile.tuning.tune_machine": ("tune_machine",),
            "gradients.adjoint_entry": ("adjoint",),
            "lazy": ("LazyArray", "compute"),
            "loops.remarks": ("Remark",),
            "notation.adjoint": ("Adjoint",),
            "pipeline.user_passes": ("register_pass",),
            "tensor.device_tensor": ("DeviceTensor", "to_device"),
            "tensor.files.open_source": ("source",),
            "tensor.files.read_write": ("read", "write"),
            "tensor.files.tensor_source": ("TensorSource",),
        },
        rooms=("jax", "linalg", "torch"),
    )

__all__ = [
    "DTYPES",
    "PRESETS",
    "STAGES",
    "Access",
    "Adjoint",
    "Alternative",
    "Assignment",
    "BindingsError",
    "CompileError",
    "CompilerCrash",
    "Comprehension",
    "ComprehensionKernel",
    "CoordinatesError",
    "DType",
    "DTypeError",
    "DefinedTensor",
    "DenseCopyWarning",
    "DenseResultWarning",
    "DeviceArray",
    "DeviceError",
    "DeviceMemoryError",
    "DeviceTensor",
    "DimSlice",
    "DistributedError",
    "DisturbedMeasurementWarning",
    "Encoding",
    "EncodingError",
    "EncodingSyntaxError",
    "ExtentError",
    "FileFormatError",
    "FilledTensor",
    "IndexRangeError",
    "IndexVar",
    "Kernel",
    "LazyArray",
    "LevelFormat",
    "LevelProperty",
    "LevelSpec",
    "LevelStorage",
    "LevelType",
    "LiteralError",
    "MissingPackageError",
    "ModuleError",
    "Monoid",
    "NoFunctionError",
    "NotRecordedError",
    "NotationError",
    "NotationSyntaxError",
    "OperandError",
    "Operator",
    "PositionsError",
    "ProgramError",
    "RankError",
    "Remark",
    "Schedule",
    "ScheduleError",
    "Semiring",
    "SettingError",
    "SingularMatrixError",
    "SourceError",
    "SparseError",
    "SparseTensor",
    "StorageError",
    "TensorSource",
    "TensorType",
    "TensorVar",
    "TooLargeError",
    "Tuning",
    "UnknownPresetError",
    "UnknownTensorError",
    "UnsupportedError",
    "UserModule",
    "WidthError",
    "__version__",
    "adjoint",
    "arange",
    "assign",
    "block",
    "compile",
    "compute",
    "define",
    "diags",
    "einsum",
    "einsum_path",
    "encoding",
    "evaluate",
    "eye",
    "from_coo",
    "full",
    "get_num_threads",
    "get_optimize",
    "indices",
    "kron",
    "lazy",
    "linalg",
    "linspace",
    "load",
    "module",
    "monoid",
    "ones",
    "operator",
    "opt",
    "parse",
    "random",
    "read",
    "register_pass",
    "semiring",
    "set_num_threads",
    "set_optimize",
    "source",
    "stream",
    "tensor",
    "tensors",
    "to_device",
    "tril",
    "triu",
    "tune",
    "tune_machine",
    "where",
    "write",
    "xp",
    "zeros",
]


def __dir__() -> list[str]:
    return __all__


def _operations() -> Mapping[str, Callable[..., Any]]:
    with importing():
        from mlir_sparse.arrays.operations import OPERATIONS  # at the first use of one

    return OPERATIONS


def _parsers() -> tuple[Callable[[str], Any], Callable[[str], Any]]:
    with importing():
        from mlir_sparse._mlir import attribute_by_caller, type_by_caller

    return attribute_by_caller, type_by_caller


install(_operations)
install_parsers(_parsers)
list_in_threadpoolctl()
