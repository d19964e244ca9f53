"""Statements as functions of JAX's arrays: `custom_vjp` over `pure_callback`, of every order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mlir_sparse.compile import parse
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import MissingPackageError, OperandError, UnknownTensorError, UnsupportedError
from mlir_sparse.gradients import DifferentiableProgram, ValueStructure, program_of
from mlir_sparse.gradients.adjoint_entry import check_differentiable, check_ring
from mlir_sparse.notation import Assignment, Comprehension, Monoid, Operator, TensorVar, tensors_given
from mlir_sparse.spec import infer_output
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.borders.foreign_arrays import is_sparse_source
from mlir_sparse.text.identifiers import by_name
from mlir_sparse.text.shown_text import PrintedValue

__all__ = ["JaxKernel", "kernel"]


def kernel(
    text: str | Assignment | TensorVar,
    /,
    *,
    out: SparseTensor | str | None = None,
    semiring: Any = None,
    tensors: Mapping[str, Any] | None = None,
    **named: Any,
) -> JaxKernel:
    """Returns a statement as a differentiable function of JAX's arrays.

    It computes on the host, in a callback: `jit` keeps it as one call, `grad` and `vjp` have derivatives of every
    order, and `vmap` runs it once for each element of the batch. `jvp` and forward mode are refused by JAX.

    Args:
        text: a statement in index notation.
        out: a SparseTensor as pattern, on whose stored entries the result is computed, and returned as their values; or
            "dense". A result that would be inferred to be sparse needs one of the two.
        semiring: plus_times alone has derivatives.
        tensors: structures by name, for names that clash with these arguments.
        named: for each sparse operand a SparseTensor, whose structure is fixed: calls take an array of its stored
            values. Also operators in the text.

    Raises:
        SparseError: one of its kinds, for mistakes in text and structures.
        MissingPackageError: without JAX.
    """
    _jax()
    given = by_name(named, tensors)
    operators = {name: value for name, value in given.items() if isinstance(value, (Operator, Monoid))}
    check_ring(semiring)
    parsed = parse(text, **operators)
    if isinstance(parsed, Comprehension):
        raise UnsupportedError(
            "expected one statement for JAX, but got a comprehension: make a kernel of each statement"
        )
    return JaxKernel(parsed, out, {name: value for name, value in given.items() if name not in operators})


class JaxKernel(PrintedValue):
    """A differentiable function of JAX's arrays; `kernel` makes one.

    Call it with its operands by position, in the order in which the text first names them, or by name: JAX's or NumPy's
    arrays, numbers, and the stored values of operands whose structure is fixed.
    """

    def __init__(self, notation: Assignment, out: Any, fixed: Mapping[str, Any]) -> None:
        self.notation, self._out = notation, out
        self._inputs = tensors_given(notation)
        for name, value in fixed.items():
            if name not in self._inputs:
                raise UnknownTensorError(f"expected an operand of {self._inputs}, but got {name}")
            if not isinstance(value, SparseTensor):
                raise OperandError(
                    f"expected a SparseTensor as the structure of {name}, but got {type(value).__name__}: "
                    f"pass ms.tensor({name})"
                )
            check_differentiable(name, value)
        self._structures = {name: ValueStructure(value) for name, value in fixed.items()}
        self._pattern = ValueStructure(out) if isinstance(out, SparseTensor) else None
        if self._pattern is None and out not in (None, "dense"):
            raise UnsupportedError(f"expected a SparseTensor or 'dense' as out=, but got {out!r}: pass the pattern")
        self._functions: dict[tuple[Any, ...], Any] = {}

    def __repr__(self) -> str:
        return f"<JaxKernel {self.notation}>"

    def __call__(self, *operands: Any, **named: Any) -> Any:
        """Computes the result: an array, or the values on the pattern `out`."""
        names = self._inputs
        given = dict(zip(names, operands, strict=False)) | named
        if len(operands) > len(names) or set(given) != set(names) or len(given) != len(operands) + len(named):
            raise UnknownTensorError(
                f"expected each operand of {', '.join(names)} once, but got {len(operands)} by place and "
                f"{', '.join(named) or 'none'} by name"
            )
        numpy = _jax().numpy
        values = [numpy.asarray(self._plain(name, given[name])) for name in names]
        (found,) = self._function(values)(*values)
        return found

    def _plain(self, name: str, value: Any) -> Any:
        if is_sparse_source(value):
            raise OperandError(
                f"expected an array for {name}, but got {type(value).__name__}: pass ms.tensor({name}) to kernel() as "
                f"{name}=, and its storage.values here"
            )
        if not isinstance(value, SparseTensor):
            return value
        structure = self._structures.get(name)
        if structure is None or not structure.shares(value):
            raise OperandError(
                f"expected an array for {name}, but got a SparseTensor: pass it to kernel(), its storage.values here"
            )
        return value.storage.values

    def _function(self, values: list[Any]) -> Any:
        key = tuple((str(value.dtype), value.ndim) for value in values)
        if key not in self._functions:
            types = {}
            for name, (dtype, rank) in zip(self._inputs, key, strict=True):
                kind, structure = DType.of(dtype), self._structures.get(name)
                types[name] = TensorType(kind, (None,) * rank) if structure is None else structure.type_of(kind)
            if self._out is None and infer_output(self.notation, types).encoding is not None:
                raise UnsupportedError(
                    f"expected a result that is an array, but got `{self.notation}`, which is sparse: "
                    "pass out='dense', or a SparseTensor as out= whose entries to compute"
                )
            patterns = {} if self._pattern is None else {self.notation.target.tensor: self._pattern}
            self._functions[key] = _function_of(program_of(self.notation, types, self._structures, patterns))
        return self._functions[key]


def _function_of(program: DifferentiableProgram) -> Any:
    """Returns a program as a function of arrays that JAX differentiates."""
    jax = _jax()
    adjoints: dict[str, Any] = {}
    reals = tuple(name for name, kind in program.types.items() if kind.dtype.kind in "fc")

    def kinds() -> list[Any]:
        # An index as a value has 64 bits, which results have only where JAX has such types (jax_enable_x64).
        return [jax.dtypes.canonicalize_dtype(program.dtype_of(name).numpy) for name in program.outputs.values()]

    def on_host(*values: Any) -> tuple[Any, ...]:
        found = program([np.asarray(value) for value in values])
        return tuple(one.astype(kind, copy=False) for one, kind in zip(found, kinds(), strict=True))

    def run(*values: Any) -> tuple[Any, ...]:
        sizes = program.result_shapes([value.shape for value in values])
        results = tuple(map(jax.ShapeDtypeStruct, sizes, kinds()))
        return tuple(jax.pure_callback(on_host, results, *values, vmap_method="sequential"))

    def forward(*values: Any) -> tuple[Any, Any]:
        return made(*values), values

    def backward(values: Any, cotangents: Any) -> tuple[Any, ...]:
        adjoint, names = program.adjoint(reals)
        if adjoint is None:
            return (None,) * len(values)
        if "adjoint" not in adjoints:
            adjoints["adjoint"] = _function_of(adjoint)
        # JAX's cotangents of complex numbers are the conjugates of PyTorch's.
        found = adjoints["adjoint"](*values, *map(jax.numpy.conj, cotangents))
        by_operand = dict(zip(names, map(jax.numpy.conj, found), strict=True))
        return tuple(by_operand.get(name) for name in program.inputs)

    made = jax.custom_vjp(run)
    made.defvjp(forward, backward)
    return made


def _jax() -> Any:
    try:
        import jax
        import jax.numpy
    except ImportError as error:
        raise MissingPackageError(f"expected JAX to be installed, but got {error}: pip install jax") from None
    return jax
