"""The native steps between calls of compiled functions.

They refer to index variables by name. Each makes the value `result`; one that reads a single value reads `operand`. The
plan's `reason` for a step, `otherwise` and the text of an access are only for people.
"""

from __future__ import annotations

from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import Encoding, TensorType
from mlir_sparse.program.subscript_data import Gathered, Place

__all__ = [
    "ArrayProduct",
    "Conversion",
    "ExtentVector",
    "FibreView",
    "LevelSpaceView",
    "NativeStep",
    "Pick",
    "Position",
    "SharedLevels",
]


class _OfOneValue:
    """A step that reads one value."""

    __slots__ = ()
    operand: str

    @property
    def operands(self) -> tuple[str, ...]:
        """Returns the names of the values read."""
        return (self.operand,)


@dataclass(frozen=True, slots=True)
class Conversion(_OfOneValue):
    """A change of storage or element type.

    Args:
        type: the type of the new value.
        drop_zeros: whether explicit zeros are dropped, as from a dense value that becomes sparse.
        missing: the value of missing entries, if a dense value becomes sparse.
        otherwise: the cost without the conversion.
    """

    result: str
    operand: str
    type: TensorType
    drop_zeros: bool
    reason: str
    missing: complex = 0
    otherwise: str = ""

    def __str__(self) -> str:
        return f"{self.result} = convert {self.operand}  # {self.reason}"


@dataclass(frozen=True, slots=True)
class LevelSpaceView(_OfOneValue):
    """A view of a tensor in level space; stored buffers are not copied."""

    result: str
    operand: str
    reason: str

    def __str__(self) -> str:
        return f"{self.result} = levels of {self.operand}  # {self.reason}"


@dataclass(frozen=True, slots=True)
class FibreView(_OfOneValue):
    """A view of a tensor as its stored fibres: one dimension numbers them, the others are those of a fibre.

    Args:
        depth: the number of levels above the fibres.
        encoding: the encoding of the view.
        variable: the index variable that numbers fibres.
    """

    result: str
    operand: str
    depth: int
    encoding: Encoding
    reason: str
    variable: str = ""

    def __str__(self) -> str:
        return f"{self.result} = fibres of {self.operand} below {self.depth} levels  # {self.reason}"


@dataclass(frozen=True, slots=True)
class SharedLevels:
    """A tensor on another tensor's levels: its first levels with a computed dense row for each fibre, or all of them.

    Args:
        operand: the dense rows; the values, if all levels are shared.
        structure: the tensor with the levels.
        depth: the number of shared levels.
        variables: the index variable of each dimension of the result.
        encoding: the storage of the result.
    """

    result: str
    operand: str
    structure: str
    depth: int
    variables: tuple[str, ...]
    encoding: Encoding
    reason: str

    def __str__(self) -> str:
        return f"{self.result} = {self.operand} below {self.depth} levels of {self.structure}  # {self.reason}"

    @property
    def operands(self) -> tuple[str, ...]:
        """Returns the names of the values read."""
        return self.operand, self.structure


@dataclass(frozen=True, slots=True)
class ExtentVector:
    """A vector with the extent of an index variable, whose elements are not read.

    A loop takes its bounds from an axis. A variable that occurs only in sums (the `k` of `x(2*i + k)`) has none, so it
    gets this vector's.
    """

    result: str
    variable: str
    dtype: DType
    reason: str

    def __str__(self) -> str:
        return f"{self.result} = extent of {self.variable}  # {self.reason}"

    @property
    def operands(self) -> tuple[str, ...]:
        """Returns the names of the values read, which are none."""
        return ()


@dataclass(frozen=True, slots=True)
class Pick:
    """The elements that an access reads, as a tensor with a dimension for each variable of the access.

    Args:
        places: a subscript for each dimension of the operand: gathered, on a diagonal, or strided.
        encoding: the encoding of the result; None for an array.
        access: the access in notation.
    """

    result: str
    operand: str
    places: tuple[Place, ...]
    encoding: Encoding | None
    access: str
    reason: str

    def __str__(self) -> str:
        return f"{self.result} = pick {self.access}  # {self.reason}"

    @property
    def operands(self) -> tuple[str, ...]:
        """Returns the names of the values read."""
        return self.operand, *(place.tensor for place in self.places if isinstance(place, Gathered))


@dataclass(frozen=True, slots=True)
class Position(_OfOneValue):
    """The first position of the greatest or least value along the last axis, dense; missing entries count as zeros."""

    result: str
    operand: str
    greatest: bool
    reason: str

    def __str__(self) -> str:
        return f"{self.result} = arg{'max' if self.greatest else 'min'} {self.operand}  # {self.reason}"


@dataclass(frozen=True, slots=True)
class ArrayProduct:
    """A sum of products of two arrays, which BLAS computes.

    Both have the variables that the product is summed over, and all others of the operands are the result's: those of
    one operand number its rows or columns, those of both number products of matrices. One operand may be a vector.

    Args:
        operands: the names of the arrays.
        axes: the index variable of each axis of both, no one twice in one.
        variables: the index variable of each axis of the result.
        dtype: the element type of all three: f32, f64, c64 or c128.
    """

    result: str
    operands: tuple[str, str]
    axes: tuple[tuple[str, ...], tuple[str, ...]]
    variables: tuple[str, ...]
    dtype: DType
    reason: str

    @property
    def product(self) -> str:
        """Returns the product in notation."""
        return " * ".join(f"{name}({','.join(axes)})" for name, axes in zip(self.operands, self.axes, strict=True))

    def __str__(self) -> str:
        return f"{self.result}({','.join(self.variables)}) = {self.product} by BLAS  # {self.reason}"


NativeStep = Conversion | LevelSpaceView | FibreView | SharedLevels | ExtentVector | Pick | Position | ArrayProduct
