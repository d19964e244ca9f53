"""Loops with a sparse result of its own structure given to threads: each takes iterations of those that own entries."""

from __future__ import annotations

from dataclasses import replace

from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation import IndexVar
from mlir_sparse.plan.mapping.mapped_nest import CPU, MappedNest
from mlir_sparse.plan.mapping.nest_to_map import THREADS, NestToMap
from mlir_sparse.plan.mapping.two_phase_results import TwoPhaseAssembly
from mlir_sparse.plan.order.co_iteration import products
from mlir_sparse.program.thread_mapping import ThreadMapping
from mlir_sparse.text.listed_words import listed

__all__ = ["map_two_phase"]

# A block of two loops that own entries together.
_ACROSS = (32, THREADS // 32)


def map_two_phase(nest: NestToMap, two_phase: TwoPhaseAssembly) -> MappedNest:
    """Gives a nest whose result is counted and then filled to threads.

    Args:
        nest: the loop nest.
        two_phase: how the result comes about.

    Raises:
        UnsupportedError: for operands whose loops no threads can divide, by name.
    """
    for access in nest.sparse:
        encoding = nest.types[access.tensor].encoding
        assert encoding is not None
        if not encoding.is_permutation or not encoding.level_types[0].unique:
            raise UnsupportedError(
                f"expected operands stored as a tree of levels beside a sparse result, for a GPU, but got {access} "
                f"stored as {encoding.map_text()}: convert it to CSR or CSF, ask for out='dense', or {CPU}"
            )
    for variable in two_phase.owners:
        _check_divisible(nest, variable)
    # How far a second loop runs is known where none of its coordinates are left out.
    second = two_phase.owners[1:2]
    across = bool(second) and not any(nest.walks(access, second[0]) for access in nest.sparse)
    roles, threads = (("rows", "columns"), _ACROSS) if across else (("rows",), (1, THREADS))
    each = ", ".join(map(str, two_phase.owners[: len(roles)]))
    mapped = nest.map_in_order(nest.step.loops, f"a thread each {each}", [ThreadMapping("thread", roles, threads)])
    return replace(mapped, two_phase=two_phase)


def _check_divisible(nest: NestToMap, variable: IndexVar) -> None:
    """Refuses a loop that walks several operands at once, or one where others have elements as well."""
    walking = [access for access in nest.sparse if nest.walks(access, variable)]
    everywhere = all(walking[0] in product for product in products(nest.step.payload, nest.types)) if walking else True
    if len(walking) > 1 or not everywhere:
        raise UnsupportedError(
            f"expected a dense level for {variable} beside a sparse result, for a GPU, but got {listed(walking)}: "
            f"convert to storage with one, such as CSR, or {CPU}"
        )
