"""Tensors whose outermost level lists coordinates, inside of loops over another tensor: COO and DCSR times a matrix.

Loops that come to a dense level go to one coordinate. A list they meet from its begin, each time that they come to it:
rows of `B` in `A(i,j) * B(j,k)` once for each row of `A`. Columns of `A` and rows of `B` would meet once, but where the
result is stored by rows the plan turns `A` first, and then they meet as often.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from mlir_sparse.classes import dataclass
from mlir_sparse.encoding import Encoding, TensorType
from mlir_sparse.encoding.levels.level_functions import Iteration
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation import Access, IndexVar
from mlir_sparse.plan.order.co_iteration import Product, products
from mlir_sparse.plan.order.storage_choice import is_sparse, level_variables, with_dense_root
from mlir_sparse.process.forks import importing
from mlir_sparse.program.steps import Conversion
from mlir_sparse.spec import KernelSpec

__all__ = ["MetList", "begins_with_list", "met_lists"]


@dataclass(frozen=True, slots=True)
class MetList:
    """A tensor whose outermost level loops meet again and again.

    Args:
        tensor: its name.
        dimension: the dimension of that level.
        storage: other storage for it, of which loops go to one coordinate.
        beside: the tensor whose loops it is met in.
        level: the level of that tensor that it is met with; None where the plan converts that tensor first.
        outside: the dimensions of that tensor whose loops are outside.
    """

    tensor: str
    dimension: int
    storage: Encoding
    beside: str
    level: int | None
    outside: tuple[int, ...]


def met_lists(spec: KernelSpec) -> tuple[MetList, ...]:
    """Returns the tensors of a statement whose outermost level loops meet inside of others.

    >>> from mlir_sparse.notation import parse
    >>> types = tuple((name, TensorType.parse("f64[?,?] DCSR")) for name in "AB")
    >>> product = KernelSpec(parse("C(i,k) = A(i,j) * B(j,k)"), types, TensorType.parse("f64[?,?] CSR"))
    >>> [(met.tensor, met.beside, met.level) for met in met_lists(product)]
    [('B', 'A', 1)]
    """
    types, written = dict(spec.inputs), spec.rewriting
    parts = () if written is None else written.parts
    plain = replace(spec.output, encoding=None)
    for part in parts:  # those that are sparse have a dense level outermost
        types[part.target.tensor] = replace(plain, shape=(None,) * len(part.target.subscripts))
    values = [*(part.value for part in parts), spec.explicit.value if written is None else written.value]
    all_products = [product for value in values for product in products(value, types)]
    turned = _converted(spec) if any(_may_turn(product, types) for product in all_products) else {}
    types |= turned
    found: dict[str, MetList] = {}
    for product in all_products:
        for met in _in_product(product, types):
            if met.tensor not in turned:
                found[met.tensor] = replace(met, level=None) if met.beside in turned else met
    return tuple(found.values())


def _may_turn(product: Product, types: Mapping[str, TensorType]) -> bool:
    """Returns whether a list is met once by loops of another tensor, which the plan may turn: only it knows."""
    kinds = [(access, types[access.tensor].encoding) for access in product if _is_walked(access, types[access.tensor])]
    stored = [level_variables(access, encoding) for access, encoding in kinds if encoding is not None]
    lists = [
        level_variables(access, encoding)
        for access, encoding in kinds
        if encoding is not None and begins_with_list(encoding)
    ]
    return any(own[0] == its[0] and set(own) != set(its) for own in lists for its in stored)


def _converted(spec: KernelSpec) -> dict[str, TensorType]:
    """Returns the types that the plan converts operands to, by their names."""
    with importing():
        from mlir_sparse.plan.planner import plan  # most kernels are stored and planned by nobody

    try:
        program = plan(spec)
    except UnsupportedError:  # it is said where the kernel is built, if a schedule has no other order
        return {}
    types = dict(program.types)
    return {step.operand: types[step.result] for step in program.steps if isinstance(step, Conversion)}


def _in_product(product: Product, types: Mapping[str, TensorType]) -> Iterator[MetList]:
    stored = [access for access in product if _is_walked(access, types[access.tensor])]
    for access in stored:
        encoding = types[access.tensor].encoding
        assert encoding is not None
        if not begins_with_list(encoding):
            continue
        first = level_variables(access, encoding)[0]
        for other in stored:
            level = _level_below(other, access, types)
            if level is not None:
                its = level_variables(other, types[other.tensor].encoding)  # type: ignore[arg-type]
                outside = tuple(other.subscripts.index(variable) for variable in its[:level])
                storage = with_dense_root(encoding)
                yield MetList(access.tensor, access.subscripts.index(first), storage, other.tensor, level, outside)


def _level_below(other: Access, access: Access, types: Mapping[str, TensorType]) -> int | None:
    """Returns the level of a tensor that has the variable of another's outermost, inside of loops that are its own."""
    own, its = (level_variables(each, types[each.tensor].encoding) for each in (access, other))  # type: ignore[arg-type]
    if other is access or own[0] not in its[1:] or its[0] in own:
        return None
    return its.index(own[0])


def _is_walked(access: Access, kind: TensorType) -> bool:
    """Returns whether loops go by the levels of a tensor, each over a variable of its own."""
    if kind.encoding is None or not is_sparse(kind) or not kind.encoding.is_permutation or not kind.encoding.is_native:
        return False
    variables = {subscript for subscript in access.subscripts if isinstance(subscript, IndexVar)}
    return len(variables) == len(access.subscripts) and not (kind.encoding.has_slices or kind.encoding.batch_rank)


@lru_cache(maxsize=256)
def begins_with_list(encoding: Encoding) -> bool:
    """Returns whether the outermost of several levels lists coordinates."""
    kinds = encoding.level_types
    return len(kinds) > 1 and kinds[0].functions.iteration is Iteration.POSITION and encoding.is_permutation
