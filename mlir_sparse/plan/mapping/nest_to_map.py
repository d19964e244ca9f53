"""A loop nest that is to be given to threads: what its loops are, and the cases that several kinds of nests share."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from collections.abc import Sequence
from dataclasses import replace

from mlir_sparse.classes import dataclass
from mlir_sparse.encoding import Encoding, TensorType
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation import Access, IndexVar, Subscript, accesses_of
from mlir_sparse.plan.mapping.adjacent_columns import most_adjacent, needs_of
from mlir_sparse.plan.mapping.mapped_nest import CPU, MappedNest
from mlir_sparse.plan.order.storage_choice import is_packed, is_sparse
from mlir_sparse.plan.plan_steps import Generic, combining_name
from mlir_sparse.program.size_values import Count, Extent, Fixed, LevelSize, Stored, Within
from mlir_sparse.program.thread_mapping import ThreadMapping

__all__ = ["CHUNK", "MOST_ITERATIONS", "THREADS", "Level", "NestToMap", "Types", "accumulator_roles"]

Types = Dictionary[str, TensorType]

THREADS = 256  # of a block
_LANES = (1, 4, 16, 32)
# Up to this many entries a row (or terms a sum) for each number of lanes: each lane then has three iterations at most.
_MOST_A_LANE = 3
# A row of more iterations than this keeps a warp when the others are done: entries are then divided evenly.
MOST_ITERATIONS = 64
# Entries that a thread takes one after another, where entries are divided.
CHUNK = 8
# Threads across columns, of which there are up to so many.
_WIDTHS = (4, 16, 32)
# Columns that a thread takes together, where there are more: entries are then read once for all of them.
_TILES = (2, 4)
# Threads across a few columns, each of which takes several adjacent ones; rows of a warp then differ in length.
_NARROW = 8


@dataclass(frozen=True, slots=True)
class Level:
    """A loop over a level of the sparse operand, or over a variable that it does not have."""

    variable: IndexVar
    dense: bool
    parallel: bool
    joined: bool  # whether entries follow those of the next position above, in memory


class NestToMap:
    """A loop nest, and what is asked of its operands.

    Args:
        step: the nest.
        types: the types of all values.
        combine: the operator of the accumulation, by its plain name; empty for one that has none.
        located: the values that are looked up.
    """

    def __init__(self, step: Generic, types: Types, combine: str, located: frozenset[str]) -> None:
        self.step, self.types, self.combine = step, types, combine
        self.parallel = tuple(v for s in step.target.subscripts for v in self.owners(s))
        reads = accesses_of(step.payload)
        self.searches = any(access.tensor in located for access in reads)
        self.sparse = [access for access in dict.fromkeys(reads) if is_sparse(types[access.tensor])]

    def owners(self, subscript: Subscript) -> tuple[IndexVar, ...]:
        """Returns the loops whose iterations have elements of their own along an axis of the result.

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

    def levels(self, lead: Access, encoding: Encoding) -> list[Level]:
        """Returns the loops over the levels of an operand."""
        found = []
        for spec, kind in zip(encoding.levels, encoding.level_types, strict=True):
            (dim,) = spec.expr.dims()
            variable = lead.subscripts[dim]
            assert isinstance(variable, IndexVar)
            dense = kind.functions.has_full_loop
            joined = is_packed(kind) and kind.unique
            found.append(Level(variable, dense, variable in self.parallel, joined))
        return found

    def remaining_loops(self, taken: Sequence[IndexVar]) -> tuple[tuple[IndexVar, ...], tuple[IndexVar, ...]]:
        """Returns the other variables: those of the result that no sparse operand has, and the rest."""
        others = [variable for variable in self.step.loops if variable not in taken]
        walked = {index for access in self.sparse for index in access.indices}
        kept = [variable for variable in self.parallel if variable in others and variable not in walked]
        return tuple(kept), tuple(variable for variable in others if variable not in kept)

    def sums(self, lead: Access, rest: Sequence[IndexVar]) -> bool:
        """Returns whether loops make one sum, whose terms lanes can share."""
        return bool(rest and self.combine and self.walks_alone(lead, rest[0])) and set(rest).isdisjoint(self.parallel)

    def map_in_order(self, loops: Sequence[IndexVar], why: str, cases: Sequence[ThreadMapping]) -> MappedNest:
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
        return MappedNest(nested, tuple(cases), self.combine, why)

    def walks_alone(self, lead: Access, variable: IndexVar) -> bool:
        """Returns whether no other sparse operand walks a variable."""
        return not any(
            self.walks(access, variable) for access in self.sparse if access != lead and variable in access.subscripts
        )

    def walks(self, access: Access, variable: IndexVar) -> bool:
        """Returns whether an operand says which coordinates of a variable there are."""
        encoding = self.types[access.tensor].encoding
        assert encoding is not None
        dims = {dim for dim, subscript in enumerate(access.subscripts) if subscript == variable}
        pairs = zip(encoding.levels, encoding.level_types, strict=True)
        return any(not kind.functions.has_full_loop and dims & set(spec.expr.dims()) for spec, kind in pairs)

    def is_only_sparse(self, lead: Access) -> bool:
        """Returns whether there is no other sparse operand."""
        return self.sparse == [lead]

    def column_cases(
        self, roles: tuple[str, ...], column: IndexVar, rest: Sequence[IndexVar] = (), *, atomic: bool = False
    ) -> list[ThreadMapping]:
        """Returns cases for blocks as wide as there are columns; threads take several where loops below sum up."""
        extent = Extent(column.name)
        shapes = [(width, 1) for width in _WIDTHS]
        lead = self.sparse[0] if self.sparse else None
        if (
            lead
            and rest
            and not self.searches
            and set(rest).isdisjoint(self.parallel)
            and all(self.walks_alone(lead, v) for v in rest)
        ):
            shapes += [(_WIDTHS[-1], tile) for tile in _TILES]
        cases = []
        for width, tile in shapes:
            tests = (Within(extent, width * tile),) if (width, tile) != shapes[-1] else ()
            kernel = "columns" if tile == 1 else f"columns_by_{tile}"
            threads = (width, THREADS // width)
            name = f"{width * tile}_columns"
            here = ThreadMapping(name, roles, threads, atomic=atomic, tests=tests, kernel=kernel, tile=tile)
            # Atomic additions are by the element: those of a warp would lie apart, in more sectors of memory.
            cases += [here] if tile == 1 or atomic else [*self._adjacent(here, column), here]
        if shapes[-1][1] > 1:
            widest = replace(cases[-1], tests=())
            narrow = replace(widest, threads=(_NARROW, THREADS // _NARROW))
            cases += [one for case in (narrow, *[widest] * atomic) for one in self._adjacent(case, column)]
        return cases

    def _adjacent(self, case: ThreadMapping, column: IndexVar) -> list[ThreadMapping]:
        """Returns the case in which columns of a thread are adjacent, where arrays can be read so."""
        number = most_adjacent(self, column, case.tile)
        if number == 1:
            return []
        name, kernel = f"{case.threads[0] * case.tile}_adjacent", f"adjacent_by_{case.tile}"
        needs = needs_of(self, column, number)
        return [replace(case, name=name, kernel=kernel, adjacent=number, needs=needs)]

    def lane_cases(
        self,
        roles: tuple[str, ...],
        lead: Access,
        number: int,
        level: Level | None,
        parent: Level,
        rest: Sequence[IndexVar] = (),
    ) -> list[ThreadMapping]:
        """Returns cases for as many lanes as terms are there on average."""
        amount: Count
        parents: Count = Fixed(1)
        if level is not None and level.dense:
            amount = LevelSize(lead.tensor, number)
        elif level is None:
            amount = Extent(rest[0].name)
        else:
            amount = Stored(lead.tensor, number)
            parents = (LevelSize if parent.dense else Stored)(lead.tensor, number - 1)
        names = ["thread", *(f"{lanes}_lanes" for lanes in _LANES[1:-1]), "warp"]
        cases = []
        for name, lanes in zip(names, _LANES, strict=True):
            tests = (Within(amount, _MOST_A_LANE * lanes, parents),) if lanes < _LANES[-1] else ()
            # A thread by itself exchanges nothing.
            own = roles if lanes > 1 else tuple("serial" if role == "lanes" else role for role in roles)
            cases.append(ThreadMapping(name, own, (lanes, THREADS // lanes), lanes, tests=tests))
        return cases

    def need_atomics(self, why: str) -> None:
        """Refuses operators that memory does not combine by.

        Raises:
            UnsupportedError: for such an operator, by name.
        """
        if not self.combine:
            raise UnsupportedError(
                f"expected sums, products, extremes or truth values where threads meet in one element ({why}), "
                f"but got {combining_name(self.step.combine)}: convert the operand so that its rows are those of the "
                f"result, or {CPU}"
            )


def accumulator_roles(owned: Sequence[bool], counted: Sequence[bool] = ()) -> list[str]:
    """Returns roles of loops, the outermost first, for threads that hold their elements in registers.

    Args:
        owned: of each loop, whether its iterations have elements of their own.
        counted: of each loop, whether it is as long in all iterations of those around; all are where nothing is said.

    >>> accumulator_roles([True, False, True, False])
    ['rows', 'accumulated', 'columns', 'serial']
    """
    places = [place for place, own in enumerate(owned) if own]
    across = [place for place in places[1:] if not counted or counted[place]]
    roles = []
    for place, own in enumerate(owned):
        if not own:
            roles.append("accumulated" if places and place < places[-1] else "serial")
        else:
            roles.append("rows" if place == places[0] else "columns" if across and place == across[-1] else "serial")
    return roles
