"""Statements as differentiable functions of PyTorch's tensors."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from mlir_sparse.compile import evaluate, parse
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import Encoding, TensorType
from mlir_sparse.encoding import encoding as as_encoding
from mlir_sparse.errors import DTypeError, OperandError, UnknownTensorError, UnsupportedError
from mlir_sparse.gradients import DifferentiableProgram, ValueStructure, program_of
from mlir_sparse.gradients.adjoint_entry import check_differentiable, check_ring
from mlir_sparse.notation import (
    MASK,
    SELECT,
    WITHOUT,
    Apply,
    Assignment,
    Comprehension,
    Monoid,
    Operator,
    TensorVar,
    tensors_given,
    walk,
)
from mlir_sparse.spec import infer_output
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.borders.foreign_arrays import is_torch, is_torch_sparse
from mlir_sparse.tensor.borders.torch_sparse import import_torch
from mlir_sparse.text.identifiers import by_name
from mlir_sparse.text.shown_text import PrintedValue
from mlir_sparse.torch.program_operator import numbered, program_function, program_operator, registered, traced_key
from mlir_sparse.torch.sparse_values import as_torch_sparse, values_of_torch
from mlir_sparse.torch.torch_operands import StructuresOfTorch, as_values, check_place

__all__ = ["TorchKernel", "kernel"]

_KEPT = 32


def kernel(
    text: str | Assignment | Comprehension | TensorVar,
    /,
    *,
    out: Any = None,
    semiring: Any = None,
    tensors: Mapping[str, Any] | None = None,
    **named: Any,
) -> TorchKernel:
    """Returns a statement as a differentiable function of PyTorch's tensors.

    Args:
        text: index notation: a statement, or a comprehension whose results are arrays.
        out: the storage of the result, as for `compile`: inferred when absent. A SparseTensor is a pattern: the result
            is computed on its stored entries alone, and returned as its values. Another sparse result is returned as a
            sparse tensor of PyTorch.
        semiring: plus_times alone has derivatives.
        tensors: structures by name, for names that clash with these arguments.
        named: for operands whose structure is fixed a SparseTensor, or a sparse tensor of PyTorch: calls then take a
            strided tensor of its stored values. Also operators in the text.

    Raises:
        SparseError: one of its kinds, for mistakes in text and structures.
        MissingPackageError: without PyTorch.

    >>> import pytest
    >>> torch = pytest.importorskip("torch", reason="expected PyTorch (extra torch)")
    >>> spmv = kernel("y(i) = A(i,j) * x(j)")
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> y = spmv(torch.tensor([[0.0, 3.0], [4.0, 0.0]]).to_sparse_csr(), x)
    >>> torch.autograd.grad(y.sum(), x)
    (tensor([4., 3.]),)
    """
    import_torch()
    given = by_name(named, tensors)
    operators = {name: value for name, value in given.items() if isinstance(value, (Operator, Monoid))}
    check_ring(semiring)
    fixed = {name: value for name, value in given.items() if name not in operators}
    return TorchKernel(parse(text, **operators), out, fixed)


class TorchKernel(PrintedValue):
    """A differentiable function of PyTorch's tensors; `kernel` makes one.

    Call it with its operands by position, in the order in which the text first names them, or by name: strided tensors,
    sparse tensors of PyTorch, SparseTensors (constants), numbers. Gradients flow into strided tensors and into the
    values of PyTorch's sparse ones; their own backward is differentiable. `torch.compile` takes calls with strided
    tensors as one operator; others break its graph.
    """

    def __init__(self, notation: Assignment | Comprehension, out: Any, fixed: Mapping[str, Any]) -> None:
        self._given = (notation, out, dict(fixed))
        self._torch = import_torch()
        self._operator, self._function = program_operator(), program_function()
        self._computed = _untraced()  # made here: a graph cannot make it
        self.notation, self._out = notation, out
        self._inputs = tensors_given(notation)
        self._structures_of = StructuresOfTorch()
        for name in fixed:
            if name not in self._inputs:
                raise UnknownTensorError(f"expected an operand of {self._inputs}, but got {name}")
            check_differentiable(name, fixed[name] if not is_torch(fixed[name]) else None)
        self._fixed = {name: self._structure(name, value) for name, value in fixed.items()}
        self._programs: OrderedDict[tuple[Any, ...], DifferentiableProgram] = OrderedDict()
        self._constants: OrderedDict[int, tuple[SparseTensor, ValueStructure]] = OrderedDict()
        self._pattern = self._given_pattern(out)
        self._is_statement = isinstance(notation, Assignment)
        self.number = numbered(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return TorchKernel, self._given

    def __repr__(self) -> str:
        return f"<TorchKernel {self.notation}>"

    def inside(self, name: str) -> Any:
        """Returns which stored values of an operand with a fixed structure are elements, as truth values."""
        return self._torch.from_numpy(self._fixed[name].inside())

    def _structure(self, name: str, value: Any) -> ValueStructure:
        if isinstance(value, SparseTensor):
            return ValueStructure(value)
        if is_torch_sparse(value):
            return self._structures_of.of(value)
        raise OperandError(
            f"expected a SparseTensor or a sparse tensor of PyTorch as the structure of {name}, but got "
            f"{type(value).__name__}: leave {name} out, and pass it at the call"
        )

    def _given_pattern(self, out: Any) -> ValueStructure | None:
        is_pattern = isinstance(out, SparseTensor) or is_torch_sparse(out)
        if isinstance(self.notation, Comprehension):
            if out is not None and out != "dense":
                raise UnsupportedError("expected a comprehension's results to be arrays, but got out=: leave it out")
            return None
        return self._structure("the result", out) if is_pattern else None

    def __call__(self, *operands: Any, **named: Any) -> Any:
        """Computes the result, or a tuple of several."""
        if self._torch.compiler.is_compiling() and self._may_trace(operands, named):
            return self._traced(self._bound(operands, named))
        return self._computed(self, operands, named)

    def computed(self, operands: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        """Computes the same outside of graphs."""
        values, structures = self._values(self._bound(operands, named))
        program = self._program(values, structures)
        results = self._function.apply(program.key, *values)
        targets = program.outputs.values()
        found = [self._returned(program, name, value) for name, value in zip(targets, results, strict=True)]
        return found[0] if isinstance(self.notation, Assignment) else tuple(found)

    def _may_trace(self, operands: tuple[Any, ...], named: Mapping[str, Any]) -> bool:
        """Returns whether a graph may hold a call: it has no sparse tensors, and zeros as tangents of operators."""
        forward = self._torch.autograd.forward_ad._current_level >= 0
        return not forward and not any(map(_is_sparse, (*operands, *named.values())))

    def _traced(self, given: list[Any]) -> Any:
        """Computes the result in a graph, where the program is found by element types alone."""
        values = [value if isinstance(value, self._torch.Tensor) else self._torch.tensor(value) for value in given]
        kinds = ";".join([f"{value.dtype},{value.ndim}" for value in values])
        results = self._operator(traced_key(self.number, kinds), values)
        return results[0] if self._is_statement else tuple(results)

    def program_of_kinds(self, kinds: str) -> DifferentiableProgram:
        """Returns the program for strided operands: element types and numbers of dimensions, as `_traced` writes them.

        Raises:
            UnsupportedError: where a graph cannot have the program: its results are sparse, or its sizes are of data.
        """
        parts = [one.split(",") for one in kinds.split(";")]
        stored = self._pattern is None and self._out not in (None, "dense")
        if isinstance(self.notation, Comprehension) or stored:
            raise UnsupportedError(
                "expected a statement with a result that is an array or on a given pattern in torch.compile, but got "
                f"`{self.notation}` with out={self._out!r}: call it outside of the compiled function"
            )
        types = {}
        for name, (dtype, rank) in zip(self._inputs, parts, strict=True):
            kind = DType.of(dtype.removeprefix("torch."))
            structure = self._fixed.get(name)
            types[name] = TensorType(kind, (None,) * int(rank)) if structure is None else structure.type_of(kind)
        if self._out is None and infer_output(self.notation, types).encoding is not None:
            raise UnsupportedError(
                f"expected a result that is an array in torch.compile, but got `{self.notation}`, which is sparse: "
                "pass out='dense', or a pattern as out="
            )
        return self._built((kinds,), types, self._fixed, {} if self._pattern is None else self._target(self._pattern))

    def _target(self, pattern: ValueStructure) -> dict[str, ValueStructure]:
        assert isinstance(self.notation, Assignment)
        return {self.notation.target.tensor: pattern}

    def _bound(self, operands: tuple[Any, ...], named: Mapping[str, Any]) -> list[Any]:
        names = self._inputs
        if len(operands) > len(names):
            raise OperandError(f"expected at most {len(names)} operands ({', '.join(names)}), but got {len(operands)}")
        given = dict(zip(names, operands, strict=False))
        for name, value in named.items():
            if name not in names or name in given:
                raise UnknownTensorError(f"expected each operand of {', '.join(names)} once, but got {name}")
            given[name] = value
        missing = [name for name in names if name not in given]
        if missing:
            raise UnknownTensorError(f"expected data for {', '.join(missing)}, but got none: pass it by name or place")
        return [given[name] for name in names]

    def _values(self, operands: list[Any]) -> tuple[list[Any], dict[str, ValueStructure]]:
        """Returns operands as strided tensors, and the structures of those that are sparse."""
        values, structures = [], dict(self._fixed)
        for name, operand in zip(self._inputs, operands, strict=True):
            if isinstance(operand, SparseTensor):
                structures[name] = self._known(name, operand)
                values.append(as_values(operand))
            elif not is_torch(operand):
                values.append(self._constant(name, operand))
            elif is_torch_sparse(operand):
                check_place(name, operand)
                structures[name] = self._structures_of.of(operand)
                values.append(values_of_torch(operand, structures[name]))
            else:
                check_place(name, operand)
                values.append(operand)
        return values, structures

    def _known(self, name: str, operand: SparseTensor) -> ValueStructure:
        fixed = self._fixed.get(name)
        if fixed is not None and fixed.shares(operand):
            return fixed
        known = self._constants.get(id(operand))
        if known is None:  # with the tensor, so that no other one has its address
            known = self._constants[id(operand)] = (operand, ValueStructure(operand))
            while len(self._constants) > _KEPT:
                self._constants.popitem(last=False)
        return known[1]

    def _constant(self, name: str, operand: Any) -> Any:
        if not isinstance(operand, (bool, int, float, complex, np.ndarray, np.generic)):
            raise OperandError(
                f"expected a tensor of PyTorch, a SparseTensor or a number for {name}, but got {type(operand).__name__}"
            )
        array = np.asarray(operand)
        return self._torch.from_numpy(array.copy())

    def _program(self, values: list[Any], structures: dict[str, ValueStructure]) -> DifferentiableProgram:
        names = self._inputs
        dtypes = tuple(value.dtype for value in values)
        key: tuple[Any, ...] = (dtypes, tuple((name, id(structures[name])) for name in names if name in structures))
        if isinstance(self.notation, Comprehension):
            key = (*key, tuple(tuple(value.shape) for value in values))
        known = self._programs.get(key)
        if known is not None:
            return known
        types: dict[str, TensorType] = {}
        for name, value in zip(names, values, strict=True):
            dtype = _dtype(name, value)
            structure = structures.get(name)
            rank = value.ndim
            types[name] = TensorType(dtype, (None,) * rank) if structure is None else structure.type_of(dtype)
        return self._built(key, types, structures, self._result_patterns(values, structures, types))

    def _built(
        self,
        key: tuple[Any, ...],
        types: Mapping[str, TensorType],
        structures: Mapping[str, ValueStructure],
        patterns: Mapping[str, ValueStructure],
    ) -> DifferentiableProgram:
        made = self._programs.get(key)
        if made is None:
            made = self._programs[key] = program_of(self.notation, types, structures, patterns)
            registered(made)
        while len(self._programs) > _KEPT:
            self._programs.popitem(last=False)
        return made

    def _result_patterns(
        self, values: list[Any], structures: Mapping[str, ValueStructure], types: Mapping[str, TensorType]
    ) -> dict[str, ValueStructure]:
        """Returns the structure of a sparse result: given, or found from those of the operands."""
        if isinstance(self.notation, Comprehension):
            return {}
        name = self.notation.target.tensor
        if self._pattern is not None:
            return self._target(self._pattern)
        storage = self._storage(types)
        if storage is None:
            return {}
        _check_structural(self.notation, types)
        ones: dict[str, Any] = {}
        for operand, value in zip(self._inputs, values, strict=True):
            structure = structures.get(operand)
            if structure is not None:
                ones[operand] = structure.filled(structure.inside().astype(types[operand].dtype.numpy))
            elif types[operand].dtype.is_integer:
                ones[operand] = value.detach().numpy()  # what gathers read
            else:
                ones[operand] = np.ones(tuple(value.shape), types[operand].dtype.numpy)
        found = evaluate(self.notation, tensors=ones, out=storage)
        assert isinstance(found, SparseTensor)
        return {name: ValueStructure(found)}

    def _storage(self, types: Mapping[str, TensorType]) -> Encoding | None:
        assert isinstance(self.notation, Assignment)
        if self._out is None:
            return infer_output(self.notation, types).encoding
        if isinstance(self._out, str) and self._out.strip().lower() == "dense":
            return None
        return as_encoding(self._out, rank=len(self.notation.target.subscripts))

    def _returned(self, program: DifferentiableProgram, name: str, value: Any) -> Any:
        structure = program.structures.get(name)
        if structure is None or isinstance(self._out, SparseTensor):
            return value
        return as_torch_sparse(structure, value)


def _is_sparse(value: Any) -> bool:
    return isinstance(value, SparseTensor) or is_torch_sparse(value)


@cache
def _untraced() -> Any:
    """Returns `computed`, into which `torch.compile` does not look: it has no sparse tensors."""
    return import_torch().compiler.disable(TorchKernel.computed)


def _dtype(name: str, value: Any) -> DType:
    try:
        return DType.of(str(value.dtype).removeprefix("torch."))
    except DTypeError as error:
        raise DTypeError(f"{error.message} (operand {name})") from None


def _check_structural(statement: Assignment, types: Mapping[str, TensorType]) -> None:
    """Raises UnsupportedError where the entries of a result depend on values, which change from call to call."""
    for node in walk(statement.value):
        if not isinstance(node, Apply):
            continue
        dense_mask = node.operator in (MASK, WITHOUT) and any(
            access.tensor in types and types[access.tensor].encoding is None for access in walk(node.arguments[0])
            if hasattr(access, "tensor")
        )  # fmt: skip
        if node.operator == SELECT or dense_mask:
            raise UnsupportedError(
                f"expected a result whose entries depend on structure alone, but got `{statement}`: "
                "pass out='dense', or a SparseTensor as out= whose entries to compute"
            )
