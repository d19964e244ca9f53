"""The steps that are done natively, between calls of compiled functions: what each reads, makes, and is there for.

Index variables stand in them by name. `reason`, `otherwise` and the text of an access are for people alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import Encoding, TensorType
from mlir_sparse.program.places import Gathered, Place

__all__ = [
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
        result: the name of the new value.
        operand: the value to convert.
        type: what to make of it.
        drop_zeros: whether explicit zeros go, as they must where a dense value becomes sparse.
        reason: why the plan has this step.
        missing: the value that an element has which is no entry, where a dense value becomes sparse.
        otherwise: what going without the conversion would cost.
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
    """A tensor read as the plain tensor over levels that its buffers are; nothing is copied that the storage has.

    Args:
        result: the name of the view.
        operand: the tensor.
        reason: why the plan has this step.
    """

    result: str
    operand: str
    reason: str

    def __str__(self) -> str:
        return f"{self.result} = levels of {self.operand}  # {self.reason}"


@dataclass(frozen=True, slots=True)
class FibreView(_OfOneValue):
    """A tensor read as its stored fibres, one after another: a dimension counts them, the rest is that of a fibre.

    Args:
        result: the name of the view; nothing is copied.
        operand: the tensor.
        depth: how many levels are above the fibres.
        encoding: the storage of the view.
        reason: why the plan has this step.
    """

    result: str
    operand: str
    depth: int
    encoding: Encoding
    reason: str

    def __str__(self) -> str:
        return f"{self.result} = fibres of {self.operand} below {self.depth} levels  # {self.reason}"


@dataclass(frozen=True, slots=True)
class SharedLevels:
    """A tensor with the levels of another above its fibres, and a computed row for each fibre; or with all its levels.

    Args:
        result: the name of the tensor.
        operand: the rows, dense; values, where all levels are taken.
        structure: whose levels it has.
        depth: how many of them.
        variables: the index variable of each dimension of the result.
        encoding: the storage of the result.
        reason: why the plan has this step.
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
    """A vector as long as an index variable runs, whose elements nobody reads.

    A loop's bounds are those of an axis that it runs over, which a variable that
    only stands in sums (the `k` of `x(2*i + k)`) has not.

    Args:
        result: the name of the vector.
        variable: the index variable.
        dtype: the element type.
        reason: why the plan has this step.
    """

    result: str
    variable: str
    dtype: DType
    reason: str

    def __str__(self) -> str:
        return f"{self.result} = extent of {self.variable}  # {self.reason}"

    @property
    def operands(self) -> tuple[str, ...]:
        """Returns the names of the values read: none."""
        return ()


@dataclass(frozen=True, slots=True)
class Pick:
    """The elements that an access reads, as a tensor over its variables.

    Args:
        result: the name of the new value, a dimension for each variable of the access.
        operand: the tensor that is read.
        places: a subscript for each of its dimensions: gathered, on a diagonal, or strided.
        encoding: the storage of the result; None for an array.
        access: which elements these are, in notation.
        reason: why the plan has this step.
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
    """The first position of the greatest or least value along the last axis.

    Args:
        result: the name of the new value, dense.
        operand: the value to look in; zeros that it does not store count.
        greatest: whether to look for the greatest.
        reason: why the plan has this step.
    """

    result: str
    operand: str
    greatest: bool
    reason: str

    def __str__(self) -> str:
        return f"{self.result} = arg{'max' if self.greatest else 'min'} {self.operand}  # {self.reason}"


NativeStep = Conversion | LevelSpaceView | FibreView | SharedLevels | ExtentVector | Pick | Position
