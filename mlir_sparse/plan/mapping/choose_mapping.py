"""How loops are given to the threads of a GPU: which become blocks, rows of threads, lanes, and where atomics are due.

A thread owns elements of the result wherever it can: then nothing is shared, and every sum is made in registers.
Where the loops that have to be divided are sums themselves, as the columns of CSC are for `A * x`, several threads
add to one element, and do so atomically.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mlir_sparse.encoding import Encoding
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation import Access, IndexVar, Monoid, ReduceOp
from mlir_sparse.notation.semiring import MONOIDS
from mlir_sparse.plan.mapping.map_blocks import map_blocks
from mlir_sparse.plan.mapping.map_trees import map_tree
from mlir_sparse.plan.mapping.map_two_phase import map_two_phase
from mlir_sparse.plan.mapping.mapped_nest import CPU, MappedNest, shared_structure
from mlir_sparse.plan.mapping.nest_to_map import CHUNK, THREADS, Level, NestToMap, Types, accumulator_roles
from mlir_sparse.plan.mapping.two_phase_results import two_phase_assembly
from mlir_sparse.plan.order.storage_choice import is_packed
from mlir_sparse.plan.plan_steps import Generic, combining_name
from mlir_sparse.program.thread_mapping import ThreadMapping
from mlir_sparse.text.listed_words import listed

__all__ = ["map_loops"]

# Operators that lanes and memory combine by, by their plain names: those of reductions, and monoids like them.
_OPERATORS = {name: name for name in ("sum", "prod", "max", "min", "or", "and")}
_MONOIDS = {"plus": "sum", "times": "prod", **{name: name for name in ("max", "min", "or", "and")}}
_OF_INTEGERS = ("or", "and")
# Of truth values, which are 0 and 1: what an extreme of integers starts from is neither.
_OF_TRUTH = {"sum": "or", "max": "or", "prod": "and", "min": "and"}
# Of integers without a sign, which are MLIR's as others are: the operation has to say it.
_OF_UNSIGNED = {"max": "umax", "min": "umin"}


def map_loops(step: Generic, types: Types, located: frozenset[str] = frozenset()) -> MappedNest:
    """Gives the loops of a nest to the threads of a GPU.

    Args:
        step: the loop nest.
        types: the types of all values.
        located: the values that are looked up.

    Raises:
        UnsupportedError: for loops that no threads can divide, by name.
    """
    combine, dtype = _combining(step.combine), types[step.result].dtype
    if dtype.is_truth:
        combine = _OF_TRUTH.get(combine, combine)
    if dtype.is_unsigned:
        combine = _OF_UNSIGNED.get(combine, combine)
    if combine in _OF_INTEGERS and not dtype.is_exact:
        combine = ""
    return _mapped(NestToMap(step, types, combine, located))


def _combining(combine: ReduceOp | Monoid) -> str:
    """Returns the plain name of an operator; empty for one of the user's, whatever it is called."""
    if not isinstance(combine, Monoid):
        return _OPERATORS.get(combining_name(combine), "")
    known = MONOIDS.get(combine.name)
    same = known is not None and (known.operator.overlap, known.lift) == (combine.operator.overlap, combine.lift)
    return _MONOIDS.get(combine.name, "") if same else ""


def _mapped(nest: NestToMap) -> MappedNest:
    """Returns the mapping."""
    if nest.types[nest.step.result].encoding is not None and shared_structure(nest.step, nest.types) is None:
        return map_two_phase(nest, two_phase_assembly(nest.step, nest.types))
    if not nest.sparse:
        return _dense(nest)
    refused: UnsupportedError | None = None
    for lead in nest.sparse:
        try:
            return _led(nest, lead)
        except UnsupportedError as error:
            refused = refused or error
    assert refused is not None
    raise refused


def _led(nest: NestToMap, lead: Access) -> MappedNest:
    """Maps a nest whose threads take what one operand stores."""
    encoding = nest.types[lead.tensor].encoding
    assert encoding is not None
    if not encoding.is_permutation:
        return map_blocks(nest, lead, encoding)
    if is_packed(encoding.level_types[0]) and not encoding.level_types[0].unique:
        return _list(nest, lead, encoding)
    return map_tree(nest, lead, nest.levels(lead, encoding))


def _dense(nest: NestToMap) -> MappedNest:
    """Maps a nest over arrays: the last variable of the result across threads, the first down."""
    kept, summed = nest.remaining_loops(())
    if nest.step.frames and nest.step.target.subscripts:
        return _whole(nest, kept)
    if not kept:
        roles: tuple[str, ...] = ("rows",) if summed else ()
        nest.need_atomics(f"{listed(summed)} is summed by many threads") if summed else None
        case = ThreadMapping("all", roles, (1, THREADS) if summed else (1, 1), atomic=bool(summed))
        return nest.map_in_order(summed, "one number, of parts of the loops", [case])
    if len(kept) == 1:
        return nest.map_in_order(
            (*kept, *summed), "a thread an element", [ThreadMapping("all", ("rows",), (1, THREADS))]
        )
    roles = ("rows", *(["layers"] if len(kept) > 2 else []), *["serial"] * (len(kept) - 3), "columns")
    return nest.map_in_order((*kept, *summed), "a thread an element", nest.column_cases(roles, kept[-1]))


def _whole(nest: NestToMap, kept: Sequence[IndexVar]) -> MappedNest:
    """Maps a nest over levels that are all dense: in their order, which is that of the operand in memory."""
    loops = nest.step.loops
    if any(not nest.owners(subscript) for subscript in nest.step.target.subscripts):
        why = "atomic, because several levels add up to one element"
        nest.need_atomics(why)
        roles = ["rows", *["serial"] * (len(loops) - 2), *["columns"] * (len(loops) > 1)]
        atomic = True
    else:
        why, atomic = "a thread an element, over levels in their order", False
        roles = accumulator_roles([variable in kept for variable in loops])
    cases = nest.column_cases(tuple(roles), loops[-1], atomic=atomic) if kept and "columns" in roles else []
    threads = (32, THREADS // 32) if "columns" in roles else (1, THREADS)
    single = ThreadMapping("all", tuple(roles), threads, atomic=atomic)
    return MappedNest(nest.step, tuple(cases or [single]), nest.combine, why)


def _list(nest: NestToMap, lead: Access, encoding: Encoding) -> MappedNest:
    """Maps a nest over a list of coordinates: entries to threads."""
    own = [s for spec in encoding.levels for d in spec.expr.dims() if isinstance(s := lead.subscripts[d], IndexVar)]
    if any(not nest.walks_alone(lead, variable) for variable in own) or any(
        not kind.functions.is_chained for kind in encoding.level_types[1:]
    ):
        raise UnsupportedError(
            f"expected {lead} as the one sparse operand of a GPU's loops over a list of coordinates, but got "
            f"{listed(nest.sparse)}: convert it to CSR or CSF, or {CPU}"
        )
    kept, summed = nest.remaining_loops(own)
    shared = [variable for variable in own if variable not in nest.parallel]
    why = f"a thread each entry of {lead}"
    if shared:
        why += f"; atomic, because entries of one element differ in {listed(shared)}"
        nest.need_atomics(why)
    entries = ("entries",) * len(own)
    loops = (*own, *kept, *summed)
    if kept:
        roles = (*entries, *["serial"] * (len(kept) - 1), "columns")
        return nest.map_in_order(loops, why, nest.column_cases(roles, kept[-1], atomic=bool(shared)))
    sums = own[-1] not in nest.parallel and not summed
    if summed and not shared and nest.combine and len(loops) == len(own) + 1:
        listing = Level(own[0], dense=False, parallel=True, joined=True)
        cases = nest.lane_cases((*entries, "lanes"), lead, 0, None, listing, summed)
        return nest.map_in_order(loops, why, [replace(case, chunk=CHUNK) for case in cases])
    case = ThreadMapping("entries", entries, (1, THREADS), chunk=CHUNK if sums else 1, atomic=bool(shared))
    return nest.map_in_order(loops, why, [case])
