"""The public functions parse, compile, evaluate and load."""

from __future__ import annotations

import base64
import os
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, overload

import numpy as np

from mlir_sparse import notation, pipeline, runtime
from mlir_sparse._native import __version__
from mlir_sparse.compile.compile_options import CompileOptions
from mlir_sparse.compile.compiled_kernel import CompiledKernel, Result, StatementKernel
from mlir_sparse.compile.comprehension.comprehension_build import (
    as_comprehension,
    compile_comprehension,
    evaluate_comprehension,
)
from mlir_sparse.compile.cpu_build import STAGES, Build, Stage
from mlir_sparse.compile.cpu_kernel import Kernel
from mlir_sparse.compile.repeated_calls import RepeatedCalls
from mlir_sparse.compile.statement_optimizer import depends_on_data, rewriting_for
from mlir_sparse.compile.tuning.tuning_store import TuningRecord, tuned
from mlir_sparse.disk import refusing
from mlir_sparse.dtypes import REAL
from mlir_sparse.encoding import Encoding, TensorType
from mlir_sparse.encoding import encoding as as_encoding
from mlir_sparse.errors import FileFormatError, OperandError
from mlir_sparse.notation import Assignment, Comprehension, Monoid, Operator, Semiring, TensorVar, under
from mlir_sparse.notation import semiring as semiring_named
from mlir_sparse.plan.schedule import STATIC, Schedule
from mlir_sparse.program import ProgramSteps, read_steps
from mlir_sparse.runtime import operand_check
from mlir_sparse.runtime.device.device_operands import is_on_device, type_of_given
from mlir_sparse.spec import KernelSpec, Rewriting, check_names, check_spec, infer_output, storage_instead
from mlir_sparse.text.given_arguments import path_of, text_of
from mlir_sparse.text.identifiers import by_name
from mlir_sparse.text.shortened import shortened

__all__ = ["STAGES", "Kernel", "Stage", "compile", "evaluate", "load", "parse"]

Array = np.ndarray[Any, Any]
_Types = tuple[tuple[str, TensorType], ...]
_repeated = RepeatedCalls()


@overload
def parse(text: Assignment | TensorVar, /, **operators: Operator | Monoid) -> Assignment: ...
@overload
def parse(text: str | Comprehension, /, **operators: Operator | Monoid) -> Assignment | Comprehension: ...
def parse(
    text: str | Assignment | Comprehension | TensorVar, /, **operators: Operator | Monoid
) -> Assignment | Comprehension:
    """Parses index notation and checks it.

    Args:
        text: one statement, such as `"y(i) = A(i,j) * x(j)"`, or several in a tensor comprehension,
            `"def mv(float(M,K) A, float(K) x) -> (C) { C(i) +=! A(i,k) * x(k) }"`; or a TensorVar with an assignment.
        operators: your operators and monoids, by their names in the text.

    Raises:
        NotationSyntaxError: for text outside the grammar.
        NotationError: for an assignment without a meaning.

    >>> str(parse("y(i)=A(i,j)*x(j)"))
    'y(i) = A(i,j) * x(j)'
    """
    if isinstance(text, TensorVar):
        text = text.assignment
    if isinstance(text, Assignment):
        notation.check(text)
        return text
    if isinstance(text, Comprehension):
        notation.check_comprehension(text)
        return text
    return _parse(text_of(text, "index notation"), tuple(sorted(by_name(operators).items())))


@lru_cache(maxsize=512)
def _parse(text: str, operators: tuple[tuple[str, Operator | Monoid], ...]) -> Assignment | Comprehension:
    if notation.is_comprehension(text):
        return notation.parse_comprehension(text, dict(operators))
    assignment = notation.parse(text, dict(operators))
    notation.check(assignment)
    return assignment


def load(path: str | os.PathLike[str]) -> Kernel:
    """Loads a kernel that `Kernel.save` wrote, without MLIR.

    Args:
        path: the file. It has machine code: load only files that you trust.

    Raises:
        FileFormatError: for a file that is no kernel, or one of another version.
        UnsupportedError: for a kernel of another machine.
    """
    path = path_of(path, "a saved kernel")
    with refusing(path, runtime.SAVED):
        return _loaded(path, *runtime.read_archive(path, pipeline.cpu_features()))


def _loaded(path: str | os.PathLike[str], index: Mapping[str, Any], codes: Sequence[bytes | str]) -> Kernel:
    if index["version"] != __version__:
        raise FileFormatError(
            f"expected a kernel of version {__version__} in {os.fspath(path)}, "
            f"but got one of version {shortened(str(index['version']))}: save it again"
        )
    pickled = base64.b64decode(index["pickled"])  # as trustworthy as the machine code beside it
    assignment = pickle.loads(pickled) if pickled else notation.parse(index["assignment"])

    rewriting = pickle.loads(base64.b64decode(again)) if (again := index.get("rewriting")) else None

    def spec_of(types: list[str]) -> KernelSpec:
        *inputs, output = map(TensorType.parse, types)
        return KernelSpec(assignment, tuple(zip(assignment.inputs, inputs, strict=True)), output, rewriting)

    schedule = Schedule.parse(index["schedule"])
    loaded = Kernel(spec_of(index["declared"]), schedule)
    columns = (index["builds"], index["steps"], index["computing"])
    for number, (types, text, computing) in enumerate(zip(*columns, strict=True)):
        steps = _steps(path, text)
        machines = [
            None if n is None else runtime.machine_of(path, codes[n], steps.functions) for n in (number, computing)
        ]
        build = Build(spec_of(types), steps.densified, schedule).given(steps, *machines)
        loaded._builds[tuple(kind for _, kind in build.spec.inputs)] = build
    return loaded


def _steps(path: str | os.PathLike[str], text: str) -> ProgramSteps:
    try:
        return read_steps(text, ())
    except ValueError as error:
        raise FileFormatError(f"{shortened(str(error))} in {os.fspath(path)}: save it again") from None


def compile(
    text: str | Assignment | Comprehension | TensorVar,
    /,
    *,
    out: str | Encoding | TensorType | Mapping[str, str | Encoding | TensorType] | None = None,
    tensors: Mapping[str, Any] | None = None,
    semiring: str | Semiring | None = None,
    target: str = "cpu",
    via: str = "auto",
    schedule: Schedule | str | None = None,
    threads: int | None = None,
    deterministic: bool = False,
    optimize: str | None = None,
    **named: Any,
) -> CompiledKernel:
    """Compiles an assignment or a comprehension for tensors of given types.

    Args:
        text: index notation.
        out: the storage of the result: any argument of `encoding`, or "dense"; inferred when absent. For several
            outputs, a mapping by name.
        tensors: data or types by name, for names that clash with these arguments.
        semiring: the meaning of `+` and `*`: any argument of `semiring`; missing entries are its zero.
        target: the machine to run on: "cpu", "cuda", or "cuda:sm_90" for another machine's chip.
        via: on a GPU: "codegen" for compiled kernels, "library" for those of cuSPARSE and cuSPARSELt, "auto" for a
            compiled kernel if possible, else a library's.
        schedule: the order of the loops, vector lanes and tiles, or text such as `"order=i,k,j lanes=8"`, for one
            statement without ranges; the plan chooses everything else. "tuned" is the schedule that `tune` found for
            this kernel on operands of similar extents, or found last if only types are given.
        threads: the greatest number of threads of a call; the process' limit (`get_num_threads`) when absent.
        deterministic: whether results must be the same, bit for bit, for any number of threads. Otherwise sums that
            threads share may differ by rounding.
        optimize: "auto" to rewrite the statement where another way takes less by estimate on the data given: other
            parentheses, parts made first or once. Sums and products then round otherwise, as in `numpy.einsum` with
            its `optimize`. "off" for the statement as it is written, as it is for types alone, a schedule with an order
            of loops, comprehensions and GPUs. That of the process (`set_optimize`) when absent.
        named: for each tensor read, data or a type such as `"f64[?,?] CSR"`; also operators and monoids in the text. A
            tensor with a declared type may be absent, and is then dense.

    Returns:
        a Kernel; a ComprehensionKernel for a comprehension and for a statement with ranges; a GpuKernel for a GPU. All
            are used in the same way.

    Raises:
        SparseError: one of its kinds, for every mistake in text, types or data.

    >>> spmv = compile("y(i) = A(i,j) * x(j)", A="f64[?,?] CSR", x="f64[?]")
    >>> print(spmv.output)
    f64[?]
    """
    options = CompileOptions.of(target, via, schedule, threads, deterministic, optimize)
    assignment, declared = _statement(text, by_name(named, tensors), semiring)
    comprehension = as_comprehension(assignment)
    if comprehension is not None:
        options.refuse_schedule(len(comprehension.statements))
        return compile_comprehension(comprehension, declared, out, target, _Part(options))
    assert isinstance(assignment, Assignment), "all else is a comprehension"
    return _compiled_for(assignment, declared, out, options)


def _compiled_for(
    assignment: Assignment, declared: dict[str, Any], out: Any, options: CompileOptions
) -> StatementKernel:
    """Returns the kernel of a statement for data or types by name."""
    target_name = assignment.target.tensor
    declared_output = declared.pop(target_name, None) if target_name not in assignment.inputs else None
    check_names(assignment, tuple(declared))
    types = tuple((name, type_of_given(name, declared[name])) for name in assignment.inputs)
    output = _output(assignment, dict(types), out, declared_output)
    if options.tuned:
        found = _tuned(assignment, types, output, declared)
        options = replace(options, schedule=found.schedule, threads=options.threads or found.threads)
    inferred = out is None and declared_output is None and output.encoding is None
    instead = storage_instead(assignment, types) if inferred else ""
    rewriting = _rewriting(KernelSpec(assignment, types, output), declared) if options.optimize == "auto" else None
    return _within(options, assignment, types, output, instead, rewriting)


def _rewriting(spec: KernelSpec, given: Mapping[str, Any]) -> Rewriting | None:
    """Returns how a statement is rewritten for data; None where types are all that is given."""
    if any(isinstance(one, TensorType | str) for one in given.values()):
        return None
    return rewriting_for(spec, lambda name: operand_check.value_of(name, given[name]))


def _within(
    options: CompileOptions,
    assignment: Assignment,
    types: _Types,
    output: TensorType,
    instead: str = "",
    rewriting: Rewriting | None = None,
) -> StatementKernel:
    """Returns the kernel of `_compiled`, with the limits of the options."""
    kernel = _compiled(assignment, types, output, options.target, options.schedule, options.via, instead, rewriting)
    if options.threads is None and not options.deterministic:
        return kernel
    assert isinstance(kernel, Kernel), "a GPU's has no limits"
    return kernel.within(options.threads, options.deterministic)


@dataclass(frozen=True, slots=True)
class _Part:
    """The function that compiles a comprehension's statements; equal options make it equal, for caches."""

    options: CompileOptions

    def __call__(self, assignment: Assignment, types: _Types, output: TensorType) -> StatementKernel:
        return _within(self.options, assignment, types, output)


def _tuned(assignment: Assignment, types: _Types, output: TensorType, given: Mapping[str, Any]) -> TuningRecord:
    spec = KernelSpec(assignment, types, output)
    check_spec(spec)
    data = all(not isinstance(one, TensorType | str) for one in given.values())
    values = {name: operand_check.value_of(name, given[name]) for name, _ in types} if data else None
    return tuned(spec.with_static_extents(), values)


def _statement(
    text: str | Assignment | Comprehension | TensorVar, given: Mapping[str, Any], chosen: str | Semiring | None
) -> tuple[Assignment | Comprehension, dict[str, Any]]:
    """Returns the assignment with operators and semiring written out, and the tensors among the arguments."""
    operators = {name: value for name, value in given.items() if isinstance(value, Operator | Monoid)}
    declared = {name: value for name, value in given.items() if name not in operators}
    parsed = parse(text, **operators)
    ring = semiring_named("plus_times" if chosen is None else chosen)
    if isinstance(parsed, Comprehension):
        return replace(parsed, statements=tuple(under(one, ring) for one in parsed.statements)), declared
    return under(parsed, ring), declared


def _output(assignment: Assignment, types: Mapping[str, TensorType], out: Any, declared: Any) -> TensorType:
    for access in notation.reads(assignment.value):
        if len(access.subscripts) != types[access.tensor].rank:
            break  # check_spec refuses it with a caret
    else:
        inferred = infer_output(assignment, types)
        if declared is not None:
            return type_of_given(assignment.target.tensor, declared)
        if isinstance(out, TensorType):
            return out
        if out is None:
            return inferred
        if isinstance(out, str) and out.strip().lower() == "dense":
            return replace(inferred, encoding=None)
        return replace(inferred, encoding=as_encoding(out, rank=inferred.rank))
    return TensorType(REAL, (None,) * len(assignment.target.subscripts))


@lru_cache(maxsize=256)
def _compiled(
    assignment: Assignment,
    types: _Types,
    output: TensorType,
    target: str,
    schedule: Schedule,
    via: str,
    instead: str,
    rewriting: Rewriting | None,
) -> StatementKernel:
    spec = KernelSpec(assignment, types, output, rewriting)
    check_spec(spec)
    if target != "cpu":
        from mlir_sparse.compile.gpu_kernel import (  # imported for GPUs only
            GpuKernel,
            chip_of_target,
        )

        return GpuKernel(spec, chip_of_target(target), via, schedule)
    kernel = Kernel(spec.with_static_extents(), schedule, instead=instead)
    if schedule != STATIC:
        kernel.check_schedule()
    return kernel


def evaluate(
    text: str | Assignment | Comprehension | TensorVar,
    /,
    *,
    out: str | Encoding | TensorType | Array | Mapping[str, Any] | None = None,
    tensors: Mapping[str, Any] | None = None,
    semiring: str | Semiring | None = None,
    target: str = "cpu",
    via: str = "auto",
    schedule: Schedule | str | None = None,
    threads: int | None = None,
    deterministic: bool = False,
    optimize: str | None = None,
    **named: Any,
) -> Result:
    """Computes an assignment on data; kernels are compiled once for each combination of types.

    Args:
        text: index notation.
        out: the storage of the result (as for `compile`), or an array for a dense result; for several outputs, a
            mapping by name.
        tensors: data by name, for names that clash with these arguments.
        semiring: the meaning of `+` and `*` (as for `compile`).
        target: the machine to run on; for a GPU, operands and result are in device memory.
        via: as for `compile`.
        schedule: as for `compile`.
        threads: the greatest number of threads (as for `compile`).
        deterministic: whether the result must be the same, bit for bit, for any number of threads.
        optimize: how the statement is optimized (as for `compile`).
        named: the data of each tensor read: arrays, SparseTensors, SciPy sparse arrays, numbers; also operators and
            monoids in the text.

    Returns:
        an array for a dense result (0-d for a scalar), a SparseTensor for a sparse one; a tuple for several outputs of
            a comprehension.

    >>> evaluate("y(i) = A(i,j) * x(j)", A=np.eye(2), x=np.array([3.0, 4.0]))
    array([3., 4.])
    """
    key = None
    if tensors is None:
        others = (semiring, target, via, schedule, threads, deterministic)
        key = _repeated.key(text, out, others, optimize, named)
        known = _repeated.get(key)
        if known is not None:
            return known(out=out if isinstance(out, np.ndarray) else None, **named)
    options = CompileOptions.of(target, via, schedule, threads, deterministic, optimize)
    assignment, given = _statement(text, by_name(named, tensors), semiring)
    comprehension = as_comprehension(assignment)
    if comprehension is not None:
        options.refuse_schedule(len(comprehension.statements))
        return evaluate_comprehension(comprehension, given, out, target, _Part(options))
    assert isinstance(assignment, Assignment), "all else is a comprehension"
    if target != "cpu":
        storage, target_array = ("dense", out) if is_on_device(out) else (out, None)
        if isinstance(storage, np.ndarray):
            raise OperandError("expected an array on the device for out, but got ndarray in host memory: leave it out")
        return _compiled_for(assignment, dict(given), storage, options)._call(given, target_array)
    values = {name: operand_check.value_of(name, value) for name, value in given.items()}
    check_names(assignment, tuple(values))
    array = out if isinstance(out, np.ndarray) else None
    made = _compiled_for(assignment, dict(values), out if array is None else "dense", options)
    result = made._call(values, array)
    if isinstance(made, Kernel) and not options.tuned:
        _repeated.keep(key, made, by_data=options.optimize == "auto" and depends_on_data(made.spec))
    return result
