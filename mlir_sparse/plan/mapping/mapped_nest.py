"""How loops are given to the threads of a GPU, as values that explain themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mlir_sparse.classes import dataclass
from mlir_sparse.encoding import TensorType
from mlir_sparse.notation import Access
from mlir_sparse.plan.mapping.two_phase_results import TwoPhaseAssembly
from mlir_sparse.plan.nests.sampled_results import with_entries_of, with_fibres_of
from mlir_sparse.plan.plan_steps import Generic
from mlir_sparse.program.thread_mapping import ThreadMapping

__all__ = ["CPU", "MappedNest", "explain_mapping", "shared_structure"]

CPU = "use target='cpu'"


@dataclass(frozen=True, slots=True)
class MappedNest:
    """A loop nest for a GPU.

    Args:
        step: the nest, its loops in the order that suits threads.
        cases: ways to map it, of which the first whose tests hold is taken.
        combine: the operator of the accumulation, by its plain name.
        why: why it is mapped so.
        names: what the loops are called where they are not those over variables: over blocks, and in them.
        two_phase: how a sparse result that shares no operand's structure comes about; None for any other result.
    """

    step: Generic
    cases: tuple[ThreadMapping, ...]
    combine: str
    why: str
    names: tuple[str, ...] = ()
    two_phase: TwoPhaseAssembly | None = None


def explain_mapping(mapped: MappedNest) -> str:
    """Returns how the loops of a nest are given to threads, and why, for people."""
    step = mapped.step
    lines = [f"{step.result} on threads: {mapped.why}"]
    lines += [f"  {mapped.two_phase}"] if mapped.two_phase else []
    for number, case in enumerate(mapped.cases):
        x, y = case.threads
        tests = f", if {' and '.join(map(str, case.conditions))}" if case.conditions else ""
        if not all(before.conditions for before in mapped.cases[:number]):
            tests = ", for comparison only"
        lines.append(f"  {case.name}: blocks of {x} x {y} threads{tests}")
        lines += [f"    {text}" for text in _parts(mapped.names or tuple(map(str, step.loops)), case)]
    return "\n".join(lines)


def _parts(loops: Sequence[str], case: ThreadMapping) -> list[str]:
    """Returns what becomes of each loop, in words."""
    joined = [loop for loop, role in zip(loops, case.roles, strict=False) if role == "entries"]
    found = []
    if joined:
        some = f"{case.chunk} after another, " if case.chunk > 1 else ""
        found.append(f"{', '.join(joined)}: entries as one loop, {some}to rows of threads")
    words = {
        "rows": "to rows of threads, in steps of the grid",
        "columns": "to threads along x and blocks along y" + _together(case),
        "layers": "to blocks along z",
        "lanes": f"shared by {case.lanes} lanes, which exchange their sums",
        "staged": f"by the threads of a block together, {case.chunk} terms each at a time, which each then sums up",
        "spread": f"to {case.lanes} lanes" if case.lanes > 1 else "one thread's",
        "serial": "one thread's",
        "accumulated": "one thread's, with what it adds up in a register: inside the loops below",
    }
    rest = [*case.roles, *["serial"] * (len(loops) - len(case.roles))]
    # A role that is not described here tells by its name.
    found += [f"{loop}: {words.get(role, role)}" for loop, role in zip(loops, rest, strict=False) if role != "entries"]
    if case.atomic:
        found.append("results are added atomically, in an order that varies")
    return found


def _together(case: ThreadMapping) -> str:
    """Returns how many columns a thread takes, in words."""
    beside = f", {case.adjacent} of them adjacent and by one access" if case.adjacent > 1 else ""
    return f", {case.tile} a thread{beside}" if case.tile > 1 else ""


def shared_structure(step: Generic, types: Mapping[str, TensorType]) -> Access | None:
    """Returns the operand that a sparse result has the entries or the fibres of, and whose buffers it shares.

    None where no operand has.
    """
    encoding = types[step.result].encoding
    assert encoding is not None
    whole = with_entries_of(step.target, step.payload, encoding, types)
    return whole or with_fibres_of(step.target, step.payload, encoding, types)
