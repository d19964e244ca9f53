"""The order in which an einsum joins its operands, as a path of NumPy's: by steps that a user gives, or as planned."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from mlir_sparse.arrays.broadcast import Labels
from mlir_sparse.classes import dataclass
from mlir_sparse.notation import Access, Expr, IndexVar, accesses_of, walk
from mlir_sparse.spec import Part, Rewriting
from mlir_sparse.text.shown_text import PrintedValue

__all__ = ["ContractionPath", "JoinStep", "planned_path", "steps_of"]

# The positions of the operands that a step joins, in the list that earlier steps leave.
Positions = tuple[int, ...]
# The operands that a loop nest joins: by number, or what another nest makes of some first.
Join = tuple["int | Join", ...]
# The same, with the accesses of the operands.
Reads = tuple["Access | Reads", ...]


@dataclass(frozen=True, slots=True)
class JoinStep:
    """A step of a path: it takes operands from the list, and puts their product at its end.

    Args:
        positions: their positions, ascending.
        labels: the indices of each.
        output: the indices of the product.
    """

    positions: Positions
    labels: tuple[Labels, ...]
    output: Labels

    def __str__(self) -> str:
        inputs = ",".join("".join(labels) for labels in self.labels)
        return f"{self.positions!s:<12} {inputs}->{''.join(self.output)}"


@dataclass(frozen=True, slots=True)
class ContractionPath(PrintedValue):
    """The order in which an einsum joins its operands.

    Args:
        text: the einsum string.
        steps: the steps.
        account: why it was chosen, a line each.
    """

    text: str
    steps: tuple[JoinStep, ...]
    account: tuple[str, ...] = ()

    @property
    def path(self) -> list[object]:
        """Returns the positions joined by each step, as `numpy.einsum_path` does."""
        return ["einsum_path", *(step.positions for step in self.steps)]

    def __str__(self) -> str:
        count = f"{len(self.steps)} loop nest{'s' if len(self.steps) > 1 else ''}"
        return "\n".join([self.text, count, *map(str, self.steps), *self.account])


def steps_of(path: Iterable[Sequence[int]], operands: Sequence[Labels], output: Labels) -> Iterator[JoinStep]:
    """Yields the steps of a path; a last one joins the operands that it leaves.

    A step that joins nothing and sums over nothing is left out, and so are positions beyond the list.

    Args:
        path: the positions of each step.
        operands: the indices of each operand.
        output: the indices of the result.
    """
    left = list(operands)
    for given in path:
        positions = tuple(at for at in sorted(set(given)) if at < len(left))
        rest = [labels for at, labels in enumerate(left) if at not in positions]
        if not rest:
            break
        taken = tuple(left[at] for at in positions)
        needed = {label for labels in (output, *rest) for label in labels}
        kept = tuple(label for label in dict.fromkeys(itertools.chain(*taken)) if label in needed)
        if len(taken) > 1 or (taken and kept != taken[0]):
            yield JoinStep(positions, taken, kept)
            left = [*rest, kept]
    yield JoinStep(tuple(range(len(left))), tuple(left), output)


def planned_path(factors: Sequence[Access], rewriting: Rewriting | None) -> list[Positions]:
    """Returns the path that joins the factors of a product as it is computed.

    A part that is read in several places is made once, and is in the path once for each of them.

    Args:
        factors: the factors, in order.
        rewriting: how the product is computed; None for one loop nest.
    """
    everything: Join = tuple(range(len(factors)))
    if rewriting is None:
        return list(_positions(everything, len(factors)))
    parts = {part.target.tensor: part for part in rewriting.parts}
    variables = {variable: variable for access in accesses_of(rewriting.value) for variable in access.indices}
    read = _written_out(rewriting.value, variables, parts, itertools.count())
    numbers = _matched(list(_leaves(read)), dict(enumerate(factors)), variables, rewriting.symmetric)
    found = None if numbers is None else _numbered(read, iter(numbers))
    return list(_positions(found or everything, len(factors)))


def _written_out(
    value: Expr, names: Mapping[IndexVar, IndexVar], parts: Mapping[str, Part], fresh: Iterator[int]
) -> Reads:
    """Returns what an expression reads, with that of its parts in tuples; each variable summed over has a new name."""
    own, found = dict(names), list[Access | Reads]()
    for access in (node for node in walk(value) if isinstance(node, Access)):
        # No variable of a text is a number.
        indices = tuple(own.setdefault(variable, IndexVar(f"{next(fresh)}")) for variable in access.indices)
        if (part := parts.get(access.tensor)) is None:
            found.append(Access(access.tensor, indices))
        else:
            inside = dict(zip(part.target.indices, indices, strict=True))
            found.append(_written_out(part.value, inside, parts, fresh))
    return tuple(found)


def _leaves(read: Reads) -> Iterator[Access]:
    for below in read:
        yield from (below,) if isinstance(below, Access) else _leaves(below)


def _matched(
    leaves: Sequence[Access],
    factors: Mapping[int, Access],
    known: Mapping[IndexVar, IndexVar],
    symmetric: Collection[str] = (),
) -> list[int] | None:
    """Returns the number of the factor that each leaf is, up to the names of variables that are not known.

    Leaves of symmetric matrices may be transposed.
    """
    if not leaves:
        return None if factors else []
    first, *rest = leaves
    turned = [Access(first.tensor, first.indices[::-1])] if first.tensor in symmetric else []
    for number, factor in factors.items():
        for leaf in (first, *turned):
            names = _unified(leaf, factor, known)
            if names is not None:
                others = {other: access for other, access in factors.items() if other != number}
                found = _matched(rest, others, names, symmetric)
                if found is not None:
                    return [number, *found]
    return None


def _unified(leaf: Access, factor: Access, known: Mapping[IndexVar, IndexVar]) -> dict[IndexVar, IndexVar] | None:
    if leaf.tensor != factor.tensor:
        return None
    names = dict(known)
    for mine, its in zip(leaf.indices, factor.indices, strict=True):
        if names.get(mine, its) != its or (mine not in names and its in names.values()):
            return None
        names[mine] = its
    return names


def _numbered(read: Reads, numbers: Iterator[int]) -> Join:
    return tuple(next(numbers) if isinstance(below, Access) else _numbered(below, numbers) for below in read)


def _positions(join: Join, count: int) -> Iterator[Positions]:
    """Yields a path: what is made first, then the nest that reads it."""
    left: list[int | Join] = list(range(count))

    def joined(node: Join) -> Iterator[Positions]:
        for below in node:
            if not isinstance(below, int):
                yield from joined(below)
        positions = tuple(sorted(left.index(below) for below in node))
        left[:] = [one for at, one in enumerate(left) if at not in positions] + [node]
        yield positions

    return joined(join)
