"""The parameters and results of users' functions: a MLIR type, and how its values cross the border.

Sparse tensors cross as compiled kernels have them: their buffers in the order of `buffer_layout`, then a struct of
level sizes and used lengths (see `call_arguments`).
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import field, replace
from typing import Any

import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import INTEGER, DType
from mlir_sparse.encoding import DimSlice, Encoding, TensorType
from mlir_sparse.encoding.buffer_layout import check_supported, level_buffers
from mlir_sparse.errors import ExtentError, OperandError, SparseError, UnsupportedError
from mlir_sparse.runtime.call_arguments import buffer_dtypes, sparse_result
from mlir_sparse.runtime.operand_check import as_argument
from mlir_sparse.runtime.program_memory import CallFrame, ResultBytes
from mlir_sparse.runtime.strided_values import StridedLayout
from mlir_sparse.tensor import LevelStorage, SparseTensor, tensor
from mlir_sparse.tensor.batch_and_slice_parts import is_plain, plain_encoding
from mlir_sparse.tensor.validate import validate_storage

__all__ = ["DenseValue", "NumberValue", "ProgramValue", "SliceValue", "SparseValue", "result_of_type", "value_of_type"]

Array = np.ndarray[Any, Any]
READS, WRITES, FREES = 0, 1, 2  # what a function does to a memref, as the compiler found it

_INDEX = "index"
_MEMREF = re.compile(r"memref<(?P<head>[^,]*?)(?P<layout>, strided<.*>)?>$")


@dataclass(frozen=True, slots=True)
class ProgramValue(ABC):
    """A value of one MLIR type.

    Args:
        mlir: the type, as MLIR prints it.
        type: element type, shape and storage.
    """

    mlir: str
    type: TensorType

    @property
    def memrefs(self) -> int:
        """Returns how many parameters of the compiled function it becomes."""
        return 1

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Returns the bytes in the struct of a result."""

    @property
    def by_pointer(self) -> bool:
        """Returns whether a function that returns it alone takes a pointer to store it at."""
        return True

    @abstractmethod
    def check(self, name: str, source: object, *, convert: bool) -> Any:
        """Returns an operand as a value of this type.

        Raises:
            SparseError: for an operand that does not fit.
        """

    @abstractmethod
    def put(self, frame: CallFrame, value: Any, effects: tuple[int, ...]) -> None:
        """Passes a value; what the function writes to is a copy."""

    @abstractmethod
    def take(self, found: ResultBytes) -> Any:
        """Returns the value that comes next in a result."""


@dataclass(frozen=True, slots=True)
class DenseValue(ProgramValue):
    """A dense tensor, or a memref: what is written to it then is the caller's.

    Args:
        shares: whether it is a memref.
        layout: where the elements of a memref lie; None for C's order.
    """

    shares: bool = False
    layout: StridedLayout | None = None

    @property
    def nbytes(self) -> int:
        """Returns the bytes of its descriptor."""
        return 8 * (3 + 2 * self.type.rank)

    def check(self, name: str, source: object, *, convert: bool) -> Array:
        """Returns an array of the type; `convert` allows another element type, and sparse data."""
        if self.layout is not None:
            return self.layout.check(name, source, self.type)
        if convert:
            source = source.to_numpy() if isinstance(source, SparseTensor) else source
            source = np.asarray(source).astype(self.type.dtype.numpy, copy=False)
        value = as_argument(name, source, self.type)
        assert isinstance(value, np.ndarray)
        _check_extents(name, value.shape, self.type)
        if self.shares and value is not source:
            raise OperandError(
                f"expected an array of {self.type} in C's order for {name}, whose elements the function may write to, "
                f"but got {type(source).__name__}: pass np.ascontiguousarray({name}, {self.type.dtype.numpy.name!r})"
            )
        return value

    def put(self, frame: CallFrame, value: Array, effects: tuple[int, ...]) -> None:
        """Passes an array."""
        effect = max(effects, default=READS)
        if self.shares:
            if effect and not value.flags.writeable:
                raise OperandError(f"expected a writeable array for {self.mlir}, but got a read-only one")
            frame.memref(value, own=False, offset=0 if self.layout is None else self.layout.offset or 0)
        elif effect == FREES:
            frame.memref(value, own=False, freed=True)
        else:
            frame.memref(value.copy() if effect else value, own=bool(effect))

    def take(self, found: ResultBytes) -> Array:
        """Returns an array."""
        return found.memref(self.type.rank, self.type.dtype.numpy)


@dataclass(frozen=True, slots=True)
class NumberValue(ProgramValue):
    """A number."""

    @property
    def nbytes(self) -> int:
        """Returns the bytes of the number."""
        return self.type.dtype.itemsize

    @property
    def by_pointer(self) -> bool:
        """Returns whether it is a struct: of a complex number's parts."""
        return self.type.dtype.is_complex

    def check(self, name: str, source: object, *, convert: bool) -> Array:
        """Returns an array without axes."""
        if convert:
            source = np.asarray(source).astype(self.type.dtype.numpy)
        value = as_argument(name, source, self.type)
        assert isinstance(value, np.ndarray)
        return value

    def put(self, frame: CallFrame, value: Array, effects: tuple[int, ...]) -> None:
        """Passes a number."""
        frame.scalar(value)

    def take(self, found: ResultBytes) -> Any:
        """Returns a number of NumPy's."""
        kind = self.type.dtype.numpy
        return found.take(kind, alignment=kind.itemsize // 2 if self.by_pointer else kind.itemsize)[0]


@dataclass(frozen=True, slots=True)
class SparseValue(ProgramValue):
    """A sparse tensor.

    Args:
        encoding: with concrete widths: those that the type leaves out are of 64 bits.
    """

    encoding: Encoding = field(kw_only=True)

    @property
    def memrefs(self) -> int:
        """Returns the number of buffers, and one for the struct of sizes."""
        return len(level_buffers(self.encoding)) + 2

    @property
    def nbytes(self) -> int:
        """Returns the bytes of the buffers' descriptors and of the struct."""
        buffers = self.memrefs - 1
        return 8 * (5 * buffers + self.encoding.lvl_rank + buffers)

    def check(self, name: str, source: object, *, convert: bool) -> SparseTensor:
        """Returns a tensor of the type; `convert` allows other storage, and dense data."""
        kind = replace(self.type, encoding=self.encoding)
        if convert:
            made = tensor(source, self.encoding)
            source = made.astype(kind.dtype.numpy) if DType.of(made.dtype) != kind.dtype else made
        value = as_argument(name, source, kind)
        assert isinstance(value, SparseTensor)
        _check_extents(name, value.shape, self.type)
        return value

    def put(self, frame: CallFrame, value: SparseTensor, effects: tuple[int, ...]) -> None:
        """Passes the buffers of a tensor, and its sizes."""
        buffers = value.storage.buffers()
        known = effects or (READS,) * len(buffers)
        for buffer, effect in zip(buffers, known, strict=False):
            copied = buffer.copy() if effect == WRITES else buffer
            frame.memref(copied, own=effect == WRITES, freed=effect == FREES)
        frame.words([*value.storage.level_sizes, *(buffer.size for buffer in buffers)])

    def take(self, found: ResultBytes) -> SparseTensor:
        """Returns a tensor on the buffers that the program made.

        Raises:
            StorageError: for buffers that break the encoding.
        """
        buffers = [found.memref(1, kind) for kind in buffer_dtypes(self.encoding, self.type.dtype)]
        sizes = tuple(found.words(self.encoding.lvl_rank))
        used = found.words(len(buffers))
        stored = [buffer[:length] for buffer, length in zip(buffers, used, strict=True)]
        ends = self.encoding.lvl_to_dim.evaluate([size - 1 for size in sizes])
        known = zip(self.type.shape, ends, strict=True)
        shape = tuple(end + 1 if extent is None else extent for extent, end in known)
        storage = LevelStorage.from_buffers(self.encoding, sizes, tuple(stored))
        validate_storage(storage, shape)
        return sparse_result(self.encoding, shape, sizes, storage.buffers())


@dataclass(frozen=True, slots=True)
class SliceValue(SparseValue):
    """A slice of a sparse tensor as a parameter: the program gets a copy of its entries.

    Args:
        declared: the encoding with its slices.
    """

    declared: Encoding = field(kw_only=True)

    def check(self, name: str, source: object, *, convert: bool) -> SparseTensor:
        """Returns the entries of a slice as a tensor of the same levels.

        Raises:
            OperandError: for a slice of another offset or stride than the type says.
        """
        if isinstance(source, SparseTensor) and source.encoding.has_slices:
            for dim, (wanted, got) in enumerate(zip(self.declared.slices, source.encoding.slices, strict=False)):
                if not _is_part(wanted, got):
                    raise OperandError(f"expected {wanted} in dimension {dim} of {name}, but got {got}")
            source = tensor(source, plain_encoding(source.encoding))
        return SparseValue.check(self, name, source, convert=convert)


def _is_part(wanted: DimSlice | None, got: DimSlice | None) -> bool:
    if wanted is None or got is None:
        return True
    return wanted.offset in (None, got.offset) and wanted.stride in (None, got.stride)


def value_of_type(mlir: str) -> ProgramValue:
    """Returns the value of a MLIR type.

    Raises:
        UnsupportedError: for a type whose values only the program itself can have.
    """
    refusal = f"expected a tensor, a memref or a number in the types of a function to call, but got {mlir}"
    text = mlir.replace(f"x{_INDEX}", f"x{INTEGER.mlir}", 1).replace(f"<{_INDEX}", f"<{INTEGER.mlir}", 1)
    try:
        if mlir.startswith("tensor<"):
            return _tensor_value(mlir, TensorType.parse(text))
        if found := _MEMREF.match(text):
            layout = StridedLayout.parse(found["layout"].removeprefix(", ")) if found["layout"] else None
            return DenseValue(mlir, TensorType.parse(f"tensor<{found['head']}>"), shares=True, layout=layout)
        scalar = INTEGER if mlir == _INDEX else DType.named(mlir)
        return NumberValue(mlir, TensorType(scalar, ()))
    except UnsupportedError:
        raise
    except SparseError:
        raise UnsupportedError(refusal) from None


def result_of_type(mlir: str) -> ProgramValue:
    """Returns the value of the MLIR type of a result; raises as `value_of_type` does, and for batches and slices."""
    value = value_of_type(mlir)
    if isinstance(value, SliceValue) or (isinstance(value, SparseValue) and not is_plain(value.encoding)):
        raise UnsupportedError(f"expected no batches and slices in the results of a function to call, but got {mlir}")
    return value


def _tensor_value(mlir: str, kind: TensorType) -> ProgramValue:
    if kind.encoding is None:
        return DenseValue(mlir, kind)
    check_supported(kind.encoding)
    encoding = kind.encoding.with_widths(kind.encoding.pos_width or 64, kind.encoding.crd_width or 64)
    if encoding.has_slices:
        whole = replace(kind, encoding=kind.encoding.without_slices())
        return SliceValue(mlir, whole, encoding=encoding.without_slices(), declared=encoding)
    return SparseValue(mlir, kind, encoding=encoding)


def _check_extents(name: str, got: tuple[int, ...], kind: TensorType) -> None:
    for axis, (wanted, extent) in enumerate(zip(kind.shape, got, strict=True)):
        if wanted is not None and wanted != extent:
            raise ExtentError(
                f"expected {name} of {wanted} along axis {axis}, as its type {kind} says, but got {extent}"
            )
