"""How loops over a tree of levels are given to threads: by rows, by entries or by fibres."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation import Access, IndexVar, accesses_of
from mlir_sparse.plan.mapping.mapped_nest import CPU, MappedNest
from mlir_sparse.plan.mapping.nest_to_map import CHUNK, MOST_ITERATIONS, THREADS, Level, NestToMap
from mlir_sparse.program.size_values import Longest, Within
from mlir_sparse.program.thread_mapping import ThreadMapping
from mlir_sparse.text.listed_words import listed

__all__ = ["map_tree"]

# Up to this many entries a row a block makes their terms together, side by side; of more, lanes are side by side too.
_MOST_STAGED = 32
# One thread sums up the terms of a row, and the others of its block wait for it.
_MOST_STAGED_IN_ROW = 256


def map_tree(nest: NestToMap, lead: Access, levels: list[Level]) -> MappedNest:
    """Maps a nest whose operand is a tree of levels: rows, fibres or entries to threads."""
    own = [level.variable for level in levels]
    if not nest.walks_alone(lead, own[0]):
        others = listed(access for access in nest.sparse if nest.walks(access, own[0]))
        raise UnsupportedError(
            f"expected one operand that says which {own[0]} there are, for a GPU, but got {others}: "
            f"convert all but one to storage with a dense level for {own[0]}, such as CSR, or {CPU}"
        )
    kept, summed = nest.remaining_loops(own)
    parallel = next((n for n, level in enumerate(levels) if not level.parallel), len(levels))
    parallel = min(
        parallel, next((n for n in range(1, len(own)) if not nest.walks_alone(lead, own[n])), parallel) or parallel
    )
    if parallel == 0:
        return _scattering(nest, lead, levels, kept, summed)
    sums = len(levels) - parallel
    if sums > 1 and kept and nest.combine and all(level.joined for level in levels[1:]) and nest.is_only_sparse(lead):
        return _fibres(nest, levels, len(levels) - 1, kept, summed)
    depth = _entry_depth(levels[:parallel])
    if depth > 1:
        return _per_entry(nest, lead, levels, depth, kept, summed)
    return _per_row(nest, lead, levels, parallel, kept, summed)


def _entry_depth(levels: Sequence[Level]) -> int:
    """Returns how many leading loops can be taken as one: down to the last sparse level, all of them joined."""
    depth = max((n + 1 for n, level in enumerate(levels) if not level.dense), default=0)
    inner = levels[1:depth]
    sparse_above = any(not level.dense for level in levels[: max(depth - 1, 0)])
    mixed = sparse_above and any(level.dense for level in inner)
    return depth if depth > 1 and all(level.dense or level.joined for level in inner) and not mixed else 0


def _per_row(
    nest: NestToMap,
    lead: Access,
    levels: list[Level],
    parallel: int,
    kept: Sequence[IndexVar],
    summed: Sequence[IndexVar],
) -> MappedNest:
    """Maps rows to rows of threads; across them columns, or the terms of each sum."""
    own = [level.variable for level in levels]
    loops = (*own[:parallel], *kept, *own[parallel:], *summed)
    inner = ["serial"] * (parallel - 1)
    if parallel > 1 and levels[1].dense:
        inner[0] = "layers"
    if kept:
        roles = ("rows", *inner, *["serial"] * (len(kept) - 1), "columns")
        return nest.map_in_order(
            loops,
            f"a row of threads each {own[0]}, a thread each {kept[-1]}",
            nest.column_cases(roles, kept[-1], (*own[parallel:], *summed)),
        )
    if parallel > 1 and not levels[1].dense and nest.walks_alone(lead, own[1]) and len(own) == 2:
        cases = nest.lane_cases(("rows", "spread"), lead, 1, level=levels[1], parent=levels[0])
        return nest.map_in_order(loops, f"lanes of a row of threads each {own[1]} of {own[0]}", cases)
    rest = loops[parallel:]
    if not nest.sums(lead, rest):
        return nest.map_in_order(
            loops, f"a thread each {own[0]}", [ThreadMapping("thread", ("rows", *inner), (1, THREADS))]
        )
    roles = ("rows", *inner, "lanes")
    cases = nest.lane_cases(
        roles, lead, parallel, levels[parallel] if parallel < len(levels) else None, levels[parallel - 1], rest
    )
    if parallel == 1 and len(rest) == 1 and levels[0].dense and levels[-1].joined and nest.is_only_sparse(lead):
        longest = Longest(lead.tensor, 1)
        cases = [replace(c, tests=(*c.tests, Within(longest, MOST_ITERATIONS * c.lanes))) for c in cases]
        others = (access for access in accesses_of(nest.step.payload) if access != lead)
        if not any(own[0] in access.indices for access in others):
            cases.insert(1, _staged(cases[0].tests[0], longest))
            roles = ("entries", "staged")
            cases.append(ThreadMapping("staged_entries", roles, (1, THREADS), chunk=CHUNK, atomic=True))
        cases.append(ThreadMapping("entries", ("entries", "entries"), (1, THREADS), chunk=CHUNK, atomic=True))
    return nest.map_in_order(loops, f"threads each {own[0]}, as many as it has terms of {rest[0]}", cases)


def _staged(few: Within, longest: Longest) -> ThreadMapping:
    """Returns the case of rows whose terms a block makes together, from a test of how many there are on average."""
    tests = Within(few.left, _MOST_STAGED, few.right), Within(longest, _MOST_STAGED_IN_ROW)
    return ThreadMapping("staged", ("rows", "staged"), (1, THREADS), chunk=CHUNK, tests=tests)


def _per_entry(
    nest: NestToMap,
    lead: Access,
    levels: list[Level],
    depth: int,
    kept: Sequence[IndexVar],
    summed: Sequence[IndexVar],
) -> MappedNest:
    """Maps entries (or fibres) to rows of threads."""
    own = [level.variable for level in levels]
    loops = (*own[:depth], *kept, *own[depth:], *summed)
    what = "entry" if depth == len(levels) else "fibre"
    entries = ("entries",) * depth
    if kept:
        roles = (*entries, *["serial"] * (len(kept) - 1), "columns")
        return nest.map_in_order(
            loops,
            f"a row of threads each {what} of {lead}",
            nest.column_cases(roles, kept[-1], (*own[depth:], *summed)),
        )
    rest = loops[depth:]
    if not nest.sums(lead, rest):
        return nest.map_in_order(
            loops, f"a thread each {what} of {lead}", [ThreadMapping("thread", entries, (1, THREADS))]
        )
    below = levels[depth] if depth < len(levels) else None
    cases = nest.lane_cases((*entries, "lanes"), lead, depth, below, levels[depth - 1], rest)
    if below is None and not _side_by_side(nest, rest[0]):
        # Lanes of an entry would read far apart; entries that follow each other are often neighbours, as threads are.
        alone = replace(cases[0], tests=())
        others = [replace(case, chunk=CHUNK) for case in cases[1:]]
        why = f"a thread each {what} of {lead}, because terms of {rest[0]} lie apart in memory"
        return nest.map_in_order(loops, why, [alone, *others])
    if below is None:
        cases = [replace(case, chunk=CHUNK) for case in cases]
    return nest.map_in_order(loops, f"lanes each {what} of {lead}, as many as it has terms of {rest[0]}", cases)


def _side_by_side(nest: NestToMap, variable: IndexVar) -> bool:
    """Returns whether all arrays with a variable have it last, so that its iterations follow each other in memory."""
    reads = accesses_of(nest.step.payload)
    arrays = [one for one in reads if nest.types[one.tensor].encoding is None and variable in one.indices]
    return all(one.subscripts[-1] == variable for one in arrays)


def _fibres(
    nest: NestToMap, levels: list[Level], depth: int, kept: Sequence[IndexVar], summed: Sequence[IndexVar]
) -> MappedNest:
    """Maps fibres to rows of threads, where several of them are summed."""
    own = [level.variable for level in levels]
    loops = (*own[:depth], *kept, *own[depth:], *summed)
    roles = (*["entries"] * depth, *["serial"] * (len(kept) - 1), "columns")
    between = [level.variable for level in levels[:depth] if not level.parallel]
    why = f"a row of threads each fibre; atomic, because fibres of one element differ in {listed(between)}"
    return nest.map_in_order(loops, why, nest.column_cases(roles, kept[-1], (*own[depth:], *summed), atomic=True))


def _scattering(
    nest: NestToMap, lead: Access, levels: list[Level], kept: Sequence[IndexVar], summed: Sequence[IndexVar]
) -> MappedNest:
    """Maps a nest whose outermost loop is a sum: its terms to threads, which add to the result atomically."""
    own = [level.variable for level in levels]
    owned = next((n for n, level in enumerate(levels) if level.parallel and level.dense), None)
    alone = owned is not None and not any(level.parallel for level in levels[:owned])
    if owned is not None and alone and nest.walks_alone(lead, own[owned]):
        loops = (*own[: owned + 1], *kept, *own[owned + 1 :], *summed)
        below = any(level.parallel for level in levels[owned + 1 :])
        hold = "accumulated" if nest.is_only_sparse(lead) and not below else "serial"
        roles = (*[hold] * owned, "rows", *["serial"] * (len(kept) - 1), *["columns"] * bool(kept))
        why = f"threads each {own[owned]}, which run over {listed(own[:owned])} together"
        cases = nest.column_cases(roles, kept[-1]) if kept else [ThreadMapping("thread", roles, (1, THREADS))]
        return nest.map_in_order(loops, why, cases)
    why = f"atomic, because {own[0]} is summed and outermost in {lead}"
    nest.need_atomics(why)
    last = max((n + 1 for n, level in enumerate(levels) if level.parallel), default=0)
    depth = _entry_depth(levels[:last]) if last else 0
    depth = depth if nest.is_only_sparse(lead) or depth == 1 else 0
    loops = (*own[: max(depth, 1)], *kept, *own[max(depth, 1) :], *summed)
    leading = ("entries",) * depth if depth > 1 else ("rows",)
    if kept:
        roles = (*leading, *["serial"] * (len(kept) - 1), "columns")
        return nest.map_in_order(loops, why, nest.column_cases(roles, kept[-1], atomic=True))
    rest = loops[len(leading) :]
    sums_alone = not nest.step.target.subscripts and rest and nest.walks_alone(lead, rest[0])
    if sums_alone and len(leading) == 1 and not levels[min(1, len(levels) - 1)].dense and len(levels) > 1:
        cases = [
            replace(case, atomic=True)
            for case in nest.lane_cases(("rows", "lanes"), lead, 1, levels[1], levels[0], rest)
        ]
        return nest.map_in_order(loops, why, cases)
    if (
        nest.is_only_sparse(lead)
        and len(leading) == 1
        and len(levels) == 2
        and levels[1].dense
        and nest.step.target.subscripts
    ):
        return nest.map_in_order(
            loops, why, [ThreadMapping("wide", ("rows", "columns"), (32, THREADS // 32), atomic=True)]
        )
    return nest.map_in_order(loops, why, [ThreadMapping("thread", leading, (1, THREADS), atomic=True)])
