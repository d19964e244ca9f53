"""How loops over blocks are given to threads."""

from __future__ import annotations

from collections.abc import Sequence

from mlir_sparse.encoding import Encoding
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation import Access, IndexVar
from mlir_sparse.plan.mapping.mapped_nest import CPU, MappedNest
from mlir_sparse.plan.mapping.nest_to_map import THREADS, Level, NestToMap, accumulator_roles
from mlir_sparse.plan.order.storage_choice import is_packed
from mlir_sparse.program.thread_mapping import ThreadMapping
from mlir_sparse.text.listed_words import listed

__all__ = ["map_blocks"]


def map_blocks(nest: NestToMap, lead: Access, encoding: Encoding) -> MappedNest:
    """Maps a nest over blocks: block rows, or blocks, to rows of threads, rows of blocks or columns across."""
    variables = [s for s in lead.subscripts if isinstance(s, IndexVar)]
    levels = [lead.subscripts[dim] for spec in encoding.levels for dim in spec.expr.dims()]
    if not nest.is_only_sparse(lead):
        raise UnsupportedError(
            f"expected {lead} as the one sparse operand of a GPU's loops over blocks, but got "
            f"{listed(nest.sparse)}: convert it to CSR, or {CPU}"
        )
    kept, summed = nest.remaining_loops(variables)
    if not _is_mapped(encoding) or (_is_n_of_m(encoding) and _is_inside(nest, variables, kept)):
        raise UnsupportedError(
            f"expected dense blocks of a matrix, or n of m of its rows, in a GPU's loops over blocks, but got {lead} "
            f"stored as {encoding.map_text()}: convert it to CSR, or {CPU}"
        )
    # The sparsifier's loops: levels, then what the blocks do not have.
    names = (*_names(lead, encoding), *(str(variable) for variable in (*kept, *summed)))
    owned = [variable in nest.parallel for variable in levels]
    if not owned[0]:
        return _scattered(nest, lead, encoding, owned, kept, names)
    why = f"a row of threads each {names[0]} of {lead}"
    if summed and (kept or _is_n_of_m(encoding)):
        # Where the sparsifier has the loops over what blocks do not have is not known before.
        return MappedNest(nest.step, (ThreadMapping("rows", ("rows",), (1, THREADS)),), nest.combine, why, names[:1])
    counted = [kind.functions.has_full_loop for kind in encoding.level_types]
    roles = accumulator_roles([*owned, *[True] * len(kept)], [*counted, *[True] * len(kept)])
    if kept:
        return MappedNest(nest.step, tuple(nest.column_cases(tuple(roles), kept[-1])), nest.combine, why, names)
    if owned.count(True) > 1:
        block = encoding.block_of(encoding.levels[roles.index("columns")].expr.dims()[0]) if "columns" in roles else 1
        width = min(32, 1 << max(block - 1, 0).bit_length())
        case = ThreadMapping("blocks", tuple(roles), (width, THREADS // width))
        return MappedNest(nest.step, (case,), nest.combine, why, names)
    if not nest.combine:
        return MappedNest(nest.step, (ThreadMapping("blocks", ("rows",), (1, THREADS)),), nest.combine, why, names)
    below = Level(variables[-1], dense=True, parallel=False, joined=False)
    cases = nest.lane_cases(("rows", "lanes"), lead, 1, below, below, variables[-1:])
    return MappedNest(nest.step, tuple(cases), nest.combine, why, names)


def _scattered(
    nest: NestToMap,
    lead: Access,
    encoding: Encoding,
    owned: list[bool],
    kept: Sequence[IndexVar],
    names: tuple[str, ...],
) -> MappedNest:
    """Maps a nest over blocks whose outermost loop is a sum: blocks add to the result atomically."""
    first, second = encoding.level_types[:2]
    why = f"atomic, because {names[0]} is summed and outermost in {lead}"
    nest.need_atomics(why)
    joined = first.functions.has_full_loop and is_packed(second) and second.unique and owned[1]
    depth = 2 if joined else 1
    leading = ("entries", "entries") if joined else ("rows",)
    rest = [
        role if role == "accumulated" else "serial" for role in accumulator_roles([*owned[depth:], *[True] * len(kept)])
    ]
    if kept:
        roles = (*leading, *rest[:-1], "columns")
        return MappedNest(nest.step, tuple(nest.column_cases(roles, kept[-1], atomic=True)), nest.combine, why, names)
    case = ThreadMapping("blocks", (*leading, *rest), (1, THREADS), atomic=True)
    return MappedNest(nest.step, (case,), nest.combine, why, names)


def _names(lead: Access, encoding: Encoding) -> list[str]:
    """Returns what the loops over levels are called: variables, over blocks and in blocks."""
    found: list[str] = []
    for spec in encoding.levels:
        (dim,) = spec.expr.dims()
        name, block = str(lead.subscripts[dim]), encoding.block_of(dim)
        known = f"{name} floordiv {block}"
        found.append(name if block == 1 else f"{name} mod {block}" if known in found else known)
    return found


def _is_mapped(encoding: Encoding) -> bool:
    """Returns whether blocks are those that loops are known for: dense ones of a matrix, and n of m in its rows."""
    if encoding.dim_rank != 2:
        return False
    counted = [kind.functions.has_full_loop for kind in encoding.level_types]
    return (encoding.lvl_rank == 4 and all(counted[2:])) or (_is_n_of_m(encoding) and counted == [True, True, False])


def _is_inside(nest: NestToMap, variables: Sequence[IndexVar], kept: Sequence[IndexVar]) -> bool:
    """Returns whether the sparsifier has a loop over other variables around those over the levels."""
    order = nest.step.loops.index
    return any(order(other) < order(variables[0]) for other in kept)


def _is_n_of_m(encoding: Encoding) -> bool:
    return any(kind.functions.is_grouped for kind in encoding.level_types)
