"""Computes lazy expressions: one comprehension for all of them, whose statements are planned together."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.compile.comprehension.comprehension_build import may_gain
from mlir_sparse.compile.comprehension.comprehension_kernel import ComprehensionKernel
from mlir_sparse.compile.entry_points import compile
from mlir_sparse.compile.statement_optimizer import get_optimize
from mlir_sparse.errors import OperandError
from mlir_sparse.lazy.lazy_array import LazyArray, install_computing
from mlir_sparse.lazy.recorded_statements import StatementForm
from mlir_sparse.lazy.recorded_values import ArrayView, OperandValue, Recorded, StatementValue, operand_view
from mlir_sparse.notation import Access, Assignment, Comprehension, Parameter, replace_accesses, walk
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.sketch_of import rounded_sketch

__all__ = ["compute", "kernel_of", "recorded"]

_Options = tuple[str, int | None, bool]

# Enough for a program's expressions, but bounded, as each kernel has machine code.
_CAPACITY = 256
_kernels: OrderedDict[Hashable, ComprehensionKernel] = OrderedDict()
# By structure and options the operands of the last computation, by identity, and its kernel.
_last: OrderedDict[Hashable, tuple[tuple[int, ...], ComprehensionKernel]] = OrderedDict()


def recorded(source: Any) -> LazyArray:
    """Returns an operand as a lazy expression; one that is none yet becomes one."""
    return source if isinstance(source, LazyArray) else LazyArray(operand_view(source))


def compute(
    *expressions: LazyArray, optimize: str | None = None, threads: int | None = None, deterministic: bool = False
) -> Any:
    """Computes lazy expressions together: what they have in common is computed once.

    Args:
        expressions: what `lazy` and operations on it returned.
        optimize: how statements are optimized, as for `compile`.
        threads: the greatest number of threads, as for `compile`.
        deterministic: whether results must be the same, bit for bit, for any number of threads.

    Returns:
        the result of one expression, or a tuple of several: arrays, SparseTensors, and NumPy's scalars for results
            without dimensions.

    Raises:
        OperandError: for anything else than lazy expressions.
        SparseError: one of its kinds, if a kernel cannot be compiled or called.

    >>> import mlir_sparse as ms
    >>> A, x = ms.lazy(np.eye(2)), ms.lazy(np.array([3.0, 4.0]))
    >>> y = A @ x
    >>> ms.compute(y, y.sum())
    (array([3., 4.]), np.float64(7.0))
    """
    for one in expressions:
        if not isinstance(one, LazyArray):
            raise OperandError(f"expected lazy expressions to compute, but got {type(one).__name__}: use ms.lazy(...)")
    options = (get_optimize() if optimize is None else optimize, threads, deterministic)
    if len(expressions) == 1:
        (one,) = expressions
        ready = one._ready
        if ready is None or options not in ready:
            view = one._view
            known, data = _ready([view.value], options)
            one._ready = {options: known} if ready is None else {**ready, options: known}
            return _seen(known.values(data)[0], view)
        known = ready[options]
        return _seen(known.values(_data(known.operands))[0], one._view)
    views = [one._view for one in expressions]
    ready_values, data = _ready([view.value for view in views], options)
    values = ready_values.values(data)
    return tuple(_seen(value, view) for value, view in zip(values, views, strict=True))


def kernel_of(expressions: Sequence[LazyArray], optimize: str | None = None) -> ComprehensionKernel | None:
    """Returns the kernel that computes expressions; None if they are operands as they are."""
    structure = _structure([one._view.value for one in expressions])
    options = (get_optimize() if optimize is None else optimize, None, False)
    return _kernel(structure, _data(structure.operands), options) if structure.statements else None


@dataclass(slots=True, eq=False)  # each recording makes one, and a frozen one takes three times as long
class _Structure:
    """What some values are: statements, each once, by their forms and what they read, whatever the data.

    Args:
        statements: each with what it reads, by number: that of a statement, or below zero `~` that of an operand.
        operands: the operands, each once.
        wanted: the number of each value.
    """

    statements: tuple[tuple[StatementForm, tuple[int, ...]], ...]
    operands: list[OperandValue]
    wanted: tuple[int, ...]


def _structure(wanted: Sequence[Recorded]) -> _Structure:
    """Returns the structure of values; without recursion, as expressions may be deep."""
    operands: list[OperandValue] = []
    statements: list[tuple[StatementForm, tuple[int, ...]]] = []
    numbers: dict[int, int] = {}
    sources: dict[int, int] = {}

    def number_of(operand: OperandValue) -> int:
        number = numbers[id(operand)] = sources.setdefault(id(operand.source), ~len(operands))
        if number == ~len(operands):
            operands.append(operand)
        return number

    left = [one for one in reversed(wanted) if isinstance(one, StatementValue)]
    while left:
        one = left[-1]
        read = []
        for operand in one.operands:
            number = numbers.get(id(operand))
            if number is None:
                if isinstance(operand, StatementValue):
                    left.append(operand)
                    break
                number = number_of(operand)
            read.append(number)
        else:
            left.pop()
            if id(one) not in numbers:
                numbers[id(one)] = len(statements)
                statements.append((one.form, tuple(read)))
    # Operands that no statement reads are last.
    for other in wanted:
        if id(other) not in numbers and isinstance(other, OperandValue):
            number_of(other)
    return _Structure(tuple(statements), operands, tuple([numbers[id(one)] for one in wanted]))


@dataclass(frozen=True, slots=True, eq=False)
class _Program:
    """Recorded statements as a comprehension.

    Args:
        comprehension: the statements, by names that follow from their structure alone.
        names: its parameters: the operands, in order.
        places: for each value that is wanted the number of its result; below zero `~` the number of an operand.
        by_data: whether it can be computed in several ways, of which data decide.
    """

    comprehension: Comprehension
    names: tuple[str, ...]
    places: tuple[int, ...]
    by_data: bool


@lru_cache(maxsize=_CAPACITY)
def _program(statements: tuple[tuple[StatementForm, tuple[int, ...]], ...], wanted: tuple[int, ...]) -> _Program:
    names: list[str] = []
    made: dict[object, Assignment] = {}
    count = 0
    for form, read in statements:
        count = max([count, *(~number + 1 for number in read)])
        operands = [names[number] if number >= 0 else f"a{~number}" for number in read]
        own = dict(zip(form.assignment.inputs, operands, strict=True))
        reads = {node: own[node.tensor] for node in walk(form.assignment.value) if isinstance(node, Access)}
        value, subscripts = replace_accesses(form.assignment.value, reads), form.assignment.target.subscripts
        # Equal steps are computed once.
        target = Access(f"t{len(made)}", subscripts)
        one = made.setdefault((value, subscripts), replace(form.assignment, target=target, value=value))
        names.append(one.target.tensor)
    parameters = tuple(Parameter(f"a{number}") for number in range(count))
    results = tuple(dict.fromkeys(names[number] for number in wanted if number >= 0))
    outputs = tuple(map(Parameter, results))
    comprehension = Comprehension("lazy", parameters, outputs, tuple(made.values()))
    places = tuple(number if number < 0 else results.index(names[number]) for number in wanted)
    return _Program(comprehension, comprehension.inputs, places, may_gain(comprehension))


@dataclass(slots=True, eq=False)  # as above
class _ReadyValues:
    """Values that are wanted, with the kernel that computes them.

    Args:
        kernel: the kernel; None where all are operands.
        operands: what it is called with.
        places: for each value that is wanted the number of its result; below zero `~` the number of an operand.
    """

    kernel: ComprehensionKernel | None
    operands: list[OperandValue]
    places: tuple[int, ...]

    def values(self, data: list[Any]) -> list[Any]:
        """Computes the values of the operands' data."""
        kernel = self.kernel
        found = () if kernel is None else kernel(*data[: len(kernel.parameters)])
        results = found if type(found) is tuple else (found,)
        if self.places == (0,):
            return [*results]
        return [results[place] if place >= 0 else data[~place] for place in self.places]


def _data(operands: Sequence[OperandValue]) -> list[Any]:
    """Returns the tensor or the array of each operand."""
    found = []
    for one in operands:
        source = one.source
        found.append(source if type(source) is SparseTensor or type(source) is np.ndarray else one.data())
    return found


def _kernel(structure: _Structure, data: Sequence[Any], options: _Options) -> ComprehensionKernel:
    """Returns the kernel for a structure and data like its operands: that of the last computation for the same ones."""
    key, same = (structure.statements, structure.wanted, options), tuple(map(id, data))
    last = _last.get(key)
    # Another object in the place of one has the same types: the kernel is right for it, too.
    if last is not None and last[0] == same:
        return last[1]
    kernel = _kernel_for(structure, data, options)
    while len(_last) >= _CAPACITY:
        _last.popitem(last=False)
    _last[key] = same, kernel
    return kernel


def _kernel_for(structure: _Structure, data: Sequence[Any], options: _Options) -> ComprehensionKernel:
    optimize, threads, deterministic = options
    program = _program(structure.statements, structure.wanted)
    values = data[: len(program.names)]
    key: list[Any] = [structure.statements, structure.wanted, options]
    for one in values:
        key += (one.dtype, one.ndim, one.encoding if isinstance(one, SparseTensor) else None)
    if program.by_data and optimize != "off":
        key += map(rounded_sketch, values)
    known = tuple(key)
    kernel = _kernels.get(known)
    if kernel is None:
        tensors = dict(zip(program.names, values, strict=True))
        made = compile(
            program.comprehension, tensors=tensors, optimize=optimize, threads=threads, deterministic=deterministic
        )
        assert isinstance(made, ComprehensionKernel)
        while len(_kernels) >= _CAPACITY:
            _kernels.popitem(last=False)
        kernel = _kernels[known] = made
    return kernel


def _ready(wanted: Sequence[Recorded], options: _Options) -> tuple[_ReadyValues, list[Any]]:
    """Returns what computes values, and the data that it computes them of now."""
    structure = _structure(wanted)
    data = _data(structure.operands)
    if not structure.statements:
        return _ReadyValues(None, structure.operands, structure.wanted), data
    kernel = _kernel(structure, data, options)
    places = _program(structure.statements, structure.wanted).places
    return _ReadyValues(kernel, structure.operands, places), data


def _seen(value: Any, view: ArrayView) -> Any:
    """Returns a computed value with the axes that its user sees."""
    if not view.axes and type(value) is np.ndarray and value.ndim == 0:
        return value[()]
    order = [axis for axis in view.axes if axis is not None]
    if order != list(range(len(order))) and len(order) == value.ndim:
        value = value.transpose(order)
    if value.shape != view.shape:
        value = value.reshape(view.shape)
    return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value


install_computing(compute, kernel_of)
