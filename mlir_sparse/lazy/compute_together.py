"""Computes lazy expressions: one comprehension for all of them, whose statements are planned together."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.compile.chunked_operands import evaluated_in_chunks
from mlir_sparse.compile.compile_options import CompileOptions
from mlir_sparse.compile.compiled_kernel import StatementKernel
from mlir_sparse.compile.comprehension.comprehension_build import may_gain
from mlir_sparse.compile.comprehension.comprehension_kernel import ComprehensionKernel
from mlir_sparse.compile.cpu_kernel import Kernel
from mlir_sparse.compile.entry_points import compile
from mlir_sparse.compile.statement_optimizer import get_optimize
from mlir_sparse.errors import OperandError
from mlir_sparse.lazy.known_recordings import Operands, RecordedForm
from mlir_sparse.lazy.lazy_array import LazyArray, install_computing
from mlir_sparse.lazy.recorded_statements import StatementForm
from mlir_sparse.lazy.recorded_values import OperandValue, Recorded, StatementValue
from mlir_sparse.notation import Access, Assignment, Comprehension, Parameter, replace_accesses, walk
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.borders.dask_arrays import is_in_chunks
from mlir_sparse.tensor.sketch_of import rounded_sketch

__all__ = ["compute", "kernel_of", "recorded"]

_Options = tuple[str, int | None, bool]

# Enough for a program's expressions, but bounded, as each kernel has machine code.
_CAPACITY = 256
_kernels: OrderedDict[Hashable, ComprehensionKernel] = OrderedDict()
# By form, options and tensors what computes such an expression. The kernel is planned for how entries of these tensors
# spread, which never changes. Another object in the place of one has the same type: the kernel is right for it, too.
_known: OrderedDict[tuple[RecordedForm, _Options, tuple[int, ...]], _KnownCall] = OrderedDict()
# By structure and options the operands of the last computation, by identity, and its kernel.
_last: OrderedDict[Hashable, tuple[tuple[Hashable, ...], ComprehensionKernel]] = OrderedDict()


def recorded(source: Any) -> LazyArray:
    """Returns an operand as a lazy expression; one that is none yet becomes one."""
    return source if isinstance(source, LazyArray) else LazyArray._of_operand(source)


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
            without dimensions; where operands are dask.arrays, dask.arrays of which nothing is computed yet.

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
    if len(expressions) == 1:
        return _compute_one(expressions[0], optimize, threads, deterministic)
    options = (get_optimize() if optimize is None else optimize, threads, deterministic)
    views = [one._view for one in expressions]
    ready_values, data = _ready([view.value for view in views], options)
    values = ready_values.values(data)
    return tuple(_seen(value, view.axes, view.shape) for value, view in zip(values, views, strict=True))


def _compute_one(one: LazyArray, optimize: str | None, threads: int | None, deterministic: bool) -> Any:
    """Computes one expression; for the arguments see `compute`."""
    options, form = (get_optimize() if optimize is None else optimize, threads, deterministic), one._form
    if form is not None:
        known = _known.get((form, options, _tensors(one)))
        if known is not None:
            return known.value(one._operands)
    return _computed(one, options)


def _tensors(one: LazyArray) -> tuple[int, ...]:
    """Returns the tensors that an expression of a known form reads, by identity; of arrays only the shapes count."""
    return tuple([id(operand) for operand in one._operands if type(operand) is SparseTensor])


def _computed(one: LazyArray, options: _Options) -> Any:
    """Computes one expression, by the kernel of its last computation if there was one, and keeps what others need."""
    ready, view = one._ready, one._view
    if ready is None or options not in ready:
        known, data = _ready([view.value], options)
        one._ready = {options: known} if ready is None else {**ready, options: known}
    else:
        known = ready[options]
        data = _data(known.operands)
    value = known.values(data)[0]
    if isinstance(known.kernel, ComprehensionKernel) and known.places == (0,):
        _keep(one, options, known.kernel, data)
    return _seen(value, view.axes, view.shape)


def _keep(one: LazyArray, options: _Options, kernel: ComprehensionKernel, data: Sequence[Any]) -> None:
    """Keeps what further computations of expressions like one need; nothing where its steps have made operands."""
    form, read = one._form, tuple(data[: len(kernel.parameters)])
    numbers = {id(operand): number for number, operand in enumerate(one._operands)}
    if form is None or not all(id(operand) in numbers for operand in read):
        return
    order = tuple([numbers[id(operand)] for operand in read])
    single = None if kernel._last is None else kernel._last.single(read)
    called, again = (kernel, order) if single is None else (single[0], tuple([order[place] for place in single[1]]))
    while len(_known) >= _CAPACITY:
        _known.popitem(last=False)
    in_order = again == tuple(range(len(one._operands)))
    view = one._view
    _known[form, options, _tensors(one)] = _KnownCall(
        kernel, called, None if in_order else again, view.axes, view.shape
    )


def kernel_of(expressions: Sequence[LazyArray], optimize: str | None = None) -> ComprehensionKernel | None:
    """Returns the kernel that computes expressions; None if they are operands as they are."""
    structure = _structure([one._view.value for one in expressions])
    options, data = (get_optimize() if optimize is None else optimize, None, False), _data(structure.operands)
    if any(map(is_in_chunks, data)):
        raise OperandError(
            "expected operands in memory for the kernel of a lazy expression, but got dask.arrays: compute() gives a "
            "dask.array of it, and mlir_sparse.dask.explain says how statements are cut"
        )
    return _kernel(structure, data, options) if structure.statements else None


@dataclass(frozen=True, slots=True, eq=False)
class _KnownCall:
    """What computes expressions of one form. It holds none of their data.

    Args:
        kernel: the kernel.
        called: it, or that of its statement, where that is all that it runs.
        order: the number of the operand for each parameter of what is called; None for all, as they are.
        axes: the axis of the value behind each axis of the result.
        shape: the extents of the result.
    """

    kernel: ComprehensionKernel
    called: ComprehensionKernel | StatementKernel
    order: tuple[int, ...] | None
    axes: tuple[int | None, ...]
    shape: tuple[int, ...]

    def value(self, operands: Operands) -> Any:
        """Computes the expression of operands."""
        called, order = self.called, self.order
        given = operands if order is None else tuple([operands[number] for number in order])
        # What a call begins with, and most are like the last.
        found = called.direct(given) if type(called) is Kernel else None
        return _seen(called(*given) if found is None else found, self.axes, self.shape)


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


@dataclass(frozen=True, slots=True, eq=False)
class _ProgramInChunks:
    """A program whose operands are dask.arrays, of which some may be in memory; its results are dask.arrays.

    Args:
        program: the program.
        options: how it is computed.
    """

    program: _Program
    options: _Options

    @property
    def parameters(self) -> tuple[str, ...]:
        """Returns the names of the operands."""
        return self.program.names

    def __call__(self, *operands: Any) -> Any:
        """Returns the results."""
        optimize, threads, deterministic = self.options
        chosen = CompileOptions.of("cpu", "auto", None, threads, deterministic, optimize)
        tensors = dict(zip(self.program.names, operands, strict=True))
        return evaluated_in_chunks(self.program.comprehension, tensors, None, None, chosen)


@dataclass(slots=True, eq=False)  # as above
class _ReadyValues:
    """Values that are wanted, with the kernel that computes them.

    Args:
        kernel: the kernel, or a program on dask.arrays; None where all are operands.
        operands: what it is called with.
        places: for each value that is wanted the number of its result; below zero `~` the number of an operand.
    """

    kernel: ComprehensionKernel | _ProgramInChunks | None
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
    key = structure.statements, structure.wanted, options
    # Another object may come to stand at the address of one that is gone, with other types.
    same = tuple([(id(one), one.dtype, one.encoding if isinstance(one, SparseTensor) else None) for one in data])
    last = _last.get(key)
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
    program = _program(structure.statements, structure.wanted)
    if any(map(is_in_chunks, data)):
        return _ReadyValues(_ProgramInChunks(program, options), structure.operands, program.places), data
    return _ReadyValues(_kernel(structure, data, options), structure.operands, program.places), data


def _seen(value: Any, axes: tuple[int | None, ...], shape: tuple[int, ...]) -> Any:
    """Returns a computed value with the axes that its user sees.

    Args:
        value: the value.
        axes: its axis behind each that the user sees; None for one of one element.
        shape: the extents that the user sees.
    """
    if not axes and type(value) is np.ndarray and value.ndim == 0:
        return value[()]
    order = [axis for axis in axes if axis is not None]
    if order != list(range(len(order))) and len(order) == value.ndim:
        value = value.transpose(order)
    if value.shape != shape:
        value = value.reshape(shape)
    return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value


install_computing(_compute_one, kernel_of)
