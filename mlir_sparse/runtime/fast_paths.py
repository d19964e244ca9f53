"""The fast paths of kernels: calls for operands that need no conversion, and are checked on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mlir_sparse import _native
from mlir_sparse.encoding import Encoding
from mlir_sparse.process.first_use import import_at_first_call
from mlir_sparse.runtime.function_call import FunctionCall, Value, entries_at, entries_of, lay_out, reserved
from mlir_sparse.runtime.level_view_calls import LevelViewCall
from mlir_sparse.runtime.multiply_arrays import ArrayMultiplication
from mlir_sparse.runtime.narrowed_values import NarrowedCall
from mlir_sparse.runtime.repeated_program import RepeatedProgram
from mlir_sparse.runtime.small_results import SmallCall, small_call
from mlir_sparse.tensor import SparseTensor

if TYPE_CHECKING:
    from mlir_sparse.tensor.stored_fibres import of_rows
else:
    import_at_first_call(__name__, {"tensor.stored_fibres": ("of_rows",)})

__all__ = ["ChainedCalls", "Direct", "ReorderedCall", "SampledCall", "SparseCall", "repeated_sparse_call"]


class SparseCall:
    """A kernel of one call with a sparse result: the fast path for operands that need no conversion.

    Args:
        call: the call; all subscripts of its operands are plain index variables.
    """

    def __init__(self, call: FunctionCall) -> None:
        self._call = call
        # The call for operands of the sizes of the last call, if its result is small.
        self._small: SmallCall | None = None

    def direct(self, operands: tuple[Any, ...], out: object = None) -> SparseTensor | None:
        """Returns the result; None for operands that do not fit, which the caller then names."""
        nest = self._call.nest
        if out is not None or len(operands) != len(nest.operands):
            return None
        found = None if self._small is None else self._small.run(operands)
        if found is not None:
            return found
        extents: dict[str, int] = {}
        for operand, axes in zip(operands, nest.axes, strict=True):
            # Arrays of other libraries have shapes too; the launcher refuses them.
            shape = getattr(operand, "shape", ())
            if not isinstance(operand, (SparseTensor, np.ndarray)) or len(shape) != len(axes):
                return None
            for variable, size in zip(axes, shape, strict=True):
                if variable is None or extents.setdefault(variable, size) != size:
                    return None
        # Of other types, the result's sizes may be wrong too: they are none of this call's to refuse.
        if not self._call.launcher.fits(operands):
            return None
        made = lay_out(self._call, operands, extents)
        self._small = None if made is None else self._of_small(operands, extents)
        return made

    def _of_small(self, operands: tuple[Value, ...], extents: Mapping[str, int]) -> SmallCall | None:
        nest, layout = self._call.nest, self._call.buffers
        assert layout is not None
        (_, most), points = entries_of(nest, operands, extents)
        shape = tuple(extents[variable] for variable in nest.variables)
        sizes = tuple(shape[dim] for dim in layout.order)
        return small_call(self._call.launcher, layout, operands, shape, sizes, most, points)


def repeated_sparse_call(call: FunctionCall) -> Callable[[tuple[Any, ...]], SparseTensor | None] | None:
    """Returns what runs a call with a sparse result again; None for one of more than its operands as they are.

    What it returns gives None for operands that do not fit.
    """
    nest, again = call.nest, SparseCall(call)
    bound = {variable for axes in nest.axes for variable in axes}
    if nest.encoding is None or nest.sampled is not None or nest.frames or not bound >= {*nest.variables}:
        return None
    return again.direct


class SampledCall:
    """A kernel of one call that computes values at the entries of an operand, in the operand's encoding."""

    def __init__(self, call: FunctionCall, encoding: Encoding) -> None:
        self._call = call
        self._encoding = encoding

    def direct(self, operands: tuple[Any, ...], out: object = None) -> SparseTensor | None:
        """Returns the result; None for operands that do not fit, which the caller then names."""
        nest = self._call.nest
        if nest.sampled is None or out is not None or len(operands) != len(nest.operands):
            return None
        sampled = operands[nest.sampled]
        if not isinstance(sampled, SparseTensor):
            return None
        values = self._call.launcher.direct(operands, reserved((entries_at(sampled),), nest.dtype))
        if values is None:
            return None
        return of_rows(values, sampled, self._encoding.lvl_rank, self._encoding, sampled.shape)


class ReorderedCall:
    """A kernel of one call whose function has the operands in another order, or one of them more than once.

    Args:
        function: the call.
        order: the number of each of its operands among the kernel's.
        count: the number of the kernel's operands.
    """

    def __init__(self, function: SparseCall | SampledCall, order: Sequence[int], count: int) -> None:
        self._function = function
        self._order = order
        self._count = count

    def direct(self, operands: tuple[Any, ...], out: object = None) -> Any:
        """Returns the result; None for operands that do not fit, which the caller then names."""
        if len(operands) != self._count:
            return None
        return self._function.direct(tuple(map(operands.__getitem__, self._order)), out)


class ChainedCalls:
    """A kernel of several calls that accumulate into one dense result.

    Args:
        calls: the functions, each with the numbers of its operands among the kernel's.
        count: the number of the kernel's operands; some function reads each.
    """

    def __init__(self, calls: Sequence[tuple[_native.Launcher, tuple[int, ...]]], count: int) -> None:
        self._calls = calls
        self._count = count

    def direct(self, operands: tuple[Any, ...], out: Any = None) -> Any:
        """Returns the result; None for operands that do not fit, which the caller then names."""
        if len(operands) != self._count:
            return None
        calls = [(function, tuple(operands[number] for number in order)) for function, order in self._calls]
        # The result must not be an operand of a later call.
        if out is not None and not all(function.accepts(arguments, out) for function, arguments in calls):
            return None
        for function, arguments in calls:
            out = function.direct(arguments, out)
            if out is None:
                return None
        return out


Direct = (
    _native.Launcher
    | _native.SizedLauncher
    | _native.ProgramLauncher
    | SparseCall
    | SampledCall
    | ReorderedCall
    | ChainedCalls
    | LevelViewCall
    | NarrowedCall
    | ArrayMultiplication
    | RepeatedProgram
)
