"""Programs of statements on arrays of values, with their adjoints, which are such programs too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mlir_sparse.compile import compile as compile_statement
from mlir_sparse.compile.index_operands import makes_operands, shifted_places
from mlir_sparse.dtypes import REAL, DType
from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import DTypeError, UnsupportedError
from mlir_sparse.gradients.helper_tensors import helper_tensor
from mlir_sparse.gradients.step_shapes import Shape, shapes_of_steps
from mlir_sparse.gradients.value_structure import ValueStructure
from mlir_sparse.notation import Assignment, Comprehension, is_mask, shifted_gathers, tensors_given
from mlir_sparse.notation.adjoint import AdjointStep, Helper
from mlir_sparse.notation.adjoint.adjoint_of import statements_of
from mlir_sparse.notation.adjoint.adjoint_steps import adjoint_of_steps
from mlir_sparse.notation.ast import Access
from mlir_sparse.runtime import operand_check
from mlir_sparse.spec import infer_output
from mlir_sparse.spec.made_types import made_types
from mlir_sparse.tensor import SparseTensor

__all__ = ["DifferentiableProgram", "program_of"]

Array = np.ndarray[Any, Any]
Value = Array | SparseTensor


class DifferentiableProgram:
    """Statements from operands to results, all as arrays: of a sparse tensor, of its stored values.

    Args:
        steps: the statements in order, each with a target of its own.
        types: by operand, in order, its type.
        structures: by name, the structure of operands and results that are sparse.
        outputs: by the user's name, the targets that are results.
        helpers: constant operands that are made for the shapes at hand.
        shape_steps: the statements that determine shapes, those that need not be computed included.
        like: by result that is a cotangent, the operand whose shape and element type it has.
    """

    def __init__(
        self,
        steps: Sequence[AdjointStep],
        types: Mapping[str, TensorType],
        structures: Mapping[str, ValueStructure],
        outputs: Mapping[str, str],
        helpers: Sequence[Helper] = (),
        shape_steps: Sequence[AdjointStep] | None = None,
        like: Mapping[str, str] | None = None,
    ) -> None:
        self.steps, self.types, self.structures, self.outputs = tuple(steps), dict(types), dict(structures), outputs
        self.helpers = {helper.name: helper for helper in helpers}
        self.shape_steps = self.steps if shape_steps is None else tuple(shape_steps)
        self.like = dict(like or {})
        self.key = ""  # its name in another library's graphs
        self.kinds = self._kinds()
        self._kernels: dict[int, Any] = {}
        self._made: tuple[object, dict[str, Value]] | None = None
        self._adjoints: dict[tuple[str, ...], tuple[DifferentiableProgram | None, tuple[str, ...]]] = {}

    @property
    def inputs(self) -> tuple[str, ...]:
        """Returns the operands, in order."""
        return tuple(self.types)

    def _kinds(self) -> dict[str, TensorType]:
        """Returns the types of operands and of what is assigned."""
        kinds = dict(self.types)
        for helper in self.helpers.values():
            kinds[helper.name] = TensorType(REAL, (None,) * len(helper.indices))
        for step in self.shape_steps:
            kinds |= made_types(step.core, kinds)
            if step.target in kinds:
                continue
            if step.like and step.like in kinds:
                kinds[step.target] = kinds[step.like]
                continue
            kind = infer_output(step.core, kinds)
            structure = self.structures.get(step.target)
            kinds[step.target] = kind if structure is None else structure.type_of(kind.dtype)
        return kinds

    def dtype_of(self, output: str) -> DType:
        """Returns the element type of a result, by the name of its target."""
        name = self.like.get(output, output)
        return self.kinds[name].dtype

    def result_shapes(self, shapes: Sequence[Shape]) -> list[Shape]:
        """Returns the shapes of the arrays that a call returns, from the shapes of those that it takes."""
        whole = self._shapes(shapes)
        return [
            (self.structures[name].size,) if name in self.structures else whole[self.like.get(name, name)]
            for name in self.outputs.values()
        ]

    def _shapes(self, given: Sequence[Shape]) -> dict[str, Shape]:
        shapes: dict[str, Shape] = {}
        for name, shape in zip(self.types, given, strict=True):
            structure = self.structures.get(name)
            shapes[name] = tuple(shape) if structure is None else structure.shape
        return shapes_of_steps(self.shape_steps, shapes)

    def __call__(self, arrays: Sequence[Array]) -> list[Array]:
        """Computes the results.

        Args:
            arrays: by operand, in order: an array, or the stored values of a sparse tensor.

        Returns:
            by result, in order: a new array, or the stored values of a sparse result.
        """
        values: dict[str, Value] = {}
        for name, array in zip(self.types, arrays, strict=True):
            structure = self.structures.get(name)
            values[name] = array if structure is None else structure.filled(array)
        shapes = self._shapes([array.shape for array in arrays])
        for helper in self.helpers.values():  # helpers read the places of gathers
            for name, gather in shifted_gathers(helper.statement).items():
                values[name] = shifted_places(gather, values[gather.tensor])
        values |= self._helpers(shapes, values)
        for number, step in enumerate(self.steps):
            values[step.target] = self._run(number, step, values, shapes)
        return [self._result(name, values[name]) for name in self.outputs.values()]

    def _helpers(self, shapes: dict[str, Shape], values: dict[str, Value]) -> dict[str, Value]:
        """Returns the helpers for these shapes, the last ones where nothing of them changed."""
        if not self.helpers:
            return {}
        gathered = {
            access.tensor
            for helper in self.helpers.values()
            if helper.subscript is not None
            for access in Access("", (helper.subscript,)).subscripts
            if isinstance(access, Access)
        }
        key = (tuple(sorted(shapes.items())), bool(gathered))
        known = self._made
        if known is not None and known[0] == key and not gathered:
            return known[1]
        made: dict[str, Value] = {}
        for name, helper in self.helpers.items():
            made[name] = helper_tensor(helper, shapes, values, self._helper_dtype(name))
        self._made = (key, made)
        return made

    def _helper_dtype(self, name: str) -> DType:
        """Returns the real element type of the statement that reads a helper."""
        for step in self.steps:
            if name in step.core.inputs:
                return self.kinds[step.like or step.target].dtype.part
        return REAL

    def _run(self, number: int, step: AdjointStep, values: dict[str, Value], shapes: dict[str, Shape]) -> Value:
        """Computes one statement."""
        if step.pattern is not None:
            return self._on_pattern(number, step, values)
        storage = self.kinds[step.target].encoding
        if step.target in self.outputs.values() and step.target not in self.structures:
            storage = None
        given = [values[name] for name in tensors_given(step.core)]
        kernel = self._kernel(number, step.core, given, "dense" if storage is None else storage)
        if storage is not None:
            found: Value = kernel(*given)
            return found
        out = np.zeros(shapes[step.target], kernel.output.dtype.numpy)
        kernel(*given, out=out)
        return out

    def _on_pattern(self, number: int, step: AdjointStep, values: dict[str, Value]) -> SparseTensor:
        """Computes a statement on the stored entries of a tensor: the other elements are never computed."""
        assert step.pattern is not None
        name = step.pattern.tensor
        structure = self.structures.get(name)
        if structure is None:
            known = values[name]
            assert isinstance(known, SparseTensor)
            structure = ValueStructure(known)
        statement = step.product
        ones = structure.ones(self.kinds[step.target].dtype.part)
        given = [ones if one == step.on_pattern else values[one] for one in tensors_given(statement)]
        kernel = self._kernel(number, statement, given, ones.encoding)
        found = kernel(*given)
        return structure.filled(structure.values_of(found))

    def _kernel(self, number: int, statement: Assignment, given: Sequence[Value], out: Any) -> Any:
        known = self._kernels.get(number)
        if known is None:
            operands: dict[str, Any] = dict(zip(tensors_given(statement), given, strict=True))
            if makes_operands(statement):  # the array for a result may be all that has the extent of an index
                operands = {name: operand_check.type_of(value) for name, value in operands.items()}
            known = compile_statement(statement, tensors=operands, out=out)
            self._kernels[number] = known
        return known

    def _result(self, name: str, value: Value) -> Array:
        array = value.storage.values if isinstance(value, SparseTensor) else value
        wanted = self.dtype_of(name).numpy
        if array.dtype.kind == "c" and wanted.kind != "c":
            array = array.real  # what a real operand adds to a complex result
        return np.require(array, wanted, "C")

    def adjoint(self, wanted: Sequence[str]) -> tuple[DifferentiableProgram | None, tuple[str, ...]]:
        """Returns the program that computes the cotangents of operands.

        It takes this program's operands, then the cotangents of its results.

        Args:
            wanted: the operands.

        Returns:
            the program, None where no result has a derivative by a wanted operand; and the operands that it gives
                cotangents of, in order: the results are constant in the others.
        """
        key = tuple(wanted)
        if key not in self._adjoints:
            self._adjoints[key] = self._differentiated(key)
        return self._adjoints[key]

    def _differentiated(self, wanted: tuple[str, ...]) -> tuple[DifferentiableProgram | None, tuple[str, ...]]:
        names = [name for name in self.kinds if name not in self.helpers]
        found = adjoint_of_steps(
            tuple(step.core for step in self.steps),
            self.outputs,
            wanted,
            sparse=[name for name in names if self._is_sparse(name)],
            complexes=[name for name in names if self.kinds[name].dtype.kind == "c"],
        )
        if not found.results:
            return None, ()
        types, structures = dict(self.types), dict(self.structures)
        like = dict(self.like)
        for output, name in found.cotangents.items():
            target = self.outputs[output]
            types[name] = self.kinds[target]
            if target in self.structures:
                structures[name] = self.structures[target]
            else:
                types[name] = TensorType(self.kinds[target].dtype, (None,) * self.kinds[target].rank)
            like[name] = target
        for operand, name in found.results.items():
            like[name] = operand
            if operand in self.structures:
                structures[name] = self.structures[operand]
        again = {step.target: step for step in self.steps}
        steps = [again.get(step.target, step) for step in found.steps]
        extra = [step for step in found.steps if step.target not in again]
        program = DifferentiableProgram(
            steps,
            types,
            structures,
            dict(found.results),
            (*self.helpers.values(), *found.helpers),
            (*self.shape_steps, *extra),
            like,
        )
        return program, tuple(found.results)

    def _is_sparse(self, name: str) -> bool:
        return name in self.structures or (self.kinds[name].encoding is not None and name not in self.outputs.values())


def program_of(
    given: Assignment | Comprehension,
    types: Mapping[str, TensorType],
    structures: Mapping[str, ValueStructure],
    patterns: Mapping[str, ValueStructure] | None = None,
) -> DifferentiableProgram:
    """Returns the program of a statement or a comprehension.

    Args:
        given: the notation, whose sizes have numbers.
        types: by operand, its type.
        structures: by sparse operand, its structure.
        patterns: by result that is sparse, the structure that it is computed on; other results are arrays.

    Raises:
        UnsupportedError: for a result that is no number with a fraction.
    """
    statements, outputs = statements_of(given)
    wanted = {made: (patterns or {})[name] for name, made in outputs.items() if name in (patterns or {})}
    steps: list[AdjointStep] = []
    for statement in statements:
        target = statement.target
        if target.tensor in wanted:
            pattern = Access(target.tensor, target.subscripts)
            steps.append(AdjointStep(statement, pattern, f"on_{target.tensor}"))
        else:
            steps.append(AdjointStep(statement))
    found = DifferentiableProgram(
        steps, {name: types[name] for name in tensors_given(given)}, {**structures, **wanted}, outputs
    )
    for name, made in outputs.items():
        if found.kinds[made].dtype.kind not in "fc":
            raise DTypeError(
                f"expected a result in floating point to differentiate, but got {name} of {found.kinds[made].dtype}: "
                "convert the operands, or compute it by ms.evaluate"
            )
    if any(is_mask(step.core.value) and step.pattern is not None for step in steps) and len(steps) > 1:
        raise UnsupportedError(
            "expected one statement with a mask and a pattern, but got several: compute the masked one by itself"
        )
    return found
