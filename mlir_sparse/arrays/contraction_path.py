"""The order of multiplying many operands: pairs, or several in one loop nest, by estimated cost.

The model is the planner's (`plan.cost`), with the actual numbers of entries in place of its guesses. The steps of a
loop nest are the expected places where all operands have an entry, plus the entries of its result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from mlir_sparse.arrays.broadcast import Labels, Value
from mlir_sparse.plan.cost import CONVERSION
from mlir_sparse.process.forks import cached_property
from mlir_sparse.tensor import SparseTensor

__all__ = ["ContractionPath", "Factor", "PathStep", "factor_of", "find_path", "given_path"]

# Up to this many operands all subsets are tried (3**8 splits); of more, the cheapest pairs are joined first.
_EXHAUSTIVE = 8


@dataclass(frozen=True, slots=True)
class Factor:
    """An operand or a temporary: its indices, each once, and its number of entries, known or estimated."""

    labels: Labels
    entries: float
    sparse: bool


def factor_of(value: Value, labels: Labels) -> Factor:
    """Returns an operand as the cost model needs it."""
    if isinstance(value, SparseTensor):
        return Factor(labels, float(value.nse), not value.encoding.is_dense)
    return Factor(labels, float(value.size), False)


@dataclass(frozen=True, slots=True)
class PathStep:
    """A kernel that joins operands; its result goes to the end of the list.

    Args:
        operands: their positions in the current list, ascending.
        labels: the indices of each operand.
        output: the indices of the result.
        cost: the estimated number of loop steps.
        entries: the estimated number of entries of the result.
    """

    operands: tuple[int, ...]
    labels: tuple[Labels, ...]
    output: Labels
    cost: float
    entries: float

    def __str__(self) -> str:
        inputs = ",".join("".join(labels) for labels in self.labels)
        joined = f"{inputs}->{''.join(self.output)}"
        return f"{self.operands!s:<12} {joined:<28} {self.cost:>12.3g} {self.entries:>12.3g}"


@dataclass(frozen=True)
class ContractionPath:
    """The kernels that an einsum runs, in order; `naive` is the estimated number of steps of one loop nest over all."""

    text: str
    steps: tuple[PathStep, ...]
    naive: float

    @cached_property
    def path(self) -> list[object]:
        """Returns the positions joined by each step, as `numpy.einsum_path` does."""
        return ["einsum_path", *(step.operands for step in self.steps)]

    @property
    def cost(self) -> float:
        """Returns the estimated number of loop steps of all kernels."""
        return sum(step.cost for step in self.steps)

    def __str__(self) -> str:
        head = f"{'operands':<12} {'kernel':<28} {'loop steps':>12} {'entries':>12}"
        lines = [f"{self.text}", f"one loop nest: about {self.naive:.3g} steps; this path: {self.cost:.3g}", head]
        return "\n".join([*lines, *map(str, self.steps)])


@dataclass(frozen=True, slots=True)
class _Plan:
    """The cheapest plan found for joining a set of operands."""

    cost: float
    factor: Factor
    parts: tuple[int, ...]  # bit sets


class _Search:
    def __init__(self, factors: Sequence[Factor], output: Labels, extents: Mapping[str, int]) -> None:
        self.factors, self.output, self.extents = factors, output, extents
        self.everything = (1 << len(factors)) - 1
        self.plans: dict[int, _Plan] = {1 << n: _Plan(0.0, factor, ()) for n, factor in enumerate(factors)}

    def kept(self, members: int) -> Labels:
        """Returns the indices that the product of a set must keep: those that other operands or the result have."""
        if members == self.everything:
            return self.output
        others = [f.labels for n, f in enumerate(self.factors) if not members >> n & 1]
        needed = {label for labels in (self.output, *others) for label in labels}
        inside = dict.fromkeys(label for n in _bits(members) for label in self.factors[n].labels)
        return tuple(label for label in inside if label in needed)

    def joined(self, members: int, parts: tuple[int, ...]) -> _Plan:
        """Returns the plan that computes each part first, and joins all parts in one kernel."""
        below = [self.plans[part] for part in parts]
        steps, result = _join([plan.factor for plan in below], self.kept(members), self.extents)
        stored = 0.0 if members == self.everything else CONVERSION * result.entries
        return _Plan(steps + stored + sum(plan.cost for plan in below), result, parts)

    def best(self, members: int) -> _Plan:
        """Returns the cheapest plan of a set: all operands in one kernel, or two parts first."""
        if members not in self.plans:
            leaves = tuple(1 << n for n in _bits(members))
            found = self.joined(members, leaves)
            for part in _halves(members):
                self.best(part)
                self.best(members ^ part)
                found = min(found, self.joined(members, (part, members ^ part)), key=lambda plan: plan.cost)
            self.plans[members] = found
        return self.plans[members]

    def greedy(self) -> None:
        """Joins the cheapest pair until a full search is possible."""
        left = [1 << n for n in range(len(self.factors))]
        while len(left) > 1:
            pairs = [(a, b) for at, a in enumerate(left) for b in left[at + 1 :]]
            a, b = min(pairs, key=lambda pair: self.joined(pair[0] | pair[1], pair).cost)
            self.plans[a | b] = self.joined(a | b, (a, b))
            left = [part for part in left if part not in (a, b)] + [a | b]


def _join(factors: Sequence[Factor], kept: Labels, extents: Mapping[str, int]) -> tuple[float, Factor]:
    """Returns the estimated steps of a product, and its result, for evenly spread entries."""
    places = _place_count({label for factor in factors for label in factor.labels}, extents)
    steps = float(places)
    for factor in factors:
        place_count = _place_count(set(factor.labels), extents)
        if factor.sparse and place_count:
            steps *= min(1.0, factor.entries / place_count)
    # A loop over a sparse operand visits all of its entries.
    steps = max(steps, min((factor.entries for factor in factors), default=0.0))
    sparse = any(factor.sparse for factor in factors) and all(
        any(label in factor.labels for factor in factors if factor.sparse) for label in kept
    )
    place_count = _place_count(set(kept), extents)
    return steps, Factor(kept, min(steps, place_count) if sparse else place_count, sparse)


def _place_count(labels: set[str], extents: Mapping[str, int]) -> float:
    return float(prod(extents[label] for label in labels))


def _bits(members: int) -> Iterator[int]:
    return (n for n in range(members.bit_length()) if members >> n & 1)


def _halves(members: int) -> Iterator[int]:
    """Yields each split of a set in two, once."""
    lowest = members & -members
    rest = members ^ lowest
    part = rest
    while part:
        yield part
        part = (part - 1) & rest


def find_path(text: str, factors: Sequence[Factor], output: Labels, extents: Mapping[str, int]) -> ContractionPath:
    """Returns the cheapest order found."""
    search = _Search(factors, output, extents)
    if len(factors) <= _EXHAUSTIVE:
        search.best(search.everything)
    else:
        search.greedy()
    order: list[int] = []
    _postorder(search, search.everything, order)
    return _path_of(text, search, [search.plans[members].parts for members in order], order)


def _postorder(search: _Search, members: int, order: list[int]) -> None:
    for part in search.plans[members].parts:
        if part.bit_count() > 1:
            _postorder(search, part, order)
    order.append(members)


def _path_of(text: str, search: _Search, joins: Sequence[tuple[int, ...]], order: Sequence[int]) -> ContractionPath:
    left = [1 << n for n in range(len(search.factors))]
    steps: list[PathStep] = []
    for parts, members in zip(joins, order, strict=True):
        positions = tuple(sorted(left.index(part) for part in parts)) or (0,)
        taken = [left[position] for position in positions]
        factors = [search.plans[part].factor for part in taken]
        cost, result = _join(factors, search.kept(members), search.extents)
        steps.append(PathStep(positions, tuple(f.labels for f in factors), result.labels, cost, result.entries))
        left = [part for part in left if part not in taken] + [members]
    naive, _ = _join(search.factors, search.output, search.extents)
    return ContractionPath(text, tuple(steps), naive)


def given_path(
    text: str,
    positions: Sequence[Sequence[int]],
    factors: Sequence[Factor],
    output: Labels,
    extents: Mapping[str, int],
) -> ContractionPath:
    """Returns the user's order, given the positions that each step joins; a last step joins the rest."""
    search = _Search(factors, output, extents)
    left = [1 << n for n in range(len(factors))]
    joins: list[tuple[int, ...]] = []
    order: list[int] = []
    for step in [*positions, range(len(left))]:
        parts = tuple(left[position] for position in dict.fromkeys(step) if position < len(left))
        if len(parts) > 1 or (len(factors) == 1 and not joins):
            members = sum(parts)
            search.plans.setdefault(members, search.joined(members, parts))
            left = [part for part in left if part not in parts] + [members]
            joins.append(parts)
            order.append(members)
    return _path_of(text, search, joins, order)
