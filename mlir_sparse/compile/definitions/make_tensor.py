"""Makes a defined tensor: computes its definition as a statement."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlir_sparse.compile.definitions.composed_calls import passed
from mlir_sparse.compile.definitions.composed_statement import compose_statement
from mlir_sparse.compile.definitions.defined_tensor import DefinedTensor
from mlir_sparse.compile.entry_points import evaluate
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation import Access, Assignment, AssignOp, fresh_name
from mlir_sparse.tensor import SparseTensor

__all__ = ["composed_statement_of", "make_tensor"]

Array = np.ndarray[Any, Any]


def make_tensor(tensor: DefinedTensor) -> Array | SparseTensor:
    """Returns a defined tensor as data.

    Raises:
        UnsupportedError: for a definition that no plan covers.
    """
    if tensor.composable.composition is not None:
        try:
            return _from_composition(tensor)
        except UnsupportedError:
            pass  # the definition as it is written may have a plan all the same
    return _from_definition(tensor)


def _from_composition(tensor: DefinedTensor) -> Array | SparseTensor:
    composition = tensor.composable.composition
    assert composition is not None, "others are made from the definition"
    if isinstance(composition.value, Access) and composition.value.subscripts == composition.variables:
        whole = tensor.composable.operands[composition.value.tensor].value()  # which is kept, or the user's
        return whole.copy()
    statement, operands = composed_statement_of(tensor)
    storage = tensor.type.encoding
    found = evaluate(str(statement), out="dense" if storage is None else storage, **passed(operands))
    assert isinstance(found, np.ndarray | SparseTensor), "one statement gives one result"
    return found


def composed_statement_of(tensor: DefinedTensor) -> tuple[Assignment, dict[str, Array | SparseTensor]]:
    """Returns the statement that makes a defined tensor from its operands, and these by name, as they are now.

    Args:
        tensor: one that can be composed.

    Raises:
        UnsupportedError: for one whose own numbers are not those of the definitions in it, read as one statement.
    """
    composition = tensor.composable.composition
    assert composition is not None, "others are made from the definition"
    own = Access(tensor.logical.definition.target.tensor, composition.variables)
    taken = {own.tensor, *(variable.name for variable in composition.variables)}
    target = Access(fresh_name("made", taken), composition.variables)
    done = compose_statement(Assignment(target, AssignOp.ASSIGN, own), {own.tensor: tensor.composable}, {})
    if any(not leaf for _, _, leaf in done.operands):
        raise UnsupportedError(
            f"expected a definition that gives the same numbers as one statement, but got `{tensor.composable.text}`: "
            "pass ms.tensor of the tensors by definition in it"
        )
    operands = {new: tensor.composable.operands[leaf].value() for new, _, leaf in done.operands}
    return done.assignment, operands | {new: ones.value() for new, ones in done.ones}


def _from_definition(tensor: DefinedTensor) -> Array | SparseTensor:
    """Returns the tensor by its definition as it is written; a dense one has its extents from an array."""
    kind = tensor.logical.kind
    out = np.empty(tensor.shape, dtype=kind.dtype.numpy) if kind.encoding is None else None
    found = evaluate(str(tensor.logical.assignment), out=out, tensors=tensor.raw_operands())
    assert isinstance(found, np.ndarray | SparseTensor), "one statement gives one result"
    return found
