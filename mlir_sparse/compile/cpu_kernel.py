"""A compiled kernel for the processor."""

from __future__ import annotations

import base64
import math
import os
import pickle
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mlir_sparse import _native, notation, pipeline, plan, runtime
from mlir_sparse._native import __version__
from mlir_sparse.compile.compiled_kernel import Result, StatementKernel
from mlir_sparse.compile.cpu_build import Build, Stage
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import ExtentError, SparseError
from mlir_sparse.notation import IndexVar
from mlir_sparse.plan.schedule import STATIC, Schedule
from mlir_sparse.process.forks import Lock, cached_property
from mlir_sparse.program import write_steps
from mlir_sparse.runtime import operand_check
from mlir_sparse.spec import KernelSpec, bind, in_order, infer_extents, shape_text, warn_of_dense
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.batch_and_slice_parts import is_plain

__all__ = ["Kernel"]

Array = np.ndarray[Any, Any]
Value = Array | SparseTensor

_Types = tuple[TensorType, ...]


class Kernel(StatementKernel):
    """A compiled assignment, for tensors of its types with any shape.

    Call it with its operands, in the order in which the notation first names them or by name: `spmv(A, x)`,
    `spmv(A=A, x=x, out=y)`. With `out=` a dense result is written in place and nothing is allocated.

    Calls may come from several threads at once.
    """

    def __init__(
        self,
        spec: KernelSpec,
        schedule: Schedule = STATIC,
        threads: int | None = None,
        deterministic: bool = False,
        instead: str = "",
    ) -> None:
        self.spec = spec
        self._instead = instead  # sparse storage to suggest for a dense result that was inferred
        self.schedule = schedule
        self.threads = threads
        self.deterministic = deterministic
        self.parameters = spec.assignment.inputs
        self._builds: dict[_Types, Build] = {}
        self._lock = Lock()
        # The function of the last call, which is tried first: it returns None for operands that do not fit.
        self._last: runtime.Direct | _Within | None = None

    def within(self, threads: int | None, deterministic: bool) -> Kernel:
        """Returns the kernel with limits for its calls; both share compiled code.

        Args:
            threads: the greatest number of threads of a call; None for the process' limit.
            deterministic: whether results must be the same, bit for bit, for any number of threads.

        Raises:
            ScheduleError: for a number of threads below 1.
        """
        runtime.within(threads, deterministic)
        other = Kernel(self.spec, self.schedule, threads, deterministic, self._instead)
        other._builds, other._lock = self._builds, self._lock
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
            `out` if given; else a new array for a dense result (0-d for a scalar), a SparseTensor for a sparse one.

        Raises:
            UnknownTensorError, OperandError, DTypeError, RankError: for operands that do not fit the kernel.
            ExtentError: for shapes that do not fit together.
        """
        last = self._last
        if last is not None:
            given = in_order(self.parameters, operands, named) if named else operands
            returned = None if given is None else last.direct(given, out)
            if returned is not None:
                return returned
        return self._call(bind(self.spec.assignment, operands, named), out)

    def _call(self, bound: Mapping[str, Any], out: Any, given: Mapping[IndexVar, int] | None = None) -> Value:
        with self._limits:
            return self._computed(bound, out, given)

    def _computed(self, bound: Mapping[str, Any], out: Any, given: Mapping[IndexVar, int] | None) -> Value:
        target = None if out is None else operand_check.as_output(out, self.spec.output)
        values, extents, build = self._ready(bound, None if target is None else target.shape, given)
        if given is None and all(size is None for _, kind in self.spec.inputs for size in kind.shape):
            direct = build.executable.direct(self.parameters, values)
            limited = self.threads is not None or self.deterministic
            self._last = _Within(direct, self._limits) if limited and direct is not None else direct
        if target is None:
            self._warn_if_large(values, extents)
            return build.executable.run(values, extents, None)
        # The launcher accepts plain arrays only, so pass a view of subclasses such as memory maps.
        array = np.asarray(target) if _is_ready(target, values, self.spec.output.dtype) else None
        result = build.executable.run(values, extents, array)
        if array is None:
            np.copyto(target, result, casting="unsafe")  # only bool from i8 needs a cast
        return target

    def _warn_if_large(self, values: Mapping[str, Value], extents: Mapping[str, int]) -> None:
        if self._instead:
            elements = math.prod(extents[index.name] for index in self.spec.assignment.target.indices)
            operands = sum(value.nbytes for value in values.values())
            warn_of_dense(elements * self.spec.output.dtype.itemsize, operands, self.spec.assignment, self._instead)

    def _ready(
        self, bound: Mapping[str, Any], shape: tuple[int, ...] | None, given: Mapping[IndexVar, int] | None = None
    ) -> tuple[dict[str, Value], dict[str, int], Build]:
        """Returns the checked operands, the extents, and the build for the operands' storage."""
        types = dict(self.spec.inputs)
        values = {name: operand_check.as_argument(name, bound[name], types[name]) for name in self.parameters}
        shapes = {name: value.shape for name, value in values.items()}
        extents = infer_extents(self.spec.assignment, shapes, shape, given)
        self._check_static(shapes)
        for value in values.values():
            if isinstance(value, SparseTensor) and is_plain(value.encoding):
                runtime.operand_of(value)
        build = self._build_for(tuple(map(operand_check.type_of, values.values())))
        return values, self.spec.named(extents), build

    def assemble(self, /, *operands: Any, **named: Any) -> Value:
        """Runs the symbolic phase: returns the tensor that a call would return, with zeros for values.

        >>> import mlir_sparse as ms
        >>> A = ms.tensor([[0.0, 2.0], [3.0, 0.0]])
        >>> square = ms.compile("C(i,j) = A(i,k) * B(k,j)", A=A, B=A)
        >>> C = square.assemble(A, A)
        >>> C.nse, square.compute(A, A, out=C).storage.values
        (2, array([6., 6.]))
        """
        values, extents, build = self._ready(bind(self.spec.assignment, operands, named), None)
        with self._limits:
            return runtime.assemble(build.executable, build.identity, values, extents)

    def compute(self, /, *operands: Any, out: Any, **named: Any) -> Value:
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
        bound = bind(self.spec.assignment, operands, named)
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

    def _check_static(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        for name, kind in self.spec.inputs:
            for axis, (static, size) in enumerate(zip(kind.shape, shapes[name], strict=True)):
                if static is not None and static != size:
                    raise ExtentError(
                        f"expected {name} of shape {shape_text(kind.shape)}, "
                        f"but got {shape_text(shapes[name])} (axis {axis})"
                    )

    def _build_for(self, types: _Types) -> Build:
        with self._lock:
            build = self._builds.get(types)
            if build is None:
                inputs = tuple(zip(self.parameters, types, strict=True))
                output = replace(self.spec.output, shape=(None,) * self.spec.output.rank)
                spec = replace(self.spec, inputs=inputs, output=output)
                build = Build.ready(spec.with_open_blocks().with_output_widths(), self.schedule)
                self._builds[types] = build
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

    def passes(self) -> pipeline.Trace:
        """Returns the module after each pass, a list that diffs: `print(kernel.passes().diff("sparsification"))`."""
        return self._declared.trace()

    def remarks(self) -> tuple[pipeline.Remark, ...]:
        """Returns the remarks of the strategies for fast loops: where each was applied, and why not elsewhere.

        This compiles the kernel down to loops, even if its machine code came from a file.

        Raises:
            CompileError: if MLIR fails.

        >>> import mlir_sparse as ms
        >>> product = ms.compile("y(i) = A(i,j) * x(j)", A="c128[?,?] CSR", x="c128[?]")
        >>> print(*[remark for remark in product.remarks() if not remark.applied])
        sum-rows: not applied to j, because its sum is of c128, which vectors do not hold
        """
        return self._declared.remarks

    def explain(self) -> str:
        """Returns an account of the kernel: its steps, loops, storage and target, with reasons."""
        build = self._declared
        lanes = f", {build.lanes} lanes a vector" if build.lanes else "" if build.tiles else ", scalar loops"
        asked = f"\nschedule: {self.schedule}" if self.schedule != STATIC else ""
        cut = bool(build.steps.cuts)
        threads = (self.threads or runtime.get_num_threads()) if cut else 1
        many = f"up to {threads} threads" if threads > 1 else "1 thread"
        kept = ", the same results for any number of them" if self.deterministic else ""
        return f"{plan.explain(build.program)}\n\nruns on: cpu, {many}{kept}{lanes}{asked}{_strategies(build)}"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the kernel as machine code, which `load` reads without a compiler.

        The file has the variants that were called, each with the widths of its operands; before the first call, the
        declared types.

        Raises:
            UnsupportedError: if this machine's code must be linked and no linker is installed.
        """
        with self._lock:
            builds = list(self._builds.values())
        if not builds:
            builds = [self._build_for(tuple(kind.with_default_widths() for _, kind in self.spec.inputs))]
        machines = [build.executable.module for build in builds]
        computing: list[int | None] = []
        for build in builds:
            computing.append(len(machines) if build.inserts else None)
            if build.inserts:
                with self._lock:
                    machines.append(build.computing.module)
        index = {
            "assignment": str(self.spec.assignment),
            # Notation with user's operators does not parse back.
            "pickled": _pickled(self.spec.assignment) if _has_operators(self.spec) else "",
            "rewriting": "" if self.spec.rewriting is None else _pickled(self.spec.rewriting),
            "declared": [str(kind) for kind in self._types(self.spec)],
            "builds": [[str(kind) for kind in self._types(build.spec)] for build in builds],
            "steps": [write_steps(build.steps, ()) for build in builds],
            "computing": computing,
            "schedule": str(self.schedule),
            "version": __version__,
            "features": sorted(pipeline.cpu_features()),
        }
        runtime.write_archive(path, index, machines)

    @staticmethod
    def _types(spec: KernelSpec) -> tuple[TensorType, ...]:
        return (*(kind for _, kind in spec.inputs), spec.output)

    def __reduce__(self) -> tuple[Any, ...]:
        # Machine code stays in this process: another one compiles, or finds it in the cache on disk.
        return Kernel, (self.spec, self.schedule, self.threads, self.deterministic)

    def __repr__(self) -> str:
        return f"Kernel({self.spec})"


class _Within:
    """The fast path of a kernel with limits."""

    def __init__(self, function: runtime.Direct, limits: _native.Limits) -> None:
        self._function = function
        self._limits = limits

    def direct(self, operands: tuple[Any, ...], out: Any = None) -> Any:
        """Returns the result; None for operands that do not fit."""
        with self._limits:
            return self._function.direct(operands, out)


def _strategies(build: Build) -> str:
    """Returns the remarks on the loops of each step as text; "" if there are no loops."""
    try:
        remarks = build.remarks
    except SparseError as error:  # the plan is still worth printing
        return f"\n\nstrategies\n  unknown: {str(error).splitlines()[0]}"
    parts = [f"\n\nstrategies of {function}" for function in dict.fromkeys(one.function for one in remarks)]
    return "".join(
        "\n  ".join([part, *(str(one) for one in remarks if part.endswith(f" {one.function}"))]) for part in parts
    )


def _pickled(value: object) -> str:
    return base64.b64encode(pickle.dumps(value)).decode()


def _has_operators(spec: KernelSpec) -> bool:
    return any(isinstance(node, notation.Apply | notation.Fold) for node in notation.walk(spec.assignment.value))


def _is_ready(target: Array, values: Mapping[str, Value], dtype: DType) -> bool:
    """Returns whether compiled code can write to an array directly: it is contiguous and apart from all inputs."""
    if target.dtype != dtype.numpy or not (target.flags.c_contiguous and target.flags.aligned):
        return False
    arrays = [
        array
        for value in values.values()
        for array in (value.storage.buffers() if isinstance(value, SparseTensor) else (value,))
    ]
    return not any(np.may_share_memory(target, array) for array in arrays)
