"""How loops are given to the threads of a GPU: which become blocks, rows of threads, lanes, and where atomics are due.

A thread owns elements of the result wherever it can: then nothing is shared, and every sum is made in registers.
Where the loops that have to be divided are sums themselves, as the columns of CSC are for `A * x`, several threads
add to one element, and do so atomically.
"""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mlir_sparse.encoding import Encoding, TensorType
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation import Access, IndexVar, Monoid, Subscript
from mlir_sparse.plan.mapping import CPU, Case, Mapped, Quantity, Test, shared_structure
from mlir_sparse.plan.program import Generic, combining_name
from mlir_sparse.plan.storage import is_packed, is_sparse
from mlir_sparse.plan.terms import accesses_of
from mlir_sparse.plan.wording import listed

__all__ = ["map_loops"]

Types = Dictionary[str, TensorType]

_THREADS = 256  # of a block
_LANES = (1, 4, 16, 32)
# Up to this many entries a row (or terms a sum) for each number of lanes: each lane then has three turns at most.
_MOST_A_LANE = 3
# A row of more turns than this keeps a warp when the others are done: entries are then divided evenly.
_MOST_TURNS = 64
# Entries that a thread takes one after another, where entries are divided.
_CHUNK = 8
# Threads across columns, of which there are up to so many.
_WIDTHS = (4, 16, 32)
# Columns that a thread takes together, where there are more: entries are then read once for all of them.
_TILES = (2, 4)
_OPERATORS = {
    **{name: name for name in ("sum", "prod", "max", "min", "or", "and")},
    "plus": "sum",
    "times": "prod",
}


@dataclass(frozen=True, slots=True)
class _Level:
    """A loop over a level of the sparse operand, or over a variable that it does not have."""

    variable: IndexVar
    dense: bool
    parallel: bool
    joined: bool  # whether entries follow those of the next position above, in memory


def map_loops(step: Generic, types: Types) -> Mapped:
    """Gives the loops of a nest to the threads of a GPU.

    Args:
        step: the loop nest.
        types: the types of all values.

    Raises:
        UnsupportedError: for loops that no threads can divide, by name.
    """
    name = combining_name(step.combine)
    combine = _OPERATORS.get(name, "")
    return _Nest(step, types, combine).mapped()


class _Nest:
    def __init__(self, step: Generic, types: Types, combine: str) -> None:
        self.step, self.types, self.combine = step, types, combine
        self.parallel = tuple(v for s in step.target.subscripts for v in self._owners(s))
        reads = accesses_of(step.payload)
        self.sparse = [access for access in dict.fromkeys(reads) if is_sparse(types[access.tensor])]

    def _owners(self, subscript: Subscript) -> tuple[IndexVar, ...]:
        """Returns the loops whose turns have elements of their own along an axis of the result.

        Of a sum of levels these are blocks and places in a block; diagonals meet in one element.
        """
        if isinstance(subscript, IndexVar):
            return (subscript,)
        frame = next((frame for frame in self.step.frames if frame.subscript == subscript), None)
        encoding = None if frame is None else self.types[frame.operand].encoding
        if frame is None or encoding is None or encoding.block_of(frame.dim) == 1:
            return ()
        whole = {coefficient for coefficient, _ in frame.subscript.terms} == {encoding.block_of(frame.dim), 1}
        return tuple(variable for _, variable in frame.subscript.terms) if whole else ()

    def mapped(self) -> Mapped:
        """Returns the mapping."""
        if self.types[self.step.result].encoding is not None:
            shared_structure(self.step, self.types)
        if not self.sparse:
            return self._dense()
        lead = self.sparse[0]
        encoding = self.types[lead.tensor].encoding
        assert encoding is not None
        if not encoding.is_permutation:
            return self._blocks(lead, encoding)
        if is_packed(encoding.level_types[0]) and not encoding.level_types[0].unique:
            return self._list(lead, encoding)
        return self._tree(lead, self._levels(lead, encoding))

    # -- loops ---------------------------------------------------------------------------------------------------

    def _levels(self, lead: Access, encoding: Encoding) -> list[_Level]:
        found = []
        for spec, kind in zip(encoding.levels, encoding.level_types, strict=True):
            (dim,) = spec.expr.dims()
            variable = lead.subscripts[dim]
            assert isinstance(variable, IndexVar)
            dense = kind.functions.is_counted
            joined = is_packed(kind) and kind.unique
            found.append(_Level(variable, dense, variable in self.parallel, joined))
        return found

    def _free(self, taken: Sequence[IndexVar]) -> tuple[tuple[IndexVar, ...], tuple[IndexVar, ...]]:
        """Returns the other variables: those of the result that no sparse operand has, and the rest."""
        others = [variable for variable in self.step.loops if variable not in taken]
        walked = {index for access in self.sparse for index in access.indices}
        kept = [variable for variable in self.parallel if variable in others and variable not in walked]
        return tuple(kept), tuple(variable for variable in others if variable not in kept)

    def _sums(self, lead: Access, rest: Sequence[IndexVar]) -> bool:
        """Returns whether loops make one sum, whose terms lanes can share."""
        return bool(rest and self.combine and self._alone(lead, rest[0])) and set(rest).isdisjoint(self.parallel)

    def _ordered(self, loops: Sequence[IndexVar], why: str, cases: Sequence[Case]) -> Mapped:
        """Returns the mapping of a nest in another order, which all its operands must allow."""
        for access in self.sparse:
            encoding = self.types[access.tensor].encoding
            assert encoding is not None
            wanted = [s for spec in encoding.levels for d in spec.expr.dims() if (s := access.subscripts[d]) in loops]
            if [variable for variable in loops if variable in wanted] != wanted:
                raise UnsupportedError(
                    f"expected operands that a GPU's loops {', '.join(map(str, loops))} can walk, but got {access} "
                    f"stored along {', '.join(map(str, wanted))}: convert it, or {CPU}"
                )
        reason = self.step.order_reason if tuple(loops) == self.step.loops else "the one that suits threads"
        nested = replace(self.step, loops=tuple(loops), in_order=True, order_reason=reason)
        return Mapped(nested, tuple(cases), self.combine, why)

    def _alone(self, lead: Access, variable: IndexVar) -> bool:
        """Returns whether no other sparse operand walks a variable."""
        return not any(
            self._walks(access, variable) for access in self.sparse if access != lead and variable in access.subscripts
        )

    def _walks(self, access: Access, variable: IndexVar) -> bool:
        encoding = self.types[access.tensor].encoding
        assert encoding is not None
        dims = {dim for dim, subscript in enumerate(access.subscripts) if subscript == variable}
        pairs = zip(encoding.levels, encoding.level_types, strict=True)
        return any(not kind.functions.is_counted and dims & set(spec.expr.dims()) for spec, kind in pairs)

    # -- kinds of nests ------------------------------------------------------------------------------------------

    def _dense(self) -> Mapped:
        """Maps a nest over arrays: the last variable of the result across threads, the first down."""
        kept, summed = self._free(())
        if not kept:
            roles: tuple[str, ...] = ("rows",) if summed else ()
            self._need_atomics(f"{listed(summed)} is summed by many threads") if summed else None
            case = Case("all", roles, (1, _THREADS) if summed else (1, 1), atomic=bool(summed))
            return self._ordered(summed, "one number, of parts of the loops", [case])
        if len(kept) == 1:
            return self._ordered((*kept, *summed), "a thread an element", [Case("all", ("rows",), (1, _THREADS))])
        roles = ("rows", *(["layers"] if len(kept) > 2 else []), *["run"] * (len(kept) - 3), "columns")
        return self._ordered((*kept, *summed), "a thread an element", self._wide(roles, kept[-1]))

    def _wide(
        self, roles: tuple[str, ...], column: IndexVar, rest: Sequence[IndexVar] = (), *, atomic: bool = False
    ) -> list[Case]:
        """Returns cases for blocks as wide as there are columns; threads take several where loops below sum up."""
        extent = Quantity("extent", column.name)
        shapes = [(width, 1) for width in _WIDTHS]
        lead = self.sparse[0] if self.sparse else None
        if lead and rest and set(rest).isdisjoint(self.parallel) and all(self._alone(lead, v) for v in rest):
            shapes += [(_WIDTHS[-1], tile) for tile in _TILES]
        cases = []
        for width, tile in shapes:
            tests = (Test(extent, width * tile),) if (width, tile) != shapes[-1] else ()
            kernel = "columns" if tile == 1 else f"columns_by_{tile}"
            threads = (width, _THREADS // width)
            name = f"{width * tile}_columns"
            cases.append(Case(name, roles, threads, atomic=atomic, tests=tests, kernel=kernel, tile=tile))
        return cases

    def _tree(self, lead: Access, levels: list[_Level]) -> Mapped:
        """Maps a nest whose operand is a tree of levels: rows, fibres or entries to threads."""
        own = [level.variable for level in levels]
        if not self._alone(lead, own[0]):
            others = listed(access for access in self.sparse if self._walks(access, own[0]))
            raise UnsupportedError(
                f"expected one operand that says which {own[0]} there are, for a GPU, but got {others}: "
                f"convert all but one to storage with a dense level for {own[0]}, such as CSR, or {CPU}"
            )
        kept, summed = self._free(own)
        ahead = next((n for n, level in enumerate(levels) if not level.parallel), len(levels))
        ahead = min(ahead, next((n for n in range(1, len(own)) if not self._alone(lead, own[n])), ahead) or ahead)
        if ahead == 0:
            return self._scattering(lead, levels, kept, summed)
        sums = len(levels) - ahead
        if sums > 1 and kept and self.combine and all(level.joined for level in levels[1:]) and self._only(lead):
            return self._fibres(levels, len(levels) - 1, kept, summed)
        depth = self._entry_depth(levels[:ahead])
        if depth > 1:
            return self._per_entry(lead, levels, depth, kept, summed)
        return self._per_row(lead, levels, ahead, kept, summed)

    def _only(self, lead: Access) -> bool:
        return self.sparse == [lead]

    def _entry_depth(self, levels: Sequence[_Level]) -> int:
        """Returns how many leading loops can be taken as one: down to the last sparse level, all of them joined."""
        depth = max((n + 1 for n, level in enumerate(levels) if not level.dense), default=0)
        inner = levels[1:depth]
        sparse_above = any(not level.dense for level in levels[: max(depth - 1, 0)])
        mixed = sparse_above and any(level.dense for level in inner)
        return depth if depth > 1 and all(level.dense or level.joined for level in inner) and not mixed else 0

    def _per_row(
        self, lead: Access, levels: list[_Level], ahead: int, kept: Sequence[IndexVar], summed: Sequence[IndexVar]
    ) -> Mapped:
        """Maps rows to rows of threads; across them columns, or the terms of each sum."""
        own = [level.variable for level in levels]
        loops = (*own[:ahead], *kept, *own[ahead:], *summed)
        inner = ["run"] * (ahead - 1)
        if ahead > 1 and levels[1].dense:
            inner[0] = "layers"
        if kept:
            roles = ("rows", *inner, *["run"] * (len(kept) - 1), "columns")
            return self._ordered(
                loops,
                f"a row of threads each {own[0]}, a thread each {kept[-1]}",
                self._wide(roles, kept[-1], (*own[ahead:], *summed)),
            )
        if ahead > 1 and not levels[1].dense and self._alone(lead, own[1]) and len(own) == 2:
            cases = self._shared(("rows", "spread"), lead, 1, level=levels[1], parent=levels[0])
            return self._ordered(loops, f"lanes of a row of threads each {own[1]} of {own[0]}", cases)
        rest = loops[ahead:]
        if not self._sums(lead, rest):
            return self._ordered(loops, f"a thread each {own[0]}", [Case("thread", ("rows", *inner), (1, _THREADS))])
        roles = ("rows", *inner, "lanes")
        cases = self._shared(
            roles, lead, ahead, levels[ahead] if ahead < len(levels) else None, levels[ahead - 1], rest
        )
        if ahead == 1 and len(rest) == 1 and levels[0].dense and levels[-1].joined and self._only(lead):
            longest = Quantity("longest", lead.tensor, 1)
            cases = [replace(c, tests=(*c.tests, Test(longest, _MOST_TURNS * c.lanes))) for c in cases]
            cases.append(Case("entries", ("entries", "entries"), (1, _THREADS), chunk=_CHUNK, atomic=True))
        return self._ordered(loops, f"threads each {own[0]}, as many as it has terms of {rest[0]}", cases)

    def _shared(
        self,
        roles: tuple[str, ...],
        lead: Access,
        number: int,
        level: _Level | None,
        parent: _Level,
        rest: Sequence[IndexVar] = (),
    ) -> list[Case]:
        """Returns cases for as many lanes as terms are there on average."""
        if level is None or level.dense:
            amount, pieces = Quantity("extent", rest[0].name), Quantity("fixed", number=1)
        else:
            amount = Quantity("stored", lead.tensor, number)
            pieces = Quantity("level" if parent.dense else "stored", lead.tensor, number - 1)
        names = ["thread", *(f"{lanes}_lanes" for lanes in _LANES[1:-1]), "warp"]
        cases = []
        for name, lanes in zip(names, _LANES, strict=True):
            tests = (Test(amount, _MOST_A_LANE * lanes, pieces),) if lanes < _LANES[-1] else ()
            cases.append(Case(name, roles, (lanes, _THREADS // lanes), lanes, tests=tests))
        return cases

    def _per_entry(
        self, lead: Access, levels: list[_Level], depth: int, kept: Sequence[IndexVar], summed: Sequence[IndexVar]
    ) -> Mapped:
        """Maps entries (or fibres) to rows of threads."""
        own = [level.variable for level in levels]
        loops = (*own[:depth], *kept, *own[depth:], *summed)
        what = "entry" if depth == len(levels) else "fibre"
        entries = ("entries",) * depth
        if kept:
            roles = (*entries, *["run"] * (len(kept) - 1), "columns")
            return self._ordered(
                loops, f"a row of threads each {what} of {lead}", self._wide(roles, kept[-1], (*own[depth:], *summed))
            )
        rest = loops[depth:]
        if not self._sums(lead, rest):
            return self._ordered(loops, f"a thread each {what} of {lead}", [Case("thread", entries, (1, _THREADS))])
        below = levels[depth] if depth < len(levels) else None
        cases = self._shared((*entries, "lanes"), lead, depth, below, levels[depth - 1], rest)
        if below is None:
            cases = [replace(case, chunk=_CHUNK) for case in cases]
        return self._ordered(loops, f"lanes each {what} of {lead}, as many as it has terms of {rest[0]}", cases)

    def _fibres(self, levels: list[_Level], depth: int, kept: Sequence[IndexVar], summed: Sequence[IndexVar]) -> Mapped:
        """Maps fibres to rows of threads, where several of them are summed."""
        own = [level.variable for level in levels]
        loops = (*own[:depth], *kept, *own[depth:], *summed)
        roles = (*["entries"] * depth, *["run"] * (len(kept) - 1), "columns")
        between = [level.variable for level in levels[:depth] if not level.parallel]
        why = f"a row of threads each fibre; atomic, because fibres of one element differ in {listed(between)}"
        return self._ordered(loops, why, self._wide(roles, kept[-1], (*own[depth:], *summed), atomic=True))

    def _scattering(
        self, lead: Access, levels: list[_Level], kept: Sequence[IndexVar], summed: Sequence[IndexVar]
    ) -> Mapped:
        """Maps a nest whose outermost loop is a sum: its terms to threads, which add to the result atomically."""
        own = [level.variable for level in levels]
        owned = next((n for n, level in enumerate(levels) if level.parallel and level.dense), None)
        alone = owned is not None and not any(level.parallel for level in levels[:owned])
        if owned is not None and alone and self._alone(lead, own[owned]):
            loops = (*own[: owned + 1], *kept, *own[owned + 1 :], *summed)
            roles = (*["run"] * owned, "rows", *["run"] * (len(kept) - 1), *["columns"] * bool(kept))
            why = f"threads each {own[owned]}, which run over {listed(own[:owned])} together"
            cases = self._wide(roles, kept[-1]) if kept else [Case("thread", roles, (1, _THREADS))]
            return self._ordered(loops, why, cases)
        why = f"atomic, because {own[0]} is summed and outermost in {lead}"
        self._need_atomics(why)
        last = max((n + 1 for n, level in enumerate(levels) if level.parallel), default=0)
        depth = self._entry_depth(levels[:last]) if last else 0
        depth = depth if self._only(lead) or depth == 1 else 0
        loops = (*own[: max(depth, 1)], *kept, *own[max(depth, 1) :], *summed)
        leading = ("entries",) * depth if depth > 1 else ("rows",)
        if kept:
            roles = (*leading, *["run"] * (len(kept) - 1), "columns")
            return self._ordered(loops, why, self._wide(roles, kept[-1], atomic=True))
        rest = loops[len(leading) :]
        sums_alone = not self.step.target.subscripts and rest and self._alone(lead, rest[0])
        if sums_alone and len(leading) == 1 and not levels[min(1, len(levels) - 1)].dense and len(levels) > 1:
            cases = [
                replace(case, atomic=True)
                for case in self._shared(("rows", "lanes"), lead, 1, levels[1], levels[0], rest)
            ]
            return self._ordered(loops, why, cases)
        return self._ordered(loops, why, [Case("thread", leading, (1, _THREADS), atomic=True)])

    def _list(self, lead: Access, encoding: Encoding) -> Mapped:
        """Maps a nest over a list of coordinates: entries to threads."""
        own = [s for spec in encoding.levels for d in spec.expr.dims() if isinstance(s := lead.subscripts[d], IndexVar)]
        if not self._only(lead) or any(not kind.functions.is_chained for kind in encoding.level_types[1:]):
            raise UnsupportedError(
                f"expected {lead} as the one sparse operand of a GPU's loops over a list of coordinates, but got "
                f"{listed(self.sparse)}: convert it to CSR or CSF, or {CPU}"
            )
        kept, summed = self._free(own)
        shared = [variable for variable in own if variable not in self.parallel]
        why = f"a thread each entry of {lead}"
        if shared:
            why += f"; atomic, because entries of one element differ in {listed(shared)}"
            self._need_atomics(why)
        entries = ("entries",) * len(own)
        loops = (*own, *kept, *summed)
        if kept:
            roles = (*entries, *["run"] * (len(kept) - 1), "columns")
            return self._ordered(loops, why, self._wide(roles, kept[-1], atomic=bool(shared)))
        sums = own[-1] not in self.parallel and not summed
        if summed and not shared and self.combine and len(loops) == len(own) + 1:
            listing = _Level(own[0], dense=False, parallel=True, joined=True)
            cases = self._shared((*entries, "lanes"), lead, 0, None, listing, summed)
            return self._ordered(loops, why, [replace(case, chunk=_CHUNK) for case in cases])
        case = Case("entries", entries, (1, _THREADS), chunk=_CHUNK if sums else 1, atomic=bool(shared))
        return self._ordered(loops, why, [case])

    def _blocks(self, lead: Access, encoding: Encoding) -> Mapped:
        """Maps a nest over blocks: block rows to rows of threads, rows of blocks or columns across."""
        own = [s for s in lead.subscripts if isinstance(s, IndexVar)]
        dims = [spec.expr.dims()[0] for spec in encoding.levels]
        first = lead.subscripts[dims[0]]
        if not self._only(lead) or encoding.lvl_rank != 4 or first not in self.parallel:
            raise UnsupportedError(
                f"expected blocks of a matrix along {listed(self.parallel)}, for a GPU, but got {lead} stored as "
                f"{encoding.map_text()}: convert it to CSR, or {CPU}"
            )
        kept, _ = self._free(own)
        both = all(variable in self.parallel for variable in own)
        block = encoding.block_of(dims[0])
        why = f"a row of threads each row of blocks of {lead}"
        # The sparsifier's loops: block rows, blocks, rows of a block, columns of a block, what the blocks do not have.
        if kept:
            roles = ("rows", "run", "run", "run", *["run"] * (len(kept) - 1), "columns")
            return Mapped(self.step, tuple(self._wide(roles, kept[-1])), self.combine, why)
        width = min(32, 1 << max(block - 1, 0).bit_length())
        roles = ("rows", "run", "columns") if not both else ("rows", "run", "run", "run")
        threads = (width, _THREADS // width) if not both else (1, _THREADS)
        return Mapped(self.step, (Case("blocks", roles, threads),), self.combine, why)

    def _need_atomics(self, why: str) -> None:
        if not self.combine or isinstance(self.step.combine, Monoid):
            raise UnsupportedError(
                f"expected sums, products, extremes or truth values where threads meet in one element ({why}), "
                f"but got {combining_name(self.step.combine)}: convert the operand so that its rows are those of the "
                f"result, or {CPU}"
            )
