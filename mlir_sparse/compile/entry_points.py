"""The public functions parse, compile and evaluate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.compile.chunked_operands import evaluated_in_chunks, with_types_of_chunks
from mlir_sparse.compile.compile_options import CompileOptions
from mlir_sparse.compile.compiled_kernel import CompiledKernel, Result, StatementKernel
from mlir_sparse.compile.comprehension.comprehension_build import (
    as_comprehension,
    compile_comprehension,
    evaluate_comprehension,
    operand_sketches,
)
from mlir_sparse.compile.cpu_build import STAGES, Stage
from mlir_sparse.compile.cpu_kernel import Kernel
from mlir_sparse.compile.definitions.read_operands import reads_defined, reads_filled
from mlir_sparse.compile.index_operands import with_made_operands
from mlir_sparse.compile.kernel_settings import KernelSettings
from mlir_sparse.compile.parse_text import parse, parsed_with
from mlir_sparse.compile.repeated_calls import REPEATED
from mlir_sparse.compile.statement_optimizer import DataSketches, depends_on_data, sketches_of
from mlir_sparse.compile.switching_kernel import switching
from mlir_sparse.dtypes import REAL
from mlir_sparse.encoding import Encoding, TensorType
from mlir_sparse.encoding import encoding as as_encoding
from mlir_sparse.errors import DTypeError, OperandError
from mlir_sparse.notation import (
    Assignment,
    Comprehension,
    Monoid,
    Operator,
    Semiring,
    TensorVar,
    refuse_affine_targets,
    under,
)
from mlir_sparse.notation import semiring as semiring_named
from mlir_sparse.plan.schedule import STATIC, Schedule
from mlir_sparse.process.forks import importing
from mlir_sparse.runtime import operand_check
from mlir_sparse.runtime.device.device_operands import is_on_device, type_of_given
from mlir_sparse.spec import Alternative, KernelSpec, check_names, check_spec, infer_output
from mlir_sparse.tensor.borders.dask_arrays import has_chunks
from mlir_sparse.text.identifiers import by_name

__all__ = ["STAGES", "Kernel", "Stage", "StatementCompiler", "compile", "evaluate", "parse"]

Array = np.ndarray[Any, Any]
_Types = tuple[tuple[str, TensorType], ...]


def compile(
    text: str | Assignment | Comprehension | TensorVar | Alternative,
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
        text: index notation; or one of a kernel's `alternatives`, which is computed so whatever the data are.
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
            its `optimize`. "algebra" also multiplies out differences and products of sums, and cancels equal terms:
            what nearly cancels then loses digits, all of them in `sum (x - y)^2` where x and y agree in half of theirs.
            Of a comprehension, values that are no outputs are computed where they are read, if that takes less, or not
            at all. Types alone decide where one way is best for all sizes; each call plans by its data. "off" for the
            statement as it is written, as it is for a schedule with an order of loops and GPUs. That of the process
            (`set_optimize`) when absent.
        named: for each tensor read, data or a type such as `"f64[?,?] CSR"`; also operators and monoids in the text. A
            tensor with a declared type may be absent, and is then dense. A dask.array counts as the type of its chunks.

    Returns:
        a Kernel; a ComprehensionKernel for a comprehension and for a statement with ranges; a GpuKernel for a GPU. All
            are used in the same way.

    Raises:
        SparseError: one of its kinds, for every mistake in text, types or data.

    >>> spmv = compile("y(i) = A(i,j) * x(j)", A="f64[?,?] CSR", x="f64[?]")
    >>> print(spmv.output)
    f64[?]
    """
    asked: dict[str, Any] = {"out": out, "semiring": semiring, "target": target, "via": via, "schedule": schedule}
    asked |= {"threads": threads, "deterministic": deterministic, "optimize": optimize}
    if has_chunks(by_name(named, tensors).values()):
        return compile(text, tensors=with_types_of_chunks(by_name(named, tensors)), **asked)
    if reads_filled(named, tensors) and not isinstance(text, Alternative):
        with importing():
            from mlir_sparse.compile.definitions.filled_operands import compile_filled  # for fill values only

        return compile_filled(compile, text, by_name(named, tensors), asked)  # type: ignore[no-any-return]
    if reads_defined(named, tensors) and not isinstance(text, Alternative):
        with importing():
            from mlir_sparse.compile.definitions.composed_kernel import compile_composed  # for definitions only

        given = by_name(named, tensors)
        statement = parsed_with(text, given)
        given = given if isinstance(statement, Comprehension) else with_made_operands(statement, given)
        return compile_composed(parse, compile, text, given, asked)
    options = CompileOptions.of(target, via, schedule, threads, deterministic, optimize)
    if isinstance(text, Alternative):
        options.refuse_with_alternative(semiring, optimize)
        if text.compiled is not None:
            return text.compiled(by_name(named, tensors), asked)  # type: ignore[no-any-return]
        statement, given = text.spec.assignment, by_name(named, tensors) or dict(text.spec.inputs)
        return _as_chosen(text, with_made_operands(statement, given, out), out, options)
    assignment, declared = _statement(text, by_name(named, tensors), semiring)
    if isinstance(assignment, Assignment):
        declared = with_made_operands(assignment, declared)
    return _compiled_text(assignment, declared, out, options)


def _compiled_text(
    assignment: Assignment | Comprehension, declared: dict[str, Any], out: Any, options: CompileOptions
) -> CompiledKernel:
    """Returns the kernel of a statement or a comprehension for data or types by name."""
    comprehension = as_comprehension(assignment)
    if comprehension is not None:
        options.refuse_schedule(len(comprehension.statements))
        sketches = operand_sketches(comprehension, declared) if options.optimize != "off" else None
        return compile_comprehension(comprehension, declared, out, options.target, StatementCompiler(options), sketches)
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
        with importing():
            from mlir_sparse.compile.tuning.tuned_schedule import tuned_schedule  # loads what searches, too

        found = tuned_schedule(KernelSpec(assignment, types, output), declared)
        options = replace(options, schedule=found.schedule, threads=options.threads or found.threads)
    inferred = out is None and declared_output is None and output.encoding is None
    kernel = _within(options, assignment, types, output, inferred)
    if options.optimize == "off" or not isinstance(kernel, Kernel):
        return kernel
    if depends_on_data(kernel.spec, options.optimize):
        kernel = kernel.planned(options.optimize, _sketches(kernel.spec, declared))
    return kernel if any(isinstance(one, TensorType | str) for one in declared.values()) else switching(kernel)


def _sketches(spec: KernelSpec, given: Mapping[str, Any]) -> DataSketches | None:
    """Returns what is known of data; None where types are all that is given."""
    if any(isinstance(one, TensorType | str) for one in given.values()):
        return None
    return sketches_of(spec, lambda name: operand_check.value_of(name, given[name]), looks_later=True)


def _as_chosen(chosen: Alternative, given: dict[str, Any], out: Any, options: CompileOptions) -> Kernel:
    """Returns the kernel that computes a statement in a way that the user chose."""
    spec = chosen.spec
    check_names(spec.assignment, tuple(given))
    for name, kind in spec.inputs:
        if (found := type_of_given(name, given[name]).dtype) != kind.dtype:
            raise DTypeError(
                f"expected {name} of {kind.dtype}, as the alternative was found for, but got {found}: "
                "ask a kernel for these operands for its alternatives"
            )
    inferred = replace(spec.output, shape=(None,) * spec.output.rank)
    storage = inferred if out is None else "dense" if isinstance(out, np.ndarray) else out
    kernel = _compiled_for(spec.assignment, given, storage, replace(options, optimize="off"))
    assert isinstance(kernel, Kernel), "a statement without ranges for the processor"
    return kernel.rewritten(spec.rewriting)


def _within(
    options: CompileOptions,
    assignment: Assignment,
    types: _Types,
    output: TensorType,
    inferred: bool = False,
) -> StatementKernel:
    """Returns the kernel of `_compiled`, with the limits of the options."""
    kernel = _compiled(assignment, types, output, options.target, options.schedule, options.via, inferred)
    if options.threads is None and not options.deterministic:
        return kernel
    assert isinstance(kernel, Kernel), "a GPU's has no limits"
    return kernel.within(options.threads, options.deterministic)


@dataclass(frozen=True, slots=True)
class StatementCompiler:
    """The function that compiles a comprehension's statements; equal options make it equal, for caches.

    Args:
        options: the options of `compile`.
    """

    options: CompileOptions

    @property
    def cancels(self) -> bool:
        """Returns whether terms of statements may cancel others."""
        return self.options.optimize == "algebra"

    def __call__(self, assignment: Assignment, types: _Types, output: TensorType) -> StatementKernel:
        """Returns the kernel of a statement for types of its operands and its result."""
        return _within(self.options, assignment, types, output)


def _statement(
    text: str | Assignment | Comprehension | TensorVar, given: Mapping[str, Any], chosen: str | Semiring | None
) -> tuple[Assignment | Comprehension, dict[str, Any]]:
    """Returns the assignment with operators and semiring written out, and the tensors among the arguments."""
    declared = {name: value for name, value in given.items() if not isinstance(value, Operator | Monoid)}
    parsed = parsed_with(text, given)
    ring = semiring_named("plus_times" if chosen is None else chosen)
    if ring != semiring_named("plus_times"):
        refuse_affine_targets(parsed, f"semiring={ring.name}")
    if isinstance(parsed, Comprehension):
        return replace(parsed, statements=tuple(under(one, ring) for one in parsed.statements)), declared
    return under(parsed, ring), declared


def _output(assignment: Assignment, types: Mapping[str, TensorType], out: Any, declared: Any) -> TensorType:
    for access in assignment.reads:
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
    inferred: bool,
) -> StatementKernel:
    spec = KernelSpec(assignment, types, output)
    check_spec(spec)
    if target != "cpu":
        with importing():
            from mlir_sparse.compile.gpu_kernel import (  # imported for GPUs only
                GpuKernel,
                chip_of_target,
            )

        return GpuKernel(spec, chip_of_target(target), via, schedule)
    kernel = Kernel(spec.with_static_extents(), schedule, KernelSettings(inferred=types if inferred else ()))
    if schedule != STATIC:
        kernel.check_schedule()
    return kernel


def evaluate(
    text: str | Assignment | Comprehension | TensorVar | Alternative,
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
        text: index notation (as for `compile`).
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
        if type(target) is str and target == "cpu":  # a tensor of that name compares element by element
            named = operand_check.named_with_tensors(named)
        others = (semiring, target, via, schedule, threads, deterministic)
        key = REPEATED.key(text, out, others, optimize, named)
        known = REPEATED.get(key)
        if known is not None:
            return known(out=out if isinstance(out, np.ndarray) else None, **named)
    given = by_name(named, tensors)
    asked: dict[str, Any] = {"out": out, "semiring": semiring, "target": target, "via": via, "schedule": schedule}
    asked |= {"threads": threads, "deterministic": deterministic, "optimize": optimize}
    if reads_filled(named, tensors) and not isinstance(text, Alternative):
        with importing():
            from mlir_sparse.compile.definitions.filled_operands import evaluate_filled  # for fill values only

        return evaluate_filled(evaluate, text, by_name(named, tensors), asked)
    if has_chunks(given.values()) and not isinstance(text, Alternative):
        options = CompileOptions.of(target, via, schedule, threads, deterministic, optimize)
        return evaluated_in_chunks(parsed_with(text, given), given, out, semiring, options)
    if reads_defined(named, tensors) and not isinstance(text, Alternative):
        statement = parsed_with(text, given)
        given = given if isinstance(statement, Comprehension) else with_made_operands(statement, given, out)
        with importing():
            from mlir_sparse.compile.definitions.composed_calls import evaluate_composed  # for definitions only
            from mlir_sparse.compile.definitions.composed_kernel import composed_kernel

        result, call = evaluate_composed(parse, evaluate, text, given, asked)
        kernel = None if key is None else composed_kernel(parse, compile, REPEATED, text, given, asked, call)
        if kernel is not None:
            REPEATED.keep(key, kernel, by_data=False)
        return result
    if isinstance(text, Alternative):
        chosen = compile(text, tensors=given, **asked)
        operands = [given[name] for name in chosen.parameters if name in given]  # all, or none, which it refuses
        return chosen(*operands, out=out if isinstance(out, np.ndarray) else None)
    options = CompileOptions.of(target, via, schedule, threads, deterministic, optimize)
    assignment, given = _statement(text, given, semiring)
    if isinstance(assignment, Assignment):
        given = with_made_operands(assignment, given, out)
    comprehension = as_comprehension(assignment)
    if comprehension is not None:
        options.refuse_schedule(len(comprehension.statements))
        optimizes = options.optimize != "off"
        part = StatementCompiler(options)
        result, several = evaluate_comprehension(comprehension, given, out, target, part, optimizes=optimizes)
        if target == "cpu":
            REPEATED.keep(key, several, by_data=several.depends_on_data)
        return result
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
        REPEATED.keep(key, made, by_data=depends_on_data(made.spec, options.optimize))
    return result
