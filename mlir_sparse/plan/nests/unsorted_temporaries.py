"""Products of sparse matrices that are made to be walked row by row: their rows need not be sorted.

A row of a product comes about in no order. To sort it, or to find its columns in the order of bits, takes up to half of
the time of the product, and is for nothing where all that reads it goes through its entries alone, as the next product
does: `CSR(unordered)` is enough.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from dataclasses import replace

from mlir_sparse.encoding import Encoding, LevelProperty, TensorType
from mlir_sparse.notation import Access, Binary, BinaryOp, Expr, IndexVar, Literal, Negate, ReduceOp, accesses_of, walk
from mlir_sparse.plan.order.storage_choice import can_insert_into, is_sparse
from mlir_sparse.plan.plan_steps import Generic, Step, values_read
from mlir_sparse.spec import KernelSpec

__all__ = ["leave_unsorted"]

_MADE = "; its rows are not sorted, for all that reads it goes through its entries alone"


def leave_unsorted(
    spec: KernelSpec, steps: tuple[Step, ...], types: MutableMapping[str, TensorType], result: str
) -> tuple[Step, ...]:
    """Returns steps in which parts of a plan that are read entry by entry alone are made without order.

    A statement that is computed as it is written stays as it is.

    Args:
        spec: the kernel.
        steps: its steps.
        types: the types of all values, by name: changed for those products.
        result: the name of the result.
    """
    if spec.rewriting is None:
        return steps
    kept = {result, *(name for name, _ in spec.inputs)}
    results = [step.result for step in steps]
    loose = {step.result for step in steps if isinstance(step, Generic) and _is_product(step, types)} - kept
    loose = {name for name in loose if results.count(name) == 1 and all(_walks(step, name, types) for step in steps)}
    for name in loose:
        types[name] = replace(types[name], encoding=_unsorted(types[name].encoding))
    made = (isinstance(step, Generic) and step.result in loose for step in steps)
    pairs = zip(steps, made, strict=True)
    return tuple(replace(step, reason=step.reason + _MADE) if is_made else step for step, is_made in pairs)


def _is_product(step: Generic, types: Mapping[str, TensorType]) -> bool:
    """Returns whether a step gathers rows of a sparse result of its own, whose last level alone is sparse."""
    kind = types[step.result].encoding
    if kind is None or step.sampled is not None or not step.gathers or not can_insert_into(kind):
        return False
    *above, last = kind.level_types
    return all(level.is_full for level in above) and last.has_adjacent_lists and not last.properties


def _walks(step: Step, name: str, types: Mapping[str, TensorType]) -> bool:
    """Returns whether a step does no more with a value than to go through its entries, whatever their order."""
    if name not in values_read(step):
        return True
    if not isinstance(step, Generic) or not isinstance(step.combine, ReduceOp):
        return False
    if step.frames or (step.sampled is not None and step.sampled.tensor == name):
        return False
    if not all(isinstance(node, Access | Literal | Negate) or _multiplies(node) for node in walk(step.payload)):
        return False
    read = [access for access in accesses_of(step.payload) if access.tensor == name]
    if len(read) != 1 or name in {access.tensor for body in step.bodies[1:] for access in accesses_of(body)}:
        return False
    (access,) = read
    last = _last(access, types)
    if last is None or access.subscripts.count(last) != 1:
        return False
    others = [other for other in step.operands if other != access]
    if any(last in _listed(other, types) for other in others):
        return False
    if last not in step.target.subscripts or not is_sparse(types[step.result]):
        return True
    return step.gathers and last == _last(step.target, types)


def _multiplies(node: Expr) -> bool:
    return isinstance(node, Binary) and node.op is BinaryOp.MUL


def _last(access: Access, types: Mapping[str, TensorType]) -> IndexVar | None:
    """Returns the variable of the last level; None where it is none."""
    kind = types[access.tensor].encoding
    assert kind is not None
    subscript = access.subscripts[kind.level_order[-1]] if kind.is_permutation else None
    return subscript if isinstance(subscript, IndexVar) else None


def _listed(access: Access, types: Mapping[str, TensorType]) -> set[IndexVar]:
    """Returns the variables of the levels that are not full; all of storage whose levels are no dimensions."""
    kind = types[access.tensor].encoding
    variables = {s for s in access.subscripts if isinstance(s, IndexVar)}
    if kind is None or not kind.is_permutation:
        return set() if kind is None else variables
    pairs = zip(kind.level_order, kind.level_types, strict=True)
    found = (access.subscripts[dim] for dim, level in pairs if not level.is_full)
    return {one for one in found if isinstance(one, IndexVar)}


def _unsorted(kind: Encoding | None) -> Encoding:
    assert kind is not None
    *above, last = kind.levels
    loose = replace(last, type=replace(last.type, properties=(LevelProperty.NONORDERED,)))
    return replace(kind, levels=(*above, loose), preset=None)
