"""A compiled kernel for the processor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mlir_sparse import _native, runtime
from mlir_sparse.compile import exploring
from mlir_sparse.compile.call_limits import check_static, fitting, repeated, warn_if_large
from mlir_sparse.compile.chunked_operands import called_in_chunks, explained_in_chunks, refuse_chosen_way
from mlir_sparse.compile.compile_options import CompileOptions
from mlir_sparse.compile.compiled_kernel import Result
from mlir_sparse.compile.cpu_build import Build, Stage
from mlir_sparse.compile.direct_calls import DirectCall, for_plan, for_sizes
from mlir_sparse.compile.entered_lists import account_of_lists, bounds_of_lists, with_entered_lists
from mlir_sparse.compile.index_operands import made_account
from mlir_sparse.compile.kept_plans import keep_plans
from mlir_sparse.compile.kernel_settings import DEFAULT_SETTINGS, KernelSettings
from mlir_sparse.compile.portable_kernel import PortableKernel
from mlir_sparse.compile.statement_optimizer import DataSketches, rewriting_for, rewriting_for_types, sketches_of
from mlir_sparse.compile.statement_plans import StatementPlans
from mlir_sparse.encoding import TensorType
from mlir_sparse.notation import IndexVar, tensors_given
from mlir_sparse.plan.schedule import STATIC, Schedule
from mlir_sparse.process.first_use import in_hints
from mlir_sparse.process.forks import Lock, cached_property, importing
from mlir_sparse.runtime import operand_check
from mlir_sparse.spec import Alternative, KernelSpec, Rewriting, in_order, infer_extents
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.batch_and_slice_parts import is_plain
from mlir_sparse.tensor.borders.dask_arrays import has_chunks
from mlir_sparse.text.shown_text import ShownText

if TYPE_CHECKING:
    from mlir_sparse.loops.remarks import Remark
else:
    Remark = in_hints("mlir_sparse.loops.remarks", "Remark")

__all__ = ["Kernel"]

Value = np.ndarray[Any, Any] | SparseTensor


class Kernel(PortableKernel):
    """A compiled assignment, for tensors of its types with any shape.

    Call it with its operands, in the order in which the notation first names them or by name: `spmv(A, x)`,
    `spmv(A=A, x=x, out=y)`. With `out=` a dense result is written in place and nothing is allocated. Calls may come
    from several threads at once.
    """

    def __init__(
        self, spec: KernelSpec, schedule: Schedule = STATIC, settings: KernelSettings = DEFAULT_SETTINGS
    ) -> None:
        self.spec = spec
        self.schedule = schedule
        self._settings = settings
        self.threads = settings.threads
        self.deterministic = settings.deterministic
        self.parameters = tensors_given(spec.assignment)
        self._inputs = spec.assignment.inputs  # with what calls make
        self._has_vectors = self._inputs != self.parameters
        self._builds: dict[tuple[tuple[TensorType, ...], Rewriting | None], Build] = {}
        self._lock = Lock()
        self._plans = StatementPlans(spec, settings)
        self._taken: dict[tuple[TensorType, ...], Rewriting | None] = {}  # the plans of the variants that were called
        # The function of the last call, which is tried first: it returns None for operands that do not fit.
        self._last: DirectCall | None = None

    def within(self, threads: int | None, deterministic: bool) -> Kernel:
        """Returns the kernel with limits for its calls; both share compiled code.

        Args:
            threads: the greatest number of threads of a call; None for the process' limit.
            deterministic: whether results must be the same, bit for bit, for any number of threads.

        Raises:
            ScheduleError: for a number of threads below 1.
        """
        runtime.within(threads, deterministic)  # which checks them
        return self._with(threads=threads, deterministic=deterministic)

    def planned(self, optimize: str, data: DataSketches | None) -> Kernel:
        """Returns the kernel as it is computed on data; both share compiled code.

        Args:
            optimize: how the statement is optimized.
            data: what is known of the operands; None where types are all that is known: calls then plan for theirs.
        """
        chosen = rewriting_for_types(self.spec, optimize) if data is None else rewriting_for(self.spec, data, optimize)
        return self.rewritten(chosen, data, optimize)

    def rewritten(self, rewriting: Rewriting | None, data: DataSketches | None = None, optimize: str = "off") -> Kernel:
        """Returns the kernel that computes the statement in another way; both share compiled code.

        Args:
            rewriting: the way.
            data: what it was chosen for.
            optimize: how the statement was optimized.
        """
        spec = self.spec.rewritten(rewriting).with_static_extents()
        return self._with(spec=spec, optimize=optimize, data=data)

    def _with(self, spec: KernelSpec | None = None, **changed: Any) -> Kernel:
        other = Kernel(spec or self.spec, self.schedule, replace(self._settings, **changed))
        other._builds, other._lock = self._builds, self._lock
        if spec is None:
            other._taken = dict(self._taken)
        return other

    @property
    def _limits(self) -> _native.Limits:
        return runtime.within(self.threads, self.deterministic)

    def __call__(self, /, *operands: Any, out: Any = None, **named: Any) -> Result:
        """Computes the result.

        Args:
            operands: the operands, by position.
            out: an array for a dense result, of its shape and dtype.
            named: the operands, by name.

        Returns:
            `out` if given; else a new array for a dense result (0-d for a scalar), a SparseTensor for a sparse one; a
                dask.array, of which nothing is computed yet, where an operand is one.

        Raises:
            UnknownTensorError, OperandError, DTypeError, RankError: for operands that do not fit the kernel.
            ExtentError: for shapes that do not fit together.
            UnsupportedError: for dask.arrays that a statement, or a kernel with a schedule, cannot be cut for.
        """
        if self._has_vectors:
            return self._with_made(self.bound(operands, named, out), out)
        last = self._last
        given = in_order(self.parameters, operands, named) if named else operands
        if last is not None and given is not None:
            inferred = self._settings.inferred
            returned: Result | None = repeated(last.direct, given, out, self.spec.assignment, inferred)
            if returned is not None:
                return returned
            if (converted := operand_check.with_tensors(given)) is not None:
                return self(*converted, out=out)
        return self._call(self.bound(operands, named), out)

    def _with_made(self, bound: Mapping[str, Any], out: Any) -> Result:
        """Computes the result for operands by name, among which are those that calls make."""
        if self._last is not None:
            given = tuple(bound[name] for name in self._inputs)
            found: Result | None = repeated(
                self._last.direct, given, out, self.spec.assignment, self._settings.inferred
            )
            if found is not None:
                return found
        return self._call(bound, out)

    def direct(self, operands: tuple[Any, ...], out: Any = None) -> Any:
        """Returns the result of a call like the last, for operands of any kind by position; None if they do not fit."""
        last, statement = self._last, self.spec.assignment
        return None if last is None else repeated(last.direct, operands, out, statement, self._settings.inferred)

    def _call(self, bound: Mapping[str, Any], out: Any, given: Mapping[IndexVar, int] | None = None) -> Result:
        if has_chunks(bound.values()):
            spec = self.spec
            storage = replace(spec.output, shape=(None,) * spec.output.rank)
            return called_in_chunks(spec.assignment, dict(spec.inputs), bound, out, storage, self._options)
        with self._limits:
            return self._computed(bound, out, given)

    @property
    def _options(self) -> CompileOptions:
        refuse_chosen_way(self.spec, self._settings.optimize)
        optimize = self._settings.optimize
        return CompileOptions("cpu", "auto", self.schedule, False, self.threads, self.deterministic, optimize)

    def _computed(self, bound: Mapping[str, Any], out: Any, given: Mapping[IndexVar, int] | None) -> Value:
        target = None if out is None else operand_check.as_output(out, self.spec.output)
        values, extents, build = self._ready(bound, None if target is None else target.shape, given)
        array = None
        if target is None:
            warn_if_large(self.spec, self._settings.inferred, values, extents)
        elif operand_check.is_ready(target, values, self.spec.output.dtype):
            # The launcher accepts plain arrays only, so pass a view of subclasses such as memory maps.
            array = np.asarray(target)
        chosen = build.spec.rewriting is None or self._settings.optimize == "off"
        written = None if chosen else partial(self._as_written, bound, array, given)
        planned = partial(build.executable.run, values, extents, array)
        result, fits = fitting(planned, written, self.spec.assignment)
        if fits and given is None and all(size is None for _, kind in self.spec.inputs for size in kind.shape):
            self._last = self._fast_path(build, values, extents, result)
        if target is None:
            return result
        if array is None:
            np.copyto(target, result, casting="unsafe")  # only bool from i8 needs a cast
        return target

    def _as_written(self, bound: Mapping[str, Any], array: Any, given: Mapping[IndexVar, int] | None) -> Value:
        """Returns the result of the statement as it is written."""
        values, extents, build = self._ready(bound, getattr(array, "shape", None), given, as_written=True)
        return build.executable.run(values, extents, array)

    def _fast_path(
        self, build: Build, values: Mapping[str, Value], extents: Mapping[str, int], result: Value
    ) -> DirectCall | None:
        """Returns what further calls with such operands take."""
        direct, plan = self._direct(build, values, extents, result), self._plans.known
        bounds = bounds_of_lists(build.spec, values) if plan is None else ()
        if direct is None or bounds:
            return None if direct is None else for_sizes(direct, self._own_limits, bounds)
        return for_plan(direct, self._own_limits, plan)

    def _direct(
        self, build: Build, values: Mapping[str, Value], extents: Mapping[str, int], result: Value
    ) -> runtime.Direct | None:
        """Returns the fast path of the program for operands like these, of any number of entries."""
        direct = build.executable.direct(self._inputs, values)
        again = direct is None and not self.spec.assignment.op.reads_target
        return build.executable.repeated(values, extents, result) if again else direct

    @property
    def _own_limits(self) -> _native.Limits | None:
        return self._limits if self.threads is not None or self.deterministic else None

    def _ready(
        self,
        bound: Mapping[str, Any],
        shape: tuple[int, ...] | None = None,
        given: Mapping[IndexVar, int] | None = None,
        *,
        as_written: bool = False,
    ) -> tuple[dict[str, Value], dict[str, int], Build]:
        """Returns the checked operands, the extents, and the build for the operands' storage."""
        types = dict(self.spec.inputs)
        values = {name: operand_check.as_argument(name, bound[name], types[name]) for name in self._inputs}
        shapes = {name: value.shape for name, value in values.items()}
        extents = infer_extents(self.spec.assignment, shapes, shape, given)
        check_static(self.spec.inputs, shapes)
        for value in values.values():
            if isinstance(value, SparseTensor) and is_plain(value.encoding):
                runtime.operand_of(value)
        way = None if as_written else self._plans.way(tuple(values.values()))
        values = with_entered_lists(self.spec, way, values)
        build = self._build_for(tuple(map(operand_check.type_of, values.values())), way)
        return values, build.spec.named(extents, shapes), build

    def assemble(self, /, *operands: Any, **named: Any) -> Value:
        """Runs the symbolic phase: returns the tensor that a call would return, with zeros for values.

        >>> import mlir_sparse as ms
        >>> A = ms.tensor([[0.0, 2.0], [3.0, 0.0]])
        >>> square = ms.compile("C(i,j) = A(i,k) * B(k,j)", A=A, B=A)
        >>> C = square.assemble(A, A)
        >>> C.nse, square.compute(A, A, out=C).storage.values
        (2, array([6., 6.]))
        """
        values, extents, build = self._ready(self.bound(operands, named))
        with self._limits:
            return runtime.assemble(build.executable, build.identity, values, extents)

    def compute(self, /, *operands: Any, out: Any, **named: Any) -> Result:
        """Runs the numeric phase: computes the values of a given structure, without sorting or allocation.

        Use it when operands change their values, but not their structure. The loops compare the structure, so that a
        wrong one is an error and never a wrong result.

        Args:
            operands: the operands, as for a call.
            out: the tensor for the values: from `assemble` for operands of the same structure, or any with the result's
                storage and structure. An array for a dense result.
            named: the operands, by name.

        Returns:
            `out`.

        Raises:
            StorageError: if the result has another structure; the values of `out` are undefined then.
            OperandError, DTypeError, ExtentError: for an `out` of other storage, element type or shape.
        """
        bound = self.bound(operands, named, out)
        if self.spec.output.encoding is None:
            return self._call(bound, out)
        target = operand_check.as_structure(out, self.spec.output)
        values, extents, build = self._ready(bound, target.shape)
        operand_check.check_structure(target, build.steps.type)
        with self._lock:
            computing = build.computing  # compiled at the first use
        with self._limits:
            runtime.compute(build.executable, computing, build.identity, values, extents, target)
        return target

    def _build_for(self, types: tuple[TensorType, ...], rewriting: Rewriting | None = None) -> Build:
        key = types, rewriting
        with self._lock:
            self._taken[types] = rewriting
            build = self._builds.get(key)
            if build is None:
                inputs = tuple(zip(self._inputs, types, strict=True))
                output = replace(self.spec.output, shape=(None,) * self.spec.output.rank)
                spec = replace(self.spec, inputs=inputs, output=output, rewriting=rewriting)
                build = Build.ready(spec.with_open_blocks().with_output_widths(), self.schedule)
                keep_plans()
                self._builds[key] = build
            return build

    @cached_property
    def _declared(self) -> Build:
        return Build.of(self.spec.with_open_blocks().with_output_widths(), self.schedule)

    def check_schedule(self) -> None:
        """Refuses a schedule that the kernel cannot be compiled by.

        Raises:
            ScheduleError, UnsupportedError: as `Build.check_schedule` does.
        """
        self._declared.check_schedule()

    def ir(self, stage: Stage = "linalg") -> str:
        """Returns the kernel's text at a stage: `notation`, `plan`, `linalg`, `sparsified`, `llvm`, `llvmir` or `asm`.

        Raises:
            UnsupportedError: for an unknown stage.
        """
        return self._declared.text(stage)

    def passes(self) -> exploring.Passes:
        """Returns the module after each pass, compiled anew: a list that diffs, and shows itself as a page."""
        return exploring.cpu_passes(self._declared, self.explain)

    def remarks(self) -> tuple[Remark, ...]:
        """Returns the remarks of the strategies for fast loops: where each was applied, and why not elsewhere.

        This compiles the kernel down to loops, even if its machine code came from a file.

        Raises:
            CompileError: if MLIR fails.

        >>> import mlir_sparse as ms
        >>> sines = ms.compile("y(i) = sin(A(i,j))", A="f64[?,?] CSR")
        >>> print(*[remark for remark in sines.remarks() if not remark.applied])
        sum-rows: not applied to j, because vectors of entries have no math.sin of f64
        """
        return self._declared.remarks

    def alternatives(self, /, *operands: Any, **named: Any) -> tuple[Alternative, ...]:
        """Returns the ways to compute the statement, cheapest first by estimate; `compile` and `evaluate` take each.

        Args:
            operands: the data to estimate for; that which the kernel was compiled for when absent.
            named: the operands, by name.

        Raises:
            OperandError: for a kernel that was compiled for types alone, without data.

        >>> import mlir_sparse as ms
        >>> A, x = ms.tensor(np.ones((300, 300))), np.ones(300)
        >>> best, *others = ms.compile("y(i) = A(i,j) * A(j,k) * x(k)", A=A, x=x).alternatives()
        >>> print(best.statement, *best.parts, sep=", ")
        y(i) = sum(j : A(i,j) * y.part(j)), y.part(j) = sum(k : A(j,k) * x(k))
        >>> {float(ms.evaluate(way, A=A, x=x)[0]) for way in (best, *others)}
        {90000.0}
        """
        return self._plans.alternatives(self._data_of(operands, named) if operands or named else None)

    def _data_of(self, operands: tuple[Any, ...], named: Mapping[str, Any]) -> DataSketches:
        types, given = dict(self.spec.inputs), self.bound(operands, named)
        return sketches_of(self.spec, lambda name: operand_check.as_argument(name, given[name], types[name]))

    @property
    def account(self) -> tuple[str, ...]:
        """Returns how the statement is computed and why, as `explain()` shows it, a line each."""
        return self._plans.account

    def explain(self, /, *operands: Any, **named: Any) -> str:
        """Returns an account of the kernel: its steps, loops, storage and target, with reasons.

        Args:
            operands: data, for the plan that the kernel has for it; as it was compiled when absent.
            named: the operands, by name.
        """
        if has_chunks((*operands, *named.values())):
            given = self.bound(operands, named)
            told = explained_in_chunks(self.spec.assignment, dict(self.spec.inputs), given, self._options)
            return ShownText(told)
        bound = self.bound(operands, named) if operands or named else None  # which refuses what a call would
        if bound is not None and self._settings.optimize != "off":
            found = self.planned(self._settings.optimize, self._data_of(operands, named))
            return ShownText(found.explain() + account_of_lists(found.spec, bound))
        with importing():
            from mlir_sparse.compile.explain_build import explained  # for readers only

        told = explained(self._declared, self.threads, self.account, deterministic=self.deterministic)
        lists = "" if bound is None else account_of_lists(self.spec, bound)
        return ShownText(told + made_account(self.spec.assignment) + lists)

    def __repr__(self) -> str:
        return f"Kernel({self.spec})"
