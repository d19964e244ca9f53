"""A compiled comprehension for the processor."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from mlir_sparse.compile import exploring
from mlir_sparse.compile.call_limits import check_static
from mlir_sparse.compile.chunked_operands import called_in_chunks, explained_in_chunks
from mlir_sparse.compile.compiled_kernel import CompiledKernel, Result, StatementKernel
from mlir_sparse.compile.comprehension.comprehension_operands import check_given, declared_shapes, wanted_outputs
from mlir_sparse.compile.comprehension.comprehension_optimizer import CompileStatement, PreparedSteps, optimized
from mlir_sparse.compile.comprehension.comprehension_outputs import (
    Storage,
    check_part,
    computed_output,
    is_sparse,
    of_any_shape,
    type_of_target,
)
from mlir_sparse.compile.comprehension.comprehension_run import StatementRun, StatementStep, run, writable_targets
from mlir_sparse.compile.comprehension.repeated_steps import RepeatedSteps, repeated_steps
from mlir_sparse.compile.cpu_build import STAGES, Stage
from mlir_sparse.compile.index_operands import makes_operands, with_made_operands
from mlir_sparse.compile.statement_optimizer import DataSketches
from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import ExtentError, UnsupportedError
from mlir_sparse.loops.remarks import Remark
from mlir_sparse.notation import (
    Assignment,
    Comprehension,
    has_affine_target,
    is_made_by_calls,
    tensors_given,
    with_explicit_sums,
)
from mlir_sparse.process.forks import Lock
from mlir_sparse.runtime import operand_check
from mlir_sparse.spec import bind_parameters, in_order
from mlir_sparse.spec.check_types import check_rank
from mlir_sparse.spec.made_types import made_types
from mlir_sparse.spec.range_rewriting import without_ranges
from mlir_sparse.spec.size_symbols import bound, solve_sizes, waits_for
from mlir_sparse.spec.statement_shapes import RangedStatement, with_made_shapes, with_ranges
from mlir_sparse.spec.statement_types import element_types
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.borders.dask_arrays import has_chunks
from mlir_sparse.text.shown_text import ShownText

__all__ = ["ComprehensionKernel"]

Array = np.ndarray[Any, Any]
Value = Array | SparseTensor

# The number of combinations of shapes that a kernel caches its steps for.
_SHAPES_KEPT = 64


class ComprehensionKernel(CompiledKernel):
    """A compiled comprehension, for tensors of its types with any shape.

    Call it like a Kernel, with its parameters by position or by name, followed by outputs that are read before they are
    assigned. The result is one array or tensor, or a tuple of them in the order of the outputs.

    Each statement is one kernel. It is compiled once for all shapes, or, if its text depends on shapes, when these
    are known. Calls may come from several threads at once.
    """

    def __init__(
        self,
        comprehension: Comprehension,
        types: Mapping[str, TensorType],
        storage: Mapping[str, Storage],
        compile_statement: CompileStatement,
        sketches: DataSketches | None = None,
    ) -> None:
        """Takes arguments that `compile` has checked.

        Args:
            comprehension: the statements.
            types: the type of each input.
            storage: the user's storage of each output; inferred if absent.
            compile_statement: compiles one statement without ranges and names of sizes.
            sketches: what is known of the operands, for which statements are computed in the cheapest way; None to
                compute each as it is written.
        """
        self.comprehension = comprehension
        self._inputs = comprehension.inputs  # with what calls make
        self.parameters = tensors_given(comprehension)
        self.types = {name: types[name] for name in self._inputs}
        self._strict = not comprehension.name
        self._storage = storage
        self._compile = compile_statement
        # A text with ranges takes what calls make as parameters; for statements of others that is made as they run.
        self._makes = any(map(makes_operands, comprehension.statements)) and not self._strict
        self._dtypes = element_types(comprehension, {name: kind.dtype for name, kind in types.items()})
        self._waits = tuple(dict.fromkeys(n for s in comprehension.statements for n in waits_for(comprehension, s)))
        self._sketches = sketches
        self._prepared: dict[object, PreparedSteps] = {}
        self._last: RepeatedSteps | None = None
        self._lock = Lock()
        solve_sizes(comprehension, {name: kind.shape for name, kind in self.types.items()})
        self._static = None if self._unknown() else self._sketched()

    def __reduce__(self) -> tuple[Any, ...]:
        # Compiled statements stay in this process, like a Kernel's machine code.
        return type(self), (self.comprehension, self.types, self._storage, self._compile, self._sketches)

    def __call__(self, /, *operands: Any, out: Any = None, **named: Any) -> Result:
        """Computes the outputs.

        Args:
            operands: the operands, by position.
            out: an array for a dense result; for several, a tuple in their order, or a mapping by name.
            named: the operands, by name.

        Returns:
            a new array for a dense result (0-d for a scalar), a SparseTensor for a sparse one, or `out`; a tuple for
                several outputs.

        Raises:
            UnknownTensorError, OperandError, DTypeError, RankError: for operands that do not fit the kernel.
            ExtentError: for shapes that do not fit together.
        """
        last = self._last
        if last is not None and out is None and self._inputs == self.parameters:
            again = in_order(self.parameters, operands, named) if named else operands
            found = None if again is None else last.run(again)
            if found is not None:
                return found
        return self._call(self._bind(operands, named, out), out)

    def _bind(self, operands: tuple[Any, ...], named: Mapping[str, Any], out: Any = None) -> dict[str, Any]:
        given = bind_parameters(self.parameters, operands, named)
        if self._strict:
            given = with_made_operands(self.comprehension.statements[0], given, out)
        check_given(self.comprehension, given, called=True)
        return given

    def _values(self, given: Mapping[str, Any]) -> dict[str, Any]:
        values = {name: operand_check.as_argument(name, given[name], kind) for name, kind in self.types.items()}
        check_static(self.types.items(), {name: value.shape for name, value in values.items()})
        return values

    def _call(self, given: Mapping[str, Any], out: Any) -> Result:
        if has_chunks(given.values()):
            storage: Any = self._storage.get(self.comprehension.results[0]) if self._strict else self._storage or None
            return called_in_chunks(self._text, self.types, given, out, storage, self._compile.options)
        values = self._values(given)
        wanted = wanted_outputs(self.comprehension, out)
        steps = self.steps_for(values, {name: tuple(np.shape(one)) for name, one in wanted.items()}).steps
        kinds = {step.placed.statement.target.tensor: step.output for step in steps}
        targets = {name: operand_check.as_output(one, kinds[name]) for name, one in wanted.items()}
        results = run(steps, values, writable_targets(targets, values))
        for name, target in targets.items():
            if results[name] is not target:
                np.copyto(target, results[name], casting="unsafe")  # checked before: only bool from i8 needs a cast
                results[name] = target
        if not self._makes and not any(name in self._inputs for name in self._waits):
            self._last = repeated_steps(self._inputs, dict(given), steps, self.comprehension.results)
        returned = tuple(results[name] for name in self.comprehension.results)
        return returned[0] if len(returned) == 1 else returned

    def trace(self, /, *operands: Any, **named: Any) -> tuple[StatementRun, ...]:
        """Computes each statement as it is written, and returns its operands and its result, in order."""
        values = self._values(self._bind(operands, named))
        ran: list[StatementRun] = []
        run(self.steps_for(values, {}).written, values, {}, ran.append)
        return tuple(ran)

    @property
    def depends_on_data(self) -> bool:
        """Returns whether data decides how its statements are computed."""
        return self._sketches is not None

    def steps_for(self, values: Mapping[str, Any], out_shapes: Mapping[str, tuple[int, ...]]) -> PreparedSteps:
        """Returns the statements ready to run on operands, of which shapes matter, and the values of sizes."""
        shapes = {name: tuple(value.shape) for name, value in values.items()}
        return self._steps_of(shapes, {n: int(np.asarray(values[n])) for n in self._waits if n in values}, out_shapes)

    def _steps_of(
        self,
        shapes: dict[str, tuple[int, ...]],
        scalars: dict[str, int],
        out_shapes: Mapping[str, tuple[int, ...]],
    ) -> PreparedSteps:
        """Returns the statements ready to run on operands with these shapes, and with these values of sizes."""
        key = (tuple(shapes.items()), tuple(scalars.items()), tuple(out_shapes.items()))
        with self._lock:
            known = self._prepared.get(key)
        if known is not None:
            return known
        sizes = solve_sizes(self.comprehension, shapes)
        symbols = sizes | scalars
        for name in self._waits:
            if name not in symbols:
                raise ExtentError(f"expected a tensor that gives the size {name}, but got none")
        statements = [bound(s, symbols, self.comprehension.sizes) for s in self.comprehension.statements]
        given = shapes | declared_shapes(self.comprehension, sizes)
        for name, shape in out_shapes.items():
            given.setdefault(name, shape)
        placed = with_ranges(statements, given, shapes, strict=self._strict)
        self._check_asked(placed, out_shapes)
        steps = self._prepare(self._compiled(placed, given))
        with self._lock:
            while len(self._prepared) >= _SHAPES_KEPT:
                del self._prepared[next(iter(self._prepared))]
            self._prepared[key] = steps
        return steps

    def _prepare(self, written: tuple[StatementStep, ...]) -> PreparedSteps:
        as_written = self._makes or any(map(has_affine_target, self.comprehension.statements))
        if self._sketches is None or as_written:
            return PreparedSteps(written, written)
        return optimized(written, self.types, self._sketches, self.comprehension.results, self._compile)

    def _check_asked(self, placed: tuple[RangedStatement, ...], out_shapes: Mapping[str, tuple[int, ...]]) -> None:
        shapes = {one.statement.target.tensor: one.shape for one in placed}
        for name, shape in out_shapes.items():
            if shapes[name] != shape:
                raise ExtentError(f"expected out= of shape {shapes[name]} for {name}, but got {shape}")

    def _compiled(
        self, placed: tuple[RangedStatement, ...], known: Mapping[str, tuple[int, ...]]
    ) -> tuple[StatementStep, ...]:
        kinds = dict(self.types)
        shapes = dict(known)
        last = {one.statement.target.tensor: at for at, one in enumerate(placed)}
        steps: list[StatementStep] = []
        for at, one in enumerate(placed):
            target = one.statement.target.tensor
            kinds.update(made_types(one.statement, kinds))
            read_shapes = with_made_shapes(one, shapes)
            part = without_ranges(one.statement, one.ranges, read_shapes, lambda name: is_sparse(kinds[name]))
            read = ((p, kinds[p.tensor]) for p in part.parts)
            types = tuple((p.name, kind if p.is_whole else of_any_shape(kind)) for p, kind in read)
            output = self._output(one.statement, part.statement, dict(types), target if last[target] == at else None)
            if one.is_part:
                check_part(one.statement, (kinds.get(target), output))
            kernel = self._compile(part.statement, types, output)
            steps.append(StatementStep(one, kernel, part.parts, part.extents))
            kinds[target] = type_of_target(one.statement, self._result_type(kernel))
            shapes[target] = one.shape
        return tuple(steps)

    def _output(
        self, written: Assignment, statement: Assignment, types: Mapping[str, TensorType], last: str | None
    ) -> TensorType:
        """Returns the type of a statement's value; `last` names the output of which that is the final value."""
        storage = self._storage.get(last) if last is not None else None
        return computed_output(written, statement, types, self._dtypes[statement.target.tensor], storage)

    def _unknown(self) -> tuple[str, ...]:
        """Returns the sizes and parameters that statements need, but no type determines."""
        sizes = solve_sizes(self.comprehension, {name: kind.shape for name, kind in self.types.items()})
        return tuple(name for name in self._waits if name not in sizes)

    def _sketched(self) -> tuple[StatementKernel, ...]:
        """Returns the kernels of the statements as they are for most shapes, on which ranges have no effect."""
        sizes = solve_sizes(self.comprehension, {name: kind.shape for name, kind in self.types.items()})
        statements = [bound(s, sizes, self.comprehension.sizes) for s in self.comprehension.statements]
        kinds = dict(self.types)
        last = {statement.target.tensor: at for at, statement in enumerate(statements)}
        kernels: list[StatementKernel] = []
        for at, statement in enumerate(statements):
            target = statement.target.tensor
            lows = {clause.variable: clause.low.constant for clause in statement.ranges}
            # Take a length of 0: each statement has the same text if it reads a part of an axis or all of it.
            ranges = {variable: (lows.get(variable, 0),) * 2 for variable in statement.indices}
            kinds.update(made_types(statement, kinds))
            for access in statement.reads:
                check_rank(statement, access, kinds[access.tensor].shape)
            shapes = {name: (0,) * kind.rank for name, kind in kinds.items()}
            part = without_ranges(statement, ranges, shapes, lambda name: is_sparse(kinds[name]))
            types = tuple((p.name, kinds[p.tensor]) for p in part.parts)
            output = self._output(statement, part.statement, dict(types), target if last[target] == at else None)
            kernels.append(self._compile(part.statement, types, output))
            kinds[target] = type_of_target(statement, self._result_type(kernels[-1]))
        return tuple(kernels)

    def _result_type(self, kernel: StatementKernel) -> TensorType:
        return kernel.output  # as other statements read it

    def _planned(self) -> PreparedSteps | None:
        """Returns the statements as calls run them; None where only their shapes would say."""
        if self._sketches is None and self._static is not None:
            return None
        with self._lock:
            if self._prepared:
                return list(self._prepared.values())[-1]
        if self._sketches is None or self._unknown():
            return None
        shapes = zip(self._inputs, self._sketches.sketches, strict=True)
        return self._steps_of({name: sketch.shape for name, sketch in shapes}, {}, {})

    def _statements(self) -> tuple[tuple[Assignment, StatementKernel], ...]:
        """Returns the statements that calls run, each with its kernel.

        Raises:
            UnsupportedError: if a statement depends on sizes or parameters that are not known yet.
        """
        return self._kernels_of(self._planned())

    def _kernels_of(self, planned: PreparedSteps | None) -> tuple[tuple[Assignment, StatementKernel], ...]:
        if planned is not None and planned.steps != planned.written:
            return tuple((step.placed.statement, step.kernel) for step in planned.steps)
        if planned is not None:
            kernels = tuple(step.kernel for step in planned.written)
        elif self._static is not None:
            kernels = self._static
        else:
            unknown = ", ".join(self._unknown())
            raise UnsupportedError(
                f"expected numbers for {unknown}, on which statements of {self.comprehension.name} depend, but got "
                f"none: give types with static shapes, or call the kernel once"
            )
        return tuple(zip(self.comprehension.statements, kernels, strict=True))

    @property
    def kernels(self) -> tuple[StatementKernel, ...]:
        """Returns the kernel of each statement that calls run, for calls and saving.

        Raises:
            UnsupportedError: if a statement depends on sizes or parameters that are not known yet.
        """
        return tuple(kernel for _, kernel in self._statements())

    def _output_types(self) -> tuple[TensorType, ...]:
        last = {s.target.tensor: type_of_target(s, kernel.output) for s, kernel in self._statements()}
        return tuple(last[name] for name in self.comprehension.results)

    @property
    def output(self) -> TensorType | tuple[TensorType, ...]:
        """Returns the type of the result, or a tuple of the types of several."""
        return kinds[0] if len(kinds := self._output_types()) == 1 else kinds

    def ir(self, stage: Stage = "linalg") -> str:
        """Returns the text of all statements at a stage, in order, each under its name as a comment; see `kernels`."""
        if stage not in STAGES:
            raise UnsupportedError(f"expected a stage of {', '.join(STAGES)}, but got {stage!r}")
        if stage == "notation":
            return f"{self._explicit()}\n"
        mark = ";" if stage == "llvmir" else "#" if stage == "asm" else "//"
        # The separator of modules in one text for MLIR's tools (`--split-input-file`).
        between = "// -----\n" if stage in ("linalg", "sparsified", "llvm") else "\n"
        return between.join(f"{mark} {statement}\n{kernel.ir(stage)}" for statement, kernel in self._statements())

    def _explicit(self) -> Comprehension | Assignment:
        statements = tuple(map(with_explicit_sums, self.comprehension.statements))
        return replace(self.comprehension, statements=statements) if self.comprehension.name else statements[0]

    def passes(self) -> exploring.Passes:
        """Returns the modules of all statements after each pass, one statement after the other."""
        return exploring.joined([kernel.passes() for kernel in self.kernels])

    def remarks(self) -> tuple[Remark, ...]:
        """Returns the remarks of the strategies for fast loops, one statement after the other."""
        return tuple(remark for kernel in self.kernels for remark in kernel.remarks())

    def explain(self, /, *operands: Any, **named: Any) -> str:
        """Returns an account of each statement: of those that a call on data runs, or of the last call's without."""
        if has_chunks((*operands, *named.values())):
            told = explained_in_chunks(self._text, self.types, self._bind(operands, named), self._compile.options)
            return ShownText(told)
        parts = [str(self.comprehension)] if self.comprehension.name else []
        given = operands or named
        planned = self.steps_for(self._values(self._bind(operands, named)), {}) if given else self._planned()
        statements = self._kernels_of(planned)
        if planned is not None and planned.account:
            parts.append("\n  ".join(["algebra", *planned.account]))
        parts += [f"statement {n}: {text}\n{kernel.explain()}" for n, (text, kernel) in enumerate(statements, 1)]
        return ShownText("\n\n".join(parts))

    def save(self, path: str | os.PathLike[str]) -> NoReturn:
        """Refuses: only kernels of one statement can be saved.

        Raises:
            UnsupportedError: always; `kernels` can be saved one by one.
        """
        raise UnsupportedError(
            f"expected one kernel to save in {os.fspath(path)}, but got the {len(self.comprehension.statements)} "
            f"statements of {self.comprehension.name or 'a text with ranges'}: save each of its .kernels"
        )

    @property
    def _text(self) -> Comprehension | Assignment:
        return self.comprehension.statements[0] if self._strict else self.comprehension

    def _described(self) -> tuple[str, Iterable[tuple[str, Any]]]:
        return str(self._text), ((name, kind) for name, kind in self.types.items() if not is_made_by_calls(name))

    def __repr__(self) -> str:
        return f"ComprehensionKernel({self._described()[0]})"
