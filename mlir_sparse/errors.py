"""The exceptions that users can get: one for each kind of mistake, and for each kind of outside failure.

    SparseError
    ├── SyntaxError_ ................. text that no grammar accepts (ValueError)
    │   ├── NotationSyntaxError         index notation
    │   └── EncodingSyntaxError         encodings, tensor types
    ├── EncodingError ................. an encoding that parses but cannot be (ValueError)
    │   └── UnknownPresetError          a preset name nobody registered (LookupError)
    ├── NotationError ................. an assignment without a meaning (ValueError)
    ├── ModuleError ................... MLIR that does not parse or verify (ValueError)
    │   └── NoFunctionError ........... a function that a module does not have (AttributeError)
    ├── ScheduleError ................. a schedule that cannot be, or is not of the kernel (ValueError)
    ├── SettingError .................. an environment variable that cannot be what it is (ValueError)
    ├── UnknownTensorError ............ a tensor without data, data without a tensor (LookupError)
    ├── RankError ..................... subscripts, axes and levels that do not pair up (ValueError)
    ├── ExtentError ................... one index variable, two extents (ValueError)
    ├── DTypeError .................... an element type that does not fit (TypeError)
    ├── LiteralError .................. an integer in the text beyond its element type (OverflowError)
    ├── OperandError .................. data that is no tensor, or not the kernel's (TypeError)
    ├── StorageError .................. level buffers that break their encoding (ValueError)
    │   ├── PositionsError
    │   └── CoordinatesError
    │       └── IndexRangeError ....... a subscript beyond its axis (IndexError)
    ├── SingularMatrixError ........... a system without a solution, a pivot that is zero (numpy.linalg.LinAlgError)
    ├── WidthError .................... positions or coordinates wider than their type (OverflowError)
    ├── TooLargeError ................. data that will not fit in memory (MemoryError)
    ├── FileFormatError ............... a file that is not what it says (ValueError)
    ├── SourceError ................... a part of a tensor that could not be read, after several attempts (OSError)
    ├── UnsupportedError .............. a case refused by name before the compiler (NotImplementedError)
    │   └── NotRecordedError .......... what lazy expressions lack of arrays (AttributeError)
    ├── BindingsError ................. no MLIR bindings to compile with (ImportError)
    ├── MissingPackageError ........... a package that is optional, and not installed (ImportError)
    ├── CompileError .................. MLIR said no (RuntimeError)
    │   └── CompilerCrash               MLIR died, hung or ran out of memory
    ├── ProgramError .................. a user's program ended early, or ran past its time (RuntimeError)
    ├── DistributedError .............. workers that died, whichever computed a piece (RuntimeError)
    └── DeviceError ................... no such device, or it failed (RuntimeError)
        └── DeviceMemoryError           too little memory there (MemoryError)

Each is also the built-in kind named in brackets, so that callers who know nothing of this package can catch it. A
message reads *expected <rule>, but got <value>*; for a mistake in text, its line and a caret follow.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ForwardRef

if TYPE_CHECKING:  # this module imports nothing of the package
    from numpy.linalg import LinAlgError

    from mlir_sparse.text.source_text import Source, Span
else:  # what `typing.get_type_hints` imports for them, as by `in_hints`
    Source, Span = (
        ForwardRef(f"__import__('mlir_sparse.text.source_text', fromlist=['{_name}']).{_name}")
        for _name in ("Source", "Span")
    )

__all__ = [
    "BindingsError",
    "CompileError",
    "CompilerCrash",
    "CoordinatesError",
    "DTypeError",
    "DenseCopyWarning",
    "DenseResultWarning",
    "DeviceError",
    "DeviceMemoryError",
    "DistributedError",
    "DisturbedMeasurementWarning",
    "EncodingError",
    "EncodingSyntaxError",
    "ExtentError",
    "FileFormatError",
    "IndexRangeError",
    "LiteralError",
    "MissingPackageError",
    "ModuleError",
    "NoFunctionError",
    "NotRecordedError",
    "NotationError",
    "NotationSyntaxError",
    "OperandError",
    "PositionsError",
    "ProgramError",
    "RankError",
    "ScheduleError",
    "SettingError",
    "SingularMatrixError",
    "SourceError",
    "SparseError",
    "StorageError",
    "SyntaxError_",
    "TooLargeError",
    "UnknownPresetError",
    "UnknownTensorError",
    "UnsupportedError",
    "WidthError",
]


_LONGEST = 1600  # characters of a message, except MLIR's
_SHOWN = 300  # and of a kernel


# Never frozen: a frozen exception cannot take the traceback that `with` sets on it.
@dataclass(eq=False)
class SparseError(Exception):
    """Reports the rule, the value, the place, and the way out.

    Args:
        message: one line in lower case, *expected <rule>, but got <value>*.
        source: the text with the mistake, if there is one.
        span: the place in that text.
    """

    message: str
    source: Source | None = field(default=None, kw_only=True)
    span: Span | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        # Messages repeat the user's values; kilobytes of them would hide the rule and the way out.
        if len(self.message) > _LONGEST and not isinstance(self, CompileError):
            self.message = f"{self.message[: _LONGEST // 2]} ... {self.message[-_LONGEST // 4 :]}"

    @property
    def line(self) -> int | None:
        """Returns the 1-based line of the mistake, or None without a span."""
        location = self._location()
        return location and location[0]

    @property
    def column(self) -> int | None:
        """Returns the 1-based column of the mistake, or None without a span."""
        location = self._location()
        return location and location[1]

    def _location(self) -> tuple[int, int] | None:
        if self.source is None or self.span is None:
            return None
        return self.source.line_column(self.span.start)

    def __str__(self) -> str:
        if self.source is None or self.span is None:
            return self.message
        line, column = self.source.line_column(self.span.start)
        caret = self.source.caret(self.span)
        return f"{self.source.name}:{line}:{column}: {self.message}\n{caret}"

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions cross process borders; the default would call the class with `args`, which is empty here.
        return (_rebuild, (type(self), dict(self.__dict__)))


def _rebuild(kind: type[SparseError], state: dict[str, object]) -> SparseError:
    # The built-in class that lays out the object makes it; `kind.__new__` may be that of another: of MemoryError for
    # TooLargeError, which Python refuses.
    maker: Any = kind
    while "__new__" not in vars(maker):
        maker = maker.__base__
    error: SparseError = maker.__new__(kind)
    error.__dict__.update(state)
    return error


class SyntaxError_(SparseError, ValueError):  # noqa: N801, N818 - the builtin has the plain name
    """Text that the grammar does not accept."""


class NotationSyntaxError(SyntaxError_):
    """Index notation that does not parse."""


class EncodingSyntaxError(SyntaxError_):
    """An encoding or tensor type that does not parse."""


class EncodingError(SparseError, ValueError):
    """An encoding that parses, but that no tensor can have."""


class UnknownPresetError(EncodingError, LookupError):
    """A preset name that does not exist."""


class NotationError(SparseError, ValueError):
    """An assignment that parses, but has no meaning."""


class ModuleError(SparseError, ValueError):
    """MLIR that does not parse or verify, or a function that no module has."""


class NoFunctionError(ModuleError, AttributeError):
    """A function that a module does not have; `hasattr` says so."""


class ScheduleError(SparseError, ValueError):
    """A schedule that no kernel can have, or that does not fit this one."""


class SettingError(SparseError, ValueError):
    """An environment variable of this package with an invalid value."""


class UnknownTensorError(SparseError, LookupError):
    """A tensor in the notation without data, or data that the notation does not name."""


class RankError(SparseError, ValueError):
    """A number of subscripts, axes or levels other than the tensor's."""


class ExtentError(SparseError, ValueError):
    """One index variable that ranges over two different extents."""


class DTypeError(SparseError, TypeError):
    """An element type that the dialect or the kernel lacks."""


class LiteralError(SparseError, OverflowError):
    """An integer in the text out of the range of its element type."""


class OperandError(SparseError, TypeError):
    """An operand or output that does not fit the kernel."""


class StorageError(SparseError, ValueError):
    """Level buffers that break their encoding."""


class PositionsError(StorageError):
    """Positions of the wrong number, not monotone, or out of range."""


class CoordinatesError(StorageError):
    """Coordinates out of range, out of order, or repeated where that is forbidden."""


class IndexRangeError(CoordinatesError, IndexError):
    """A subscript of a tensor in Python out of range."""


if TYPE_CHECKING:

    class SingularMatrixError(SparseError, LinAlgError):
        """A matrix without an inverse, or one whose incomplete factors have no pivot in some row."""

else:

    def __getattr__(name: str) -> type[SparseError]:
        """Returns `SingularMatrixError` when it is first asked for: processes that compile load no NumPy."""
        if name != "SingularMatrixError":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from numpy.linalg import LinAlgError

        about = "A matrix without an inverse, or one whose incomplete factors have no pivot in some row."
        made = type(name, (SparseError, LinAlgError), {"__doc__": about, "__module__": __name__})
        return globals().setdefault(name, made)


class WidthError(SparseError, OverflowError):
    """A posWidth or crdWidth too narrow for the data."""


class TooLargeError(SparseError, MemoryError):
    """Data that would not fit in memory; nothing was allocated."""


class FileFormatError(SparseError, ValueError):
    """A file that is truncated, or not in the format its name says."""


class SourceError(SparseError, OSError):
    """A part of a tensor that could not be read, although it was tried several times."""


class UnsupportedError(SparseError, NotImplementedError):
    """A case that no plan covers, refused before the compiler sees it."""


class NotRecordedError(UnsupportedError, AttributeError):
    """An attribute of arrays that lazy expressions do not record; `hasattr` says that there is none."""


class BindingsError(SparseError, ImportError):
    """No usable MLIR Python bindings."""


class MissingPackageError(SparseError, ImportError):
    """An optional package that is not installed."""


@dataclass(eq=False)
class CompileError(SparseError, RuntimeError):
    """MLIR's refusal of a module, with a reproducer.

    Args:
        kernel: the assignment being compiled.
        pipeline: the pass pipeline that ran.
        reproducer: the path of a file with the module and the pipeline.
    """

    kernel: str = ""
    pipeline: str = ""
    reproducer: str | None = None

    def __str__(self) -> str:
        lines = [self.message]
        if self.kernel:
            lines.append(f"  kernel: {self.kernel if len(self.kernel) <= _SHOWN else self.kernel[:_SHOWN] + ' ...'}")
        if self.reproducer:
            lines.append(f"  reproduce: python -P -m mlir_sparse.pipeline {self.reproducer}")
        return "\n".join(lines)


class CompilerCrash(CompileError):  # noqa: N818 - the name says more than an Error suffix would
    """MLIR died, ran past its time limit or out of memory; this process did not."""


class ProgramError(SparseError, RuntimeError):
    """A user's program that ended early: a failed assertion, a missing file, its death, or its time limit."""


class DistributedError(SparseError, RuntimeError):
    """A piece of a statement on a cluster whose workers died, each that computed it."""


class DeviceError(SparseError, RuntimeError):
    """A device that is absent, or that failed."""


class DeviceMemoryError(DeviceError, TooLargeError):
    """Data that would not fit in the memory of a device; nothing was allocated."""


class DenseResultWarning(UserWarning):
    """A dense result is far larger than its operands, and zero almost everywhere: sparse storage may do."""


class DisturbedMeasurementWarning(UserWarning):
    """Something else ran on the machine while it was measured: plans go by times that it does not have alone."""


class DenseCopyWarning(UserWarning):
    """A library asked for a sparse tensor as a dense array, far larger than the tensor."""
