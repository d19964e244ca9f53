"""The parts of a statement that are made first: each once, however often it is read and by whichever variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from mlir_sparse.encoding import TensorType
from mlir_sparse.encoding.sketch import Sketch
from mlir_sparse.notation import Access, Call, Expr, IndexVar, accesses_of, walk
from mlir_sparse.plan.algebra.equal_parts import PartKey, key_of
from mlir_sparse.plan.algebra.estimates import EntrySet, Estimates
from mlir_sparse.plan.algebra.nest_times import MACHINE, NestTime, nest_time
from mlir_sparse.plan.algebra.normal_form import Factor, Opaque, ProductTerm, Sum, expression_of, variables_of
from mlir_sparse.plan.order.storage_choice import is_sparse
from mlir_sparse.spec import Part, vanishes
from mlir_sparse.text.identifiers import generated_name

__all__ = ["PartStore", "TensorFacts"]

# Returns the loop nests whose sum a part is, and what the part is to estimates.
Make = Callable[[], tuple[tuple[ProductTerm, ...], EntrySet]]


@dataclass(frozen=True, slots=True)
class TensorFacts:
    """What estimates know of a tensor.

    Args:
        kind: its type.
        sketch: its numbers.
    """

    kind: TensorType
    sketch: Sketch

    def relation(self, indices: tuple[IndexVar, ...]) -> EntrySet:
        """Returns the relation of an access."""
        axes, encoding, sparse = self.sketch.axes, self.kind.encoding, is_sparse(self.kind)
        largest = {v: axis.largest for v, axis in zip(indices, axes, strict=True)} if axes else {}
        squares = {v: axis.squares for v, axis in zip(indices, axes, strict=True)} if axes else {}
        order = None
        if sparse and encoding is not None and encoding.is_permutation:
            order = tuple(indices[dim] for dim in encoding.level_order)
        return EntrySet(frozenset(indices), self.sketch.entries, sparse, largest, squares, order)


class PartStore:
    """The parts so far, and what factors are to estimates.

    Args:
        target: the name of the result, after which parts are named.
        facts: what is known of each tensor.
        extents: the extent of each variable.
        room: how many bytes all parts may take.
        itemsize: how many bytes a number of the statement takes.
    """

    def __init__(
        self, target: str, facts: Mapping[str, TensorFacts], extents: dict[IndexVar, float], room: float, itemsize: int
    ) -> None:
        self._target = target
        self._facts = facts
        self.extents = extents
        self.estimates = Estimates(extents)
        self.parts: list[Part] = []
        self.nanoseconds = 0.0
        self.bytes = 0.0
        self._room = room
        self._itemsize = itemsize
        # By key the name, and which of the numbered variables each dimension is.
        self._made: dict[PartKey, tuple[str, tuple[int, ...]]] = {}
        self._results: dict[str, tuple[tuple[IndexVar, ...], EntrySet]] = {}

    @property
    def fits(self) -> bool:
        """Returns whether all parts together fit in the memory that they may take."""
        return self.bytes <= self._room

    def fits_alone(self, result: EntrySet) -> bool:
        """Returns whether a part with a result does."""
        return self._bytes_of(result) <= self._room

    def _bytes_of(self, result: EntrySet) -> float:
        # A sparse part has a coordinate of 8 bytes for each entry.
        return result.at_most * (self._itemsize + 8 * result.sparse)

    def has(self, key: object) -> bool:
        """Returns whether a part with a key is made already."""
        return key in self._made

    def part(
        self,
        factors: Sequence[Factor],
        kept: frozenset[IndexVar],
        make: Callable[[], tuple[tuple[ProductTerm, ...], EntrySet]],
    ) -> Access:
        """Returns the access of a part, which is made if no equal one is.

        Args:
            factors: the product that the part is.
            kept: its variables.
            make: called if it is to be made.
        """
        key, numbered = key_of(factors, kept)
        if key not in self._made:
            terms, result = make()
            # Dimensions in the order of the text, of which the last is most often that of a row.
            seen = dict.fromkeys(v for factor in factors for v in _ordered(factor) if v in kept)
            self._made[key] = self._store(terms, tuple(seen), result), tuple(numbered.index(v) for v in seen)
        name, places = self._made[key]
        return Access(name, tuple(numbered[place] for place in places))

    def _store(self, terms: tuple[ProductTerm, ...], indices: tuple[IndexVar, ...], result: EntrySet) -> str:
        name = generated_name(self._target, "part", self._results)
        self.bytes += self._bytes_of(result)
        self._results[name] = indices, result
        self.parts.append(Part(Access(name, indices), expression_of(terms)))
        self.nanoseconds += sum(self.time(term.factors, frozenset(indices)).nanoseconds for term in terms)
        return name

    def time(self, factors: Sequence[Factor], kept: frozenset[IndexVar]) -> NestTime:
        """Returns the time of one loop nest over factors."""
        relations = self.relations(factors)
        inside = frozenset[IndexVar]().union(*(relation.variables for relation in relations))
        if not relations:
            return NestTime(0.0, 1.0, 1.0, False, 1.0)
        nest = nest_time(relations, kept & inside, self.estimates)
        return replace(nest, nanoseconds=nest.nanoseconds + self._functions(factors, kept, nest.places))

    def _functions(self, factors: Sequence[Factor], kept: frozenset[IndexVar], places: float) -> float:
        """Returns the time of functions in a loop nest; those of the result's variables are outside of inner loops."""
        total = 0.0
        for factor in factors:
            bodies = _bodies(factor)
            count = sum(isinstance(node, Call) for body in bodies for node in walk(body))
            variables = variables_of(factor)
            often = min(places, self.estimates.space(variables)) if variables <= kept else places
            total += MACHINE.function * count * often
        return total

    def relations(self, factors: Sequence[Factor]) -> list[EntrySet]:
        """Returns what factors with variables are to estimates."""
        return [self.relation(factor) for factor in factors if variables_of(factor)]

    def relation(self, factor: Factor) -> EntrySet:
        """Returns what a factor is to estimates."""
        match factor:
            case Access(tensor) if tensor in self._results:
                return _at(*self._results[tensor], factor.indices)
            case Access(tensor):
                return self._facts[tensor].relation(factor.indices)
            case Opaque(body) if (found := self._entries_of(body)) is not None:
                return found
            case _:
                return self.array(variables_of(factor))

    def array(self, variables: frozenset[IndexVar]) -> EntrySet:
        """Returns the relation of an array over some variables."""
        return EntrySet(variables, self.estimates.space(variables), False, {}, {})

    def _entries_of(self, body: Expr) -> EntrySet | None:
        """Returns the relation of a function of a sparse tensor, if it is zero where that has no entry."""
        for access in accesses_of(body):
            relation = self.relation(access)
            if relation.sparse and vanishes(body, [access]):
                return relation
        return None


def _bodies(factor: Factor) -> list[Expr]:
    match factor:
        case Access():
            return []
        case Opaque(body):
            return [body]
        case Sum(terms):
            return [body for term in terms for each in term.factors for body in _bodies(each)]


def _ordered(factor: Factor) -> tuple[IndexVar, ...]:
    match factor:
        case Access():
            return factor.indices
        case Sum(terms):
            return tuple(dict.fromkeys(v for term in terms for each in term.factors for v in _ordered(each)))
        case Opaque(body):
            return tuple(dict.fromkeys(v for access in accesses_of(body) for v in access.indices))


def _at(own: tuple[IndexVar, ...], relation: EntrySet, indices: tuple[IndexVar, ...]) -> EntrySet:
    """Returns the relation of a part at other variables than it was made at."""
    names = dict(zip(own, indices, strict=True))
    largest = {names[v]: number for v, number in relation.largest.items()}
    squares = {names[v]: number for v, number in relation.squares.items()}
    return EntrySet(frozenset(indices), relation.entries, relation.sparse, largest, squares, most=relation.most)
