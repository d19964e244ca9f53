"""The iteration graph of a loop nest as a value (Kjolstad et al. 2017, section 4.1): what pictures of it show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mlir_sparse.classes import dataclass
from mlir_sparse.encoding import Encoding, TensorType
from mlir_sparse.notation import Access, IndexVar, accesses_of
from mlir_sparse.plan.order.co_iteration import lattice
from mlir_sparse.plan.order.storage_choice import level_variables
from mlir_sparse.plan.plan_steps import Generic

__all__ = ["GraphLoop", "GraphPath", "LoopGraph", "loop_graph"]


@dataclass(frozen=True, slots=True)
class GraphLoop:
    """A loop.

    Args:
        variable: its index variable.
        is_reduction: whether the result lacks it.
        levels: the levels that it runs over, intersected (`&`) and united (`|`); "" for its whole extent.
    """

    variable: str
    is_reduction: bool
    levels: str


@dataclass(frozen=True, slots=True)
class GraphPath:
    """The index variables of an access.

    Args:
        access: the access.
        variables: in the order of the storage's levels; of an array, in that of its subscripts.
        formats: for each the formats of its levels; empty for an array, whose elements are found in any order.
        is_result: whether it is written.
    """

    access: str
    variables: tuple[str, ...]
    formats: tuple[str, ...]
    is_result: bool = False


@dataclass(frozen=True, slots=True)
class LoopGraph:
    """The loops of a nest, outermost first, and the path of each of its accesses through them."""

    loops: tuple[GraphLoop, ...]
    paths: tuple[GraphPath, ...]


def loop_graph(step: Generic, types: Mapping[str, TensorType]) -> LoopGraph:
    """Returns the iteration graph of a loop nest.

    Args:
        step: the nest.
        types: the types of all values.
    """
    loops = tuple(
        GraphLoop(variable.name, variable in step.reductions, lattice(step.payload, variable, types))
        for variable in step.loops
    )
    return LoopGraph(loops, tuple(_paths(step, types)))


def _paths(step: Generic, types: Mapping[str, TensorType]) -> Iterator[GraphPath]:
    for access in (*dict.fromkeys(accesses_of(step.payload)), step.computed):
        encoding = types[access.tensor].encoding
        variables = access.indices if encoding is None else level_variables(access, encoding)
        formats = () if encoding is None else tuple(_formats(access, encoding, variable) for variable in variables)
        yield GraphPath(str(access), tuple(map(str, variables)), formats, access == step.computed)


def _formats(access: Access, encoding: Encoding, variable: IndexVar) -> str:
    """Returns the formats of the levels that a variable is the coordinate of."""
    dims = {dim for dim, subscript in enumerate(access.subscripts) if subscript == variable}
    found = [level.type.format.value for level in encoding.levels if dims & set(level.expr.dims())]
    return ", ".join(found)
