"""A function of a user's module, which is called with tensors, arrays and numbers."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.compile.modules.failed_assertion import located
from mlir_sparse.errors import DTypeError, OperandError, ProgramError, SparseError, UnsupportedError
from mlir_sparse.pipeline import DeclaredFunction
from mlir_sparse.process.child_process import in_child
from mlir_sparse.process.forks import cached_property
from mlir_sparse.runtime import Machine
from mlir_sparse.runtime.operand_check import as_output
from mlir_sparse.runtime.program_memory import CallFrame
from mlir_sparse.runtime.program_values import DenseValue, ProgramValue, result_of_type, value_of_type
from mlir_sparse.text.given_arguments import seconds_of
from mlir_sparse.text.listed_words import listed
from mlir_sparse.text.shown_text import PrintedValue
from mlir_sparse.text.source_text import Source

__all__ = ["ModuleFunction"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class ModuleFunction(PrintedValue):
    """A public function of a `module`: call it with its operands, by position or by name.

    Args:
        declared: its name, and the types as the module has them.
        parameters: the names of its parameters.
        machine: its machine code.
        module_name: what messages call the module.
        source: the module's text; None where there is only bytecode.
    """

    declared: DeclaredFunction
    parameters: tuple[str, ...]
    machine: Machine
    module_name: str = "module"
    source: Source | None = None

    @property
    def name(self) -> str:
        """Returns its symbol."""
        return self.declared.name

    def __post_init__(self) -> None:
        # For `help` and `inspect.signature`, which look at the object.
        object.__setattr__(self, "__doc__", self._text())
        object.__setattr__(self, "__signature__", self._signature())

    def _signature(self) -> inspect.Signature:
        kinds = inspect.Parameter
        given = zip(self.parameters, self.declared.inputs, strict=True)
        found = [kinds(name, kinds.POSITIONAL_OR_KEYWORD, annotation=mlir) for name, mlir in given]
        if self._written is not None and "out" not in self.parameters:
            found.append(kinds("out", kinds.KEYWORD_ONLY, default=None))
        if "convert" not in self.parameters:
            found.append(kinds("convert", kinds.KEYWORD_ONLY, default=False))
        return inspect.Signature(found)

    def _text(self) -> str:
        given = ", ".join(f"{name}: {mlir}" for name, mlir in zip(self.parameters, self.declared.inputs, strict=True))
        results = self.declared.results
        returned = f"({', '.join(results)})" if len(results) != 1 else results[0]
        return f"{self.name}({given}) -> {returned}"

    def __repr__(self) -> str:
        return f"<function {self._text()}>"

    @cached_property
    def inputs(self) -> tuple[ProgramValue, ...]:
        """Returns the values that it takes.

        Raises:
            UnsupportedError: for a type whose values only the program itself can have.
        """
        return tuple(self._value(mlir, value_of_type) for mlir in self.declared.inputs)

    @cached_property
    def results(self) -> tuple[ProgramValue, ...]:
        """Returns the values that it returns; raises as `inputs` does."""
        return tuple(self._value(mlir, result_of_type) for mlir in self.declared.results)

    def _value(self, mlir: str, read: Callable[[str], ProgramValue]) -> ProgramValue:
        try:
            return read(mlir)
        except UnsupportedError as error:
            raise UnsupportedError(f"{error.message} in {self.name}: call it from another function") from None

    @cached_property
    def _effects(self) -> tuple[tuple[int, ...], ...]:
        """Returns what the function does to the memrefs of each parameter."""
        found, start = [], 0
        for one in self.inputs:
            found.append(self.declared.effects[start : start + one.memrefs])
            start += one.memrefs
        return tuple(found)

    @cached_property
    def _written(self) -> int | None:
        """Returns the one dense tensor that the function may write to; None if there are none or several."""
        try:
            pairs = enumerate(zip(self.inputs, self._effects, strict=True))
        except UnsupportedError:
            return None
        places = [
            place
            for place, (one, effects) in pairs
            if isinstance(one, DenseValue) and not one.shares and max(effects, default=0) == 1
        ]
        return places[0] if len(places) == 1 else None

    def __call__(self, /, *operands: Any, out: Any = None, convert: bool = False, **named: Any) -> Any:
        """Runs the function.

        Tensors are values: what the function writes to in place is a copy, except `out`. A memref is the caller's
        array.

        Args:
            operands: tensors, arrays and numbers of the declared types.
            out: the array for the result that the function computes in the place of its dense operand; where that
                operand is left out, it is `out` itself, with the values that it has.
            convert: whether to convert operands of other storage or element types.
            named: operands by name.

        Returns:
            an array, a SparseTensor or a number; a tuple of several; None if the function returns nothing.

        Raises:
            OperandError, DTypeError, RankError, ExtentError: for operands that do not fit the declared types.
            ProgramError: if the program ends early: by a failed assertion, such as those of indices and extents, with
                its place in the module.
            StorageError: for a sparse result with buffers that break its encoding.
        """
        results, given = self.results, self._in_order(operands, named, out)
        kinds = zip(self.parameters, given, self.inputs, strict=True)
        values = [_checked(name, source, kind, convert) for name, source, kind in kinds]
        target = None if out is None else self._take_place(out, values)
        frame = CallFrame()
        by_pointer = len(results) > 1 or (len(results) == 1 and results[0].by_pointer)
        nbytes = _struct_bytes(results)
        if by_pointer:
            frame.expect(nbytes, by_pointer=True)
        for place, (kind, value, effects) in enumerate(zip(self.inputs, values, self._effects, strict=True)):
            if target is not None and place == self._written:
                frame.memref(target, own=True)
            else:
                kind.put(frame, value, effects)
        if results and not by_pointer:
            frame.expect(nbytes, by_pointer=False)
        try:
            found = frame.run(self.machine.addresses[self.name])
        except ProgramError as error:
            raise located(error, self.source, self.module_name) from None
        returned = tuple(kind.take(found) for kind in results)
        if target is not None:
            returned = self._in_place(returned, out, target)
        return returned[0] if len(returned) == 1 else returned or None

    def in_child(self, /, *operands: Any, timeout: float | None = None, convert: bool = False, **named: Any) -> Any:
        """Runs the function in a fork of this process: one that crashes or never ends is an error here.

        Nothing that it writes to memory is seen here but what it returns, which is copied: so there is no `out`.

        Args:
            operands: as for a call.
            timeout: seconds after which the program is ended; None for no limit. Ctrl-C ends it too.
            convert: likewise.
            named: likewise.

        Raises:
            OperandError: for a timeout that is no number of seconds.
            ProgramError: if the program dies, or runs past its time; as a call otherwise.
        """

        def work() -> tuple[int, bytes]:
            try:
                returned = self(*operands, convert=convert, **named)
                return 0, pickle.dumps((returned, None), protocol=pickle.HIGHEST_PROTOCOL)
            except SparseError as error:
                return 0, pickle.dumps((None, error), protocol=pickle.HIGHEST_PROTOCOL)

        end = in_child(work, None if timeout is None else seconds_of(timeout, "timeout"))
        if end.timed_out:
            raise ProgramError(f"expected {self.name} to end within {timeout:g} s, but it did not: raise timeout=")
        if end.status or not end.content:  # a program may also end its process by itself
            raise ProgramError(f"expected {self.name} to return, but its process {end.how}")
        returned, error = pickle.loads(end.content)
        if error is not None:
            raise error
        return returned

    def __reduce__(self) -> NoReturn:
        raise UnsupportedError(
            f"expected a module to pickle, but got its function {self.name}: pickle the module, "
            f"and take {self.name} of what is loaded"
        )

    def _in_order(self, operands: Sequence[Any], named: Mapping[str, Any], out: Any) -> list[Any]:
        """Returns an operand for each parameter."""
        names = self.parameters
        unknown = [name for name in named if name not in names]
        if unknown:
            raise OperandError(f"expected operands of {self._text()}, but got {listed(unknown)}")
        taken = dict(zip(names, operands, strict=False))
        twice = [name for name in named if name in taken]
        if twice or len(operands) > len(names):
            got = f"{listed(twice)} twice" if twice else f"{len(operands)} operands"
            raise OperandError(f"expected {len(names)} operands for {self._text()}, but got {got}")
        taken |= named
        if out is not None and self._written is not None and len(taken) == len(names) - 1:
            taken = self._with_out(operands, named, out)
        missing = [name for name in names if name not in taken]
        if missing:
            raise OperandError(f"expected {len(names)} operands for {self._text()}, but got none for {listed(missing)}")
        return [taken[name] for name in names]

    def _with_out(self, operands: Sequence[Any], named: Mapping[str, Any], out: Any) -> dict[str, Any]:
        """Returns the operands by name, with `out` where the function writes."""
        assert self._written is not None
        rest = [name for place, name in enumerate(self.parameters) if place != self._written]
        return {**dict(zip(rest, operands, strict=False)), **named, self.parameters[self._written]: out}

    def _take_place(self, out: Any, values: list[Any]) -> Array:
        """Returns the array to compute in, with the values of the operand whose place it takes."""
        place = self._written
        if place is None:
            raise OperandError(
                f"expected no out= for {self._text()}, which computes in the place of no dense operand or of several, "
                f"but got {type(out).__name__}"
            )
        array = as_output(out, self.inputs[place].type)
        value: Array = values[place]
        if array.shape != value.shape:
            raise OperandError(f"expected out of shape {value.shape}, but got {array.shape}")
        shared = any(np.may_share_memory(array, other) for at, other in _arrays(values) if at != place)
        if not array.flags.c_contiguous or not array.flags.aligned or not array.dtype.isnative or shared:
            return value.copy()
        if value is not array:
            array[...] = value
        return array

    def _in_place(self, returned: tuple[Any, ...], out: Array, target: Array) -> tuple[Any, ...]:
        """Returns the results, the one that was computed in the array as the caller's own."""
        place = self._written
        assert place is not None
        arrays = [(at, one) for at, one in enumerate(returned) if isinstance(one, np.ndarray)]
        computed = [at for at, one in arrays if np.may_share_memory(one, target)]
        # A function may also have computed elsewhere: what fits is the result.
        fitting = [at for at, one in arrays if (one.shape, one.dtype) == (out.shape, self._dtype_of(place))]
        at = next(iter((*computed, *fitting)), None)
        if at is None:
            return returned
        if target is not out or at not in computed:
            out[...] = returned[at]
        return (*returned[:at], out, *returned[at + 1 :])

    def _dtype_of(self, place: int) -> np.dtype[Any]:
        return self.inputs[place].type.dtype.numpy


def _checked(name: str, source: Any, kind: ProgramValue, convert: bool) -> Any:
    """Returns an operand as a value of its type; an error names the way out that modules have."""
    try:
        return kind.check(name, source, convert=convert)
    except (OperandError, DTypeError) as error:
        rule, compiles, _ = error.message.partition(", or compile for ")
        if compiles:
            error.message = f"{rule}, or call with convert=True"
        raise


def _arrays(values: Sequence[Any]) -> Iterator[tuple[int, Array]]:
    for at, value in enumerate(values):
        buffers = (value,) if isinstance(value, np.ndarray) else value.storage.buffers()
        yield from ((at, buffer) for buffer in buffers)


def _struct_bytes(results: Sequence[ProgramValue]) -> int:
    """Returns enough bytes for a struct of results: fields are aligned to 8 bytes at most."""
    return sum(one.nbytes + 8 for one in results)
